/* Calls that end the process happen in a child of this one. */
#ifdef __cplusplus
#define PENFUZZ_C extern "C"
#define PENFUZZ_NOTHROW noexcept
#else
#define PENFUZZ_C extern
#define PENFUZZ_NOTHROW
#endif

/* gcov's counters, if they are linked: a child begins with none, and what it has counted is written before it ends. */
PENFUZZ_C void __gcov_dump(void) __attribute__((weak));
PENFUZZ_C void __gcov_reset(void) __attribute__((weak));

static void penfuzz_write_counts(void)
{
  if (__gcov_dump) __gcov_dump();
}

/* 1 in the child. */
PENFUZZ_HELPER int penfuzz_in_child(void)
{
  if (!penfuzz_fork()) return 0;
  if (__gcov_reset) __gcov_reset();
  penfuzz_failures = 0;
#if (defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L) || (defined __cplusplus && __cplusplus >= 201103L)
  at_quick_exit(penfuzz_write_counts);
#endif
  return 1;
}

/* In the child: the call returned, and should not have. */
PENFUZZ_HELPER void penfuzz_returned(void)
{
  fflush(NULL);
  raise(SIGKILL);
}

PENFUZZ_HELPER int penfuzz_end_of_child(void)
{
  int status = penfuzz_wait();
  if (!WIFSIGNALED(status))
    printf("  exit status = %d\n", WEXITSTATUS(status));
  else if (WTERMSIG(status) != SIGKILL)
    printf("  ended by signal %d\n", WTERMSIG(status));
  return status;
}

PENFUZZ_HELPER void penfuzz_check_exit(int expected)
{
  int status = penfuzz_end_of_child();
  if (WIFEXITED(status) && WEXITSTATUS(status) == expected) return;
  penfuzz_failures++;
  printf("  FAILED: it does not exit with status %d\n", expected);
}

/* Without `must`, another end is reported and is no failure. */
PENFUZZ_HELPER void penfuzz_check_signal(int expected, int must)
{
  int status = penfuzz_end_of_child();
  int is_signal = WIFSIGNALED(status);
  if (is_signal && WTERMSIG(status) == expected) return;
  penfuzz_failures += must;
  printf("  %s: %s signal %d\n", must ? "FAILED" : "not reproduced by this compiler",
         is_signal && WTERMSIG(status) == SIGKILL ? "it returned, and did not end by" : "it does not end by", expected);
}

/* In the child: ends it after the last check. */
PENFUZZ_HELPER void penfuzz_end_child(void)
{
  fflush(NULL);
  penfuzz_write_counts();
  _Exit(penfuzz_failures < 255 ? penfuzz_failures : 255);
}

PENFUZZ_HELPER void penfuzz_check_child(void)
{
  int status = penfuzz_wait();
  if (WIFEXITED(status)) {
    penfuzz_failures += WEXITSTATUS(status);
    return;
  }
  penfuzz_failures++;
  printf("  FAILED: ended by signal %d\n", WTERMSIG(status));
}
