/* Runs one evaluation of the target and comes back whatever the target does.
 *
 * A fault, an abort, an exit, spent fuel or the alarm leave the target by a jump to the frame of guard_call. Only frames of
 * the target (and of the C library called by it) are skipped, never one of Rust. One periodic timer serves all evaluations:
 * it notices that the same evaluation is still running after a number of ticks, so an evaluation costs no system call. */
#define _GNU_SOURCE
#include <execinfo.h>
#include <fenv.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define MAX_FRAMES 48
#define STACK_SIZE (256 * 1024)

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

struct guard_end guard_end;
volatile uint64_t guard_evaluations; /* evaluations begun; the board shows it */

static void *resume_at[5];
static volatile sig_atomic_t in_target, in_handler;
static volatile uint64_t ticked_evaluation;
static volatile uint32_t ticks, ticks_allowed;
static fenv_t environment;

static __attribute__((noreturn)) void leave(void) {
  in_target = 0;
  in_handler = 0;
  __builtin_longjmp(resume_at, 1);
}

static int overdue(void) {
  if (guard_evaluations != ticked_evaluation) {
    ticked_evaluation = guard_evaluations;
    ticks = 0;
    return 0;
  }
  return ++ticks >= ticks_allowed;
}

static void note_machine_state(const ucontext_t *context) {
#if defined(__x86_64__)
  guard_end.place = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
  guard_end.stack = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
  guard_end.place = context->uc_mcontext.pc;
  guard_end.stack = context->uc_mcontext.sp;
#endif
}

static void on_signal(int signal_number, siginfo_t *info, void *context) {
  if (!in_target) {
    if (signal_number == SIGALRM) return;
    /* A fault of the fuzzer itself: die of it, the supervisor sees how. */
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    return;
  }
  if (in_handler) leave(); /* unwinding a broken stack faulted in turn */
  if (signal_number == SIGALRM && !overdue()) return;
  in_handler = 1;
  memset(&guard_end, 0, offsetof(struct guard_end, frames));
  guard_end.signal = signal_number;
  guard_end.address = (uint64_t)(uintptr_t)info->si_addr;
  note_machine_state(context);
  int n = backtrace(guard_end.frames, MAX_FRAMES);
  guard_end.n_frames = n < 0 ? 0 : (uint32_t)n;
  leave();
}

/* struct pen_state.stop of the target. */
void guard_stop(uint32_t reason, void *place) {
  if (!in_target) return;
  memset(&guard_end, 0, offsetof(struct guard_end, frames));
  guard_end.stop = reason;
  guard_end.place = (uint64_t)(uintptr_t)place;
  leave();
}

/* Returns 0 when the target returned, 1 when guard_end says how it ended. */
__attribute__((noinline)) int guard_call(void (*call)(const uint8_t *, uint8_t *), const uint8_t *in, uint8_t *out) {
  guard_evaluations++;
  if (__builtin_setjmp(resume_at)) {
    fesetenv(&environment);
    return 1;
  }
  in_target = 1;
  call(in, out);
  in_target = 0;
  return 0;
}

/* The same for LLVMFuzzerTestOneInput. */
__attribute__((noinline)) int guard_call_harness(int (*harness)(const uint8_t *, size_t), const uint8_t *in, size_t size,
                                                 int *result) {
  guard_evaluations++;
  if (__builtin_setjmp(resume_at)) {
    fesetenv(&environment);
    return 1;
  }
  in_target = 1;
  *result = harness(in, size);
  in_target = 0;
  return 0;
}

/* Installs the handlers for this thread and starts the timer. Returns 0, or the errno of what failed. */
int guard_install(uint64_t timeout_ns, uint64_t tick_ns) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGALRM};
  static timer_t timer;
  static int installed;
  ticks_allowed = (uint32_t)((timeout_ns + tick_ns - 1) / tick_ns) + 1; /* the first tick may come at once */
  if (installed) return 0;
  fegetenv(&environment);
  void *warm[2];
  backtrace(warm, 2); /* loads the unwinder now, not inside a handler */
  stack_t stack = {.ss_sp = malloc(STACK_SIZE), .ss_size = STACK_SIZE};
  if (!stack.ss_sp || sigaltstack(&stack, NULL)) return 12;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_signal;
  /* Not deferred: the handler is left by a jump, which would leave the signal blocked. */
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
    if (sigaction(signals[i], &action, NULL)) return 22;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGALRM;
  event._sigev_un._tid = (int)syscall(SYS_gettid);
  if (timer_create(CLOCK_MONOTONIC, &event, &timer)) return 11;
  struct timespec tick = {(time_t)(tick_ns / 1000000000), (long)(tick_ns % 1000000000)};
  struct itimerspec every = {tick, tick};
  if (timer_settime(timer, 0, &every, NULL)) return 11;
  installed = 1;
  return 0;
}
