/* The functions of the runtime that instrumented code calls, and the data that it accesses by name. The pass derives
 * the types from these declarations, so a call and its function cannot disagree. */
#ifndef PEN_ENTRIES_H
#define PEN_ENTRIES_H

#include "pen.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* The calling convention of these functions on x86-64: the callee preserves every register but r11, floating-point
 * registers included (see Context::declare in pass/hooks/hook.cc). The pass selects it by the target machine, which may
 * differ from the machine on which the pass runs. In C++ the attribute is absent, because it would be part of the
 * function's type. */
#if defined(__x86_64__) && !defined(__cplusplus)
#define ALL_REGISTERS_KEPT __attribute__((preserve_all))
#else
#define ALL_REGISTERS_KEPT
#endif
#define KEEPS_REGISTERS HIDDEN ALL_REGISTERS_KEPT

#ifdef __cplusplus
extern "C" {
#endif

extern HIDDEN struct pen_state __pen_state;
/* The result of the functions below: instrumented code passes its address as `result`. A pair that is returned in
 * registers would need registers that the callee may clobber. */
extern HIDDEN struct pen_pair __pen_pair;

/* The distances of one comparison, of a class of floats, of `a && b` and `a || b` (from the distances of a and b to
 * true and to false), and of a condition that is no comparison. */
KEEPS_REGISTERS void __pen_icmp(struct pen_pair *result, uint32_t predicate, uint64_t a, uint64_t b);
KEEPS_REGISTERS void __pen_fcmp64(struct pen_pair *result, uint32_t predicate, double a, double b);
KEEPS_REGISTERS void __pen_fcmp32(struct pen_pair *result, uint32_t predicate, float a, float b);
KEEPS_REGISTERS void __pen_fcmp_wide(struct pen_pair *result, uint32_t predicate, uint64_t a, uint64_t b,
                                     uint32_t bits);
KEEPS_REGISTERS void __pen_fpclass(struct pen_pair *result, uint64_t bits, uint32_t width, uint32_t mask);
KEEPS_REGISTERS void __pen_and(struct pen_pair *result, uint64_t at, uint64_t af, uint64_t bt, uint64_t bf);
KEEPS_REGISTERS void __pen_or(struct pen_pair *result, uint64_t at, uint64_t af, uint64_t bt, uint64_t bf);
KEEPS_REGISTERS void __pen_opaque(struct pen_pair *result, uint32_t truth);
/* The distances of "the result of strcmp is not 0", and of functions like strcmp. At most `n` bytes are compared, at
 * least the first `known` bytes of b can be read; `how` is enum pen_bytes_flag. Called directly after the call of that
 * function. */
KEEPS_REGISTERS void __pen_bytes(struct pen_pair *result, const uint8_t *a, const uint8_t *b, uint64_t n,
                                 uint64_t known, uint32_t how);

/* An armed two-way site, with the distance to the other outcome or with its one comparison; an armed switch. */
KEEPS_REGISTERS void __pen_take(const uint8_t *actions, uint32_t taken, uint64_t d);
KEEPS_REGISTERS void __pen_on_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b);
KEEPS_REGISTERS void __pen_on_fcmp64(const uint8_t *actions, uint32_t taken, uint32_t predicate, double a, double b);
KEEPS_REGISTERS void __pen_on_fcmp32(const uint8_t *actions, uint32_t taken, uint32_t predicate, float a, float b);
KEEPS_REGISTERS void __pen_on_other_icmp(const uint8_t *actions, uint32_t taken, uint32_t predicate, uint64_t a,
                                         uint64_t b);
/* A condition of an armed decision: its number, 0 if it holds and 1 if not, and the distance to the other outcome. */
KEEPS_REGISTERS void __pen_condition(const struct pen_decision *decision, uint32_t node, uint32_t taken, uint64_t d);
KEEPS_REGISTERS void __pen_switch(const uint8_t *actions, int64_t value, const struct pen_switch *table);

/* An armed comparison, an armed operation. */
KEEPS_REGISTERS void __pen_sides(const uint8_t *sides, uint32_t taken, uint32_t predicate, uint64_t a, uint64_t b,
                                 uint64_t to_equal);
KEEPS_REGISTERS void __pen_sides80(const uint8_t *sides, uint32_t taken, uint64_t fraction_a, uint32_t upper_a,
                                   uint64_t fraction_b, uint32_t upper_b);
KEEPS_REGISTERS void __pen_on_operation(const uint8_t *actions, uint32_t what, uint64_t a, uint64_t b, uint64_t c,
                                        uint64_t result);

/* __pen_on_move: a move (enum pen_move) of a float with these bits. __pen_on_operands: the names of operands and result
 * of the next operation. */
KEEPS_REGISTERS void __pen_on_move(const void *address, const void *name, uint32_t what, uint64_t bits);
KEEPS_REGISTERS void __pen_on_operands(const void *a, const void *b, const void *c, const void *result);

/* An armed mutation point. __pen_mutant stores a number in `result->to_true`: that of the active mutant if it is one of
 * these, n + 1 while values are written to the trace, else `n`. For `n`, __pen_on_mutant reports a mutant with its
 * distance to another value, and __pen_on_mutated reports a mutant with the bits of both values. `floats` is 64 or 32
 * if these are floats of that width, else 0; all NaN are equal. For n + 1 and for an active mutant, __pen_on_value
 * reports the bits of the value. */
KEEPS_REGISTERS void __pen_mutant(struct pen_pair *result, const uint8_t *actions, uint32_t n);
KEEPS_REGISTERS void __pen_on_mutant(const uint8_t *action, uint64_t d);
KEEPS_REGISTERS void __pen_on_mutated(const uint8_t *action, uint64_t original, uint64_t mutated, uint32_t floats);
KEEPS_REGISTERS void __pen_on_value(const uint8_t *actions, uint64_t value, uint32_t floats);

/* The fuel is used up. Returns only outside the fuzzer. */
KEEPS_REGISTERS void __pen_out_of_fuel(void);

#ifdef __cplusplus
}
#endif

#endif
