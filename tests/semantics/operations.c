// Each function has one floating-point operation. A second function reads from the hardware what the operation raised,
// as bits of enum pen_exception. The operands of the latter are volatile, so that nothing moves over the flags.
#include <fenv.h>
#include <math.h>

static int raised(void) {
  int f = fetestexcept(FE_ALL_EXCEPT);
  return !!(f & FE_OVERFLOW) | !!(f & FE_UNDERFLOW) << 1 | !!(f & FE_DIVBYZERO) << 2 | !!(f & FE_INVALID) << 3 |
         !!(f & FE_INEXACT) << 4;
}

#define ONE(name, R, T, expression)                \
  R name(T a) { return expression; }               \
  int flags_##name(T p) {                          \
    volatile T keep = p;                           \
    feclearexcept(FE_ALL_EXCEPT);                  \
    T a = keep;                                    \
    volatile R r = expression;                     \
    (void)r;                                       \
    return raised();                               \
  }

#define TWO(name, R, T, U, expression)             \
  R name(T a, U b) { return expression; }          \
  int flags_##name(T p, U q) {                     \
    volatile T keep = p;                           \
    volatile U other = q;                          \
    feclearexcept(FE_ALL_EXCEPT);                  \
    T a = keep;                                    \
    U b = other;                                   \
    volatile R r = expression;                     \
    (void)r;                                       \
    return raised();                               \
  }

#define THREE(name, R, expression)                 \
  R name(R a, R b, R c) { return expression; }     \
  int flags_##name(R p, R q, R s) {                \
    volatile R keep = p, other = q, third = s;     \
    feclearexcept(FE_ALL_EXCEPT);                  \
    R a = keep, b = other, c = third;              \
    volatile R r = expression;                     \
    (void)r;                                       \
    return raised();                               \
  }

// A processor without one of these conversions raises the flags of its replacements. So the range decides.
#define RANGE(name, R, T, above_lower, below_upper)                               \
  R name(T a) { return (R)a; }                                                    \
  int flags_##name(T a) { return above_lower && below_upper ? 0 : 8; }

TWO(add, double, double, double, a + b)
TWO(subtract, double, double, double, a - b)
TWO(multiply, double, double, double, a *b)
TWO(divide, double, double, double, a / b)
TWO(add_f, float, float, float, a + b)
TWO(subtract_f, float, float, float, a - b)
TWO(multiply_f, float, float, float, a *b)
TWO(divide_f, float, float, float, a / b)
THREE(fused, double, fma(a, b, c))
THREE(fused_f, float, fmaf(a, b, c))
ONE(root, double, double, sqrt(a))
ONE(root_f, float, float, sqrtf(a))
ONE(narrow, float, double, (float)a)

ONE(add_tiny, double, double, a + 1e-300)
ONE(halve, double, double, a * 0.5)
ONE(triple, double, double, a * 3.0)
ONE(third, double, double, a / 3.0)
ONE(more, double, double, a * 1.1)
ONE(tenfold, double, double, a / 0.1)
ONE(reciprocal, double, double, 1.0 / a)
ONE(reciprocal_f, float, float, 1.0f / a)
ONE(of_tiny, double, double, 1e-16 / a)
ONE(of_four, double, double, 4.0 / a)
ONE(of_zero, double, double, 0.0 / a)

ONE(to_int, int, double, (int)a)
ONE(to_long, long, double, (long)a)
ONE(to_int_f, int, float, (int)a)
ONE(to_long_f, long, float, (long)a)
ONE(round_to_long, long, double, lround(a))
ONE(rint_to_long, long, double, lrint(a))
RANGE(to_short, short, double, a > -32769, a < 32768)
RANGE(to_char, signed char, float, a > -129, a < 128)
RANGE(to_byte, unsigned char, double, a > -1, a < 256)
RANGE(to_unsigned, unsigned, double, a > -1, a < 4294967296.0)
RANGE(to_unsigned_long, unsigned long, double, a > -1, a < 18446744073709551616.0)
RANGE(to_unsigned_f, unsigned, float, a > -1, a < 4294967296.0f)
ONE(from_long, double, long, (double)a)
ONE(from_int_f, float, int, (float)a)
ONE(from_unsigned_f, float, unsigned, (float)a)
ONE(from_unsigned_long, double, unsigned long, (double)a)

TWO(modulo, double, double, double, fmod(a, b))
TWO(ieee_remainder, double, double, double, remainder(a, b))
ONE(logarithm, double, double, log(a))
ONE(logarithm_f, float, float, logf(a))
ONE(logarithm2, double, double, log2(a))
ONE(logarithm10, double, double, log10(a))
ONE(logarithm1p, double, double, log1p(a))
ONE(exponent, double, double, logb(a))
ONE(exponential, double, double, exp(a))
ONE(exponential_f, float, float, expf(a))
ONE(exponential2, double, double, exp2(a))
ONE(exponential_m1, double, double, expm1(a))
ONE(sine_h, double, double, sinh(a))
ONE(cosine_h, double, double, cosh(a))
TWO(power, double, double, double, pow(a, b))
TWO(power_f, float, float, float, powf(a, b))
ONE(arc_sine, double, double, asin(a))
ONE(arc_cosine, double, double, acos(a))
ONE(area_tangent, double, double, atanh(a))
ONE(area_cosine, double, double, acosh(a))
ONE(gamma_function, double, double, tgamma(a))
ONE(log_gamma, double, double, lgamma(a))
ONE(bessel_y0, double, double, y0(a))
ONE(bessel_y1, double, double, y1(a))
TWO(bessel_yn, double, int, double, yn(a % 8, b))
TWO(scale, double, double, int, ldexp(a, b))
TWO(scale_f, float, float, int, ldexpf(a, b))
TWO(scale_n, double, double, int, scalbn(a, b))
TWO(scale_ln, double, double, long, scalbln(a, b))
TWO(hypotenuse, double, double, double, hypot(a, b))
ONE(error_complement, double, double, erfc(a))
TWO(neighbour, double, double, double, nextafter(a, b))
