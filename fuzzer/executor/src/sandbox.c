/* A filter on system calls (seccomp) intercepts the calls by which a target could damage its process. Such a call
 * raises SIGSYS. The handler in guard.c then calls this file, which makes the call, reports success without making it,
 * or ends the evaluation. Evaluations without such a call have no overhead. It makes no difference whether the C
 * library, another library or an instruction of the target makes the call.
 *
 * The fuzzer's own calls raise SIGSYS as well. They are repeated with a secret number in the sixth argument, which none
 * of these calls uses, and the filter allows calls with that number. */
#define _GNU_SOURCE
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

uint64_t sandbox_files[16];

static uint64_t filter_key; /* secret number in the sixth argument of the fuzzer's calls */

/* ---- system calls made without the C library, which would change the target's errno ---- */

/* The number must not stay in its register. An evaluation that ends in a handler is left by a jump; system calls of the
 * next evaluation, whose arguments do not use that register, would then get through the filter. */

struct call {
  long number;
  uint64_t a[6];
};

#if defined(__x86_64__)

#define ARCHITECTURE AUDIT_ARCH_X86_64

static long make(long number, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4) {
  long result;
  register uint64_t r10 __asm__("r10") = a3;
  register uint64_t r8 __asm__("r8") = a4;
  register uint64_t r9 __asm__("r9") = filter_key;
  __asm__ volatile("syscall\n\txorl %%r9d, %%r9d"
                   : "=a"(result), "+r"(r9)
                   : "a"(number), "D"(a0), "S"(a1), "d"(a2), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}

static struct call read_call(const ucontext_t *context) {
  const greg_t *r = context->uc_mcontext.gregs;
  return (struct call){(long)r[REG_RAX], {(uint64_t)r[REG_RDI], (uint64_t)r[REG_RSI], (uint64_t)r[REG_RDX],
                                          (uint64_t)r[REG_R10], (uint64_t)r[REG_R8], (uint64_t)r[REG_R9]}};
}

static void put_result(ucontext_t *context, long result) { context->uc_mcontext.gregs[REG_RAX] = result; }

#elif defined(__aarch64__)

#define ARCHITECTURE AUDIT_ARCH_AARCH64

static long make(long number, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4) {
  register uint64_t x8 __asm__("x8") = (uint64_t)number;
  register uint64_t x0 __asm__("x0") = a0;
  register uint64_t x1 __asm__("x1") = a1;
  register uint64_t x2 __asm__("x2") = a2;
  register uint64_t x3 __asm__("x3") = a3;
  register uint64_t x4 __asm__("x4") = a4;
  register uint64_t x5 __asm__("x5") = filter_key;
  __asm__ volatile("svc #0\n\tmov x5, xzr"
                   : "+r"(x0), "+r"(x5)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
                   : "memory");
  return (long)x0;
}

static struct call read_call(const ucontext_t *context) {
  struct call call = {(long)context->uc_mcontext.regs[8], {0}};
  for (int i = 0; i < 6; i++) call.a[i] = context->uc_mcontext.regs[i];
  return call;
}

static void put_result(ucontext_t *context, long result) { context->uc_mcontext.regs[0] = (uint64_t)result; }

#endif

#define CALL(number, a0, a1, a2, a3) make(number, (uint64_t)(a0), (uint64_t)(a1), (uint64_t)(a2), (uint64_t)(a3), 0)

static long repeat_call(const struct call *c) { return make(c->number, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4]); }

uint64_t sandbox_mask(void) {
  uint64_t mask = 0;
  CALL(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, sizeof mask);
  return mask;
}

void sandbox_set_mask(uint64_t mask) { CALL(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, sizeof mask); }

/* ---- signals ---- */

static const int guarded[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGABRT, SIGTRAP,
                              SIGSYS,  SIGALRM, SIGINT, SIGTERM, SIGHUP};
#define N_GUARDED (sizeof guarded / sizeof *guarded)

int sandbox_is_guarded(int signal) {
  for (unsigned i = 0; i < N_GUARDED; i++)
    if (guarded[i] == signal) return 1;
  return 0;
}

static uint64_t guarded_mask(void) {
  uint64_t mask = 0;
  for (unsigned i = 0; i < N_GUARDED; i++) mask |= UINT64_C(1) << (guarded[i] - 1);
  return mask;
}

/* The kernel's layout of struct sigaction. */
struct action {
  void *handler;
  unsigned long flags;
  void *restorer;
  uint64_t mask;
};

/* The target's actions for signals whose actions the fuzzer keeps. */
static struct action shown[65];

/* Stores the target's action for a guarded signal and reports it back later; the guard's handler stays installed. The
 * fuzzer ignores SIGPIPE, and must. */
static long set_action(const struct call *c) {
  int signal = (int)c->a[0];
  if (!sandbox_is_guarded(signal) && signal != SIGPIPE) return repeat_call(c);
  const struct action *wanted = (const struct action *)c->a[1];
  struct action *old = (struct action *)c->a[2], before = shown[signal];
  if (wanted) shown[signal] = *wanted;
  if (old) *old = before;
  return 0;
}

/* Changes the mask that takes effect when the handler returns. Guarded signals stay unblocked. */
static long set_mask(const struct call *c, ucontext_t *context) {
  uint64_t *now = (uint64_t *)(void *)&context->uc_sigmask, before = *now;
  const uint64_t *set = (const uint64_t *)c->a[1];
  if (set) {
    uint64_t wanted = *set & ~guarded_mask();
    switch ((int)c->a[0]) {
      case SIG_BLOCK: *now |= wanted; break;
      case SIG_UNBLOCK: *now &= ~*set; break;
      case SIG_SETMASK: *now = wanted; break;
      default: return -EINVAL;
    }
  }
  if (c->a[2]) *(uint64_t *)c->a[2] = before;
  return 0;
}

static long set_stack(const struct call *c) {
  if (c->a[1]) CALL(SYS_sigaltstack, 0, c->a[1], 0, 0);
  return 0;
}

static struct sandbox_answer signal_self(const struct call *c, ucontext_t *context, int signal) {
  if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
    return (struct sandbox_answer){SANDBOX_STOP, (uint32_t)signal};
  int is_ending = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGALRM || signal == SIGPIPE;
  if (is_ending && shown[signal].handler == (void *)SIG_DFL)
    return (struct sandbox_answer){SANDBOX_RAISE, (uint32_t)signal};
  put_result(context, is_ending ? 0 : repeat_call(c)); /* a handler of the target for these is not called */
  return (struct sandbox_answer){SANDBOX_NOTHING, 0};
}

/* kill, tkill and the like. The receiver is argument 0: a process, or for SYS_tkill a thread. */
static struct sandbox_answer send_signal(const struct call *c, ucontext_t *context) {
  long own = CALL(SYS_getpid, 0, 0, 0, 0), thread = CALL(SYS_gettid, 0, 0, 0, 0), to = (int)c->a[0];
  int has_thread = c->number == SYS_tgkill || c->number == SYS_rt_tgsigqueueinfo;
  int signal = (int)c->a[has_thread ? 2 : 1];
  if (to == own || (c->number == SYS_tkill && to == thread)) return signal_self(c, context, signal);
  if (signal) return (struct sandbox_answer){SANDBOX_SIGNAL, (uint32_t)signal};
  put_result(context, repeat_call(c)); /* signal 0 only checks that the process exists */
  return (struct sandbox_answer){SANDBOX_NOTHING, 0};
}

/* ---- files ---- */

static int is_ours(uint64_t file) { return file < 1024 && sandbox_files[file / 64] >> file % 64 & 1; }

/* The target sees the standard streams and the files that it has opened, as in a process of its own. */
static long use_file(const struct call *c) { return is_ours(c->a[0]) ? -EBADF : repeat_call(c); }

/* A signal of a file could be addressed to the supervisor, or end this process. */
static long control_file(const struct call *c) {
  if (is_ours(c->a[0])) return -EBADF;
  switch ((int)c->a[1]) {
    case F_SETOWN:
    case F_SETOWN_EX:
    case F_SETSIG:
    case F_SETLEASE:
    case F_NOTIFY: return 0;
    default: return repeat_call(c);
  }
}

static long control_device(const struct call *c) {
  if (is_ours(c->a[0])) return -EBADF;
  return c->a[1] == FIOSETOWN || c->a[1] == SIOCSPGRP ? 0 : repeat_call(c);
}

static long duplicate(const struct call *c) {
  if (is_ours(c->a[0])) return -EBADF;
  return is_ours(c->a[1]) ? -EBUSY : repeat_call(c);
}

static long close_range_except_protected(unsigned first, unsigned last) {
  if (last > 65535) last = 65535;
  for (unsigned file = first; file <= last; file++)
    if (!is_ours(file)) CALL(SYS_close, file, 0, 0, 0);
  return 0;
}

/* ---- other calls ---- */

/* Reads a resource limit of this process without changing it. Other processes are not accessible. */
static long limits(const struct call *c) {
  struct call reading = *c;
  if ((int)c->a[0] != 0 && (int)c->a[0] != CALL(SYS_getpid, 0, 0, 0, 0)) return -EPERM;
  reading.a[2] = 0;
  return repeat_call(&reading);
}

/* A timer whose signal would kill or stop the process is created without a signal. */
static long create_timer(const struct call *c) {
  struct call harmless = *c;
  struct sigevent event;
  if (!c->a[1]) return repeat_call(c);
  memcpy(&event, (const void *)c->a[1], sizeof event);
  if (event.sigev_signo == SIGKILL || event.sigev_signo == SIGSTOP) event.sigev_notify = SIGEV_NONE;
  harmless.a[1] = (uint64_t)&event;
  return repeat_call(&harmless);
}

/* ---- waiting ---- */

/* The ticks of the guard interrupt these calls, which a program without the guard would not see. Each waits until its
 * time is over; a wait that takes too long ends when the evaluation is overdue. */

static long sleep_for(const struct call *c) {
  struct call again = *c;
  int has_clock = c->number == SYS_clock_nanosleep, is_absolute = has_clock && c->a[1] & TIMER_ABSTIME;
  struct timespec left;
  again.a[has_clock ? 3 : 1] = (uint64_t)&left;
  for (;;) {
    long result = repeat_call(&again);
    if (result != -EINTR) return result;
    if (!is_absolute) again.a[has_clock ? 2 : 0] = (uint64_t)&left;
  }
}

static int64_t milliseconds(void) {
  struct timespec now;
  CALL(SYS_clock_gettime, CLOCK_MONOTONIC, &now, 0, 0);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* poll and epoll_wait: the time in milliseconds is the argument `at`, and negative for no limit. */
static long wait_for_events(const struct call *c, int at) {
  struct call again = *c;
  int64_t end = milliseconds() + (int)c->a[at];
  for (;;) {
    long result = repeat_call(&again);
    if (result != -EINTR) return result;
    int64_t left = end - milliseconds();
    if ((int)c->a[at] >= 0) again.a[at] = (uint64_t)(left > 0 ? left : 0);
  }
}

/* select and ppoll update their time themselves; pause has none. */
static long wait_again(const struct call *c) {
  long result;
  do result = repeat_call(c);
  while (result == -EINTR);
  return result;
}

static long emulate_umask(uint64_t wanted) {
  static uint64_t shown = 022;
  uint64_t before = shown;
  shown = wanted & 0777;
  return (long)before;
}

static long control(const struct call *c) {
  switch ((int)c->a[0]) {
    case PR_SET_PDEATHSIG:
    case PR_SET_DUMPABLE:
    case PR_SET_TSC: /* the guard and the search read the time stamp counter */
    case PR_SET_CHILD_SUBREAPER: return 0;
    case PR_SET_SECCOMP: return -EPERM;
    default: return repeat_call(c);
  }
}

static uint32_t kind_of_child(uint64_t flags) { return flags & CLONE_THREAD ? SANDBOX_THREAD : SANDBOX_PROCESS; }

/* Calls that are trapped only for the descriptors of the fuzzer. `mmap`, `splice` and others with six arguments are
 * left out: they cannot be repeated with the secret number. */
static const uint32_t file_calls[] = {
    SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_preadv, SYS_pwritev, SYS_lseek,
    SYS_ftruncate, SYS_fallocate, SYS_fsync, SYS_fdatasync, SYS_fstat, SYS_fchmod, SYS_fchown, SYS_flock, SYS_dup,
    SYS_sendfile, SYS_getdents64, SYS_fchdir,
};
#define N_FILE_CALLS (sizeof file_calls / sizeof *file_calls)

static int is_file_call(long number) {
  for (size_t i = 0; i < N_FILE_CALLS; i++)
    if (file_calls[i] == (uint32_t)number) return 1;
  return 0;
}

static struct sandbox_answer answer(const struct call *c, ucontext_t *context, int own_timer) {
  struct sandbox_answer done = {SANDBOX_NOTHING, 0};
  long result = 0;
  switch (c->number) {
#ifdef SYS_fork
    case SYS_fork:
    case SYS_vfork: return (struct sandbox_answer){SANDBOX_PROCESS, 0};
#endif
    case SYS_clone: return (struct sandbox_answer){kind_of_child(c->a[0]), 0};
    case SYS_clone3: return (struct sandbox_answer){kind_of_child(*(const uint64_t *)c->a[0]), 0};
    case SYS_exit:
    case SYS_exit_group: return (struct sandbox_answer){SANDBOX_END, (uint32_t)c->a[0] & 0xff};
    case SYS_execve:
    case SYS_execveat: return (struct sandbox_answer){SANDBOX_PROGRAM, 0};
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo: return send_signal(c, context);
    case SYS_close: result = is_ours(c->a[0]) ? 0 : repeat_call(c); break;
    case SYS_close_range: result = close_range_except_protected((unsigned)c->a[0], (unsigned)c->a[1]); break;
#ifdef SYS_dup2
    case SYS_dup2:
#endif
    case SYS_dup3: result = duplicate(c); break;
    case SYS_fcntl: result = control_file(c); break;
    case SYS_ioctl: result = control_device(c); break;
    case SYS_rt_sigaction: result = set_action(c); break;
    case SYS_rt_sigprocmask: result = set_mask(c, context); break;
    case SYS_sigaltstack: result = set_stack(c); break;
    case SYS_setitimer: result = (int)c->a[0] == ITIMER_REAL ? 0 : repeat_call(c); break;
    case SYS_timer_create: result = create_timer(c); break;
    case SYS_timer_settime:
    case SYS_timer_delete: result = (int)c->a[0] == own_timer ? 0 : repeat_call(c); break;
    case SYS_umask: result = emulate_umask(c->a[0]); break;
    case SYS_prlimit64: result = limits(c); break;
    case SYS_prctl: result = control(c); break;
    /* Reported as successful but not made: they change how fast or how long the worker runs, not what the target
     * computes. */
#ifdef SYS_alarm
    case SYS_alarm:
#endif
    case SYS_setrlimit:
    case SYS_setpriority:
    case SYS_sched_setscheduler:
    case SYS_sched_setparam:
    case SYS_sched_setattr:
    case SYS_sched_setaffinity: break;
    case SYS_nanosleep:
    case SYS_clock_nanosleep: result = sleep_for(c); break;
#ifdef SYS_poll
    case SYS_poll: result = wait_for_events(c, 2); break;
    case SYS_epoll_wait: result = wait_for_events(c, 3); break;
    case SYS_select:
    case SYS_pause:
#endif
    case SYS_ppoll: result = wait_again(c); break;
    default: result = is_file_call(c->number) ? use_file(c) : -EPERM; break;
  }
  put_result(context, result);
  return done;
}

struct sandbox_answer sandbox_system_call(ucontext_t *context, int in_target, int own_timer) {
  struct call call = read_call(context);
  if (in_target) return answer(&call, context, own_timer);
  /* The target may get this number for a file of its own. */
  if (call.number == SYS_close && is_ours(call.a[0])) sandbox_files[call.a[0] / 64] &= ~(UINT64_C(1) << call.a[0] % 64);
  /* A process or thread with a stack of its own cannot be created from a handler. The fuzzer creates none. */
  int on_own_stack = call.number == SYS_clone3 || (call.number == SYS_clone && call.a[1]);
#ifdef SYS_vfork
  on_own_stack |= call.number == SYS_vfork;
#endif
  if (call.number == SYS_rt_sigprocmask) put_result(context, set_mask(&call, context));
  else put_result(context, on_own_stack ? -EPERM : repeat_call(&call));
  return (struct sandbox_answer){SANDBOX_NOTHING, 0};
}

void sandbox_leave_wrapper(ucontext_t *context) {
#if defined(__x86_64__)
  struct call call = read_call(context);
  if (call.number != SYS_clone3 && (call.number != SYS_clone || !call.a[1])) return;
  greg_t *r = context->uc_mcontext.gregs;
  r[REG_RIP] = *(const greg_t *)r[REG_RSP]; /* the wrapper has pushed nothing */
  r[REG_RSP] += 8;
#else
  (void)context;
#endif
}

/* ---- the filter ---- */

static const uint32_t trapped[] = {
#if defined(__x86_64__)
    SYS_fork, SYS_vfork, SYS_alarm, SYS_dup2, SYS_poll, SYS_epoll_wait, SYS_select, SYS_pause,
#endif
    SYS_nanosleep, SYS_clock_nanosleep, SYS_ppoll,
    SYS_exit, SYS_exit_group, SYS_clone, SYS_clone3, SYS_execve, SYS_execveat, SYS_kill, SYS_tkill, SYS_tgkill,
    SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal, SYS_close, SYS_close_range, SYS_dup3,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_sigaltstack, SYS_setitimer, SYS_timer_create, SYS_timer_settime,
    SYS_timer_delete, SYS_fcntl, SYS_ioctl, SYS_umask, SYS_setrlimit, SYS_prlimit64, SYS_prctl, SYS_setpriority,
    SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_sched_setaffinity,
    /* forbidden */
    SYS_seccomp, SYS_setsid, SYS_setpgid, SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid,
    SYS_setresgid, SYS_setgroups, SYS_setfsuid, SYS_setfsgid, SYS_capset, SYS_chroot, SYS_pivot_root, SYS_unshare,
    SYS_setns, SYS_mount, SYS_umount2, SYS_reboot, SYS_ptrace, SYS_sethostname, SYS_settimeofday, SYS_clock_settime,
    SYS_personality,
    /* Interfaces that submit system calls which no filter sees (io_uring), and access to the memory and the descriptors
     * of other processes. */
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_process_vm_readv, SYS_process_vm_writev,
    SYS_pidfd_open, SYS_pidfd_getfd,
    /* Network calls: last in the list, so that they can be omitted. `socket` alone is not enough: the worker has
     * sockets of its own, and `send` is `sendto` in the kernel. In calls with six arguments, the fuzzer leaves the last
     * two unused. */
    SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_sendto, SYS_sendmsg,
    SYS_sendmmsg,
};
#define N_NETWORK 10
#define N_TRAPPED (sizeof trapped / sizeof *trapped)

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(member))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), (yes), (no))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define FIXED 3 /* instructions before the lists */
#define KEY 6   /* instructions that compare the secret number */
#define OWN 64  /* number of descriptors that are protected from all calls, not only from being closed */

/* Appends the comparison of the first argument with each descriptor of the fuzzer. The instruction after the
 * comparisons allows the call if none is equal; an equal one continues after it. Returns the place after it. */
static size_t compare_files(struct sock_filter *code, size_t n) {
  uint32_t own[OWN];
  size_t count = 0;
  for (uint32_t file = 0; file < 1024 && count < OWN; file++)
    if (is_ours(file)) own[count++] = file;
  code[n++] = (struct sock_filter)LOAD(offsetof(struct seccomp_data, args[0]));
  for (size_t i = 0; i < count; i++, n++) code[n] = (struct sock_filter)IF_EQUAL(own[i], count - i, 0);
  code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
  return n;
}

/* Calls that are in neither list are allowed before an argument is read: the kernel caches that result and no longer
 * runs the filter for them. */
int sandbox_install(int allow_network) {
  /* A second filter would expect another number. A forked process inherits the filter of its parent. */
  static int is_installed;
  if (is_installed) return 0;
  static struct sock_filter code[FIXED + N_TRAPPED + N_FILE_CALLS + 1 + OWN + 2 + KEY];
  const size_t n_trapped = allow_network ? N_TRAPPED - N_NETWORK : N_TRAPPED;
  _Static_assert(N_TRAPPED + N_FILE_CALLS + OWN + 3 < 256, "a jump of the filter goes 255 instructions far at most");
  if (getrandom(&filter_key, sizeof filter_key, 0) != sizeof filter_key) return errno;
  const size_t args = offsetof(struct seccomp_data, args[5]);
  const size_t files = FIXED + n_trapped + N_FILE_CALLS + 1, key = compare_files(code, files);
  size_t n = 0;
  code[n++] = (struct sock_filter)LOAD(offsetof(struct seccomp_data, arch));
  code[n++] = (struct sock_filter)IF_EQUAL(ARCHITECTURE, 0, key - 2);
  code[n++] = (struct sock_filter)LOAD(offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < n_trapped; i++, n++) code[n] = (struct sock_filter)IF_EQUAL(trapped[i], key - n - 1, 0);
  for (size_t i = 0; i < N_FILE_CALLS; i++, n++)
    code[n] = (struct sock_filter)IF_EQUAL(file_calls[i], files - n - 1, 0);
  code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
  n = key;
  code[n++] = (struct sock_filter)LOAD(args);
  code[n++] = (struct sock_filter)IF_EQUAL(filter_key, 0, 2);
  code[n++] = (struct sock_filter)LOAD(args + 4);
  code[n++] = (struct sock_filter)IF_EQUAL(filter_key >> 32, 1, 0);
  code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_TRAP);
  code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)n, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return errno;
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) return errno;
  is_installed = 1;
  return 0;
}

long sandbox_duplicate(int file) { return CALL(SYS_dup, file, 0, 0, 0); }

void sandbox_close(long file) { CALL(SYS_close, file, 0, 0, 0); }

long sandbox_read_file(int file, void *to, uint64_t size) { return CALL(SYS_pread64, file, to, size, 0); }
