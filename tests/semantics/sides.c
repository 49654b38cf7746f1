/* Comparisons whose boundary values the tests know; each function has one comparison first. */
#include <stdint.h>
#include <string.h>

int any_integer(int a, int b) {
  if (a < b) return 1;
  return 0;
}

int not_below_zero(unsigned n) {
  if (n > 0u) return 1;
  return 0;
}

int odd(int n) {
  if (n & 1) return 1;
  return 0;
}

int masked(int n) {
  if ((n & 6) == 2) return 1;
  return 0;
}

int nothing_above(unsigned char n) {
  if (n == 255) return 1;
  return 0;
}

int nothing_below_left(double x) {
  if (-__builtin_inf() < x) return 1;
  return 0;
}

int finite(double x) {
  if (x < __builtin_inf()) return 1;
  return 0;
}

int is_nan(double x) {
  if (x != x) return 1;
  return 0;
}

int unordered(double a, double b) {
  if (__builtin_isunordered(a, b)) return 1;
  return 0;
}

int truth_value(int a, int b) {
  if ((a < b) == 1) return 2; /* the comparison is a < b, or nothing */
  return 0;
}

static __attribute__((noinline)) int is_small(double x) { return x < 3; }

int truth_called(double x) {
  if (is_small(x)) return 1;
  return 0;
}

int flag(_Bool b) {
  if (b) return 1;
  return 0;
}

int pointer(const double *p) {
  if (p == (const double *)&pointer) return 1;
  return 0;
}

int negated(double a, double b) {
  if (!(a < b)) return 1;
  return 0;
}

int expected(int n) {
  if (__builtin_expect(n > 7, 0)) return 1;
  return 0;
}

int wide_float(double a, int n, double b) {
  long double x = a + n * 0x1p-63L;
  if (x < (long double)b) return 1;
  return 0;
}

int words(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int32_t high = (int32_t)(bits >> 32), low = (int32_t)bits;
  if (((high - 0x3ff00000) | low) == 0) return 1;
  return 0;
}

int difference(int a, int b) {
  if (!((int)((unsigned)a - (unsigned)b))) return 1;
  return 0;
}

static __attribute__((noinline)) int order(int a, int b) { return a < b ? -1 : a > b; }

int called(int a, int b) {
  if (order(a, b) == 0) return 1;
  return 0;
}
