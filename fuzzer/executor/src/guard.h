/* Declarations shared by guard.c and guard_call.c. */
#ifndef GUARD_H
#define GUARD_H

#include <fenv.h>
#include <signal.h>
#include <stdint.h>

#define MAX_FRAMES 48

/* enum pen_stop of the runtime: the fuel is spent; the run left the wanted path. */
#define PEN_STOP_FUEL 1
#define PEN_STOP_STRAYED 3
/* In addition to enum pen_stop: the evaluation used more memory than allowed. */
#define GUARD_STOP_MEMORY 100

/* The evaluation made a system call that was refused; `address` is enum sandbox_refusal << 32 | detail. */
#define GUARD_STOP_REFUSED 101

/* The evaluation wrote above its stack frame; `address` is the number of bytes from there to the last such write. */
#define GUARD_STOP_STACK 103

/* Mirrored by guard.rs. */
struct guard_end {
  int32_t signal;      /* the signal, or 0 */
  uint32_t stop;       /* enum pen_stop, or 0 */
  uint64_t address;    /* the address that faulted */
  uint64_t place;      /* program counter, or the return address of the hook that stopped the run */
  uint64_t stack;      /* stack pointer */
  uint64_t caller;     /* return address of a call to an address without code */
  uint32_t n_frames;
  uint32_t unused;
  void *frames[MAX_FRAMES]; /* return addresses, innermost first */
};

extern volatile sig_atomic_t guard_in_target; /* the target runs, so a jump out of it is allowed */
extern volatile uint64_t guard_evaluations;   /* number of evaluations started */
extern fenv_t guard_environment;              /* floating-point environment to restore */

/* Calls the thunk `call` of a target. Returns 0 if the target returned; 1 if it did not, and guard_end says how it
 * ended. */
int guard_call(void (*call)(const uint8_t *, uint8_t *), const uint8_t *in, uint8_t *out);

/* guard_call in a rounding mode of the floating-point environment, with all exception flags lowered. Afterwards the
 * rounding mode is the default again. */
int guard_call_rounded(void (*call)(const uint8_t *, uint8_t *), const uint8_t *in, uint8_t *out, uint8_t mode);

/* Restores the default floating-point environment if the current one differs. */
void guard_restore_environment(void);

/* The byte that guard_with_poisoned_stack fills the stack with. */
extern uint8_t guard_poison;
extern uint8_t guard_left_alignment_check;

/* Returns a thunk that fills the stack around the frame of `call` with a pattern and then calls it. A write above that
 * frame ends the evaluation. There is one such thunk per process. */
void (*guard_with_poisoned_stack(void (*call)(const uint8_t *, uint8_t *)))(const uint8_t *, uint8_t *);

/* Ends the evaluation of a thunk that has written `bytes` above its frame. */
void guard_overrun(uint64_t bytes, void (*thunk)(const uint8_t *, uint8_t *));

/* Leaves the target: the running guard_call returns 1, with the floating-point environment of the start. */
__attribute__((noreturn)) void guard_resume(void);

#endif
