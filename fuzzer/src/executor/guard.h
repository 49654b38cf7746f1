/* Shared by the two halves of the guard. */
#ifndef GUARD_H
#define GUARD_H

#include <fenv.h>
#include <signal.h>
#include <stdint.h>

#define MAX_FRAMES 48

/* Besides enum pen_stop: the evaluation used more memory than allowed. */
#define GUARD_STOP_MEMORY 100

/* Mirrored by guard.rs. */
struct guard_end {
  int32_t signal;      /* the signal, or 0 */
  uint32_t stop;       /* enum pen_stop, or 0 */
  uint64_t address;    /* the address that faulted */
  uint64_t place;      /* program counter, or the caller of what stopped */
  uint64_t stack;      /* stack pointer */
  uint32_t n_frames;
  uint32_t unused;
  void *frames[MAX_FRAMES]; /* callers, innermost first */
};

extern void *guard_resume_at[5];              /* of __builtin_setjmp */
extern volatile sig_atomic_t guard_in_target; /* the target runs: leaving it is allowed */
extern volatile uint64_t guard_evaluations;   /* evaluations begun */
extern fenv_t guard_environment;              /* floating-point environment to restore */

#endif
