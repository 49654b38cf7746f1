static int penfuzz_failures;

PENFUZZ_HELPER void penfuzz_show_float(const char *name, double value)
{
  printf("  %s = %a (%.17g)\n", name, value, value);
}

PENFUZZ_HELPER void penfuzz_show_signed(const char *name, long long value)
{
  unsigned long long size = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
  printf("  %s = %s0x%llx (%lld)\n", name, value < 0 ? "-" : "", size, value);
}

PENFUZZ_HELPER void penfuzz_show_unsigned(const char *name, unsigned long long value)
{
  printf("  %s = 0x%llx (%llu)\n", name, value, value);
}

PENFUZZ_HELPER void penfuzz_check_f64(const char *name, double value, double expected)
{
  penfuzz_show_float(name, value);
  if (penfuzz_equal_f64(value, expected)) return;
  penfuzz_failures++;
  printf("  FAILED: %s is not %a (%.17g)\n", name, expected, expected);
}

PENFUZZ_HELPER void penfuzz_check_f32(const char *name, float value, float expected)
{
  penfuzz_show_float(name, value);
  if (penfuzz_equal_f32(value, expected)) return;
  penfuzz_failures++;
  printf("  FAILED: %s is not %a (%.9g)\n", name, (double)expected, (double)expected);
}

PENFUZZ_HELPER void penfuzz_check_signed(const char *name, long long value, long long expected)
{
  penfuzz_show_signed(name, value);
  if (value == expected) return;
  penfuzz_failures++;
  printf("  FAILED: %s is not %lld\n", name, expected);
}

PENFUZZ_HELPER void penfuzz_check_unsigned(const char *name, unsigned long long value, unsigned long long expected)
{
  penfuzz_show_unsigned(name, value);
  if (value == expected) return;
  penfuzz_failures++;
  printf("  FAILED: %s is not %llu\n", name, expected);
}

PENFUZZ_HELPER void penfuzz_check_words(const char *name, const void *value, const unsigned long long *expected, int n)
{
  const char *difference = penfuzz_words_differ(name, value, expected, n);
  if (!difference) return;
  penfuzz_failures++;
  printf("  FAILED: %s\n", difference);
}
