/* Each returns how a value differs from the one that is expected, or NULL if it does not. */
PENFUZZ_HELPER const char *penfuzz_f64_differs(const char *name, double value, double expected)
{
  if (penfuzz_equal_f64(value, expected)) return NULL;
  snprintf(penfuzz_text, sizeof penfuzz_text, "%.200s is %a (%.17g), not %a (%.17g)", name, value, value, expected,
           expected);
  return penfuzz_text;
}

PENFUZZ_HELPER const char *penfuzz_f32_differs(const char *name, float value, float expected)
{
  if (penfuzz_equal_f32(value, expected)) return NULL;
  snprintf(penfuzz_text, sizeof penfuzz_text, "%.200s is %a (%.9g), not %a (%.9g)", name, (double)value, (double)value,
           (double)expected, (double)expected);
  return penfuzz_text;
}

PENFUZZ_HELPER const char *penfuzz_signed_differs(const char *name, long long value, long long expected)
{
  if (value == expected) return NULL;
  snprintf(penfuzz_text, sizeof penfuzz_text, "%.200s is %lld, not %lld", name, value, expected);
  return penfuzz_text;
}

PENFUZZ_HELPER const char *penfuzz_unsigned_differs(const char *name, unsigned long long value,
                                                    unsigned long long expected)
{
  if (value == expected) return NULL;
  snprintf(penfuzz_text, sizeof penfuzz_text, "%.200s is %llu, not %llu", name, value, expected);
  return penfuzz_text;
}
