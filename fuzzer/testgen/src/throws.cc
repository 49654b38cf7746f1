/* `new T[n]` of too many bytes: some compilers request the largest size, which fails; some throw at once. */
static int penfuzz_same_exception(const char *thrown, const char *expected)
{
  return !strcmp(expected, "St9bad_alloc") && !strcmp(thrown, "St20bad_array_new_length");
}

/* In a handler: how the type of the exception differs from the one that is expected, or NULL. */
PENFUZZ_HELPER const char *penfuzz_thrown_differs(const char *expected)
{
  const std::type_info *type = abi::__cxa_current_exception_type();
  const char *thrown = type ? type->name() : "";
  if (!strcmp(thrown, expected) || penfuzz_same_exception(thrown, expected)) return NULL;
  snprintf(penfuzz_text, sizeof penfuzz_text, "throws %.150s, not %.150s", thrown, expected);
  return penfuzz_text;
}
