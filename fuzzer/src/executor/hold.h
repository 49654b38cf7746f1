/* Holds a target that asks the system for what would harm the campaign. */
#ifndef HOLD_H
#define HOLD_H

#include <stdint.h>
#include <ucontext.h>

/* What ends an evaluation; mirrored by hold.rs. */
enum hold_refusal {
  HOLD_NOTHING = 0, /* the call was answered, the target goes on */
  HOLD_PROCESS,     /* another process */
  HOLD_THREAD,      /* a thread */
  HOLD_PROGRAM,     /* another program in place of this one */
  HOLD_SIGNAL,      /* a signal to another process; `detail` is its number */
  HOLD_STOP         /* a stop of the own process; `detail` is the signal's number */
};

struct hold_answer {
  uint32_t refusal; /* enum hold_refusal */
  uint32_t detail;
};

/* Signals that are the guard's, and those that must not end a worker. */
int hold_is_guarded(int signal);

/* The system call behind a SIGSYS of the filter. For the target it is answered or refused, for ourselves it is made.
 * `own_timer` is the kernel's number of the guard's timer. */
struct hold_answer hold_system_call(ucontext_t *context, int in_target, int own_timer);

/* The C library ends the chain of frames in its function that makes a process on a stack of its own: moves `context` to the
 * caller of that function, so that the place in the target is found. Only for a context that is not returned to. */
void hold_leave_wrapper(ucontext_t *context);

/* Sets the signal mask, past the filter. */
void hold_set_mask(uint64_t mask);
uint64_t hold_mask(void);

/* Files that the target cannot close, one bit for each descriptor below 1024. */
extern uint64_t hold_files[16];

/* Installs the filter for the calling thread and what it forks. Returns 0 or an errno. */
int hold_install(void);

#endif
