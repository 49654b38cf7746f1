/* Shared by the two halves of the guard. */
#ifndef GUARD_H
#define GUARD_H

#include <fenv.h>
#include <signal.h>
#include <stdint.h>

#define MAX_FRAMES 48

/* enum pen_stop of the runtime: fuel is spent; the run is off the path that is wanted. */
#define PEN_STOP_FUEL 1
#define PEN_STOP_STRAYED 3
/* Besides enum pen_stop: the evaluation used more memory than allowed. */
#define GUARD_STOP_MEMORY 100

/* The evaluation made a system call that is refused; `address` is enum sandbox_refusal << 32 | detail. */
#define GUARD_STOP_REFUSED 101

/* Mirrored by guard.rs. */
struct guard_end {
  int32_t signal;      /* the signal, or 0 */
  uint32_t stop;       /* enum pen_stop, or 0 */
  uint64_t address;    /* the address that faulted */
  uint64_t place;      /* program counter, or the caller of what stopped */
  uint64_t stack;      /* stack pointer */
  uint64_t caller;     /* of a place without code: what the stack pointer points to */
  uint32_t n_frames;
  uint32_t unused;
  void *frames[MAX_FRAMES]; /* callers, innermost first */
};

extern volatile sig_atomic_t guard_in_target; /* the target runs: leaving it is allowed */
extern volatile uint64_t guard_evaluations;   /* evaluations begun */
extern fenv_t guard_environment;              /* floating-point environment to restore */

/* Calls the thunk `call` of a target. Returns 0 when the target returned, 1 when guard_end holds how it ended. */
int guard_call(void (*call)(const uint8_t *, uint8_t *), const uint8_t *in, uint8_t *out);

/* The same in a rounding mode of the floating-point environment and with no exception flag raised; the default mode holds
 * afterwards. */
int guard_call_rounded(void (*call)(const uint8_t *, uint8_t *), const uint8_t *in, uint8_t *out, uint8_t mode);

/* The default floating-point environment, if it is another. */
void guard_restore_environment(void);

/* A thunk that writes a pattern over the stack below itself and then calls `call`; one for the whole process. */
void (*guard_behind_soil(void (*call)(const uint8_t *, uint8_t *)))(const uint8_t *, uint8_t *);

/* Leaves the target: the running guard_call returns 1, with the floating-point environment of the start. */
__attribute__((noreturn)) void guard_resume(void);

#endif
