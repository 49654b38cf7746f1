/* In a handler: how the type of the exception differs from the one that is expected, or NULL. */
PENFUZZ_HELPER const char *penfuzz_thrown_differs(const char *expected)
{
  const std::type_info *type = abi::__cxa_current_exception_type();
  const char *thrown = type ? type->name() : "";
  if (!strcmp(thrown, expected)) return NULL;
  snprintf(penfuzz_text, sizeof penfuzz_text, "throws %.150s, not %.150s", thrown, expected);
  return penfuzz_text;
}
