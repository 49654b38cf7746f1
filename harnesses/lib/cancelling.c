/* Functions in which a difference cancels and the rest is magnified, and the same in long double. Where the difference
   is not small they are right to a few ulps, except for the first two where x * x overflows. */
#include <math.h>

double logarithm(double x) { return log(fabs(x * x - 2)); }
long double logarithm_wide(double x) { long double X = x; return logl(fabsl(X * X - 2)); }

double lorentzian(double x) { double d = x * x - 2; return 1 / (1 + 1e16 * d * d); }
long double lorentzian_wide(double x) { long double X = x, d = X * X - 2; return 1 / (1 + 1e16L * d * d); }

double arctangent(double x) { double d = x * x * 7 - 3; return 3 + atan(1e10 * d); }
long double arctangent_wide(double x) { long double X = x, d = X * X * 7 - 3; return 3 + atanl(1e10L * d); }

double root(double x) { return 1 + pow(fabs(sin(x) - 0.3), 0.1); }
long double root_wide(double x) { return 1 + powl(fabsl(sinl(x) - 0.3), 0.1); }

double hyperbola(double x, double y) { return 2 + sqrt(fabs(x * x - y * y - 0.3)) / 8; }
long double hyperbola_wide(double x, double y) {
  long double X = x, Y = y;
  return 2 + sqrtl(fabsl(X * X - Y * Y - 0.3)) / 8;
}

double hill(double x) { double d = x * x * x - 17; return 1.5 + exp(-1e12 * d * d) / 4; }
long double hill_wide(double x) { long double X = x, d = X * X * X - 17; return 1.5L + expl(-1e12L * d * d) / 4; }

double ramp(double x, double y) { double d = x * y - 3; return 5 + tanh(1e9 * d); }
long double ramp_wide(double x, double y) { long double X = x, Y = y, d = X * Y - 3; return 5 + tanhl(1e9L * d); }

double step(double x) { double d = exp(x) - 5; return 1.5 + d / (fabs(d) + 1e-9) / 4; }
long double step_wide(double x) { long double d = expl(x) - 5; return 1.5L + d / (fabsl(d) + 1e-9) / 4; }
