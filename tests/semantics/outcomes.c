/* Conditions with negations, in each place where a condition can be. The test compares the outcomes that are taken with
   those that llvm-cov counts, line by line. No condition has an operand that clang removes. */
#include <stddef.h>

int negation(int a, int b, int c) {
  int r = 0;
  if (!a) r += 1;
  if (!!b) r += 2;
  if (((!(c)))) r += 4;
  if (!!!c) r += 8;
  if (!a == b) r += 16;
  if (!a)
    ;
  else r += 32;
  if (b++, !a) r += 64;
  return r;
}

int comparison(int a, int b, int c) {
  double x = a * 0.5, y = b;
  int r = 0;
  if (!(a < b)) r += 1;
  if (!(x > 0.25)) r += 2;
  if (!x) r += 4;
  if (!(x == y) && !(y < c)) r += 8;
  if (__builtin_expect(!(a == c), 0)) r += 16;
  return r;
}

int operands(int a, int b, int c) {
  int r = 0;
  if (!a && b) r += 1;
  if (!a || !b) r += 2;
  if (!(a && b)) r += 4;
  if (!(a || b) && c) r += 8;
  if (c && !(a || !b)) r += 16;
  if (a || !(!b && c)) r += 32;
  if (!a || b == 2 || !(c > 1) || a == b) r += 64;
  if (!(!(a && !b) || !(c || !a))) r += 128;
  if ((a && !b) || (!c && b)) r += 256;
  else if (!(a < b) && !(b < c)) r += 512;
  else if (!c) r += 1024;
  return r;
}

int chosen(int a, int b, int c) {
  int r = !a ? 1 : 2;
  r += !a ? (!b ? b + 1 : c - 1) : (!(c < b) ? c * 2 : c * 3);
  r += (a && !b) ? 16 : 32;
  r += !(a || !c) ? b + 2 : c + 2;
  return r;
}

int loops(int a, int b, int c) {
  int r = 0;
  while (!(a > 2)) a++;
  for (int i = 0; !(i == b) && i < 3; i++) r++;
  for (; !c; c++)
    if (!b) break;
  do r++;
  while (!(c > 4) && c++ < 3);
  while (a && (b || !(r > 9))) {
    a--;
    if (!(b = a)) continue;
    r++;
  }
  do r++;
  while (!(r < 5 || r > 7));
  return r;
}

int pointers(int a, int b, int c) {
  int *p = a ? &b : NULL, r = 0;
  if (!p) r += 1;
  if (p && !*p) r += 2;
  if (!(p != &b)) r += 4;
  if (!(p == NULL) || !c) r += 8;
  return r;
}

int truth(int a, int b, int c) {
  _Bool t = a, f = !b;
  int r = 0;
  if (!t) r += 1;
  if (t != f && !f) r += 2;
  t = !(a && b) || c;
  if (!t) r += 4;
  return r;
}

static int sum(int a, int b) { return a + 2 * b; }

int stored(int a, int b, int c) {
  int ok = a || (b == 3 && !c);
  int no = !(a && b) && !c;
  if (!(ok =
            ok && !b)) no += 2;
  no += sum(a && !b, !c || a);
  no += (a > 1 && b) == !c;
  return ok ? no : !a && b;
}
