/* The frames that guard.c jumps back to. Compiled without unwind tables: a C++ exception that leaves the target finds no frame
 * to unwind and ends in abort, which is caught. */
#include "guard.h"

#include <stddef.h>

void *guard_resume_at[5];
volatile sig_atomic_t guard_in_target;
volatile uint64_t guard_evaluations;
fenv_t guard_environment;

/* Returns 0 when the target returned, 1 when guard_end says how it ended. */
__attribute__((noinline)) int guard_call(void (*call)(const uint8_t *, uint8_t *), const uint8_t *in, uint8_t *out) {
  guard_evaluations++;
  if (__builtin_setjmp(guard_resume_at)) {
    fesetenv(&guard_environment);
    return 1;
  }
  guard_in_target = 1;
  call(in, out);
  guard_in_target = 0;
  return 0;
}

/* The same for LLVMFuzzerTestOneInput. */
__attribute__((noinline)) int guard_call_harness(int (*harness)(const uint8_t *, size_t), const uint8_t *in, size_t size,
                                                 int *result) {
  guard_evaluations++;
  if (__builtin_setjmp(guard_resume_at)) {
    fesetenv(&guard_environment);
    return 1;
  }
  guard_in_target = 1;
  *result = harness(in, size);
  guard_in_target = 0;
  return 0;
}
