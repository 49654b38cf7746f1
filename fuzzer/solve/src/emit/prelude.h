/* What a formula is made of. Distances are 0 where a condition holds, and grow up to FAR and a little more. The macros
 * have no branches: each would be a site. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>

typedef unsigned __int128 wide;
typedef __int128 signed_wide;
#define FAR (1ULL << 62)
#define PICK(c, a, b) (((uint64_t)(a) & -(uint64_t)(c)) | ((uint64_t)(b) & ~-(uint64_t)(c)))

/* Floats by their bits, and bits of floats. */
#define OF_BITS(T, U, x) (((union { U bits; T value; }){.bits = (U)(x)}).value)
#define BITS(T, U, x) (((union { T value; U bits; }){.value = (x)}).bits)

/* The place of a float on the line of all: -0 just before 0, NaN behind infinity. */
#define LINE(bits) ((bits) ^ (int64_t)((uint64_t)((bits) >> 63) >> 1))
#define KEY64(x) ((int64_t)PICK((x) != (x), INT64_MAX, LINE((int64_t)BITS(double, uint64_t, x))))
#define LINE32(bits) ((bits) ^ (int32_t)((uint32_t)((bits) >> 31) >> 1))
#define KEY32(x) ((int64_t)PICK((x) != (x), INT64_MAX, (int64_t)LINE32((int32_t)BITS(float, uint32_t, x))))

/* Distances. W is the unsigned type of differences. */
#define CUT(W, d) PICK((W)(d) > (W)FAR, FAR, (d))
#define GAP(W, a, b) CUT(W, (W)(a) - (W)(b))
#define TO_LE(W, a, b) PICK((a) <= (b), 0, GAP(W, a, b))
#define TO_LT(W, a, b) PICK((a) < (b), 0, GAP(W, a, b) + 1)
#define TO_EQ(W, a, b) PICK((a) < (b), GAP(W, b, a), GAP(W, a, b))
#define TO_NE(a, b) ((uint64_t)((a) == (b)))
#define SUM(a, b) CUT(uint64_t, (a) + (b))
#define LEAST(a, b) PICK((a) < (b), a, b)
#define INSIDE(k, low, high) SUM(TO_LE(uint64_t, low, k), TO_LE(uint64_t, k, high))
#define OUTSIDE(k, low, high) LEAST(TO_LT(uint64_t, k, low), TO_LT(uint64_t, high, k))
#define ORDERED(a, b, d) PICK(((a) != (a)) | ((b) != (b)), FAR, d)
#define UNORDERED(a, b, d) PICK(((a) != (a)) | ((b) != (b)), 0, d)

/* A vector with its sign. */
#define SIGNED(S, x, unused) ((S)((x) << (unused)) >> (unused))

/* Rounding modes by their number: nearest even, nearest away, up, down, to zero. Arithmetic that rounds to nearest with
 * ties away from zero has ties to even here. */
static const int modes[] = {FE_TONEAREST, FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
#define DIRECTED(NAME, A, T, OPERATION)                                                                                \
  __attribute__((unused)) static T NAME(int mode, A a, A b, A c) {                                                     \
    volatile A x = a, y = b, z = c;                                                                                    \
    fesetround(modes[mode]);                                                                                           \
    volatile T result = (OPERATION);                                                                                   \
    fesetround(FE_TONEAREST);                                                                                          \
    (void)y, (void)z;                                                                                                  \
    return result;                                                                                                     \
  }
DIRECTED(add64, double, double, x + y)
DIRECTED(add32, float, float, x + y)
DIRECTED(sub64, double, double, x - y)
DIRECTED(sub32, float, float, x - y)
DIRECTED(mul64, double, double, x *y)
DIRECTED(mul32, float, float, x *y)
DIRECTED(div64, double, double, x / y)
DIRECTED(div32, float, float, x / y)
DIRECTED(sqrt64, double, double, sqrt(x))
DIRECTED(sqrt32, float, float, sqrtf(x))
DIRECTED(fma64, double, double, fma(x, y, z))
DIRECTED(fma32, float, float, fmaf(x, y, z))
DIRECTED(narrow, double, float, (float)x)

__attribute__((unused)) static double integral(int mode, double x) {
  switch (mode) {
    case 0: return nearbyint(x);
    case 1: return round(x);
    case 2: return ceil(x);
    case 3: return floor(x);
    default: return trunc(x);
  }
}

/* What does not fit becomes 0. */
__attribute__((unused)) static wide to_unsigned(double x, int width) {
  return x >= 0 && x < ldexp(1, width) ? (wide)x : 0;
}
__attribute__((unused)) static wide to_signed(double x, int width) {
  return x >= -ldexp(1, width - 1) && x < ldexp(1, width - 1) ? (wide)(signed_wide)x : 0;
}

/* binary16 in a float. Adding 1.5 * 2^52 units of its last place rounds to it. */
__attribute__((unused)) static float half_of(double x) {
  if (!(fabs(x) < 1e6)) return (float)x > 0 ? INFINITY : x < 0 ? -INFINITY : NAN;
  uint64_t exponent = BITS(double, uint64_t, x) >> 52 & 0x7ff, least = 1023 - 14;
  double unit = 1.5 * OF_BITS(double, uint64_t, ((exponent < least ? least : exponent) + 42) << 52);
  double rounded = (x + unit) - unit;
  return (float)copysign(fabs(rounded) > 65504 ? INFINITY : rounded, x);
}
__attribute__((unused)) static float half_of_bits(unsigned bits) {
  unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
  double x = exponent == 31 ? (fraction ? NAN : INFINITY)
                            : ldexp(exponent ? 1024 + fraction : fraction, (exponent ? (int)exponent : 1) - 25);
  return (float)(bits & 0x8000 ? -x : x);
}
__attribute__((unused)) static unsigned bits_of_half(float x) {
  if (x != x) return 0x7e00;
  unsigned sign = BITS(float, uint32_t, x) >> 16 & 0x8000;
  double a = fabs(x);
  if (a < 0x1p-14) return sign | (unsigned)(a * 0x1p24);
  return sign | (a > 65504 ? 0x7c00 : (unsigned)(BITS(double, uint64_t, a) >> 42) - ((1023 - 15) << 10));
}
/* Inputs of a binary16 in the order of their values. */
#define HALF_INPUT(u) half_of_bits((u) & 0x8000 ? (u) & 0x7fff : (uint16_t) ~(u))

/* Division with signs. By 0 the quotient is all ones for what is not negative, else 1, and the rest is the first
 * argument. */
#define DIVIDE(U, S, BITS)                                                                                             \
  __attribute__((unused)) static U quotient##BITS(S a, S b) {                                                          \
    U x = a < 0 ? -(U)a : (U)a, y = b < 0 ? -(U)b : (U)b, q = y ? x / y : ~(U)0;                                       \
    return (a < 0) != (b < 0) ? -q : q;                                                                                \
  }                                                                                                                    \
  __attribute__((unused)) static U rest##BITS(S a, S b) {                                                              \
    U x = a < 0 ? -(U)a : (U)a, y = b < 0 ? -(U)b : (U)b, r = y ? x % y : x;                                           \
    return a < 0 ? -r : r;                                                                                             \
  }                                                                                                                    \
  __attribute__((unused)) static U modulus##BITS(S a, S b) {                                                           \
    U r = rest##BITS(a, b);                                                                                            \
    return r && b && (a < 0) != (b < 0) ? r + (U)b : r;                                                                \
  }
DIVIDE(uint64_t, int64_t, 64)
DIVIDE(wide, signed_wide, 128)

