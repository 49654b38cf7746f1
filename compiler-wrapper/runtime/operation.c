/* Armed floating-point operations: the exceptions that an operation raises for finite operands, and the distances to
 * the others. Part of pen.c.
 *
 * Integer arithmetic on the bits of operands and result, so that the exception flags of the program do not change. */
#include "functions.h"

/* The largest distance: that of an operation with an operand that is NaN or infinite, which the operation only
 * propagates. */
#define NON_FINITE_OPERANDS (UINT64_C(1) << 63)

/* One execution of an operation. */
struct operation {
  uint32_t operation, what;
  uint64_t operand[3], result; /* of floats the bits, of integers the value */
  struct format in, out;       /* of operands and result */
  int integer_in; /* index of the operand that is an integer, -1 if none */
  int integer_out;
};

static const struct {
  uint8_t invalid, pole, integer; /* enum region; the index of the operand that is an integer, plus 1 */
} domains[PEN_OPERATIONS] = {
#define DOMAIN(operation, name, operands, possible, invalid, pole) \
  [operation] = {invalid, pole, operands[0] == 'I' ? 1 : operands[1] == 'I' ? 2 : 0},
    PEN_FUNCTIONS(DOMAIN)
#undef DOMAIN
    [PEN_SQRT] = {BELOW_ZERO, NOWHERE, 0},
    [PEN_FMOD] = {SECOND_IS_ZERO, NOWHERE, 0},
    [PEN_FROM_SIGNED] = {NOWHERE, NOWHERE, 1},
    [PEN_FROM_UNSIGNED] = {NOWHERE, NOWHERE, 1},
};

INLINE struct operation operation_of(uint32_t what, uint64_t a, uint64_t b, uint64_t c, uint64_t result) {
  struct operation op = {what & PEN_OPERATION_MASK, what, {a, b, c}, result};
  op.out = format_of(!!(what & PEN_SINGLE));
  op.in = format_of(what & PEN_SINGLE && op.operation != PEN_NARROW);
  op.integer_in = domains[op.operation].integer - 1;
  op.integer_out = op.operation == PEN_TO_SIGNED || op.operation == PEN_TO_UNSIGNED;
  return op;
}

static int operands_are_finite(const struct operation *op) {
  for (int i = 0; i < 3; i++) /* operands that the operation does not have are 0 */
    if (i != op->integer_in && !is_finite(op->in, op->operand[i])) return 0;
  return 1;
}

/* ---- the exact result -------------------------------------------------------------------------------------------- */

/* The exact value of an operand. */
static struct exact operand(const struct operation *op, int i) {
  if (i != op->integer_in) return exact_float_of(op->in, op->operand[i]);
  int negative = op->operation == PEN_FROM_SIGNED && (int64_t)op->operand[i] < 0;
  return exact_of(negative ? -op->operand[i] : op->operand[i], 0, negative);
}

/* Scaling by more than 2^(2^20) overflows or underflows for every operand; a larger exponent could overflow in a
 * sum. */
#define MAX_SHIFT (INT64_C(1) << 20)

/* The exact result of a sum or a product. For a quotient or a root, the first operand, to be compared with
 * `comparable_result`. */
static struct exact unrounded(const struct operation *op) {
  struct exact a = operand(op, 0), b;
  int64_t shift = (int64_t)op->operand[1]; /* of ldexp and the like */
  switch (op->operation) {
    case PEN_ADD: return exact_sum(a, operand(op, 1));
    case PEN_SUBTRACT:
      b = operand(op, 1);
      b.negative ^= 1;
      return exact_sum(a, b);
    case PEN_MULTIPLY: return exact_product(a, operand(op, 1));
    case PEN_FMA: return exact_sum(exact_product(a, operand(op, 1)), operand(op, 2));
    case PEN_LDEXP: case PEN_SCALBN: case PEN_SCALBLN:
      if (!a.significand) return a;
      a.exponent += shift > MAX_SHIFT ? MAX_SHIFT : shift < -MAX_SHIFT ? -MAX_SHIFT : shift;
      return a;
    default: return a;
  }
}

/* The rounded result in a form that can be compared with `unrounded`: a quotient times the divisor, a root squared. */
static struct exact comparable_result(const struct operation *op, struct exact result) {
  if (op->operation == PEN_DIVIDE) return exact_product(result, operand(op, 1));
  return op->operation == PEN_SQRT ? exact_product(result, result) : result;
}

/* Whether `unrounded` decides the exceptions of the operation. */
static int has_exact_result(const struct operation *op) {
  switch (op->operation) {
    case PEN_ADD: case PEN_SUBTRACT: case PEN_MULTIPLY: case PEN_DIVIDE: case PEN_FMA: case PEN_SQRT: case PEN_NARROW:
    case PEN_FROM_SIGNED: case PEN_FROM_UNSIGNED: case PEN_LDEXP: case PEN_SCALBN: case PEN_SCALBLN: return 1;
    default: return 0;
  }
}

/* Whether the result is inexact, for finite operands that are no pole. */
static int is_inexact(const struct operation *op) {
  if (!is_finite(op->out, op->result)) return magnitude_of(op->out, op->result) == op->out.infinity;
  return !is_equal(unrounded(op), comparable_result(op, exact_float_of(op->out, op->result)));
}

/* ---- overflow and underflow -------------------------------------------------------------------------------------- */

/* The distance of `a / 0` to an overflow. A divisor next to 0 overflows if the dividend is large enough. So the
 * distance is the number of floats from the dividend to the smallest one that overflows when divided by the smallest
 * float, plus 1 for the divisor. */
static uint64_t dividend_to_overflow(const struct operation *op) {
  if (op->operation != PEN_DIVIDE) return 1;
  uint64_t magnitude = magnitude_of(op->in, op->operand[0]);
  uint64_t least = (uint64_t)(op->in.bias + 1 - op->in.fraction + 1) << op->in.fraction; /* 2^(1024 - 1074), 2^(128 -
                                                                                            149) */
  return magnitude < least ? least - magnitude + 1 : 1;
}

static uint64_t to_pole(const struct operation *op);

/* Whether a finite result overflowed: in rounding modes towards 0 the result of an overflow is the largest number. */
static int exceeds_largest(const struct operation *op) {
  if (!has_exact_result(op)) return 0;
  struct exact limit = comparable_result(op, exact_of(1, op->out.bias + 1, 0));
  if (op->operation == PEN_SQRT) return 0;
  return !is_smaller(unrounded(op), limit);
}

static uint64_t to_overflow(const struct operation *op) {
  uint64_t magnitude = magnitude_of(op->out, op->result);
  if (magnitude > op->out.infinity) return NON_FINITE_OPERANDS - 1;
  if (magnitude == op->out.infinity) return to_pole(op) == 0 ? dividend_to_overflow(op) : 0;
  if (magnitude == op->out.infinity - 1 && exceeds_largest(op)) return 0;
  return op->out.infinity - magnitude;
}

/* Whether a result that is the least normal number was tiny (IEEE 754, Sect. 7.5): x86-64 detects tininess after
 * rounding with an unlimited exponent, other machines before rounding. Rounding is to nearest. */
static int was_tiny(const struct operation *op) {
  if (!has_exact_result(op)) return 0;
#if defined(__x86_64__)
  /* The limit is the middle between the least normal number and the one before it that has all bits of the fraction. */
  int bits = op->out.fraction + 2;
#else
  int bits = 0;
#endif
  struct exact limit = exact_of(((u128)1 << bits) - (bits != 0), 1 - op->out.bias - bits, 0);
  return is_smaller(unrounded(op), comparable_result(op, limit));
}

/* Whether the result is 0 because an operand is 0, which is no underflow. */
static int is_zero_of_zero(const struct operation *op) {
  int zero = magnitude_of(op->in, op->operand[0]) == 0;
  if (op->operation == PEN_MULTIPLY) return zero || magnitude_of(op->in, op->operand[1]) == 0;
  if (op->operation == PEN_FMA) return 0;
  int keeps_zero = op->operation == PEN_DIVIDE || op->operation == PEN_POW || op->operation == PEN_NARROW;
  return zero && (keeps_zero || op->integer_in == 1);
}

static int is_integer(struct format f, uint64_t bits) { return exact_float_of(f, bits).exponent >= 0; }

/* Whether a power is exact: powers of 2, and powers with a whole exponent that fit. Roots of squares count as
 * inexact. */
static int is_exact_power(const struct operation *op) {
  struct exact x = exact_float_of(op->in, op->operand[0]), y = exact_float_of(op->in, op->operand[1]);
  struct exact r = exact_float_of(op->out, op->result);
  if (!r.significand) return 0;
  if (x.significand == 1) return !x.exponent || y.exponent + __builtin_ctzll((uint64_t)x.exponent) >= 0;
  if (y.negative || y.exponent < 0 || y.exponent > 5 || y.significand > 33) return 0;
  u128 power = 1;
  for (uint64_t n = (uint64_t)y.significand << y.exponent; n && power <= r.significand; n--) power *= x.significand;
  return power == r.significand;
}

/* Whether a result below the least normal number is inexact. */
static int is_tiny_and_inexact(const struct operation *op) {
  if (has_exact_result(op)) return is_inexact(op);
  if (op->operation == PEN_NEXTAFTER) return position_of(op->in, op->operand[0]) != position_of(op->in, op->operand[1]);
  return op->operation != PEN_POW || !is_exact_power(op);
}

/* The distance of a sum or difference to a subnormal result. Floats are multiples of the least subnormal number, so
 * such a result is exact, and IEEE 754 raises no flag. */
static uint64_t to_subnormal(const struct operation *op, uint64_t magnitude) {
  if (!magnitude) return 1;
  return magnitude < op->out.least_normal ? 0 : magnitude - op->out.least_normal + 1;
}

static uint64_t to_underflow(const struct operation *op) {
  uint64_t magnitude = magnitude_of(op->out, op->result), least = op->out.least_normal;
  if (magnitude > op->out.infinity) return NON_FINITE_OPERANDS - 1;
  if (op->operation == PEN_ADD || op->operation == PEN_SUBTRACT) return to_subnormal(op, magnitude);
  if (magnitude > least) return magnitude - least + 1;
  if (magnitude == least) return was_tiny(op) ? 0 : 1;
  if (is_zero_of_zero(op)) return least;
  return is_tiny_and_inexact(op) ? 0 : 2;
}

/* ---- domains and poles ------------------------------------------------------------------------------------------- */

/* The distance to the first float below `bound`. */
static uint64_t below(int64_t position, int64_t bound) {
  return position < bound ? 0 : ulps_between(position, bound) + 1;
}

/* The distance to the nearest integer up to `last`, which is 0 or -1. */
static uint64_t to_integers(struct format f, uint64_t bits, int last) {
  int64_t position = position_of(f, bits), minus_one = -((int64_t)f.bias << f.fraction);
  if (position >= 0) return ulps_between(position, last == 0 ? 0 : minus_one);
  uint64_t to_minus_one = ulps_between(position, minus_one);
  if (position > minus_one) return last == 0 ? smaller(ulps_between(position, 0), to_minus_one) : to_minus_one;
  int scale = f.fraction - (int)((magnitude_of(f, bits) >> f.fraction) - (uint64_t)f.bias); /* bits below the units
                                                                                               digit */
  if (scale <= 0) return 0;
  uint64_t step = UINT64_C(1) << scale, rest = bits & (step - 1); /* from one integer to the next */
  return smaller(rest, step - rest);
}

/* The distance of a power to a negative base with an exponent that is no integer. */
static uint64_t to_root_of_negative(const struct operation *op) {
  uint64_t to_negative = below(position_of(op->in, op->operand[0]), 0), y = magnitude_of(op->in, op->operand[1]);
  if (!is_integer(op->in, op->operand[1])) return to_negative;
  /* 2^52, 2^23: from here on all floats are integers. */
  uint64_t fractions_end = (uint64_t)(op->in.bias + op->in.fraction) << op->in.fraction;
  return add_sat(to_negative, y < fractions_end ? 1 : y - fractions_end + 1);
}

/* The distance of the operands to a region. */
static uint64_t distance_to(const struct operation *op, enum region region) {
  struct format f = op->in;
  uint64_t x = op->operand[op->integer_in == 0];
  int64_t position = position_of(f, x), one = (int64_t)f.bias << f.fraction;
  switch (region) {
    case BELOW_ZERO: return below(position, 0);
    case BELOW_MINUS_ONE: return below(position, -one);
    case BELOW_ONE: return below(position, one);
    case BEYOND_ONE: return below(-(int64_t)magnitude_of(f, x), -one);
    case SECOND_IS_ZERO: return magnitude_of(f, op->operand[1]);
    case ROOT_OF_NEGATIVE: return to_root_of_negative(op);
    case AT_NEGATIVE_INTEGERS: return to_integers(f, x, -1);
    case AT_ZERO: return ulps_between(position, 0);
    case AT_MINUS_ONE: return ulps_between(position, -one);
    case AT_PLUS_MINUS_ONE: return ulps_between((int64_t)magnitude_of(f, x), one);
    case POWER_OF_ZERO: return add_sat(ulps_between(position, 0), below(position_of(f, op->operand[1]), 0));
    case AT_INTEGERS_TO_ZERO: return to_integers(f, x, 0);
    default: return NON_FINITE_OPERANDS - 1;
  }
}

static uint64_t to_pole(const struct operation *op) {
  if (op->operation != PEN_DIVIDE) return distance_to(op, domains[op->operation].pole);
  return magnitude_of(op->in, op->operand[1]) + !magnitude_of(op->in, op->operand[0]);
}

/* The bits of 2^n. */
static int64_t power_of_two(struct format f, int n) { return (int64_t)(f.bias + n) << f.fraction; }

/* The distance of a conversion to the nearest float whose integer part is outside the range of the integer type. NaN
 * and infinity are outside, too. */
static uint64_t to_out_of_range(const struct operation *op) {
  if (!is_finite(op->in, op->operand[0])) return 0;
  int bits = (int)(op->what >> PEN_INTEGER_SHIFT & PEN_INTEGER_MASK), is_signed = op->operation == PEN_TO_SIGNED;
  int64_t position = position_of(op->in, op->operand[0]), above = power_of_two(op->in, bits - is_signed);
  int finer = op->in.fraction - (bits - 1); /* -2^(bits - 1) - 1 if that is a float, else the next float below it */
  int64_t under = is_signed ? -above - (finer > 0 ? INT64_C(1) << finer : 1) : -power_of_two(op->in, 0);
  if (position >= above || position <= under) return 0;
  return smaller(ulps_between(position, above), ulps_between(position, under));
}

static uint64_t to_invalid(const struct operation *op) {
  if (op->operation == PEN_DIVIDE)
    return add_sat(magnitude_of(op->in, op->operand[0]), magnitude_of(op->in, op->operand[1]));
  return distance_to(op, domains[op->operation].invalid);
}

/* ---- the site ---------------------------------------------------------------------------------------------------- */

/* The distance to an exception, 0 if and only if the operation raises it. */
static uint64_t distance_of(const struct operation *op, int exception) {
  if (op->integer_out) return exception == PEN_INVALID ? to_out_of_range(op) : NON_FINITE_OPERANDS;
  if (!operands_are_finite(op)) return NON_FINITE_OPERANDS;
  switch (exception) {
    case PEN_OVERFLOW: return to_overflow(op);
    case PEN_UNDERFLOW: return to_underflow(op);
    case PEN_DIVIDE_BY_ZERO: return to_pole(op);
    case PEN_INVALID: return to_invalid(op);
    default: return has_exact_result(op) && to_pole(op) && is_inexact(op) ? 0 : 1;
  }
}

/* An operand as the fuzzer reads it: floats as bits of doubles. */
static uint64_t reported_operand(const struct operation *op, int i) {
  return i == op->integer_in ? op->operand[i] : widened(op->in, op->operand[i]);
}

static uint64_t reported_result(const struct operation *op) {
  return op->integer_out ? op->result : widened(op->out, op->result);
}

/* Operands and result of an operation on doubles are what the fuzzer reads. */
static void trace(const uint8_t *actions, uint32_t what, uint64_t a, uint64_t b, uint64_t c, uint64_t result) {
  struct pen_traced entry = {.actions = actions, .operands = {a, b, c}, .result = result, .what = what};
  if (what & PEN_SINGLE) {
    struct operation op = operation_of(what, a, b, c, result);
    for (int i = 0; i < 3; i++) entry.operands[i] = reported_operand(&op, i);
    entry.result = reported_result(&op);
  }
  write_trace(&entry);
}

static void watch(uint32_t branch, const struct operation *op) {
  if (branch != __pen_state.watch || __pen_state.n_seen++) return;
  for (int i = 0; i < 3; i++) __pen_state.seen[i] = reported_operand(op, i);
  __pen_state.seen[3] = reported_result(op);
}

/* Whether an exception has an action other than recording the operation. */
static int has_goal(const uint8_t *actions) {
  uint8_t all = 0;
  for (int exception = 0; exception < PEN_EXCEPTIONS; exception++) all |= actions[exception];
  return all & (PEN_RECORD | PEN_WANT | PEN_TRACK | PEN_LEAD);
}

SLOW void on_operation(const uint8_t *actions, uint32_t what, uint64_t a, uint64_t b, uint64_t c, uint64_t result) {
  if (__pen_state.trace) trace(actions, what, a, b, c, result);
  if (!has_goal(actions)) return;
  struct operation op = operation_of(what, a, b, c, result);
  for (int exception = 0; exception < PEN_EXCEPTIONS; exception++) {
    uint8_t action = what >> (PEN_POSSIBLE_SHIFT + exception) & 1 ? actions[exception] : 0;
    if (!(action & (PEN_RECORD | PEN_WANT | PEN_TRACK | PEN_LEAD))) continue;
    uint64_t d = distance_of(&op, exception);
    if (d) {
      branch_missed(actions + exception, distance_in_metric(d));
    } else {
      watch(branch_of(actions + exception), &op);
      branch_taken(actions + exception);
    }
  }
}

/* An exception that is not raised, at the distance d > 0, in the exact metric. */
INLINE void exception_missed(const uint8_t *action, uint64_t d) {
  uint32_t branch = branch_of(action);
  if (*action & PEN_WANT) set_r(*action, d, branch);
  if (*action & PEN_TRACK && __pen_state.best && d < __pen_state.best[branch]) improve(action, d);
  if ((*action & (PEN_LEAD | PEN_STEP)) == PEN_LEAD) approach(action, d);
}

/* Called after an operation. `what` is the word of enum pen_operation_flag. Operands and result are the bits of floats,
 * or integers extended to 64 bits; operands that the operation does not have are 0.
 *
 * The frequent cases are decided here: a sum, product or quotient that is a normal number, so it raises nothing but
 * inexact; and an operation whose operands are not finite, as all have in a long loop after the first such operation.
 */
KEEPS_REGISTERS void __pen_on_operation(const uint8_t *actions, uint32_t what, uint64_t a, uint64_t b, uint64_t c,
                                        uint64_t result) {
  uint32_t operation = what & PEN_OPERATION_MASK;
  struct format f = format_of(!!(what & PEN_SINGLE));
  uint64_t magnitude = magnitude_of(f, result);
  int binary = operation >= PEN_ADD && operation <= PEN_DIVIDE;
  int finite = is_finite(f, a) && is_finite(f, b);
  uint8_t quotient = operation == PEN_DIVIDE ? 0 : actions[PEN_DIVIDE_BY_ZERO] | actions[PEN_INVALID];
  uint8_t lead = (actions[0] | actions[1] | actions[2] | actions[3]) & PEN_LEAD;
  int normal = magnitude - f.least_normal - 1 < f.infinity - f.least_normal - 2;
  if (!binary || (finite && !normal) || __pen_state.trace || __pen_state.metric == PEN_SQUARED || lead ||
      (quotient | actions[PEN_INEXACT]) & ~PEN_NEAR) {
    on_operation(actions, what, a, b, c, result);
    return;
  }
  if (!finite) {
    for (int exception = 0; exception < PEN_INEXACT; exception++)
      exception_missed(actions + exception, NON_FINITE_OPERANDS);
    return;
  }
  exception_missed(actions + PEN_OVERFLOW, f.infinity - magnitude);
  exception_missed(actions + PEN_UNDERFLOW, magnitude - f.least_normal + 1);
  if (operation != PEN_DIVIDE) return;
  exception_missed(actions + PEN_DIVIDE_BY_ZERO, magnitude_of(f, b));
  exception_missed(actions + PEN_INVALID, magnitude_of(f, a) + magnitude_of(f, b));
}
