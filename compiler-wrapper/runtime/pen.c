/* The runtime, which pen-cc links into every target: the state, the branch distances, the tables that the fuzzer loads,
 * and a default main.
 *
 * The pass emits the hook itself inline; the code here runs only at sites that the fuzzer has armed. Every symbol but
 * __pen_tables and `operator delete` is hidden, so that each target file and each shared library has its own runtime.
 * It is one translation unit: the entries inline the parts that are hot. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "entries.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* penfuzz identifies code of the runtime by this section: a fault in it is reported at the code that called it. */
#pragma clang section text = "pen_runtime"

#define INLINE static __attribute__((always_inline)) inline
/* The part of an entry that is not hot. It is out of line and preserves the registers itself, so that the entry saves
 * none. */
#define SLOW static ALL_REGISTERS_KEPT __attribute__((noinline, cold))
#define WEAK_HIDDEN __attribute__((weak, visibility("hidden")))

/* The initial epsilon is that of CoverMe, Def. 4.1. */
HIDDEN struct pen_state __pen_state = {.fuel = INT64_MAX, .epsilon = 1e-6};
HIDDEN struct pen_fill __pen_fill;

/* The gate of the SanCov callbacks; 0 skips them. Each instrumented module has a weak definition, this is strong. */
HIDDEN uint64_t __sancov_should_track __attribute__((section("__sancov_gate")));

/* The linker defines the bounds of these sections. They are null if no translation unit has such a section. */
extern WEAK_HIDDEN const struct pen_site __start_pen_sites[], __stop_pen_sites[];
extern WEAK_HIDDEN const struct pen_function __start_pen_functions[], __stop_pen_functions[];
extern WEAK_HIDDEN uint8_t __start_pen_actions[], __stop_pen_actions[];
extern WEAK_HIDDEN const struct pen_variable __start_pen_variables[], __stop_pen_variables[];
extern WEAK_HIDDEN const struct pen_case __start_pen_cases[], __stop_pen_cases[];
extern WEAK_HIDDEN const uint8_t __start_pen_fills[], __stop_pen_fills[];

HIDDEN __attribute__((noreturn)) void __pen_reject(void);

#include "streams.c"
#include "owned.c"
#include "allocations.c"

__attribute__((visibility("default"), used)) struct pen_tables __pen_tables = {
    .version = PEN_ABI_VERSION,
    .state = &__pen_state,
    .sites = __start_pen_sites,
    .sites_end = __stop_pen_sites,
    .functions = __start_pen_functions,
    .functions_end = __stop_pen_functions,
    .actions = __start_pen_actions,
    .actions_end = __stop_pen_actions,
    .variables = __start_pen_variables,
    .variables_end = __stop_pen_variables,
    .cases = __start_pen_cases,
    .cases_end = __stop_pen_cases,
    .sancov_gate = &__sancov_should_track,
    .streams = streams,
    .streams_end = streams + N_STREAMS,
    .release = release,
    .fill = &__pen_fill,
    .fills = __start_pen_fills,
    .fills_end = __stop_pen_fills,
};

#include "exact.h"
#include "compared.c"
#include "distances.c"

/* ---- armed sites ------------------------------------------------------------------------------------------------- */

/* The number of a branch, by its action byte. */
static uint32_t branch_of(const uint8_t *action) { return (uint32_t)(action - __start_pen_actions); }

/* Updates r for a branch with PEN_WANT at the distance d. With PEN_MIN, r stays below the levels of PEN_LEAD. */
static void set_r(uint8_t action, uint64_t d, uint32_t branch) {
  uint64_t before = __pen_state.r;
  uint64_t r = action & PEN_MIN ? smaller(before, smaller(d, INT64_MAX)) : d;
  if (r == before) return;
  __pen_state.r = r;
  __pen_state.last_branch = branch;
}

#include "path.c"

/* Updates r for a branch with PEN_LEAD at the distance d. */
static void update_lead(uint64_t d, uint32_t branch) {
  if (!__pen_state.lead) return;
  uint64_t r = __pen_state.lead[branch] + compressed(d, PEN_LEAD_BITS);
  if (r >= __pen_state.r) return;
  __pen_state.r = r;
  __pen_state.last_branch = branch;
}

/* Lists a branch or a case, by its number in `improved`, because this run is the closest so far. */
static void list_improved(uint32_t number) {
  if (__pen_state.is_improved[number]) return;
  __pen_state.is_improved[number] = 1;
  __pen_state.improved[__pen_state.n_improved++] = number;
}

/* Updates the best distance of a branch with PEN_TRACK at the distance d. */
static void track_best(uint64_t d, uint32_t branch) {
  if (!__pen_state.best || d >= __pen_state.best[branch]) return;
  __pen_state.best[branch] = d;
  list_improved(branch);
}

static void branch_taken(const uint8_t *action) {
  uint32_t branch = branch_of(action);
  if (*action & PEN_RECORD && __pen_state.outcomes && !__pen_state.outcomes[branch]) {
    __pen_state.outcomes[branch] = 1;
    if (__pen_state.taken) __pen_state.taken[__pen_state.hits] = branch;
    __pen_state.hits++;
  }
  if (*action & PEN_WANT) set_r(*action, 0, branch);
}

/* Handles a branch that is not taken, at the distance d. */
static void branch_missed(const uint8_t *action, uint64_t d) {
  uint32_t branch = branch_of(action);
  if (d == 0) d = least_distance(); /* a branch that is not taken is not at distance 0 */
  if (*action & PEN_WANT) set_r(*action, d, branch);
  if (*action & PEN_TRACK) track_best(d, branch);
  if (*action & PEN_LEAD && !(*action & PEN_STEP)) update_lead(d, branch);
}

/* Handles a two-way site: `actions` are its two bytes, `taken` is 0 for true and 1 for false, `d` is the distance to
 * the other outcome. */
static void take(const uint8_t *actions, uint32_t taken, uint64_t d) {
  branch_taken(actions + taken);
  if (actions[taken] & PEN_NEAR) branch_missed(actions + (1 - taken), d);
  if (actions[taken] & PEN_STEP) step_two_way(actions, taken, d);
}

/* The same for a condition that is not one comparison. */
KEEPS_REGISTERS void __pen_take(const uint8_t *actions, uint32_t taken, uint64_t d) {
  note_compared(actions, taken, PEN_NO_PREDICATE, d, 0);
  take(actions, taken, d);
}

/* Handles the boundary values of the comparison (sides.c). */
static void sides_of_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b);
static void sides_of_fcmp64(const uint8_t *actions, uint32_t taken, double a, double b);
static void sides_of_fcmp32(const uint8_t *actions, uint32_t taken, float a, float b);

/* Handles a two-way site with one comparison. The entries below handle the frequent case without a call and in integer
 * registers: the taken outcome is recorded already, and the other one is no closer than before. */

SLOW void on_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b) {
  struct pen_pair p = icmp(predicate, a, b);
  note_compared(actions, taken, predicate, a, b);
  take(actions, taken, taken ? p.to_true : p.to_false);
  if (__pen_state.metric != PEN_ULP) sides_of_icmp(actions, taken, predicate, a, b);
}

SLOW void on_fcmp64(const uint8_t *actions, uint32_t taken, uint32_t predicate, double a, double b) {
  struct pen_pair p = fcmp64(predicate, a, b);
  note_compared(actions, taken, predicate, as_bits(a), as_bits(b));
  take(actions, taken, taken ? p.to_true : p.to_false);
  if (__pen_state.metric != PEN_ULP) sides_of_fcmp64(actions, taken, a, b);
}

SLOW void on_fcmp32(const uint8_t *actions, uint32_t taken, uint32_t predicate, float a, float b) {
  struct pen_pair p = fcmp32(predicate, a, b);
  note_compared(actions, taken, predicate, widened_float(a), widened_float(b));
  take(actions, taken, taken ? p.to_true : p.to_false);
  if (__pen_state.metric != PEN_ULP) sides_of_fcmp32(actions, taken, a, b);
}

SLOW void improve(const uint8_t *action, uint64_t d) { track_best(d, branch_of(action)); }

SLOW void approach(const uint8_t *action, uint64_t d) { update_lead(d, branch_of(action)); }

/* Whether the only action of the outcome that is taken is to compute the distance to the other one, in the exact
 * metric. */
static int only_near(uint8_t action) {
  return (action & ~PEN_ARMED) == PEN_NEAR && __pen_state.metric == PEN_ULP;
}

/* Handles the outcome that is not taken, at the distance d > 0, in the exact metric. */
INLINE void other_branch_missed(const uint8_t *actions, uint32_t taken, uint64_t d) {
  const uint8_t *other = actions + (1 - taken);
  uint32_t branch = branch_of(other);
  if (*other & PEN_WANT) set_r(*other, d, branch);
  if (*other & PEN_TRACK && __pen_state.best && d < __pen_state.best[branch]) improve(other, d);
  if ((*other & (PEN_LEAD | PEN_STEP)) == PEN_LEAD) approach(other, d);
}

/* Predicate and operands as for __pen_icmp. */
KEEPS_REGISTERS void __pen_on_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b) {
  if (!only_near(actions[taken])) {
    if (!follows_path(actions, taken)) on_icmp(actions, taken, predicate, a, b);
    return;
  }
  other_branch_missed(actions, taken, exact_icmp(predicate, a, b, !taken));
}

/* Predicate and operands as for __pen_fcmp64. */
KEEPS_REGISTERS void __pen_on_fcmp64(const uint8_t *actions, uint32_t taken, uint32_t predicate, double a, double b) {
  struct ulp_point pa = point_of_double(a), pb = point_of_double(b);
  if (!only_near(actions[taken]) || predicate == PEN_FCMP_ORD || predicate == PEN_FCMP_UNO || beyond_infinity(pa) ||
      beyond_infinity(pb)) {
    if (!follows_path(actions, taken)) on_fcmp64(actions, taken, predicate, a, b);
    return;
  }
  uint64_t gap = ulps_between(pa.position, pb.position);
  const uint32_t orders = PEN_FCMP_GREATER | PEN_FCMP_LESS;
  uint32_t order = predicate & orders; /* equality and inequality have neither or both */
  gap += order != 0 && order != orders && (predicate & PEN_FCMP_EQUAL) != taken;
  other_branch_missed(actions, taken, gap + (gap == 0));
}

/* Predicate and operands as for __pen_fcmp32. */
KEEPS_REGISTERS void __pen_on_fcmp32(const uint8_t *actions, uint32_t taken, uint32_t predicate, float a, float b) {
  if (!follows_path(actions, taken)) on_fcmp32(actions, taken, predicate, a, b);
}

/* A distance in ULPs or integers, converted to the current metric. */
static uint64_t distance_in_metric(uint64_t d) {
  return __pen_state.metric == PEN_SQUARED && d ? squared((double)d, 0) : d;
}

#include "sides.c"

#include "decision.c"

#include "switch.c"

#include "bytes.c"

#include "trace.c"

#include "operation.c"

#include "mutant.c"

/* ---- ends of an evaluation --------------------------------------------------------------------------------------- */

KEEPS_REGISTERS void __pen_out_of_fuel(void) {
  __pen_state.fuel = INT64_MAX;
  if (__pen_state.stop) __pen_state.stop(PEN_STOP_FUEL, __builtin_return_address(0));
}

/* Called when a C++ exception has left the function under test. `type` is its std::type_info, or null for an exception
 * of another language. The name follows the pointer to the virtual functions (Itanium C++ ABI, 2.9.4). */
HIDDEN void __pen_thrown(const void *type) {
  __pen_state.exit_status = type ? (int64_t)((const intptr_t *)type)[1] : 0;
  if (__pen_state.stop) __pen_state.stop(PEN_STOP_THROW, __builtin_return_address(0));
}

/* While the fuzzer has set `stop`, calls that end the process end only the evaluation. */
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

/* In a process without threads of its own, this ends the process with status 0. */
extern void __real_pthread_exit(void *) __attribute__((noreturn));
HIDDEN __attribute__((noreturn)) void __wrap_pthread_exit(void *value) {
  __pen_state.exit_status = 0;
  if (__pen_state.stop) __pen_state.stop(PEN_STOP_EXIT, __builtin_return_address(0));
  __real_pthread_exit(value);
}

/* Functions that an evaluation registers for the end of the process are ignored: the process makes millions of
 * evaluations and does not end. */
extern int __real___cxa_atexit(void (*)(void *), void *, void *);
HIDDEN int __wrap___cxa_atexit(void (*function)(void *), void *argument, void *library) {
  return __pen_state.stop ? 0 : __real___cxa_atexit(function, argument, library);
}

/* Called when an assumption of include/penfuzz.h does not hold. Outside the fuzzer the program cannot continue, and
 * this is no error. */
HIDDEN __attribute__((noreturn)) void __pen_reject(void) {
  if (__pen_state.stop) __pen_state.stop(PEN_STOP_REJECTED, __builtin_return_address(0));
  __real__exit(0);
}

/* Called when a check of include/penfuzz.h does not hold; `text` is its expression. */
HIDDEN __attribute__((noreturn)) void __pen_check_failed(const char *text) {
  __pen_state.exit_status = (int64_t)(intptr_t)text;
  if (__pen_state.stop) __pen_state.stop(PEN_STOP_CHECK, __builtin_return_address(0));
  __builtin_trap();
}

/* ---- SanCov ------------------------------------------------------------------------------------------------------ */

HIDDEN void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop) {
  if (start == stop || *start) return;
  for (uint32_t *guard = start; guard < stop; guard++) *guard = ++__pen_tables.n_guards;
}

HIDDEN void __sanitizer_cov_trace_pc_guard(uint32_t *guard) {
  uint8_t *map = __pen_state.coverage;
  if (map && map[*guard] != 255) map[*guard]++;
}

/* ---- the dual file: a shared object that is also a program ------------------------------------------------------- */

#ifndef PEN_NO_INTERPRETER
#if defined(__x86_64__)
#define INTERPRETER "/lib64/ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define INTERPRETER "/lib/ld-linux-aarch64.so.1"
#endif
#ifdef INTERPRETER
/* `retain`: --gc-sections must keep it. */
__attribute__((section(".interp"), used, retain)) static const char interpreter[] = INTERPRETER;
#endif
#endif

/* For a target without a main function, so that it links as well. Run as a program, it prints what the file is for. */
__attribute__((weak, visibility("hidden"))) int main(int argc, char **argv) {
  static const char text[] = "this is a penfuzz target without a main function: run penfuzz on it\n";
  (void)argc, (void)argv;
  return write(2, text, sizeof text - 1) < 0 ? 3 : 2;
}
