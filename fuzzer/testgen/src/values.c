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

/* Memory from malloc with these values, which the function frees or reallocates. */
PENFUZZ_HELPER void *penfuzz_heap(const void *values, __SIZE_TYPE__ size)
{
  void *copy = __builtin_malloc(size);
  return copy ? __builtin_memcpy(copy, values, size) : copy;
}

/* The place of a float among all floats of its type in order, by its bits; neighbours are 1 apart, -0 and 0 too. */
PENFUZZ_HELPER unsigned long long penfuzz_place(unsigned long long bits, unsigned long long sign)
{
  return bits & sign ? sign - 1 - (bits - sign) : sign + bits;
}

/* Returns whether two places differ by at most PENFUZZ_ULP. An infinity is near only to itself. */
PENFUZZ_HELPER int penfuzz_near(unsigned long long a, unsigned long long b, int infinite)
{
  return a == b || (!infinite && (a > b ? a - b : b - a) <= PENFUZZ_ULP);
}

/* Returns the expected integer if the value differs from it by at most PENFUZZ_ULP, else the value. */
PENFUZZ_HELPER long long penfuzz_within_signed(long long value, long long expected)
{
  const unsigned long long sign = 1ULL << 63;
  return penfuzz_near(sign + value, sign + expected, 0) ? expected : value;
}

PENFUZZ_HELPER unsigned long long penfuzz_within_unsigned(unsigned long long value, unsigned long long expected)
{
  return penfuzz_near(value, expected, 0) ? expected : value;
}

PENFUZZ_HELPER int penfuzz_equal_f64(double a, double b)
{
  union { double value; unsigned long long bits; } x, y;
  const unsigned long long sign = 1ULL << 63;
  if (a != a || b != b) return a != a && b != b;
  x.value = a;
  y.value = b;
  return penfuzz_near(penfuzz_place(x.bits, sign), penfuzz_place(y.bits, sign), a - a != 0 || b - b != 0);
}

PENFUZZ_HELPER int penfuzz_equal_f32(float a, float b)
{
  union { float value; unsigned bits; } x, y;
  const unsigned long long sign = 1ULL << 31;
  if (a != a || b != b) return a != a && b != b;
  x.value = a;
  y.value = b;
  return penfuzz_near(penfuzz_place(x.bits, sign), penfuzz_place(y.bits, sign), a - a != 0 || b - b != 0);
}

