/* Each returns how a value differs from the one that is expected, or NULL if it does not. */
static char penfuzz_text[400];

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

/* A structure, by words of 64 bits; two that are NaN as doubles are equal. */
PENFUZZ_HELPER const char *penfuzz_words_differ(const char *name, const void *value, const unsigned long long *expected,
                                                int n)
{
  int i;
  for (i = 0; i < n; i++) {
    unsigned long long word;
    double a, b;
    __builtin_memcpy(&word, (const char *)value + 8 * i, 8);
    a = penfuzz_f64(word);
    b = penfuzz_f64(expected[i]);
    if (word == expected[i] || (a != a && b != b)) continue;
    snprintf(penfuzz_text, sizeof penfuzz_text, "%.200s is 0x%llx (%.17g as a double) at byte %d, not 0x%llx (%.17g)",
             name, word, a, 8 * i, expected[i], b);
    return penfuzz_text;
  }
  return NULL;
}
