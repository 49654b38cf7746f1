#define PENFUZZ_HELPER static __attribute__((unused))

PENFUZZ_HELPER double penfuzz_f64(unsigned long long bits)
{
  union { unsigned long long bits; double value; } both;
  both.bits = bits;
  return both.value;
}

PENFUZZ_HELPER float penfuzz_f32(unsigned bits)
{
  union { unsigned bits; float value; } both;
  both.bits = bits;
  return both.value;
}

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
