static char penfuzz_text[400];

/* How a structure differs from the one that is expected, by words of 64 bits, or NULL if it does not; two that are NaN
 * as doubles are equal. */
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
