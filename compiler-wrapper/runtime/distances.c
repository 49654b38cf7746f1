/* Branch distances of integers, of floats, of classes of floats, and of conditions with several comparisons. Part of
 * pen.c.
 *
 * In the exact metric (PEN_ULP) all computations are integer arithmetic, so that no floating-point exception is raised.
 * The metric PEN_SQUARED is CoverMe's (Def. 4.1); its distances are doubles >= 0, stored as their bits, which have the
 * order of the doubles. */

HIDDEN struct pen_pair __pen_pair;

/* The largest distance. UINT64_MAX means that the site was not reached. */
#define MAX_DISTANCE (UINT64_MAX - 1)

static uint64_t add_sat(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) || sum > MAX_DISTANCE ? MAX_DISTANCE : sum;
}

static double as_double(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint64_t as_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* A squared distance as bits. NaN and infinity become the largest double. */
static uint64_t squared_bits(double d) {
  return d <= 0x1.fffffffffffffp1023 ? as_bits(d) : as_bits(0x1.fffffffffffffp1023);
}

/* The sum of two distances in the current metric. */
static uint64_t sum(uint64_t a, uint64_t b) {
  if (__pen_state.metric == PEN_SQUARED) return squared_bits(as_double(a) + as_double(b));
  return add_sat(a, b);
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The smallest distance of a branch that is not taken; in the metric PEN_SQUARED the epsilon of CoverMe, Def. 4.1, or
 * the smallest double if that is 0. */
static uint64_t least_distance(void) {
  if (__pen_state.metric != PEN_SQUARED) return 1;
  return __pen_state.epsilon > 0 ? as_bits(__pen_state.epsilon) : 1;
}

static struct pen_pair swapped(struct pen_pair p) { return (struct pen_pair){p.to_false, p.to_true}; }

/* The other relations are negations of these three, or these with their operands exchanged. */
enum relation { EQUAL, LESS, LESS_EQUAL };

/* The pair of `a REL b`, given whether a == b, whether a < b, and the distance between a and b. */
static struct pen_pair from_gap(enum relation rel, int equal, int less, uint64_t gap) {
  struct pen_pair p = {0, 0};
  switch (rel) {
    case EQUAL:
      if (equal) p.to_false = least_distance();
      else p.to_true = gap;
      break;
    case LESS:
      if (less) p.to_false = gap;
      else p.to_true = sum(gap, least_distance());
      break;
    case LESS_EQUAL:
      if (less || equal) p.to_false = sum(gap, least_distance());
      else p.to_true = gap;
      break;
  }
  return p;
}

/* Def. 4.1: (a - b)^2. */
static uint64_t squared(double a, double b) {
  double gap = a - b;
  return squared_bits(gap * gap);
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

/* The pair of `a REL b` for integers of up to 64 bits, extended to 64. */
static struct pen_pair integers(enum relation rel, uint64_t a, uint64_t b, int is_signed) {
  int less = is_signed ? (int64_t)a < (int64_t)b : a < b;
  uint64_t gap = smaller(less ? b - a : a - b, MAX_DISTANCE);
  if (__pen_state.metric == PEN_SQUARED)
    gap = is_signed ? squared((double)(int64_t)a, (double)(int64_t)b) : squared((double)a, (double)b);
  if (a != b && gap == 0) gap = least_distance(); /* different integers, equal as doubles */
  return from_gap(rel, a == b, less, gap);
}

/* The operands are extended to 64 bits by the signedness of the predicate. */
static struct pen_pair icmp(uint32_t predicate, uint64_t a, uint64_t b) {
  switch (predicate) {
    case PEN_ICMP_EQ: return integers(EQUAL, a, b, 1);
    case PEN_ICMP_NE: return swapped(integers(EQUAL, a, b, 1));
    case PEN_ICMP_UGT: return integers(LESS, b, a, 0);
    case PEN_ICMP_UGE: return integers(LESS_EQUAL, b, a, 0);
    case PEN_ICMP_ULT: return integers(LESS, a, b, 0);
    case PEN_ICMP_ULE: return integers(LESS_EQUAL, a, b, 0);
    case PEN_ICMP_SGT: return integers(LESS, b, a, 1);
    case PEN_ICMP_SGE: return integers(LESS_EQUAL, b, a, 1);
    case PEN_ICMP_SLT: return integers(LESS, a, b, 1);
    default: return integers(LESS_EQUAL, a, b, 1);
  }
}

/* ---- floats ------------------------------------------------------------------------------------------------------ */

/* A float as a point on the ULP line of its format, where neighbouring floats are 1 apart. Both zeros are at 0, and
 * each NaN is beyond the infinity of its sign. */
struct ulp_point {
  int64_t position;
  int64_t infinity; /* the position of +infinity */
  double value;     /* for PEN_SQUARED */
};

static struct ulp_point point_of_double(double x) {
  uint64_t bits = as_bits(x);
  int64_t magnitude = (int64_t)(bits & INT64_MAX);
  return (struct ulp_point){bits >> 63 ? -magnitude : magnitude, 0x7ff0000000000000, x};
}

static struct ulp_point point_of_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  int64_t magnitude = bits & INT32_MAX;
  return (struct ulp_point){bits >> 31 ? -magnitude : magnitude, 0x7f800000, x};
}

/* The point of a float of 80 or 128 bits, from its upper 64 bits: the sign, 15 bits of exponent, then the fraction. In
 * the format of 80 bits the leading one of the significand comes before the fraction. Integer arithmetic only, so that
 * no exception is raised. */
static struct ulp_point point_of_wide(uint64_t upper, uint32_t bits) {
  int64_t magnitude = (int64_t)(upper & INT64_MAX);
  struct ulp_point p = {upper >> 63 ? -magnitude : magnitude, bits == 80 ? 0x7fff800000000000 : 0x7fff000000000000, 0};
  int64_t exponent = (magnitude >> 48) - 16383 + 1023;
  uint64_t fraction = (uint64_t)magnitude << (bits == 80 ? 17 : 16) >> 12;
  uint64_t rounded = exponent <= 0 ? 0 : exponent >= 2047 ? 0x7ff0000000000000 : (uint64_t)exponent << 52 | fraction;
  p.value = as_double((upper & INT64_MIN) | rounded);
  return p;
}

/* The number of floats between two positions. */
INLINE uint64_t ulps_between(int64_t a, int64_t b) {
  return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

/* The number of floats from the infinity to this NaN; 0 for a number. */
static uint64_t beyond_infinity(struct ulp_point p) {
  int64_t magnitude = p.position < 0 ? -p.position : p.position;
  return magnitude > p.infinity ? (uint64_t)(magnitude - p.infinity) : 0;
}

/* The position; for NaN that of the infinity of its sign. */
static int64_t clamped(struct ulp_point p) {
  if (p.position > p.infinity) return p.infinity;
  return p.position < -p.infinity ? -p.infinity : p.position;
}

/* The distance of a comparison whose operands are `beyond` floats beyond infinity, to operands that are numbers. */
static uint64_t nan_distance(uint64_t beyond) {
  if (!beyond) return 0;
  return __pen_state.metric == PEN_SQUARED ? as_bits(0x1.fffffffffffffp1023) : beyond;
}

/* The pair of an ordered `a REL b`. If an operand is NaN the relation is false, and the distance to true is that to
 * numbers plus that of the clamped operands. */
static struct pen_pair ordered(enum relation rel, struct ulp_point a, struct ulp_point b) {
  uint64_t beyond = add_sat(beyond_infinity(a), beyond_infinity(b));
  int64_t position_a = clamped(a), position_b = clamped(b);
  uint64_t gap = ulps_between(position_a, position_b);
  if (!beyond) {
    if (__pen_state.metric == PEN_SQUARED && gap) {
      gap = squared(a.value, b.value);
      if (!gap) gap = 1; /* the square underflowed: the smallest double instead */
    }
    return from_gap(rel, position_a == position_b, position_a < position_b, gap);
  }
  struct pen_pair p = {sum(nan_distance(beyond), __pen_state.metric == PEN_SQUARED ? 0 : gap), 0};
  return p;
}

/* The pair of "neither operand is NaN". */
static struct pen_pair is_ordered(struct ulp_point a, struct ulp_point b) {
  struct pen_pair p = {0, 0};
  uint64_t beyond = add_sat(beyond_infinity(a), beyond_infinity(b));
  if (beyond) {
    p.to_true = nan_distance(beyond);
    return p;
  }
  int64_t magnitude_a = a.position < 0 ? -a.position : a.position,
          magnitude_b = b.position < 0 ? -b.position : b.position;
  int64_t largest = magnitude_a > magnitude_b ? magnitude_a : magnitude_b;
  p.to_false = nan_distance((uint64_t)(a.infinity + 1 - largest));
  return p;
}

/* The pair of a comparison of floats of one format. */
static struct pen_pair floats(uint32_t predicate, struct ulp_point a, struct ulp_point b) {
  switch (predicate) {
    case PEN_FCMP_OEQ: return ordered(EQUAL, a, b);
    case PEN_FCMP_OGT: return ordered(LESS, b, a);
    case PEN_FCMP_OGE: return ordered(LESS_EQUAL, b, a);
    case PEN_FCMP_OLT: return ordered(LESS, a, b);
    case PEN_FCMP_OLE: return ordered(LESS_EQUAL, a, b);
    case PEN_FCMP_ORD: return is_ordered(a, b);
    case PEN_FCMP_UNO: return swapped(is_ordered(a, b));
    case PEN_FCMP_UGT: return swapped(ordered(LESS_EQUAL, a, b));
    case PEN_FCMP_UGE: return swapped(ordered(LESS, a, b));
    case PEN_FCMP_ULT: return swapped(ordered(LESS_EQUAL, b, a));
    case PEN_FCMP_ULE: return swapped(ordered(LESS, b, a));
    case PEN_FCMP_UNE: return swapped(ordered(EQUAL, a, b));
    default: break;
  }
  /* PEN_FCMP_ONE is "different numbers", PEN_FCMP_UEQ is its negation. */
  struct pen_pair differ = swapped(ordered(EQUAL, a, b));
  uint64_t beyond = add_sat(beyond_infinity(a), beyond_infinity(b));
  if (beyond) differ = (struct pen_pair){nan_distance(beyond), 0};
  return predicate == PEN_FCMP_ONE ? differ : swapped(differ);
}

static struct pen_pair fcmp64(uint32_t predicate, double a, double b) {
  return floats(predicate, point_of_double(a), point_of_double(b));
}

static struct pen_pair fcmp32(uint32_t predicate, float a, float b) {
  return floats(predicate, point_of_float(a), point_of_float(b));
}

/* The assumptions of the code below about the numbers of the predicates. */
_Static_assert(PEN_ICMP_EQ < PEN_ICMP_NE && PEN_ICMP_NE < PEN_ICMP_UGT, "equality comes before the orders");
_Static_assert(PEN_ICMP_UGT == (PEN_ICMP_UGT & ~PEN_ICMP_ORDER) + (PEN_ICMP_SGT & PEN_ICMP_ORDER) &&
                   PEN_ICMP_UGE == PEN_ICMP_UGT + 1 && PEN_ICMP_ULT == PEN_ICMP_UGT + 2 &&
                   PEN_ICMP_ULE == PEN_ICMP_UGT + 3 && PEN_ICMP_SGE == PEN_ICMP_SGT + 1 &&
                   PEN_ICMP_SLT == PEN_ICMP_SGT + 2 && PEN_ICMP_SLE == PEN_ICMP_SGT + 3,
               "signed and unsigned orders have the same lowest bits");
_Static_assert(!(PEN_ICMP_UGT & PEN_ICMP_OR_EQUAL) && !(PEN_ICMP_ULT & PEN_ICMP_OR_EQUAL),
               "> and < have that bit clear");
#define IS_CASES(predicate, cases) _Static_assert((predicate) == (cases), "the sum of the cases in which it holds")
IS_CASES(PEN_FCMP_OGE, PEN_FCMP_GREATER | PEN_FCMP_EQUAL);
IS_CASES(PEN_FCMP_OLE, PEN_FCMP_LESS | PEN_FCMP_EQUAL);
IS_CASES(PEN_FCMP_ONE, PEN_FCMP_LESS | PEN_FCMP_GREATER);
IS_CASES(PEN_FCMP_UGE, PEN_FCMP_UNORDERED | PEN_FCMP_GREATER | PEN_FCMP_EQUAL);
IS_CASES(PEN_FCMP_ULT, PEN_FCMP_UNORDERED | PEN_FCMP_LESS);
IS_CASES(PEN_FCMP_ULE, PEN_FCMP_UNORDERED | PEN_FCMP_LESS | PEN_FCMP_EQUAL);
IS_CASES(PEN_FCMP_UGT, PEN_FCMP_UNORDERED | PEN_FCMP_GREATER);

/* Equality and inequality have no signedness; their operands are compared as signed integers. A macro: with an inline
 * function clang 22 generates other code for the hot entries. */
#define IS_UNSIGNED(predicate) ((predicate) >= PEN_ICMP_UGT && (predicate) <= PEN_ICMP_ULE)

/* The distance of a comparison with the truth value `holds` to the other truth value; in the exact metric only. It
 * equals that of `icmp`, and needs neither calls nor floating-point registers. */
INLINE uint64_t exact_icmp(uint32_t predicate, uint64_t a, uint64_t b, int holds) {
  int less = IS_UNSIGNED(predicate) ? a < b : (int64_t)a < (int64_t)b;
  uint64_t gap = smaller(less ? b - a : a - b, MAX_DISTANCE);
  /* Equality is not sufficient for >= and <= that hold, and for < and > that do not. */
  gap += predicate > PEN_ICMP_NE && (predicate & PEN_ICMP_OR_EQUAL) == holds;
  return smaller(gap + (gap == 0), MAX_DISTANCE);
}

/* The truth value of a comparison of integers. */
INLINE int holds(uint32_t predicate, uint64_t a, uint64_t b) {
  if (predicate <= PEN_ICMP_NE) return (a == b) == (predicate == PEN_ICMP_EQ);
  int less = predicate >= PEN_ICMP_SGT ? (int64_t)a < (int64_t)b : a < b;
  switch (predicate & PEN_ICMP_ORDER) {
    case PEN_ICMP_SGT & PEN_ICMP_ORDER: return !less && a != b;
    case PEN_ICMP_SGE & PEN_ICMP_ORDER: return !less;
    case PEN_ICMP_SLT & PEN_ICMP_ORDER: return less;
    default: return less || a == b;
  }
}

SLOW void squared_icmp(struct pen_pair *result, uint32_t predicate, uint64_t a, uint64_t b) {
  *result = icmp(predicate, a, b);
}

KEEPS_REGISTERS void __pen_icmp(struct pen_pair *result, uint32_t predicate, uint64_t a, uint64_t b) {
  if (__pen_state.metric == PEN_SQUARED) {
    squared_icmp(result, predicate, a, b);
    return;
  }
  int truth = holds(predicate, a, b);
  uint64_t d = exact_icmp(predicate, a, b, truth);
  result->to_true = truth ? 0 : d;
  result->to_false = truth ? d : 0;
}

KEEPS_REGISTERS void __pen_fcmp64(struct pen_pair *result, uint32_t predicate, double a, double b) {
  *result = fcmp64(predicate, a, b);
}

KEEPS_REGISTERS void __pen_fcmp32(struct pen_pair *result, uint32_t predicate, float a, float b) {
  *result = fcmp32(predicate, a, b);
}

KEEPS_REGISTERS void __pen_fcmp_wide(struct pen_pair *result, uint32_t predicate, uint64_t a, uint64_t b,
                                     uint32_t bits) {
  *result = floats(predicate, point_of_wide(a, bits), point_of_wide(b, bits));
}

/* ---- classes of floats ------------------------------------------------------------------------------------------- */

/* The classes by rising magnitude: {positive, negative}. */
static const uint32_t classes[6][2] = {
    {PEN_POSITIVE_ZERO, PEN_NEGATIVE_ZERO},         {PEN_POSITIVE_SUBNORMAL, PEN_NEGATIVE_SUBNORMAL},
    {PEN_POSITIVE_NORMAL, PEN_NEGATIVE_NORMAL},     {PEN_POSITIVE_INFINITY, PEN_NEGATIVE_INFINITY},
    {PEN_SIGNALING_NAN, PEN_SIGNALING_NAN},         {PEN_QUIET_NAN, PEN_QUIET_NAN},
};

/* The number of floats from the one with these bits to the nearest one of a class in `mask`; 0 if its own class is in
 * `mask`. The two zeros are different floats here. */
static uint64_t to_classes(uint64_t bits, uint32_t width, uint32_t mask) {
  uint32_t fraction = width == 64 ? 52 : 23;
  uint64_t sign = 1ull << (width - 1), infinity = (sign - 1) >> fraction << fraction,
           quiet = infinity | 1ull << (fraction - 1);
  uint64_t from[7] = {0, 1, 1ull << fraction, infinity, infinity + 1, quiet, sign};
  uint64_t magnitude = bits & (sign - 1), best = MAX_DISTANCE;
  for (int other = 0; other < 2; other++)
    for (int i = 0; i < 6; i++) {
      if (!(mask & classes[i][!!(bits & sign) ^ other])) continue;
      uint64_t low = from[i], high = from[i + 1] - 1;
      uint64_t d = other              ? magnitude + 1 + low
                   : magnitude < low  ? low - magnitude
                   : magnitude > high ? magnitude - high
                                      : 0;
      best = smaller(best, d);
    }
  return best;
}

KEEPS_REGISTERS void __pen_fpclass(struct pen_pair *result, uint64_t bits, uint32_t width, uint32_t mask) {
  uint64_t in = to_classes(bits, width, mask), out = to_classes(bits, width, ~mask);
  if (__pen_state.metric == PEN_SQUARED) { /* there is no number to take the difference with */
    in = in ? least_distance() : 0;
    out = out ? least_distance() : 0;
  }
  *result = (struct pen_pair){in, out};
}

/* ---- conditions of several comparisons --------------------------------------------------------------------------- */

SLOW void squared_sum(uint64_t *result, uint64_t a, uint64_t b) { *result = sum(a, b); }

INLINE void store_sum(uint64_t *result, uint64_t a, uint64_t b) {
  if (__pen_state.metric == PEN_SQUARED) squared_sum(result, a, b);
  else *result = add_sat(a, b);
}

KEEPS_REGISTERS void __pen_and(struct pen_pair *result, uint64_t at, uint64_t af, uint64_t bt, uint64_t bf) {
  result->to_false = at || bt ? 0 : smaller(af, bf);
  store_sum(&result->to_true, at, bt);
}

KEEPS_REGISTERS void __pen_or(struct pen_pair *result, uint64_t at, uint64_t af, uint64_t bt, uint64_t bf) {
  result->to_true = af || bf ? 0 : smaller(at, bt);
  store_sum(&result->to_false, af, bf);
}

/* A condition that is no comparison; `truth` has the bits of enum pen_opaque_flag. If the path to it decided its value,
 * the comparisons on other paths have distances, and these must count as closer. */
KEEPS_REGISTERS void __pen_opaque(struct pen_pair *result, uint32_t truth) {
  uint64_t away = truth & PEN_OPAQUE_DECIDED && __pen_state.metric != PEN_SQUARED ? MAX_DISTANCE : least_distance();
  *result = (struct pen_pair){truth & PEN_OPAQUE_TRUE ? 0 : away, truth & PEN_OPAQUE_TRUE ? away : 0};
}
