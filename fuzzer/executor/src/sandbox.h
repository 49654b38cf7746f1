/* Contains a target whose system calls would harm the campaign. */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdint.h>
#include <ucontext.h>

/* What ends an evaluation; mirrored by sandbox.rs. */
enum sandbox_refusal {
  SANDBOX_NOTHING = 0, /* the call was answered, the target goes on */
  SANDBOX_PROCESS,     /* another process */
  SANDBOX_THREAD,      /* a thread */
  SANDBOX_PROGRAM,     /* another program in place of this one */
  SANDBOX_SIGNAL,      /* a signal to another process; `detail` is its number */
  SANDBOX_STOP,        /* a stop of the own process; `detail` is the signal's number */
  SANDBOX_END          /* the end of the process, past the C library's functions; `detail` is the status */
};

struct sandbox_answer {
  uint32_t refusal; /* enum sandbox_refusal */
  uint32_t detail;
};

/* Signals that are the guard's, and those that must not end a worker. */
int sandbox_is_guarded(int signal);

/* The system call behind a SIGSYS of the filter. For the target it is answered or refused, for ourselves it is made.
 * `own_timer` is the kernel's number of the guard's timer. */
struct sandbox_answer sandbox_system_call(ucontext_t *context, int in_target, int own_timer);

/* The C library ends the chain of frames in its function that makes a process on a stack of its own: moves `context` to the
 * caller of that function, so that the place in the target is found. Only for a context that is not returned to. */
void sandbox_leave_wrapper(ucontext_t *context);

/* Sets the signal mask, past the filter. */
void sandbox_set_mask(uint64_t mask);
uint64_t sandbox_mask(void);

/* Files that the target cannot close, one bit for each descriptor below 1024. */
extern uint64_t sandbox_files[16];

/* Installs the filter for the calling thread and what it forks; `allow_network` leaves sockets alone. Does
 * nothing when there is one. Returns 0 or an errno. */
int sandbox_install(int allow_network);

#endif
