// As outcomes.c, in the words of C++.
#include <cstddef>

namespace {
struct Range {
  int low, high;
  bool operator!() const { return high < low; }
  explicit operator bool() const { return low < high; }
};

template <typename T> bool outside(T x, T low, T high) { return !(low < x) || not(x < high); }
} // namespace

extern "C" {

int words(int a, int b, int c) {
  int r = 0;
  if (not a and b) r += 1;
  if (not(a or b) and c) r += 2;
  if (bool t = !a; !t) r += 4;
  if (int k = b) r += k;
  if (int k = c; !k && !a) r += 8;
  while (bool again = !(r > 9)) r += 5 + again;
  return r;
}

int objects(int a, int b, int c) {
  Range range{a, b};
  int r = 0;
  if (!range) r += 1;
  if (range) r += 2;
  if (!range && !(c < 1)) r += 4;
  if (!static_cast<bool>(range)) r += 8;
  if (outside(c, a, b) && !outside(a, b, c)) r += 16;
  bool stored = !range || (!a && c);
  return stored ? r : -r;
}

int references(int a, int b, int c) {
  int all[] = {a, b, c}, r = 0;
  for (int &n : all) {
    if (!n) n = 3;
    else if (!(n > 1) || !c) continue;
    r += n;
  }
  auto has = [&](int n) { return !(n != a) || !(n != b); };
  if (!has(2)) r += 100;
  try {
    if (!b) throw r;
    if (!(a < c)) throw 'c';
  } catch (...) {
    if (!c || !(a > 1)) r++;
  }
  return r;
}
}
