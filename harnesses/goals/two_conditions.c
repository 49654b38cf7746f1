/* Two conditions on one number: the program that Fu and Su use in Mathematical Execution (2016). */
double two_conditions(double x) {
  if (x <= 1) x = x + 1;
  double square = x * x;
  if (square <= 4) x = x - 1;
  return x;
}

/* x < 1 and x + 1 >= 2: no real number fulfils both, one double does. */
int formula(double x) {
  if (x < 1)
    if (x + 1 >= 2) return 1;
  return 0;
}
