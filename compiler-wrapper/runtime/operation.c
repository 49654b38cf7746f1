/* What an armed floating-point operation does: which exceptions it raises for operands that are finite, and how far it is
 * from the others. All in integers, from the bits of operands and result: no flag is touched. Included by pen.c. */
#include "functions.h"

/* Of operands that are NaN or infinite: they only propagate, and no other distance is larger. */
#define ELSEWHERE (UINT64_C(1) << 63)

/* An operation with its operands and its result. */
struct event {
  uint32_t operation, what;
  uint64_t operand[3], result; /* bits of floats; of integers the value */
  struct format in, out;
  int integer_in; /* index of the operand that is an integer, -1 if none */
  int integer_out;
};

/* Where functions are invalid or have a pole. */
enum where {
  NOWHERE, BELOW_ZERO, BELOW_MINUS_ONE, BELOW_ONE, BEYOND_ONE, SECOND_IS_ZERO, ROOT_OF_NEGATIVE, AT_NEGATIVE_INTEGERS,
  AT_ZERO, AT_MINUS_ONE, AT_PLUS_MINUS_ONE, POWER_OF_ZERO, AT_INTEGERS_TO_ZERO
};

static const struct {
  uint8_t invalid, pole, integer; /* enum where, and the operand that is an integer plus 1 */
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

INLINE struct event event_of(uint32_t what, uint64_t a, uint64_t b, uint64_t c, uint64_t result) {
  struct event e = {what & PEN_OPERATION_MASK, what, {a, b, c}, result};
  e.out = format_of(!!(what & PEN_SINGLE));
  e.in = format_of(what & PEN_SINGLE && e.operation != PEN_NARROW);
  e.integer_in = domains[e.operation].integer - 1;
  e.integer_out = e.operation == PEN_TO_SIGNED || e.operation == PEN_TO_UNSIGNED;
  return e;
}

static int operands_are_finite(const struct event *e) {
  for (int i = 0; i < 3; i++) /* an operand that is not there is 0 */
    if (i != e->integer_in && !is_finite(e->in, e->operand[i])) return 0;
  return 1;
}

/* ---- the exact result -------------------------------------------------------------------------------------------- */

static struct exact operand(const struct event *e, int i) {
  if (i != e->integer_in) return exact_float_of(e->in, e->operand[i]);
  int negative = e->operation == PEN_FROM_SIGNED && (int64_t)e->operand[i] < 0;
  return exact_of(negative ? -e->operand[i] : e->operand[i], 0, negative);
}

/* Of an operation of which it is a sum or a product; of a quotient or a root the operand, see `undone`. */
static struct exact unrounded(const struct event *e) {
  struct exact a = operand(e, 0), b;
  switch (e->operation) {
    case PEN_ADD: return total(a, operand(e, 1));
    case PEN_SUBTRACT:
      b = operand(e, 1);
      b.negative ^= 1;
      return total(a, b);
    case PEN_MULTIPLY: return product(a, operand(e, 1));
    case PEN_FMA: return total(product(a, operand(e, 1)), operand(e, 2));
    case PEN_LDEXP: case PEN_SCALBN: case PEN_SCALBLN: /* beyond 2^20 all is lost, and sums must not overflow */
      if (!a.significand) return a;
      a.exponent += (int64_t)e->operand[1] > 1 << 20 ? 1 << 20 : (int64_t)e->operand[1] < -(1 << 20) ? -(1 << 20) : (int64_t)e->operand[1];
      return a;
    default: return a;
  }
}

/* What `result` must be multiplied with, or squared, to be compared with `unrounded`. */
static struct exact undone(const struct event *e, struct exact result) {
  if (e->operation == PEN_DIVIDE) return product(result, operand(e, 1));
  return e->operation == PEN_SQRT ? product(result, result) : result;
}

static int has_exact_result(const struct event *e) {
  switch (e->operation) {
    case PEN_ADD: case PEN_SUBTRACT: case PEN_MULTIPLY: case PEN_DIVIDE: case PEN_FMA: case PEN_SQRT: case PEN_NARROW:
    case PEN_FROM_SIGNED: case PEN_FROM_UNSIGNED: case PEN_LDEXP: case PEN_SCALBN: case PEN_SCALBLN: return 1;
    default: return 0;
  }
}

/* For operands that are finite, and a result that is no pole. */
static int is_inexact(const struct event *e) {
  if (!is_finite(e->out, e->result)) return size_of(e->out, e->result) == e->out.infinity;
  return !same(unrounded(e), undone(e, exact_float_of(e->out, e->result)));
}

/* ---- overflow and underflow -------------------------------------------------------------------------------------- */

/* ULPs of the dividend of `a / 0` to the smallest one that overflows when it is divided by the smallest float, and one more:
 * on the line of the divisor a pole lies behind the overflow. */
static uint64_t overflow_beside_pole(const struct event *e) {
  if (e->operation != PEN_DIVIDE) return 1;
  uint64_t size = size_of(e->in, e->operand[0]);
  uint64_t least = (uint64_t)(e->in.bias + 1 - e->in.fraction + 1) << e->in.fraction; /* 2^(1024 - 1074), 2^(128 - 149) */
  return size < least ? least - size + 1 : 1;
}

static uint64_t to_pole(const struct event *e);

/* In rounding modes towards 0 the result of an overflow is the largest number. */
static int passed_largest(const struct event *e) {
  if (!has_exact_result(e)) return 0;
  struct exact limit = undone(e, exact_of(1, e->out.bias + 1, 0));
  if (e->operation == PEN_SQRT) return 0;
  return !is_smaller(unrounded(e), limit);
}

static uint64_t to_overflow(const struct event *e) {
  uint64_t size = size_of(e->out, e->result);
  if (size > e->out.infinity) return ELSEWHERE - 1;
  if (size == e->out.infinity) return to_pole(e) == 0 ? overflow_beside_pole(e) : 0;
  if (size == e->out.infinity - 1 && passed_largest(e)) return 0;
  return e->out.infinity - size;
}

/* Whether the result would be below the normal numbers if only its exponent had no limit. x86 looks after rounding, others
 * before it; then a result that is the least normal number may have come from below. To nearest is what is asked here. */
static int came_from_below(const struct event *e) {
  if (!has_exact_result(e)) return 0;
#if defined(__x86_64__)
  int bits = e->out.fraction + 2; /* the middle between the least normal number and the one before it, if that had all bits */
#else
  int bits = 0;
#endif
  struct exact limit = exact_of(((u128)1 << bits) - (bits != 0), 1 - e->out.bias - bits, 0);
  return is_smaller(unrounded(e), undone(e, limit));
}

/* Zero operands of a product, a quotient or a power give 0, which is no underflow. */
static int is_zero_of_zero(const struct event *e) {
  int zero = size_of(e->in, e->operand[0]) == 0;
  if (e->operation == PEN_MULTIPLY) return zero || size_of(e->in, e->operand[1]) == 0;
  if (e->operation == PEN_FMA) return 0;
  return zero && (e->operation == PEN_DIVIDE || e->operation == PEN_POW || e->operation == PEN_NARROW || e->integer_in == 1);
}

static int is_integer(struct format f, uint64_t bits) { return exact_float_of(f, bits).exponent >= 0; }

/* Powers of 2, and whole powers that fit. (Roots of squares are told as rounded.) */
static int is_exact_power(const struct event *e) {
  struct exact x = exact_float_of(e->in, e->operand[0]), y = exact_float_of(e->in, e->operand[1]);
  struct exact r = exact_float_of(e->out, e->result);
  if (!r.significand) return 0;
  if (x.significand == 1) return !x.exponent || y.exponent + __builtin_ctzll((uint64_t)x.exponent) >= 0;
  if (y.negative || y.exponent < 0 || y.exponent > 5 || y.significand > 33) return 0;
  u128 power = 1;
  for (uint64_t n = (uint64_t)y.significand << y.exponent; n && power <= r.significand; n--) power *= x.significand;
  return power == r.significand;
}

static int is_tiny_and_rounded(const struct event *e) {
  if (has_exact_result(e)) return is_inexact(e);
  if (e->operation == PEN_NEXTAFTER) return key_of(e->in, e->operand[0]) != key_of(e->in, e->operand[1]);
  return e->operation != PEN_POW || !is_exact_power(e);
}

static uint64_t to_underflow(const struct event *e) {
  uint64_t size = size_of(e->out, e->result), least = e->out.least_normal;
  if (size > e->out.infinity) return ELSEWHERE - 1;
  if (size > least) return size - least + 1;
  if (size == least) return came_from_below(e) ? 0 : 1;
  if (is_zero_of_zero(e)) return least;
  return is_tiny_and_rounded(e) ? 0 : 2;
}

/* ---- domains and poles -------------------------------------------------------------------------------------------- */

static uint64_t gap_of(int64_t a, int64_t b) { return a < b ? (uint64_t)(b - a) : (uint64_t)(a - b); }

/* To the first float below `bound`. */
static uint64_t below(int64_t key, int64_t bound) { return key < bound ? 0 : (uint64_t)(key - bound) + 1; }

/* To the nearest integer that is at most `last`, which is 0 or -1. */
static uint64_t to_integers(struct format f, uint64_t bits, int last) {
  int64_t key = key_of(f, bits), minus_one = -((int64_t)f.bias << f.fraction);
  if (key >= 0) return gap_of(key, last == 0 ? 0 : minus_one);
  if (key > minus_one) return last == 0 ? smaller(gap_of(key, 0), gap_of(key, minus_one)) : gap_of(key, minus_one);
  int scale = f.fraction - (int)((size_of(f, bits) >> f.fraction) - (uint64_t)f.bias); /* bits behind the point */
  if (scale <= 0) return 0;
  uint64_t unit = UINT64_C(1) << scale, rest = bits & (unit - 1);
  return smaller(rest, unit - rest);
}

/* A power is no number when a negative one is raised to what is no integer. */
static uint64_t to_root_of_negative(const struct event *e) {
  uint64_t to_negative = below(key_of(e->in, e->operand[0]), 0), y = size_of(e->in, e->operand[1]);
  if (!is_integer(e->in, e->operand[1])) return to_negative;
  uint64_t fractions_end = (uint64_t)(e->in.bias + e->in.fraction) << e->in.fraction; /* 2^52, 2^23: integers from here on */
  return add_sat(to_negative, y < fractions_end ? 1 : y - fractions_end + 1);
}

static uint64_t distance_to(const struct event *e, enum where where) {
  struct format f = e->in;
  uint64_t x = e->operand[e->integer_in == 0];
  int64_t key = key_of(f, x), one = (int64_t)f.bias << f.fraction;
  switch (where) {
    case BELOW_ZERO: return below(key, 0);
    case BELOW_MINUS_ONE: return below(key, -one);
    case BELOW_ONE: return below(key, one);
    case BEYOND_ONE: return below(-(int64_t)size_of(f, x), -one);
    case SECOND_IS_ZERO: return size_of(f, e->operand[1]);
    case ROOT_OF_NEGATIVE: return to_root_of_negative(e);
    case AT_NEGATIVE_INTEGERS: return to_integers(f, x, -1);
    case AT_ZERO: return gap_of(key, 0);
    case AT_MINUS_ONE: return gap_of(key, -one);
    case AT_PLUS_MINUS_ONE: return gap_of((int64_t)size_of(f, x), one);
    case POWER_OF_ZERO: return add_sat(gap_of(key, 0), below(key_of(f, e->operand[1]), 0));
    case AT_INTEGERS_TO_ZERO: return to_integers(f, x, 0);
    default: return ELSEWHERE - 1;
  }
}

static uint64_t to_pole(const struct event *e) {
  if (e->operation != PEN_DIVIDE) return distance_to(e, domains[e->operation].pole);
  return size_of(e->in, e->operand[1]) + !size_of(e->in, e->operand[0]);
}

/* The bits of 2^n. */
static int64_t power_of_two(struct format f, int n) { return (int64_t)(f.bias + n) << f.fraction; }

/* To the nearest float which, without its fraction, is no number of the type. NaN and infinity are lost, too. */
static uint64_t out_of_type(const struct event *e) {
  if (!is_finite(e->in, e->operand[0])) return 0;
  int bits = (int)(e->what >> PEN_INTEGER_SHIFT & PEN_INTEGER_MASK), is_signed = e->operation == PEN_TO_SIGNED;
  int64_t key = key_of(e->in, e->operand[0]), above = power_of_two(e->in, bits - is_signed);
  int finer = e->in.fraction - (bits - 1); /* -2^(bits - 1) - 1, or the next float where that is none */
  int64_t under = is_signed ? -above - (finer > 0 ? INT64_C(1) << finer : 1) : -power_of_two(e->in, 0);
  if (key >= above || key <= under) return 0;
  return smaller((uint64_t)(above - key), (uint64_t)(key - under));
}

static uint64_t to_invalid(const struct event *e) {
  if (e->operation == PEN_DIVIDE) return add_sat(size_of(e->in, e->operand[0]), size_of(e->in, e->operand[1]));
  return distance_to(e, domains[e->operation].invalid);
}

/* ---- the site ----------------------------------------------------------------------------------------------------- */

/* 0 iff the operation raises the exception. */
static uint64_t distance_of(const struct event *e, int exception) {
  if (e->integer_out) return exception == PEN_INVALID ? out_of_type(e) : ELSEWHERE;
  if (!operands_are_finite(e)) return ELSEWHERE;
  switch (exception) {
    case PEN_OVERFLOW: return to_overflow(e);
    case PEN_UNDERFLOW: return to_underflow(e);
    case PEN_DIVIDE_BY_ZERO: return to_pole(e);
    case PEN_INVALID: return to_invalid(e);
    default: return has_exact_result(e) && to_pole(e) && is_inexact(e) ? 0 : 1;
  }
}

static uint64_t shown_operand(const struct event *e, int i) {
  return i == e->integer_in ? e->operand[i] : widened(e->in, e->operand[i]);
}

static uint64_t shown_result(const struct event *e) { return e->integer_out ? e->result : widened(e->out, e->result); }

static void trace(const uint8_t *actions, const struct event *e) {
  uint32_t n = __pen_state.n_trace;
  if (n < UINT32_MAX) __pen_state.n_trace = n + 1; /* beyond the room, too: so the reader sees what is missing */
  if (n >= __pen_state.trace_room) return;
  struct pen_traced *entry = &__pen_state.trace[n];
  entry->actions = actions;
  for (int i = 0; i < 3; i++) entry->operands[i] = shown_operand(e, i);
  entry->result = shown_result(e);
  entry->what = e->what;
  entry->unused = 0;
}

static void watch(uint32_t branch, const struct event *e) {
  if (branch != __pen_state.watch || __pen_state.n_seen++) return;
  for (int i = 0; i < 3; i++) __pen_state.seen[i] = shown_operand(e, i);
  __pen_state.seen[3] = shown_result(e);
}

SLOW void on_operation(const uint8_t *actions, uint32_t what, uint64_t a, uint64_t b, uint64_t c, uint64_t result) {
  struct event e = event_of(what, a, b, c, result);
  if (__pen_state.trace) trace(actions, &e);
  for (int exception = 0; exception < PEN_EXCEPTIONS; exception++) {
    uint8_t action = what >> (PEN_POSSIBLE_SHIFT + exception) & 1 ? actions[exception] : 0;
    if (!(action & (PEN_RECORD | PEN_WANT | PEN_TRACK | PEN_LEAD))) continue;
    uint64_t d = distance_of(&e, exception);
    if (d) {
      miss(actions + exception, in_metric(d));
    } else {
      watch(number_of(actions + exception), &e);
      take(actions + exception);
    }
  }
}

/* The exception is `d` away, which is not 0. */
INLINE void missed(const uint8_t *action, uint64_t d) {
  uint32_t branch = number_of(action);
  if (*action & PEN_WANT) set_r(*action, d, branch);
  if (*action & PEN_TRACK && __pen_state.best && d < __pen_state.best[branch]) improve(action, d);
}

/* After an operation. `what`: enum pen_operation and enum pen_operation_flag. Operands and result are the bits of the floats, or
 * integers extended to 64 bits; operands that the operation does not have are 0.
 *
 * Decided here is what a search meets all the time: a sum, product or quotient that is a normal number, so that nothing is
 * raised but inexact; and one of operands that are no numbers any more, as all are behind the first of a long loop. */
KEEPS_REGISTERS void __pen_on_operation(const uint8_t *actions, uint32_t what, uint64_t a, uint64_t b, uint64_t c,
                                        uint64_t result) {
  uint32_t operation = what & PEN_OPERATION_MASK;
  struct format f = format_of(!!(what & PEN_SINGLE));
  uint64_t size = size_of(f, result);
  int binary = operation >= PEN_ADD && operation <= PEN_DIVIDE;
  int finite = is_finite(f, a) && is_finite(f, b);
  uint8_t quotient = operation == PEN_DIVIDE ? 0 : actions[PEN_DIVIDE_BY_ZERO] | actions[PEN_INVALID];
  uint8_t lead = (actions[0] | actions[1] | actions[2] | actions[3]) & PEN_LEAD;
  int normal = size - f.least_normal - 1 < f.infinity - f.least_normal - 2;
  if (!binary || (finite && !normal) || __pen_state.trace || __pen_state.metric == PEN_SQUARED || lead ||
      (quotient | actions[PEN_INEXACT]) & ~PEN_NEAR) {
    on_operation(actions, what, a, b, c, result);
    return;
  }
  if (!finite) {
    for (int exception = 0; exception < PEN_INEXACT; exception++) missed(actions + exception, ELSEWHERE);
    return;
  }
  missed(actions + PEN_OVERFLOW, f.infinity - size);
  missed(actions + PEN_UNDERFLOW, size - f.least_normal + 1);
  if (operation != PEN_DIVIDE) return;
  missed(actions + PEN_DIVIDE_BY_ZERO, size_of(f, b));
  missed(actions + PEN_INVALID, size_of(f, a) + size_of(f, b));
}
