/* The example of CoverMe, Sect. 3 (Fu and Su, PLDI 2017), written anew: the second condition holds only at single
 * points, and the first one decides which. */
static double square(double x) { return x * x; }

int foo(double x) {
  int passed = 0;
  if (x <= 1.0)
    x += 1.0;
  if (square(x) == 4.0)
    passed = 1;
  return passed;
}
