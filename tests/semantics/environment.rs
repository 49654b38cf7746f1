//! The floating-point environment: in the exact metric, hooks change neither exception flags nor the rounding mode.

use penfuzz_abi::metric;

use crate::twin::{Arming, Twin, on_target_thread};

/// Each function returns the exception flags and the rounding mode after its conditionals.
const SOURCE: &str = r"
#include <fenv.h>

static __attribute__((noinline)) int classify(double a, double b, float c) {
  int n = 0;
  if (a < b) n |= 1;
  if (!(a >= 0.1)) n |= 2;
  if (a == b || c > 1e30f) n |= 4;
  if (a != a) n |= 8;
  if (c <= -0.5f) n |= 16;
  return n;
}
static int found(int n) { return n | fetestexcept(FE_ALL_EXCEPT) << 8 | fegetround() << 16; }

int flags(double a, double b, float c) {
  feclearexcept(FE_ALL_EXCEPT);
  return found(classify(a, b, c));
}
int flags_raised(double a, double b, float c) {
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_DIVBYZERO | FE_UNDERFLOW);
  return found(classify(a, b, c));
}
int upward(double a, double b, float c) {
  feclearexcept(FE_ALL_EXCEPT);
  fesetround(FE_UPWARD);
  volatile double third = 1.0;
  int n = classify(a, b, c);
  third = third / 3;
  n = found(n | (third > 0.333333333333333314 ? 32 : 0));
  fesetround(FE_TONEAREST);
  return n;
}
static __attribute__((noinline)) int classify_long(long double a, long double b) {
  int n = 0;
  if (a < b) n |= 1;
  if (a == b) n |= 2;
  if (a > 1e-4000L) n |= 4;
  return n;
}
int flags_long(double a, double b) {
  long double x = a, y = b;
  x /= 3, y *= 1e300L;
  feclearexcept(FE_ALL_EXCEPT);
  return found(classify_long(x, y));
}
int cast(double x, long n) {
  feclearexcept(FE_ALL_EXCEPT);
  int r = 0;
  if (n > 9007199254740993) r |= 1;
  switch (n & 3) { case 0: r |= 2; break; case 3: r |= 4; }
  int both = x > 1 && n < 5;
  if (both) r |= 8;
  return found(r);
}
";

fn check(level: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = Twin::of_text(directory.path(), "environment.c", SOURCE, level);
    for name in ["flags", "flags_raised", "upward", "flags_long", "cast"] {
        let armings = [Arming::Unarmed, Arming::Everything(metric::ULP), Arming::Boundaries];
        let compared = twin.compare(twin.index_of(name), &armings, 42_000, 3);
        assert_eq!(compared.equal, 42_000, "{name} {level}");
    }
}

#[test]
fn flags_and_rounding_mode_are_left_alone_without_optimization() {
    on_target_thread(|| check("-O0"));
}

#[test]
fn flags_and_rounding_mode_are_left_alone_with_optimization() {
    on_target_thread(|| check("-O2"));
}
