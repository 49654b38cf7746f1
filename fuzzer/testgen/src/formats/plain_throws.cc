
/* `new T[n]` of too many bytes: some compilers request the largest size, which fails; some throw at once. */
static int penfuzz_same_exception(const char *thrown, const char *expected)
{
  return !strcmp(expected, "St9bad_alloc") && !strcmp(thrown, "St20bad_array_new_length");
}

/* The type of the exception that is being handled. */
PENFUZZ_HELPER void penfuzz_check_thrown(const char *expected)
{
  const std::type_info *type = abi::__cxa_current_exception_type();
  const char *thrown = type ? type->name() : "";
  printf("  throws %s\n", thrown);
  if (!strcmp(thrown, expected) || penfuzz_same_exception(thrown, expected)) return;
  penfuzz_failures++;
  printf("  FAILED: it does not throw %s\n", expected);
}

PENFUZZ_HELPER void penfuzz_not_thrown(const char *expected)
{
  penfuzz_failures++;
  printf("  FAILED: it returned, and did not throw %s\n", expected);
}
