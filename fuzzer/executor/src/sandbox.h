/* Intercepts system calls of the target that would harm the campaign. */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdint.h>
#include <ucontext.h>

/* Why an evaluation ends; mirrored by sandbox.rs. */
enum sandbox_refusal {
  SANDBOX_NOTHING = 0, /* the call was answered, the target continues */
  SANDBOX_PROCESS,     /* creates a process */
  SANDBOX_THREAD,      /* creates a thread */
  SANDBOX_PROGRAM,     /* replaces the program (exec) */
  SANDBOX_SIGNAL,      /* sends a signal to another process; `detail` is the signal's number */
  SANDBOX_STOP,        /* stops its own process; `detail` is the signal's number */
  SANDBOX_END,         /* ends the process by a direct system call; `detail` is the exit status */
  SANDBOX_RAISE        /* sends itself a signal that ends a process; `detail` is the signal's number */
};

struct sandbox_answer {
  uint32_t refusal; /* enum sandbox_refusal */
  uint32_t detail;
};

/* Is this a signal that the guard needs, or one that must not end a worker? The target can neither block it nor replace
 * its handler. */
int sandbox_is_guarded(int signal);

/* Handles the system call that raised the filter's SIGSYS. A call of the target is answered or refused; a call of the
 * fuzzer is made. `own_timer` is the kernel's number of the guard's timer. */
struct sandbox_answer sandbox_system_call(ucontext_t *context, int in_target, int own_timer);

/* Moves `context` from the C library's clone wrapper, which ends the chain of frames, to the caller of that wrapper.
 * This lets the unwinder find the place in the target. Only for a context that is not resumed. */
void sandbox_leave_wrapper(ucontext_t *context);

/* Sets and reads the signal mask by system calls that pass the filter. */
void sandbox_set_mask(uint64_t mask);
uint64_t sandbox_mask(void);

/* Reads the start of a file by a system call that passes the filter: a tick reads the memory in use. Returns the number
 * of bytes, or a negative errno. */
long sandbox_read_file(int file, void *to, uint64_t size);

/* dup and close, in the same way: a tick finds out whether descriptors are left. */
long sandbox_duplicate(int file);
void sandbox_close(long file);

/* Descriptors of the fuzzer, one bit for each descriptor below 1024. */
extern uint64_t sandbox_files[16];

/* Installs the filter for the calling thread and the processes that it forks. `allow_network` lets socket calls pass.
 * Has no effect if a filter is installed already. Returns 0 or an errno. */
int sandbox_install(int allow_network);

#endif
