// Exceptions, destructors and short circuits of C++.
#include <stdexcept>

namespace {
struct Counter {
  int &n;
  explicit Counter(int &n) : n(n) {}
  ~Counter() {
    if (n < 100) n++;
  }
};

__attribute__((noinline)) double checked(double x, int &n) {
  Counter count(n);
  if (x < 0) throw std::range_error("negative");
  if (x > 10) throw 7;
  if (x != x) throw x;
  return x * 2;
}

template <typename T> bool between(T low, T x, T high) { return !(x < low) && !(high < x); }
} // namespace

extern "C" {

int caught(double x) {
  int n = 0;
  try {
    double y = checked(x, n);
    if (y > 10) throw 'y';
    return n + (y > 1 ? 10 : 20);
  } catch (const std::range_error &) {
    return -1 - n;
  } catch (int k) {
    return k + n;
  } catch (char) {
    return 99;
  } catch (...) {
    return 50;
  }
}

int caught_in_loop(double x, int m) {
  int n = 0;
  for (int i = 0; i < (m & 7); i++) {
    try {
      if (checked(x + i, n) > 12 && i & 1) continue;
      n += 3;
    } catch (const std::exception &) {
      n += i > 2 ? 5 : 6;
    } catch (...) {
      if (i == 4) break;
    }
  }
  return n;
}

int truth(bool a, bool b, double x) {
  bool c = a ? x > 1 : !b;
  auto f = [&](int k) { return c && (k > 3 || b); };
  return f(2) + 2 * f(5) + 4 * (a != b);
}

int ranges(int a, double x, float y, long n) {
  return between(-5, a, 5) + 2 * between(0.0, x, 1.0) + 4 * between(-1.0f, y, 1e30f) + 8 * between(-1l, n, 1l << 40);
}

int uncaught_passes(double x) {
  try {
    int n = 0;
    Counter outer(n);
    try {
      checked(x, n);
    } catch (int) {
      if (x > 100) throw;
    }
    return n;
  } catch (int k) {
    return k;
  } catch (const std::exception &) {
    return 2;
  } catch (double) {
    return 3;
  }
}
}
