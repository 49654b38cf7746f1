/* Calls that end the process, or that begin with the variables of a fresh one, happen in a child of this one. */
static int penfuzz_failures;

/* How a child ended, as penfuzz_end_of_child() returns it: by a signal, or with an exit status. */
#define PENFUZZ_SIGNAL 1000
/* The end of a child whose call returned. Not an exit status, because a call may exit with any status. */
#define PENFUZZ_RETURNED (PENFUZZ_SIGNAL + SIGKILL)

/* 1 in the child. Frameworks catch signals; there they end the process. */
PENFUZZ_HELPER int penfuzz_in_child(void)
{
  static const int signals[] = {SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGBUS, SIGSEGV, SIGALRM};
  unsigned i;
  if (!penfuzz_fork()) return 0;
  for (i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
  penfuzz_failures = 0;
  return 1;
}

/* In the child: a check. */
PENFUZZ_HELPER void penfuzz_in_child_expect(const char *difference)
{
  if (!difference) return;
  printf("%s\n", difference);
  penfuzz_failures = 1;
}

/* In the child: ends it after the last check. */
PENFUZZ_HELPER void penfuzz_end_child(void)
{
  fflush(NULL);
  _Exit(penfuzz_failures);
}

/* In the child: the call returned. */
PENFUZZ_HELPER void penfuzz_returned(void)
{
  fflush(NULL);
  raise(SIGKILL);
}

PENFUZZ_HELPER int penfuzz_end_of_child(void)
{
  int status = penfuzz_wait();
  return WIFSIGNALED(status) ? PENFUZZ_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A fault of memory is undefined behaviour: it is no failure if another compiler's program continues. */
PENFUZZ_HELPER int penfuzz_end_after_fault(int signal)
{
  int end = penfuzz_end_of_child();
  if (end != PENFUZZ_RETURNED) return end;
  puts("the fault does not occur in this compiler's program");
  return PENFUZZ_SIGNAL + signal;
}
