/* Conditions as people write them; the tests know functions and their sites by name and order. */
#include <setjmp.h>
#include <stdint.h>

int either_nonzero(long a, long b) {
  if ((a | b) == 0) return 1;
  return 0;
}

int either_nonzero_wide(long a, long b) {
  unsigned __int128 x = (unsigned __int128)a << 64, y = b;
  if ((x | y) == 0) return 1;
  return 0;
}

int wide(long a, long b) {
  __int128 x = (__int128)a * b;
  int r = 0;
  if (x < 0) r |= 1;
  if (x) r |= 2;
  if (!(x ^ a)) r |= 4;
  int both = x > b && x != a;
  if (both) r |= 8;
  switch (x) {
    case 6: return r | 16;
    case -1: return r | 32;
  }
  return r;
}

int not_equal(double x) {
  if (!(x == 3.5)) return 1;
  return 0;
}

int both_in_variable(double a, double b) {
  int both = a > 1 && b < 2;
  if (both) return 1;
  return 0;
}

int either_in_variable(double a, double b, int n) {
  int either = a > b || n == 7 || b != b;
  if (!either) return 1;
  return either + 2;
}

int flag_in_variable(double x) {
  int flag;
  flag = x > 1;
  x += 1;
  if (flag) return 1;
  return x > 1e300;
}

int as_value(int a, int b, int c) { return a && (b || c); }

int nested_value(double a, double b, double c) {
  int v = a < b && (b < c || !(a < c)) && c != 0;
  return v ? 3 : -3;
}

double ternaries(double x) { return x < 0 ? -x : x > 10 ? 10 : x; }

int chosen_truth(double a, int n) {
  _Bool t = n > 3 ? a > 1 : a < -1;
  if (t) return 1;
  return 0;
}

static __attribute__((noinline)) int order(int a, int b) { return a < b ? -1 : a > b; }

int sorted(int a, int b) {
  if (order(a, b) == 0) return 1;
  return order(b, a + 3) > 0;
}

static __attribute__((noinline)) int is_exact(double x) { return x == 123.4375; }

int asked(double x) {
  if (!is_exact(x - 1)) return 1;
  return 0;
}

static __attribute__((noinline)) _Bool in_range(double x, int n) { return x >= 2 && n < 7; }

int asked_both(double x, int n) {
  int both = in_range(x, n) == 1;
  if (both && !is_exact(x)) return 1;
  return both ? 2 : 0;
}

int classes(double x, float y) {
  if (__builtin_isinf(x)) return 1;
  if (__builtin_isnormal(y)) return 2;
  return __builtin_isfinite(y) ? __builtin_isnan(x) : 3;
}

int earlier(double a, double b) { return a == 1 && b == a * 4 ? 1 : 0; }

int accumulated(double a, double b) {
  _Bool t = a > 1;
  t &= b > 0;
  if (t) return 1;
  return 0;
}

int collected(double a, double b) {
  int n = 0;
  n |= a > 1;
  n |= (b < 1) << 1;
  n ^= a == b;
  if (n) return n;
  return -1;
}

int grouped(int n) {
  switch (n) {
    case 1: case 3: case 5: return 10;
    case -7: case 100: return 20;
    case 8: default: return 0;
  }
}

int letters(signed char c) {
  switch (c) {
    case 'a': case 'c': return 1;
    case 'b': return 2;
    default: return 0;
  }
}

int wide_switch(unsigned long n) {
  switch (n) {
    case 0: return 1;
    case UINT64_MAX: return 2;
    case 1ul << 63: return 3;
    case (1ul << 63) - 1: return 4;
  }
  return 0;
}

int through(int n) {
  int r = 0;
  switch (n & 7) {
    case 0: r += 1;
    case 1: r += 2; break;
    case 2: case 3: r += 4;
    default: r += 8;
    case 7: r += 16;
  }
  return r;
}

int single_and_double(float f, double d) {
  if (f < d) return 1;
  return f == d ? 2 : 3;
}

int half_and_long(float f, double d) {
  long double x = d;
  int r = 0;
  if (x * 3 < f) r |= 1;
  if (x + 1e-19L == x) r |= 2;
  if ((_Float16)f > (_Float16)d) r |= 4;
  return r;
}

int truth_values(_Bool a, _Bool b) {
  if (a != b) return 1;
  if (a && b) return 2;
  return !a ? 3 : 4;
}

int signs(int a, unsigned b) {
  int r = 0;
  if (a > 0) r |= 1;
  if ((unsigned)a < b) r |= 2;
  if (a < (int)b) r |= 4;
  if ((unsigned char)a > (signed char)b) r |= 8;
  if ((short)a >= (unsigned short)b) r |= 16;
  return r;
}

int lowest_bit(long a, long b) {
  if (a == b) return 1;
  return a < b ? 2 : 3;
}

int lowest_bit_unsigned(unsigned long a, unsigned long b) {
  if (a < b) return 1;
  return 0;
}

int difference(int a, int b) {
  if ((unsigned)a - (unsigned)b) return 1;
  return 0;
}

int exclusive_or(int a, int b) {
  if (a ^ b) return 1;
  return 0;
}

int bit_set(int n) {
  if (n & 1) return 1;
  if (n & 0x60) return 2;
  return 0;
}

int truth_of_float(double x, float y) {
  if (x) return y ? 1 : 2;
  if (!y) return 3;
  return !!x + 4;
}

int words(double x) {
  union { double d; uint64_t n; } u = {x};
  int32_t high = u.n >> 32;
  uint32_t low = (uint32_t)u.n;
  int32_t ix = high & 0x7fffffff;
  if (ix >= 0x7ff00000) return ((ix & 0xfffff) | low) == 0 ? 1 : 2;
  if ((ix | low) == 0) return 3;
  if (high < 0 && (low << 31 | (uint32_t)(ix - 0x3ff00000)) == 0) return 4;
  return 0;
}

int pointers(double *p, int n) {
  double *q = n > 2 ? p : 0;
  if (!q) return 0;
  if (q == p && *q > 1) *q += 1;
  return q != 0;
}

int loops(int n, int m) {
  int found = 0, steps = 0;
  for (int i = 0; i < (n & 15); i++) {
    for (int j = m & 15; j; j--) {
      steps++;
      if (i == j) continue;
      if (i * j == 42) { found = 1; goto out; }
      if (j > 3 * i + 8) break;
      if ((i ^ j) & 8) steps += 2;
    }
    while (steps > 60) if ((steps -= 7) < 50 || i > 12) break;
  }
out:
  do found += 2; while (found < (n & 3));
  return found * 1000 + steps;
}

int carried(int n, double x) {
  int last = 0, r = 0;
  for (int i = 0; i < (n & 7); i++) {
    if (last) r += i;
    last = x > i && (r & 1) == 0;
    x -= 0.5;
  }
  return r * 2 + last;
}

int depth(int n) {
  if (n == 0) return 0;
  return 1 + depth(n / 2);
}

static jmp_buf place;

static __attribute__((noinline)) void leave(double x) {
  if (x > 5) longjmp(place, x > 50 ? 2 : 1);
}

int jump(double x, int n) {
  volatile int state = n & 3;
  int how = setjmp(place);
  if (how) return how * 10 + state;
  if (state == 1) state = 7;
  for (int i = 0; i < (n & 7); i++) {
    leave(x + i);
    state++;
  }
  return state;
}

float clamp(float x, float low, float high) {
  float r = x < low ? low : x;
  return r > high ? high : r;
}

long mixed(signed char a, short b, unsigned short c, unsigned char d, float e) {
  long r = a < b;
  if (b > c) r += 2;
  if (c == d) r += 4;
  if (a + b + c + d > e) r += 8;
  if ((unsigned char)(a + d) >= (unsigned char)b) r += 16;
  return r;
}

int computed_goto(int n) {
  static const void *const to[] = {&&one, &&two, &&three};
  goto *to[(unsigned)n % 3];
one:
  if (n > 30) return 1;
two:
  if (n < -30) return 2;
three:
  return 3;
}
