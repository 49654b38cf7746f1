/* Runs one evaluation of the target and returns to the fuzzer whatever the target does.
 *
 * A fault, an abort, an exit, spent fuel or the alarm leaves the target by a jump to the frame of guard_call. The jump
 * skips only frames of the target and of the C library called by it, never a frame of Rust. One periodic timer serves
 * all evaluations, so an evaluation makes no system call. At each tick the handler checks whether the same evaluation
 * has been running for too many ticks, and whether the memory limit is exceeded. */
#define _GNU_SOURCE
#include "guard.h"
#include "sandbox.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1 /* si_code of the filter's SIGSYS */
#endif
#define STACK_SIZE (256 * 1024)

/* Refused threads and processes leak resources of the C library, for instance 8 MiB of address space for a stack. */
#define REFUSALS_PER_PROCESS 1000

/* An evaluation may map this many times the memory that it may use. The kernel refuses to fork a process that has
 * mapped more than the machine has, even if the process uses little of it. */
#define MAPPED_FACTOR 4

struct guard_end guard_end;
/* The process must be replaced: the target was interrupted at any instruction, or holds half of the memory limit. */
volatile uint32_t guard_needs_restart;
/* Half of the memory limit was in use at a tick, perhaps only during an evaluation. */
volatile uint32_t guard_high_memory;

/* State of the handler. A fault within the handler is handled, too. */
enum { NOTHING, UNWINDING, UNWOUND };
static volatile sig_atomic_t in_handler;
static volatile uint64_t ticked_evaluation;
static volatile uint32_t ticks, ticks_allowed;
static volatile uint64_t pages_allowed = UINT64_MAX, mapped_allowed = UINT64_MAX;
static uint64_t files_allowed = UINT64_MAX; /* highest descriptor while enough are free */
static int statm = -1;
static int installed;
static timer_t timer;
static long own_thread;
static uint64_t start_mask; /* signals blocked when the guard was installed */
static uint32_t refusals;

volatile uint32_t guard_traces_fuel; /* report spent fuel with its stack, which takes microseconds */

/* Stores the return addresses of the current stack, innermost first; `guard_end` must be cleared before. The unwinder
 * can fault on a corrupted stack: the handler then leaves with the frames found until then. */
static void note_frames(void) {
  in_handler = UNWINDING;
  int n = backtrace(guard_end.frames, MAX_FRAMES);
  guard_end.n_frames = n < 0 ? 0 : (uint32_t)n;
}

static void count_frames(void) {
  uint32_t n = 0;
  while (n < MAX_FRAMES && guard_end.frames[n]) n++;
  guard_end.n_frames = n;
}

static __attribute__((noreturn)) void leave(void) {
  guard_in_target = 0;
  in_handler = NOTHING;
  sandbox_set_mask(start_mask); /* the target or the C library may have blocked signals */
  guard_resume();
}

/* Memory of this process in pages. */
struct memory {
  uint64_t mapped, resident;
};

/* Reads the first two numbers of /proc/self/statm. */
static struct memory memory_used(void) {
  char text[64];
  ssize_t n = statm < 0 ? -1 : sandbox_read_file(statm, text, sizeof text);
  uint64_t numbers[2] = {0, 0};
  ssize_t i = 0;
  for (int k = 0; k < 2; k++, i++)
    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++) numbers[k] = numbers[k] * 10 + (uint64_t)(text[i] - '0');
  return (struct memory){numbers[0], numbers[1]};
}

static int overdue(void) {
  if (guard_evaluations != ticked_evaluation) {
    ticked_evaluation = guard_evaluations;
    ticks = 0;
    return 0;
  }
  return ++ticks >= ticks_allowed;
}

/* Called between evaluations: does the target still hold half of the memory limit? */
void guard_look_at_memory(void) {
  struct memory used = memory_used();
  guard_high_memory = 0;
  if (used.resident > pages_allowed / 2 || used.mapped > mapped_allowed / 2) guard_needs_restart = 1;
}

/* Called at each tick: are only a few descriptors free? A target that leaks descriptors takes the lowest free ones. */
static void look_at_files(void) {
  long lowest = statm < 0 ? 0 : sandbox_duplicate(statm);
  if (lowest > 0) sandbox_close(lowest);
  if (lowest < 0 || (uint64_t)lowest > files_allowed) guard_needs_restart = 1;
}

/* Called at each tick: returns GUARD_STOP_MEMORY if the limit is exceeded. */
static uint32_t check_memory(void) {
  struct memory used = memory_used();
  look_at_files();
  if (used.resident > pages_allowed / 2 || used.mapped > mapped_allowed / 2) guard_high_memory = 1;
  return used.resident > pages_allowed || used.mapped > mapped_allowed ? GUARD_STOP_MEMORY : 0;
}

/* Stores the return address of a call through a wild pointer: the unwinder finds no caller of an address without code.
 * On aarch64 the address is in a register. */
static void note_return_address(void) {
#if defined(__x86_64__)
  guard_end.caller = *(const uint64_t *)guard_end.stack;
#endif
}

static void note_machine_state(const ucontext_t *context) {
#if defined(__x86_64__)
  guard_end.place = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
  guard_end.stack = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
  guard_end.place = context->uc_mcontext.pc;
  guard_end.stack = context->uc_mcontext.sp;
  guard_end.caller = context->uc_mcontext.regs[30];
#endif
}

static uint64_t place_of(const ucontext_t *context) {
#if defined(__x86_64__)
  return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#else
  return context->uc_mcontext.pc;
#endif
}

static __attribute__((noreturn)) void end_evaluation(int signal_number, int code, uint32_t stop, uint64_t address,
                                                     void *context) {
  in_handler = UNWINDING;
  /* The jump may leave the C library in the middle of malloc. Only the target uses that heap, because the fuzzer has an
   * allocator of its own. But later evaluations would use it too, so the process must be replaced. */
  if (signal_number == SIGALRM) guard_needs_restart = 1;
  /* The code cannot be executed: the target has changed the protection of its own pages. */
  if (signal_number == SIGSEGV && code == SEGV_ACCERR && address == place_of(context)) guard_needs_restart = 1;
  memset(&guard_end, 0, sizeof guard_end);
  guard_end.signal = stop ? 0 : signal_number;
  guard_end.stop = stop;
  guard_end.address = address;
  note_machine_state(context);
  note_frames();
  note_return_address();
  leave();
}

/* Called when the filter of sandbox.c has intercepted a system call. */
static void on_system_call(int in_target, void *context) {
  struct sandbox_answer answer = sandbox_system_call(context, in_target, (int)(intptr_t)timer);
  if (answer.refusal == SANDBOX_NOTHING) return;
  sandbox_leave_wrapper(context);
  if (++refusals >= REFUSALS_PER_PROCESS) guard_needs_restart = 1;
  end_evaluation(0, 0, GUARD_STOP_REFUSED, (uint64_t)answer.refusal << 32 | answer.detail, context);
}

static void handle_signal(int signal_number, siginfo_t *info, void *context) {
#if defined(__x86_64__)
  /* The target has set the alignment check flag and returned. */
  const greg_t alignment_check = 1 << 18;
  greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
  if (signal_number == SIGBUS && !guard_in_target && *flags & alignment_check) {
    *flags &= ~alignment_check;
    return;
  }
#endif
  /* Threads that the target started while it was loaded cannot be left by a jump. */
  int is_own = syscall(SYS_gettid) == own_thread, in_target = guard_in_target && is_own;
  if (signal_number == SIGSYS && info->si_code == SYS_SECCOMP) {
    on_system_call(in_target, context);
    return;
  }
  if (!in_target) {
    if (signal_number == SIGALRM) {
      if (is_own) check_memory();
      return;
    }
    /* A fault of the fuzzer itself: the process dies of it, and the supervisor sees the signal. */
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    return;
  }
  if (in_handler) {
    if (signal_number == SIGALRM && !overdue()) return; /* a tick while the stack is unwound */
    count_frames(); /* unwinding a corrupted stack faulted or does not end */
    /* The unwinder reads the code at the place. At the stub of an undefined function that read faults as well. */
    if (in_handler == UNWINDING && signal_number != SIGALRM) {
      in_handler = UNWOUND;
      note_return_address();
    }
    leave();
  }
  uint32_t stop = 0;
  if (signal_number == SIGALRM) {
    stop = check_memory();
    if (!stop && !overdue()) return;
  }
  end_evaluation(signal_number, info->si_code, stop, (uint64_t)(uintptr_t)info->si_addr, context);
}

/* errno is restored, because a tick may interrupt the target between a call and its check of errno. */
static void on_signal(int signal_number, siginfo_t *info, void *context) {
#if defined(__x86_64__)
  /* Clears the alignment check flag, below the red zone. */
  __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x40000, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp"
                   ::: "memory", "cc");
#endif
  int saved = errno;
  handle_signal(signal_number, info, context);
  errno = saved;
}

/* The target's runtime calls this as struct pen_state.stop. */
void guard_stop(uint32_t reason, void *place) {
  if (!guard_in_target) return;
  memset(&guard_end, 0, sizeof guard_end);
  guard_end.stop = reason;
  guard_end.place = (uint64_t)(uintptr_t)place;
  if (reason == PEN_STOP_FUEL && guard_traces_fuel) note_frames();
  leave();
}

void guard_overrun(uint64_t bytes, void (*thunk)(const uint8_t *, uint8_t *)) {
  memset(&guard_end, 0, sizeof guard_end);
  guard_end.stop = GUARD_STOP_STACK;
  guard_end.address = bytes;
  guard_end.place = (uint64_t)(uintptr_t)thunk + 1;
  leave();
}

/* Called after a fork: timers are not inherited, so the child must install the guard again. */
void guard_forget(void) { installed = 0; }

/* Installs the handlers for this thread and starts the timer. The process may grow by `memory` bytes. Returns 0, or the
 * errno of the call that failed. */
int guard_install(uint64_t timeout_ns, uint64_t tick_ns, uint64_t memory) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGALRM};
  if (statm < 0) statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  struct memory used = memory_used();
  uint64_t pages = memory / (uint64_t)sysconf(_SC_PAGESIZE);
  pages_allowed = used.resident + pages;
  mapped_allowed = 2 * used.mapped + MAPPED_FACTOR * pages;
  guard_needs_restart = guard_high_memory = 0;
  ticks_allowed = (uint32_t)((timeout_ns + tick_ns - 1) / tick_ns) + 1; /* the first tick may come immediately */
  struct rlimit files;
  if (!getrlimit(RLIMIT_NOFILE, &files)) files_allowed = files.rlim_cur - files.rlim_cur / 4;
  if (installed) return 0;
  own_thread = syscall(SYS_gettid);
  start_mask = sandbox_mask();
  fegetenv(&guard_environment);
  void *warm[2];
  backtrace(warm, 2); /* loads the unwinder now, not inside a handler */
  /* A forked process inherits its parent's signal stack and cannot set another: the filter would make the call in a
   * handler that runs on that stack. */
  static int has_stack;
  stack_t stack = {.ss_sp = has_stack ? NULL : malloc(STACK_SIZE), .ss_size = STACK_SIZE};
  if (!has_stack && (!stack.ss_sp || sigaltstack(&stack, NULL))) return 12;
  has_stack = 1;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_signal;
  /* SA_NODEFER: the handler is left by a jump, which would leave the signal blocked. */
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
