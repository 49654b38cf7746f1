static int penfuzz_child;

/* 1 in the child, which must end within a minute. */
PENFUZZ_HELPER int penfuzz_fork(void)
{
  fflush(NULL);
  penfuzz_child = (int)fork();
  if (penfuzz_child < 0) {
    perror("fork");
    exit(2);
  }
  if (penfuzz_child > 0) return 0;
  alarm(60);
  return 1;
}

/* Waits for the child and returns its status as waitpid() does. */
PENFUZZ_HELPER int penfuzz_wait(void)
{
  int status = 0;
  if (waitpid(penfuzz_child, &status, 0) < 0) perror("waitpid");
  return status;
}
