/* Calls the target and observes its floating-point exceptions by means of the hardware.
 *
 * The flags show whether an exception was raised at all. To find where, this file unmasks the exception: the processor
 * then faults at each instruction that raises it. The handler of that fault notes the place, masks the exception, and
 * lets that single instruction run again (trap flag). The handler of the single step unmasks the exception. So the
 * program continues with unchanged values. FPSpy uses the same method (Dinda, Bernat, Hetland, Spying on the Floating
 * Point Behavior of Existing, Unmodified Scientific Applications, HPDC 2020). Places are found on x86-64 only; on other
 * architectures only the flags are read. */
#define _GNU_SOURCE
#include "trap.h"

#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <string.h>
#include <ucontext.h>

/* Maximum number of traps per call: a loop of a million underflows would take seconds. */
#define MAX_TRAPS 20000
/* Maximum number of frames between an instruction of a library and its caller in the target. */
#define MAX_CALLERS 32

struct trap_record trap_record;

/* Indexed by enum pen_exception. */
static const int flags[] = {FE_OVERFLOW, FE_UNDERFLOW, FE_DIVBYZERO, FE_INVALID, FE_INEXACT};
/* Indexed by the number of the mode in an input, as in guard_call.c. */
static const int rounding_modes[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static uint32_t raised_exceptions(void) {
  uint32_t all = 0;
  int now = fetestexcept(FE_ALL_EXCEPT);
  for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
    if (now & flags[i]) all |= 1u << i;
  return all;
}

#if defined(__x86_64__)

#define MASK_SHIFT 7         /* distance in MXCSR from an exception flag to its mask bit */
#define TRAP_FLAG 0x100      /* in EFLAGS: raises SIGTRAP after the next instruction */

static uint64_t low, high;   /* address range of the target's code and data */
static uint32_t mask;        /* mask bit of the exception that traps */
static int stepping;
static struct sigaction old_fpe, old_trap;

static int is_inside(uint64_t address) { return address >= low && address < high; }

/* The innermost address in the target: the instruction itself, or the call that led into the library. */
static uint64_t place_of(uint64_t instruction) {
  void *frames[MAX_CALLERS];
  if (is_inside(instruction)) return instruction;
  int n = backtrace(frames, MAX_CALLERS);
  for (int i = 0; i < n; i++)
    if (is_inside((uint64_t)(uintptr_t)frames[i])) return (uint64_t)(uintptr_t)frames[i] - 1;
  return instruction;
}

static void note(uint64_t place) {
  for (uint32_t i = 0; i < trap_record.n_places; i++)
    if (trap_record.places[i] == place) return;
  if (trap_record.n_places < TRAP_PLACES) trap_record.places[trap_record.n_places++] = place;
  else trap_record.cut_short = 1;
}

static void handle_fpe(int signal_number, siginfo_t *info, void *context) {
  ucontext_t *c = context;
  if (info->si_code < FPE_FLTDIV || info->si_code > FPE_FLTINV) {
    old_fpe.sa_sigaction(signal_number, info, context); /* integer division */
    return;
  }
  note(place_of((uint64_t)c->uc_mcontext.gregs[REG_RIP]));
  c->uc_mcontext.fpregs->mxcsr |= mask;
  if (++trap_record.traps >= MAX_TRAPS) {
    trap_record.cut_short = 1;
    return;
  }
  c->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
  stepping = 1;
}

/* errno is restored, because the instruction runs again in the target. */
static void on_fpe(int signal_number, siginfo_t *info, void *context) {
  int saved = errno;
  handle_fpe(signal_number, info, context);
  errno = saved;
}

static void on_step(int signal_number, siginfo_t *info, void *context) {
  ucontext_t *c = context;
  if (!stepping) {
    old_trap.sa_sigaction(signal_number, info, context);
    return;
  }
  stepping = 0;
  c->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
  c->uc_mcontext.fpregs->mxcsr &= ~mask;
}

static int find_module(struct dl_phdr_info *info, size_t size, void *base) {
  (void)size;
  if (info->dlpi_addr != *(uint64_t *)base) return 0;
  low = high = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    uint64_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && end > high) high = end;
  }
  return 1;
}

static void unmask(uint32_t exception, uint64_t base) {
  struct sigaction action;
  uint32_t control;
  low = high = 0;
  dl_iterate_phdr(find_module, &base);
  memset(&action, 0, sizeof action);
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  action.sa_sigaction = on_fpe;
  sigaction(SIGFPE, &action, &old_fpe);
  action.sa_sigaction = on_step;
  sigaction(SIGTRAP, &action, &old_trap);
  mask = (uint32_t)flags[exception] << MASK_SHIFT;
  stepping = 0;
  __asm__ volatile("stmxcsr %0" : "=m"(control));
  control &= ~mask;
  __asm__ volatile("ldmxcsr %0" : : "m"(control));
}

static void mask_again(void) {
  uint32_t control;
  __asm__ volatile("stmxcsr %0" : "=m"(control));
  control |= mask;
  __asm__ volatile("ldmxcsr %0" : : "m"(control));
  sigaction(SIGFPE, &old_fpe, NULL);
  sigaction(SIGTRAP, &old_trap, NULL);
}

#else

static void unmask(uint32_t exception, uint64_t base) {
  (void)exception;
  (void)base;
}

static void mask_again(void) {}

#endif

/* Calls the thunk `call` of the target that is loaded at `base`, with all exception flags lowered; the guard must be
 * installed. With TRAP_NONE nothing traps. Returns the same as guard_call; trap_record has the details. */
int trap_call(void (*call)(const uint8_t *, uint8_t *), const uint8_t *in, uint8_t *out, uint8_t mode,
              uint32_t exception, uint64_t base) {
  fenv_t before;
  memset(&trap_record, 0, sizeof trap_record);
  fegetenv(&before);
  fesetround(rounding_modes[mode & 3]);
  feclearexcept(FE_ALL_EXCEPT);
  if (exception != TRAP_NONE) unmask(exception, base);
  int ended = guard_call(call, in, out);
  uint32_t raised = raised_exceptions();
  if (exception != TRAP_NONE) mask_again();
  fesetenv(&before);
  trap_record.raised = raised;
  return ended;
}

/* As in guard_call.c. */
struct harness_call {
  int (*harness)(const uint8_t *, size_t);
  size_t size;
};

static void call_harness(const uint8_t *in, uint8_t *out) {
  struct harness_call *c = (struct harness_call *)(void *)out;
  c->harness(in, c->size);
}

/* trap_call for LLVMFuzzerTestOneInput. */
int trap_call_harness(int (*harness)(const uint8_t *, size_t), const uint8_t *in, size_t size, uint32_t exception,
                      uint64_t base) {
  struct harness_call c = {harness, size};
  return trap_call(call_harness, in, (uint8_t *)&c, 0, exception, base);
}
