/* The frames that guard.c jumps back to. This file is compiled without unwind tables. Thunks of C++ functions catch
 * exceptions; an exception that leaves a thunk nevertheless finds no frame to unwind and ends in abort, which the guard
 * handles. */
#include "guard.h"

#include <stddef.h>
#include <string.h>

volatile sig_atomic_t guard_in_target;
volatile uint64_t guard_evaluations;
fenv_t guard_environment;

#if defined(__x86_64__)

/* The stack pointer below the saved registers is all that is needed to continue, whether the target returns or
 * guard_resume is called. __builtin_setjmp in C costs as much as a small function.
 *
 * An array of the target that overflows damages what is above it on the stack. The gap keeps the saved registers and
 * the frames of the fuzzer out of its reach: then the damage ends one evaluation, not the process. For the same reason
 * the registers are restored from the stack although a correct target preserves them. */
#define GAP "65536"

void *guard_resume_at[1];
__asm__(
    ".text\n"
    ".p2align 5\n"
    ".globl guard_call\n"
    ".hidden guard_call\n"
    ".type guard_call, @function\n"
    "guard_call:\n"
    "  endbr64\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  subq $8, %rsp\n" /* calls need 16-byte alignment */
    "  movq %rsp, guard_resume_at(%rip)\n"
    "  incq guard_evaluations(%rip)\n"
    "  movl $1, guard_in_target(%rip)\n"
    "  subq $" GAP ", %rsp\n"
    "  movq %rdi, %rax\n"
    "  movq %rsi, %rdi\n"
    "  movq %rdx, %rsi\n"
    "  call *%rax\n"
    "  cld\n"
    "  movq guard_resume_at(%rip), %rsp\n"
    "  movl $0, guard_in_target(%rip)\n"
    "  addq $8, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  xorl %eax, %eax\n"
    "  ret\n"
    ".size guard_call, . - guard_call\n"

    ".globl guard_resume\n"
    ".hidden guard_resume\n"
    ".type guard_resume, @function\n"
    "guard_resume:\n"
    "  movq guard_resume_at(%rip), %rsp\n"
    "  cld\n"
    "  leaq guard_environment(%rip), %rdi\n"
    "  call fesetenv@PLT\n"
    "  addq $8, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  movl $1, %eax\n"
    "  ret\n"
    ".size guard_resume, . - guard_resume\n");

#else

void *guard_resume_at[5];

#define GAP 65536

/* Calls the target below a gap, as above. */
static __attribute__((noinline)) void call_below_gap(void (*call)(const uint8_t *, uint8_t *), const uint8_t *in,
                                                     uint8_t *out) {
  char gap[GAP];
  __asm__ volatile("" : : "r"(gap) : "memory");
  call(in, out);
  __asm__ volatile("" : : "r"(gap) : "memory");
}

__attribute__((noinline)) int guard_call(void (*call)(const uint8_t *, uint8_t *), const uint8_t *in, uint8_t *out) {
  guard_evaluations++;
  if (__builtin_setjmp(guard_resume_at)) {
    fesetenv(&guard_environment);
    return 1;
  }
  guard_in_target = 1;
  call_below_gap(call, in, out);
  guard_in_target = 0;
  return 0;
}

__attribute__((noreturn)) void guard_resume(void) { __builtin_longjmp(guard_resume_at, 1); }

#endif

/* Indexed by the number of the mode in an input: Kind::Rounding of the mutators. */
static const int rounding_modes[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/* Flag in the number of a mode: all exception flags are raised before the call. RAISED of the mutators. */
#define FLAGS_RAISED 4

#if defined(__x86_64__)

/* Control bits of MXCSR that are restored after the target: exception masks, subnormals as zero, rounding. */
#define SSE_CONTROL 0xffc0u

/* Sets the control bits of the start with the given mode, and lowers the exception flags in `flags`. fesetround reads
 * both control words before it writes them, which takes longer than a small function; so does writing a value that is
 * already set. FE_UPWARD and so on are the bits of the x87 control word; MXCSR has the same bits three places higher.
 */
static void set_environment(int mode, uint32_t flags) {
  uint32_t sse, wanted_sse = (guard_environment.__mxcsr & ~(uint32_t)FE_ALL_EXCEPT) | (uint32_t)mode << 3;
  uint16_t x87, status, wanted_x87 = (uint16_t)(guard_environment.__control_word | mode);
  __asm__ volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2" : "=m"(sse), "=m"(x87), "=a"(status));
  if ((sse ^ wanted_sse) & (SSE_CONTROL | flags)) __asm__ volatile("ldmxcsr %0" : : "m"(wanted_sse));
  /* fnclex discards pending exceptions, so that none is raised when they are unmasked. */
  if (x87 != wanted_x87 || status & flags) __asm__ volatile("fnclex");
  if (x87 != wanted_x87) __asm__ volatile("fldcw %0" : : "m"(wanted_x87));
}

#else

static void set_environment(int mode, uint32_t flags) {
  if (fegetround() != mode) fesetround(mode);
  if (fetestexcept((int)flags)) feclearexcept((int)flags);
}

#endif

/* guard_call in a floating-point environment of its own. After a fault, guard_resume has already restored the
 * environment. A target that returns may have left any mode, even if it was called in the default one. Signal handlers
 * in between compute nothing with floats. */
int guard_call_rounded(void (*call)(const uint8_t *, uint8_t *), const uint8_t *in, uint8_t *out, uint8_t mode) {
  set_environment(rounding_modes[mode & 3], FE_ALL_EXCEPT);
  if (mode & FLAGS_RAISED) feraiseexcept(FE_ALL_EXCEPT);
  int ended = guard_call(call, in, out);
  /* The next call lowers the flags, and nothing in between reads them. */
  set_environment(FE_TONEAREST, 0);
  return ended;
}

/* Undoes changes that the target made without being known to use the environment. */
void guard_restore_environment(void) {
  set_environment(FE_TONEAREST, FE_ALL_EXCEPT);
}

/* Number of bytes of the stack to fill, and their value. */
#define POISONED_BYTES (32 * 1024)
uint8_t guard_poison;
/* Whether the last call through the thunk left the alignment check flag set. */
uint8_t guard_left_alignment_check;

static uint8_t has_alignment_check(void) {
#if defined(__x86_64__)
  return (uint8_t)(__builtin_ia32_readeflags_u64() >> 18 & 1);
#else
  return 0;
#endif
}

static void (*poisoned_call)(const uint8_t *, uint8_t *);

static __attribute__((noinline)) void poison_stack(void) {
  volatile unsigned char area[POISONED_BYTES];
  for (size_t i = 0; i < sizeof area; i++) area[i] = guard_poison;
}

/* Number of words above the frame of the call that it must not change. */
#define ZONE 4096

/* A write above the frame is an array on the stack that overflows: nothing there is known to the function. In a test
 * program it damages the caller, and in a worker it changes only the gap of guard_call. */
static void call_on_poisoned_stack(const uint8_t *in, uint8_t *out) {
  volatile uint64_t zone[ZONE];
  const uint64_t poison = UINT64_C(0x0101010101010101) * guard_poison;
  for (size_t i = 0; i < ZONE; i++) zone[i] = poison;
  poison_stack();
  poisoned_call(in, out);
  guard_left_alignment_check = has_alignment_check();
  size_t last = ZONE;
  while (last && zone[last - 1] == poison) last--;
  if (last) guard_overrun(last * sizeof *zone, poisoned_call);
}

void (*guard_with_poisoned_stack(void (*call)(const uint8_t *, uint8_t *)))(const uint8_t *, uint8_t *) {
  if (call != call_on_poisoned_stack) poisoned_call = call;
  return call_on_poisoned_stack;
}

/* Passes a harness through the thunk interface. */
struct harness_call {
  int (*harness)(const uint8_t *, size_t);
  size_t size;
  int result;
};

static void call_harness(const uint8_t *in, uint8_t *out) {
  struct harness_call *c = (struct harness_call *)(void *)out;
  c->result = c->harness(in, c->size);
}

/* guard_call for LLVMFuzzerTestOneInput. */
int guard_call_harness(int (*harness)(const uint8_t *, size_t), const uint8_t *in, size_t size, int *result) {
  struct harness_call c = {harness, size, *result};
  int ended = guard_call(call_harness, in, (uint8_t *)&c);
  *result = c.result;
  return ended;
}

/* Passes a series of calls of one thunk through the thunk interface. */
struct series {
  void (*call)(const uint8_t *, uint8_t *);
  const uint64_t *in;
  uint64_t *results;
  size_t n;
  uint8_t *cell;
  size_t done;
};

static void call_each(const uint8_t *in, uint8_t *out) {
  struct series *s = (struct series *)(void *)out;
  (void)in;
  for (; s->done < s->n; s->done++) {
    s->call((const uint8_t *)&s->in[s->done], s->cell);
    memcpy(&s->results[s->done], s->cell, sizeof *s->results);
  }
}

/* Calls a thunk with one word of input for each of `n` words, and stores the first word of the output area `cell` after
 * each call. Returns the number of calls that returned; if it is less than n, the next call did not return. The calls
 * share one floating-point environment, which is the default one at the start. */
size_t guard_call_series(void (*call)(const uint8_t *, uint8_t *), const uint64_t *in, uint64_t *results, size_t n,
                         uint8_t *cell) {
  struct series s = {call, in, results, n, cell, 0};
  guard_call_rounded(call_each, NULL, (uint8_t *)&s, 0);
  return s.done;
}
