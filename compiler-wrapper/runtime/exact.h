/* Finite floats as integers times powers of two: the exact result of an operation, to compare with the rounded one.
 * Part of pen.c.
 *
 * Integer arithmetic only, so that the exception flags of the program do not change. */

typedef unsigned __int128 u128;

/* The format float or double. */
struct format {
  uint64_t sign;         /* its bit */
  uint64_t infinity;     /* bits */
  uint64_t least_normal; /* bits */
  int fraction;          /* bits of the significand without the leading one */
  int bias;              /* of the exponent */
};

INLINE struct format format_of(int single) {
  return single ? (struct format){UINT64_C(1) << 31, 0x7f800000, UINT64_C(1) << 23, 23, 127}
                : (struct format){UINT64_C(1) << 63, 0x7ff0000000000000, UINT64_C(1) << 52, 52, 1023};
}

/* The bits without the sign: the number of floats between 0 and the float. */
INLINE uint64_t magnitude_of(struct format f, uint64_t bits) { return bits & (f.sign - 1); }
INLINE int is_negative(struct format f, uint64_t bits) { return !!(bits & f.sign); }
INLINE int is_finite(struct format f, uint64_t bits) { return magnitude_of(f, bits) < f.infinity; }

/* The position on the ULP line; both zeros are at 0. */
INLINE int64_t position_of(struct format f, uint64_t bits) {
  int64_t magnitude = (int64_t)magnitude_of(f, bits);
  return is_negative(f, bits) ? -magnitude : magnitude;
}

/* The value significand * 2^exponent; the significand is odd, or 0. */
struct exact {
  u128 significand;
  int64_t exponent;
  int negative;
  int too_wide; /* the number has more bits than fit, so it is no float; the last bit represents all missing bits */
};

/* The number of bits up to the highest bit set. */
INLINE int bits_of(u128 v) {
  uint64_t high = (uint64_t)(v >> 64), low = (uint64_t)v;
  return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

INLINE struct exact exact_of(u128 significand, int64_t exponent, int negative) {
  if (!significand) return (struct exact){0, 0, negative, 0};
  uint64_t low = (uint64_t)significand;
  int zeros = low ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(significand >> 64));
  return (struct exact){significand >> zeros, exponent + zeros, negative, 0};
}

/* Converts a finite float. */
INLINE struct exact exact_float_of(struct format f, uint64_t bits) {
  uint64_t magnitude = magnitude_of(f, bits), significand = magnitude & (f.least_normal - 1);
  int64_t exponent = (int64_t)(magnitude >> f.fraction);
  if (exponent) significand |= f.least_normal;
  else exponent = 1;
  return exact_of(significand, exponent - f.bias - f.fraction, is_negative(f, bits));
}

INLINE struct exact exact_product(struct exact a, struct exact b) {
  return exact_of(a.significand * b.significand, a.exponent + b.exponent, a.negative ^ b.negative);
}

INLINE struct exact exact_sum(struct exact a, struct exact b) {
  if (!a.significand) return b;
  if (!b.significand) return a;
  if (a.exponent < b.exponent) {
    struct exact swapped = a;
    a = b;
    b = swapped;
  }
  int64_t shift = a.exponent - b.exponent, missing = shift + bits_of(a.significand) - 126;
  if (missing > 0) { /* the sum has more bits than any float */
    shift -= missing;
    b.significand = (missing < 128 ? b.significand >> missing : 0) | 1;
    b.exponent += missing;
  }
  u128 x = a.significand << shift, y = b.significand;
  int negative = x >= y ? a.negative : b.negative;
  u128 magnitude = a.negative == b.negative ? x + y : x >= y ? x - y : y - x;
  struct exact sum = exact_of(magnitude, b.exponent, negative);
  sum.too_wide = missing > 0;
  return sum;
}

INLINE int is_equal(struct exact a, struct exact b) {
  if (a.too_wide || b.too_wide || a.significand != b.significand) return 0;
  return !a.significand || (a.exponent == b.exponent && a.negative == b.negative);
}

/* |a| < |b| */
INLINE int is_smaller(struct exact a, struct exact b) {
  int bits_a = bits_of(a.significand), bits_b = bits_of(b.significand);
  if (!bits_a || !bits_b) return !bits_a && bits_b;
  int64_t top_a = a.exponent + bits_a, top_b = b.exponent + bits_b;
  if (top_a != top_b) return top_a < top_b;
  return a.significand << (128 - bits_a) < b.significand << (128 - bits_b);
}

/* The bits of the same number as a double. A NaN stays NaN. */
static uint64_t widened(struct format f, uint64_t bits) {
  if (f.fraction == 52) return bits;
  uint64_t magnitude = magnitude_of(f, bits), sign = (uint64_t)is_negative(f, bits) << 63;
  if (magnitude == 0) return sign;
  if (magnitude >= f.infinity) return sign | 0x7ff0000000000000 | (magnitude - f.infinity) << 29;
  /* A subnormal float is a normal double. */
  int shift = magnitude < f.least_normal ? __builtin_clzll(magnitude) - 40 : 0;
  uint64_t exponent = (magnitude < f.least_normal ? 1 - (uint64_t)shift : magnitude >> 23) + 1023 - 127;
  return sign | exponent << 52 | (magnitude << shift & 0x7fffff) << 29;
}
