/* Linked into every target: state of the representing function, branch distances, and what makes the file a target.
 *
 * The hook itself is emitted inline by the pass; what is here runs only at sites that an objective has armed.
 * Everything but __pen_tables is hidden, so that each target file and each shared library has a runtime of its own. */
#include "pen.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))
/* Keeps every register but r11, floating-point ones included: see keepRegisters in pass/hook.cc. */
#if defined(__x86_64__)
#define KEEPS_REGISTERS HIDDEN __attribute__((preserve_all))
#define SLOW static __attribute__((preserve_all, noinline, cold))
#else
#define KEEPS_REGISTERS HIDDEN
#define SLOW static __attribute__((noinline, cold))
#endif
#define WEAK_HIDDEN __attribute__((weak, visibility("hidden")))

HIDDEN struct pen_state __pen_state = {.fuel = INT64_MAX};

/* Strong definition of what every instrumented module brings weakly: 0 skips the SanCov callbacks. */
HIDDEN uint64_t __sancov_should_track __attribute__((section("__sancov_gate")));

/* Bounds of the sections, made by the linker; null when no translation unit has any. */
extern WEAK_HIDDEN const struct pen_site __start_pen_sites[], __stop_pen_sites[];
extern WEAK_HIDDEN const struct pen_function __start_pen_functions[], __stop_pen_functions[];
extern WEAK_HIDDEN uint8_t __start_pen_actions[], __stop_pen_actions[];

__attribute__((visibility("default"), used)) struct pen_tables __pen_tables = {
    .version = PEN_ABI_VERSION,
    .state = &__pen_state,
    .sites = __start_pen_sites,
    .sites_end = __stop_pen_sites,
    .functions = __start_pen_functions,
    .functions_end = __stop_pen_functions,
    .actions = __start_pen_actions,
    .actions_end = __stop_pen_actions,
    .sancov_gate = &__sancov_should_track,
};

/* ---- distances ------------------------------------------------------------------------------------------------- */

/* Distances of a condition to being true and to being false. Exactly one of them is 0. */
struct pen_pair {
  uint64_t to_true, to_false;
};

/* Instrumented code gives this as `result`: pairs in registers would have to be registers that it may clobber. */
HIDDEN struct pen_pair __pen_pair;

/* Largest distance; one less than "not reached". */
#define FAR (UINT64_MAX - 1)

static uint64_t add_sat(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) || sum > FAR ? FAR : sum;
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

/* A squared distance as ordered bits; NaN and infinity are both farthest. */
static uint64_t real_bits(double d) { return d <= 0x1.fffffffffffffp1023 ? as_bits(d) : as_bits(0x1.fffffffffffffp1023); }

static uint64_t sum(uint64_t a, uint64_t b) {
  if (__pen_state.metric == PEN_SQUARED) return real_bits(as_double(a) + as_double(b));
  return add_sat(a, b);
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The epsilon of CoverMe, Def. 4.1: what a strict comparison costs at equality. */
#define EPSILON 1e-6

static uint64_t unit(void) { return __pen_state.metric == PEN_SQUARED ? as_bits(EPSILON) : 1; }

static struct pen_pair swapped(struct pen_pair p) { return (struct pen_pair){p.to_false, p.to_true}; }

/* Three relations are enough: the others are their negations or have their operands exchanged. */
enum relation { EQUAL, LESS, LESS_EQUAL };

/* The pair of `a REL b`, given whether a == b, whether a < b, and how far apart they are. */
static struct pen_pair from_gap(enum relation rel, int equal, int less, uint64_t gap) {
  struct pen_pair p = {0, 0};
  switch (rel) {
    case EQUAL:
      if (equal) p.to_false = unit();
      else p.to_true = gap;
      break;
    case LESS:
      if (less) p.to_false = gap;
      else p.to_true = sum(gap, unit());
      break;
    case LESS_EQUAL:
      if (less || equal) p.to_false = sum(gap, unit());
      else p.to_true = gap;
      break;
  }
  return p;
}

static uint64_t squared(double a, double b) {
  double gap = a - b;
  return real_bits(gap * gap);
}

/* ---- integers -------------------------------------------------------------------------------------------------- */

static struct pen_pair integers(enum relation rel, uint64_t a, uint64_t b, int is_signed) {
  int less = is_signed ? (int64_t)a < (int64_t)b : a < b;
  uint64_t gap = smaller(less ? b - a : a - b, FAR);
  if (__pen_state.metric == PEN_SQUARED)
    gap = is_signed ? squared((double)(int64_t)a, (double)(int64_t)b) : squared((double)a, (double)b);
  if (a != b && gap == 0) gap = unit(); /* different integers that are the same double */
  return from_gap(rel, a == b, less, gap);
}

/* `predicate` is llvm::CmpInst::Predicate (32 to 41); the operands are extended to 64 bits as the predicate reads them. */
static struct pen_pair icmp(uint32_t predicate, uint64_t a, uint64_t b) {
  switch (predicate) {
    case 32: return integers(EQUAL, a, b, 1);
    case 33: return swapped(integers(EQUAL, a, b, 1));
    case 34: return integers(LESS, b, a, 0);
    case 35: return integers(LESS_EQUAL, b, a, 0);
    case 36: return integers(LESS, a, b, 0);
    case 37: return integers(LESS_EQUAL, a, b, 0);
    case 38: return integers(LESS, b, a, 1);
    case 39: return integers(LESS_EQUAL, b, a, 1);
    case 40: return integers(LESS, a, b, 1);
    default: return integers(LESS_EQUAL, a, b, 1);
  }
}

/* ---- floats ---------------------------------------------------------------------------------------------------- */

/* An operand of either width: its place on the line of its floats (both zeros at 0, NaN beyond infinity) and its value. */
struct place {
  int64_t key;
  int64_t infinity; /* the key of +infinity */
  double value;
};

static struct place place_of_double(double x) {
  uint64_t bits = as_bits(x);
  int64_t size = (int64_t)(bits & INT64_MAX);
  return (struct place){bits >> 63 ? -size : size, 0x7ff0000000000000, x};
}

static struct place place_of_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  int64_t size = bits & INT32_MAX;
  return (struct place){bits >> 31 ? -size : size, 0x7f800000, x};
}

/* The upper 64 bits of a float of 80 or 128 bits: sign, 15 bits of exponent, then the fraction; with 80 bits the leading
 * one of the fraction is there too. In integers only, so that no exception is raised. */
static struct place place_of_wide(uint64_t upper, uint32_t bits) {
  int64_t size = (int64_t)(upper & INT64_MAX);
  struct place p = {upper >> 63 ? -size : size, bits == 80 ? 0x7fff800000000000 : 0x7fff000000000000, 0};
  int64_t exponent = (size >> 48) - 16383 + 1023;
  uint64_t fraction = (uint64_t)size << (bits == 80 ? 17 : 16) >> 12;
  uint64_t magnitude = exponent <= 0 ? 0 : exponent >= 2047 ? 0x7ff0000000000000 : (uint64_t)exponent << 52 | fraction;
  p.value = as_double((upper & INT64_MIN) | magnitude);
  return p;
}

/* How many floats beyond infinity; 0 for a number. */
static uint64_t excess(struct place p) {
  int64_t size = p.key < 0 ? -p.key : p.key;
  return size > p.infinity ? (uint64_t)(size - p.infinity) : 0;
}

/* The number, or for NaN the infinity of its sign. */
static int64_t clamped(struct place p) {
  if (p.key > p.infinity) return p.infinity;
  return p.key < -p.infinity ? -p.infinity : p.key;
}

static uint64_t nan_cost(uint64_t beyond) {
  if (!beyond) return 0;
  return __pen_state.metric == PEN_SQUARED ? as_bits(0x1.fffffffffffffp1023) : beyond;
}

/* a REL b for ordered relations: false when an operand is NaN, and then as far as the way back to numbers. */
static struct pen_pair ordered(enum relation rel, struct place a, struct place b) {
  uint64_t beyond = add_sat(excess(a), excess(b));
  int64_t ka = clamped(a), kb = clamped(b);
  uint64_t gap = ka < kb ? (uint64_t)kb - (uint64_t)ka : (uint64_t)ka - (uint64_t)kb;
  if (!beyond) {
    if (__pen_state.metric == PEN_SQUARED && gap) {
      gap = squared(a.value, b.value);
      if (!gap) gap = 1; /* the square underflowed: the smallest double */
    }
    return from_gap(rel, ka == kb, ka < kb, gap);
  }
  struct pen_pair p = {sum(nan_cost(beyond), __pen_state.metric == PEN_SQUARED ? 0 : gap), 0};
  return p;
}

/* "Both are numbers". */
static struct pen_pair is_ordered(struct place a, struct place b) {
  struct pen_pair p = {0, 0};
  uint64_t beyond = add_sat(excess(a), excess(b));
  if (beyond) {
    p.to_true = nan_cost(beyond);
    return p;
  }
  int64_t size_a = a.key < 0 ? -a.key : a.key, size_b = b.key < 0 ? -b.key : b.key;
  int64_t largest = size_a > size_b ? size_a : size_b;
  p.to_false = nan_cost((uint64_t)(a.infinity + 1 - largest));
  return p;
}

/* Bits of llvm's fcmp predicates: equal 1, greater 2, less 4, unordered 8. */
static struct pen_pair floats(uint32_t predicate, struct place a, struct place b) {
  switch (predicate) {
    case 1: return ordered(EQUAL, a, b);
    case 2: return ordered(LESS, b, a);
    case 3: return ordered(LESS_EQUAL, b, a);
    case 4: return ordered(LESS, a, b);
    case 5: return ordered(LESS_EQUAL, a, b);
    case 7: return is_ordered(a, b);
    case 8: return swapped(is_ordered(a, b));
    case 10: return swapped(ordered(LESS_EQUAL, a, b));
    case 11: return swapped(ordered(LESS, a, b));
    case 12: return swapped(ordered(LESS_EQUAL, b, a));
    case 13: return swapped(ordered(LESS, b, a));
    case 14: return swapped(ordered(EQUAL, a, b));
    default: break;
  }
  /* one (6) and ueq (9): different numbers, and its negation */
  struct pen_pair differ = swapped(ordered(EQUAL, a, b));
  uint64_t beyond = add_sat(excess(a), excess(b));
  if (beyond) differ = (struct pen_pair){nan_cost(beyond), 0};
  return predicate == 6 ? differ : swapped(differ);
}

static struct pen_pair fcmp64(uint32_t predicate, double a, double b) {
  return floats(predicate, place_of_double(a), place_of_double(b));
}

static struct pen_pair fcmp32(uint32_t predicate, float a, float b) {
  return floats(predicate, place_of_float(a), place_of_float(b));
}

/* In the exact metric, and in integer registers: how far the comparison, which holds or not, is from the other truth value.
 * The same as `icmp` says. */
static __attribute__((always_inline)) inline uint64_t exact_icmp(uint32_t predicate, uint64_t a, uint64_t b, int holds) {
  int is_unsigned = predicate >= 34 && predicate <= 37;
  int less = is_unsigned ? a < b : (int64_t)a < (int64_t)b;
  uint64_t gap = smaller(less ? b - a : a - b, FAR);
  gap += predicate > 33 && (predicate & 1) == holds; /* >=, <= that hold, or <, > that do not: one more than to equality */
  return smaller(gap + (gap == 0), FAR);
}

static __attribute__((always_inline)) inline int holds(uint32_t predicate, uint64_t a, uint64_t b) {
  if (predicate <= 33) return (a == b) == (predicate == 32);
  int is_signed = predicate >= 38, less = is_signed ? (int64_t)a < (int64_t)b : a < b;
  switch (predicate & 3) {
    case 2: return !less && a != b; /* 34, 38 */
    case 3: return !less;           /* 35, 39 */
    case 0: return less;            /* 36, 40 */
    default: return less || a == b; /* 37, 41 */
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

KEEPS_REGISTERS void __pen_fcmp_wide(struct pen_pair *result, uint32_t predicate, uint64_t a, uint64_t b, uint32_t bits) {
  *result = floats(predicate, place_of_wide(a, bits), place_of_wide(b, bits));
}

/* ---- classes of floats ------------------------------------------------------------------------------------------- */

/* The classes by rising size, positive and negative, as bits of llvm.is.fpclass. */
static const uint32_t classes[6][2] = {{0x40, 0x20}, {0x80, 0x10}, {0x100, 0x8}, {0x200, 0x4}, {0x1, 0x1}, {0x2, 0x2}};

/* How many floats lie between the one of `bits` and the nearest one in `mask`; 0 if it is in. Both zeros are on the line. */
static uint64_t to_classes(uint64_t bits, uint32_t width, uint32_t mask) {
  uint32_t fraction = width == 64 ? 52 : 23;
  uint64_t sign = 1ull << (width - 1), infinity = (sign - 1) >> fraction << fraction, quiet = infinity | 1ull << (fraction - 1);
  uint64_t from[7] = {0, 1, 1ull << fraction, infinity, infinity + 1, quiet, sign};
  uint64_t size = bits & (sign - 1), best = FAR;
  for (int other = 0; other < 2; other++)
    for (int i = 0; i < 6; i++) {
      if (!(mask & classes[i][!!(bits & sign) ^ other])) continue;
      uint64_t low = from[i], high = from[i + 1] - 1;
      uint64_t d = other ? size + 1 + low : size < low ? low - size : size > high ? size - high : 0;
      best = smaller(best, d);
    }
  return best;
}

KEEPS_REGISTERS void __pen_fpclass(struct pen_pair *result, uint64_t bits, uint32_t width, uint32_t mask) {
  uint64_t in = to_classes(bits, width, mask), out = to_classes(bits, width, ~mask);
  if (__pen_state.metric == PEN_SQUARED) { /* a class is no number to take the difference to */
    in = in ? unit() : 0;
    out = out ? unit() : 0;
  }
  *result = (struct pen_pair){in, out};
}

/* ---- conditions of several comparisons -------------------------------------------------------------------------- */

SLOW void squared_sum(uint64_t *result, uint64_t a, uint64_t b) { *result = sum(a, b); }

static __attribute__((always_inline)) inline void put_sum(uint64_t *result, uint64_t a, uint64_t b) {
  if (__pen_state.metric == PEN_SQUARED) squared_sum(result, a, b);
  else *result = add_sat(a, b);
}

KEEPS_REGISTERS void __pen_and(struct pen_pair *result, uint64_t at, uint64_t af, uint64_t bt, uint64_t bf) {
  result->to_false = at || bt ? 0 : smaller(af, bf);
  put_sum(&result->to_true, at, bt);
}

KEEPS_REGISTERS void __pen_or(struct pen_pair *result, uint64_t at, uint64_t af, uint64_t bt, uint64_t bf) {
  result->to_true = af || bf ? 0 : smaller(at, bt);
  put_sum(&result->to_false, af, bf);
}

/* A truth value, the lowest bit of `truth`, with nothing behind it. Bit 1: it was decided on the way here, and comparisons
 * on another way, which have distances, are closer. */
KEEPS_REGISTERS void __pen_opaque(struct pen_pair *result, uint32_t truth) {
  uint64_t away = truth & 2 && __pen_state.metric == PEN_ULP ? FAR : unit();
  *result = (struct pen_pair){truth & 1 ? 0 : away, truth & 1 ? away : 0};
}

/* ---- what an armed site does -------------------------------------------------------------------------------------- */

static uint32_t number_of(const uint8_t *action) { return (uint32_t)(action - __start_pen_actions); }

static void set_r(uint8_t action, uint64_t d, uint32_t branch) {
  uint64_t before = __pen_state.r;
  uint64_t r = action & PEN_ADD ? sum(before, d) : action & PEN_MIN ? smaller(before, smaller(d, INT64_MAX)) : d;
  if (r == before) return;
  __pen_state.r = r;
  __pen_state.last_branch = branch;
}

/* Keeps the order: exact where it is small, in steps of 2^11 where it is large. */
static uint64_t squeezed(uint64_t d) {
  const uint64_t exact = UINT64_C(1) << (PEN_LEAD_BITS - 4);
  return d <= exact ? d : exact + ((d - exact) >> 11);
}

static void lead(uint64_t d, uint32_t branch) {
  if (!__pen_state.lead) return;
  uint64_t r = __pen_state.lead[branch] + squeezed(d);
  if (r >= __pen_state.r) return;
  __pen_state.r = r;
  __pen_state.last_branch = branch;
}

static void track(uint64_t d, uint32_t branch) {
  if (!__pen_state.best || d >= __pen_state.best[branch]) return;
  __pen_state.best[branch] = d;
  uint32_t n = __pen_state.n_improved;
  for (uint32_t i = 0; i < n; i++)
    if (__pen_state.improved[i] == branch) return;
  __pen_state.improved[n] = branch;
  __pen_state.n_improved = n + 1;
}

static void take(const uint8_t *action) {
  uint32_t branch = number_of(action);
  if (*action & PEN_RECORD && __pen_state.outcomes) {
    __pen_state.outcomes[branch] = 1;
    __pen_state.hits++;
  }
  if (*action & PEN_WANT) set_r(*action, 0, branch);
}

static void miss(const uint8_t *action, uint64_t d) {
  uint32_t branch = number_of(action);
  if (d == 0) d = unit(); /* not taken, so not at distance 0 */
  if (*action & PEN_WANT) set_r(*action, d, branch);
  if (*action & PEN_TRACK) track(d, branch);
  if (*action & PEN_LEAD) lead(d, branch);
}

/* A two-way site: `actions` are its two bytes, `taken` is 0 for true and 1 for false, `d` is the distance to the other. */
KEEPS_REGISTERS void __pen_take(const uint8_t *actions, uint32_t taken, uint64_t d) {
  take(actions + taken);
  if (actions[taken] & PEN_NEAR) miss(actions + (1 - taken), d);
}

/* A site with one comparison. The entries below decide in integer registers, without a call, what a search meets all the
 * time: the outcome taken is known, and the other is no closer than it was before. */

SLOW void on_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b) {
  struct pen_pair p = icmp(predicate, a, b);
  __pen_take(actions, taken, taken ? p.to_true : p.to_false);
}

SLOW void on_fcmp64(const uint8_t *actions, uint32_t taken, uint32_t predicate, double a, double b) {
  struct pen_pair p = fcmp64(predicate, a, b);
  __pen_take(actions, taken, taken ? p.to_true : p.to_false);
}

SLOW void on_fcmp32(const uint8_t *actions, uint32_t taken, uint32_t predicate, float a, float b) {
  struct pen_pair p = fcmp32(predicate, a, b);
  __pen_take(actions, taken, taken ? p.to_true : p.to_false);
}

SLOW void improve(const uint8_t *action, uint64_t d) { track(d, number_of(action)); }

/* The outcome taken is nothing but near to the other, and distances are exact. */
static int only_near(uint8_t action) {
  return (action & ~PEN_ARMED) == PEN_NEAR && __pen_state.metric == PEN_ULP;
}

/* The outcome that is not taken is `d` away. */
static __attribute__((always_inline)) inline void near(const uint8_t *actions, uint32_t taken, uint64_t d) {
  const uint8_t *other = actions + (1 - taken);
  uint32_t branch = number_of(other);
  if (*other & PEN_WANT) set_r(*other, d, branch);
  if (*other & PEN_TRACK && __pen_state.best && d < __pen_state.best[branch]) improve(other, d);
}

/* `predicate` and operands as for __pen_icmp. */
KEEPS_REGISTERS void __pen_on_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b) {
  if (!only_near(actions[taken])) {
    on_icmp(actions, taken, predicate, a, b);
    return;
  }
  near(actions, taken, exact_icmp(predicate, a, b, !taken));
}

/* `predicate` and operands as for __pen_fcmp64. */
KEEPS_REGISTERS void __pen_on_fcmp64(const uint8_t *actions, uint32_t taken, uint32_t predicate, double a, double b) {
  struct place pa = place_of_double(a), pb = place_of_double(b);
  if (!only_near(actions[taken]) || predicate == 7 || predicate == 8 || excess(pa) || excess(pb)) {
    on_fcmp64(actions, taken, predicate, a, b);
    return;
  }
  uint64_t gap = pa.key < pb.key ? (uint64_t)pb.key - (uint64_t)pa.key : (uint64_t)pa.key - (uint64_t)pb.key;
  uint32_t order = predicate & 6; /* greater, less; neither or both for equality */
  gap += order != 0 && order != 6 && (predicate & 1) != taken;
  near(actions, taken, gap + (gap == 0));
}

/* `predicate` and operands as for __pen_fcmp32. */
KEEPS_REGISTERS void __pen_on_fcmp32(const uint8_t *actions, uint32_t taken, uint32_t predicate, float a, float b) {
  on_fcmp32(actions, taken, predicate, a, b);
}

/* Whether the value leads elsewhere than to the default. */
static int has_case(const struct pen_case *cases, uint32_t n_cases, int64_t value) {
  for (uint32_t i = 0; i < n_cases; i++)
    if (cases[i].value == value) return cases[i].branch != 0;
  return 0;
}

/* To the default: the nearest value without a case, in steps of one to both sides. */
static uint64_t to_default(const struct pen_case *cases, uint32_t n_cases, int64_t value) {
  uint64_t step = 1;
  while (step <= n_cases && has_case(cases, n_cases, (int64_t)((uint64_t)value + step)) &&
         has_case(cases, n_cases, (int64_t)((uint64_t)value - step)))
    step++;
  return __pen_state.metric == PEN_SQUARED ? squared((double)step, 0) : step;
}

static uint64_t to_case(const struct pen_case *cases, uint32_t n_cases, uint32_t branch, int64_t value) {
  uint64_t best = FAR;
  for (uint32_t i = 0; i < n_cases; i++)
    if (cases[i].branch == branch) best = smaller(best, integers(EQUAL, (uint64_t)value, (uint64_t)cases[i].value, 1).to_true);
  return best;
}

/* A switch: one action byte per destination, [0] is the default. */
KEEPS_REGISTERS void __pen_switch(const uint8_t *actions, int64_t value, const struct pen_case *cases, uint32_t n_cases,
                         uint32_t n_branches) {
  uint32_t taken = 0;
  for (uint32_t i = 0; i < n_cases; i++)
    if (cases[i].value == value) taken = cases[i].branch;
  take(actions + taken);
  if (!(actions[taken] & PEN_NEAR)) return;
  for (uint32_t branch = 0; branch < n_branches; branch++)
    if (branch != taken && actions[branch] & (PEN_WANT | PEN_TRACK | PEN_LEAD))
      miss(actions + branch, branch == 0 ? to_default(cases, n_cases, value) : to_case(cases, n_cases, branch, value));
}

/* ---- ends of an evaluation ---------------------------------------------------------------------------------------- */

KEEPS_REGISTERS void __pen_out_of_fuel(void) {
  __pen_state.fuel = INT64_MAX;
  if (__pen_state.stop) __pen_state.stop(PEN_STOP_FUEL, __builtin_return_address(0));
}

#define WRAP_EXIT(name)                                                                    \
  extern void __real_##name(int) __attribute__((noreturn));                                \
  HIDDEN __attribute__((noreturn)) void __wrap_##name(int status) {                        \
    __pen_state.exit_status = status;                                                      \
    if (__pen_state.stop) __pen_state.stop(PEN_STOP_EXIT, __builtin_return_address(0));    \
    __real_##name(status);                                                                 \
  }

WRAP_EXIT(exit)
WRAP_EXIT(_exit)
WRAP_EXIT(_Exit)
WRAP_EXIT(quick_exit)

/* ---- SanCov ------------------------------------------------------------------------------------------------------- */

HIDDEN void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop) {
  if (start == stop || *start) return;
  for (uint32_t *guard = start; guard < stop; guard++) *guard = ++__pen_tables.n_guards;
}

HIDDEN void __sanitizer_cov_trace_pc_guard(uint32_t *guard) {
  uint8_t *map = __pen_state.coverage;
  if (map && map[*guard] != 255) map[*guard]++;
}

/* ---- the dual file: a shared object that is also a program -------------------------------------------------------- */

#ifndef PEN_NO_INTERPRETER
#if defined(__x86_64__)
#define INTERPRETER "/lib64/ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define INTERPRETER "/lib/ld-linux-aarch64.so.1"
#endif
#ifdef INTERPRETER
/* `retain`: --gc-sections must not drop it. */
__attribute__((section(".interp"), used, retain)) static const char interpreter[] = INTERPRETER;
#endif
#endif

/* A file of functions without a main still links; run as a program it says what it is. */
__attribute__((weak, visibility("hidden"))) int main(int argc, char **argv) {
  static const char text[] = "this is a penfuzz target without a main function: run penfuzz on it\n";
  (void)argc, (void)argv;
  return write(2, text, sizeof text - 1) < 0 ? 3 : 2;
}
