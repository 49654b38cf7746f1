//! Emitted tests of C++ functions whose parameters and results are enumerations, or references to integers of other
//! sizes.

use penfuzz_report::Report;

use crate::support::Dir;

/// Fuzzes `lib.cc`, with `lib.h` next to it. All branches must be covered, and the emitted tests must build and pass
/// with the same count by gcov.
fn covers_all(header: &str, source: &str, arguments: &str) -> Report {
    let dir = Dir::new();
    dir.file("lib.h", header);
    let target = dir.file("lib.cc", source);
    let run = dir.fuzz(target, arguments).exits(0);
    let report = dir.report("out");
    run.expect(report.branches.covered == report.branches.total, "all branches");
    let commands = report.test_program.as_ref().expect("the report has commands");
    for command in [&commands.build, &commands.run, &commands.coverage] {
        dir.other(std::process::Command::new("sh").args(["-c", &format!("cd out && {command}")]));
    }
    report
}

const TYPES: &str = "#include <cstddef>
enum color { red, green = 5 };
namespace n {
struct scene { enum kind { empty, full = 70000 }; enum class size : unsigned char { small, large = 9 }; };
enum class deep : long long { low = -3, high = 1LL << 40 };
}
enum class truth : bool { no, yes };
";

const BY_VALUE: &str = "deep f(color c, scene::kind k, scene::size s, deep d, truth t) {
  if (c == green) return deep::high;
  if (k == scene::full) return deep::low;
  if (s == scene::size::large) return d;
  if (d == deep::low) return deep(1);
  if (t == truth::yes) return deep(2);
  return deep(0);
}
";

#[test]
fn by_value() {
    let in_n = |body: &str| format!("namespace n {{\n{body}}}\n");
    let report = covers_all("", &format!("{TYPES}{}", in_n(BY_VALUE)), "");
    assert!(report.header.is_none());
    let declared = "deep f(color, scene::kind, scene::size, deep, truth);\n";
    let header = format!("{TYPES}{}", in_n(declared));
    let report = covers_all(&header, &format!("#include \"lib.h\"\n{}", in_n(BY_VALUE)), "");
    assert!(report.header.is_some());
}

#[test]
fn behind_pointers_and_references() {
    let body = "int f(n::scene::kind *k, n::scene::size &s, const n::deep &d, volatile color *c, truth *t) {
  if (*k == n::scene::full) { s = n::scene::size::large; return 1; }
  if (s == n::scene::size::large) { *c = red; return 2; }
  if (d == n::deep::low) { *k = n::scene::full; return 3; }
  if (*c == green) { *t = truth::yes; return 4; }
  if (*t == truth::yes) return 5;
  return 0;
}
";
    let source = format!("{TYPES}{body}");
    covers_all("", &source, "");
    covers_all("", &source, "--test-format googletest");
}

/// The test calls the overload with the type of the parameter, not one with another enumeration.
#[test]
fn overloads() {
    let source = format!(
        "{TYPES}enum other {{ first, last = 5 }};
int f(color c) {{ if (c == green) return 1; return 0; }}
int f(other o) {{ if (o == last) return 2; return 3; }}
int f(unsigned n) {{ if (n == 5) return 4; return 5; }}
"
    );
    for symbol in ["_Z1f5color", "_Z1f5other", "_Z1fj"] {
        covers_all("", &source, &format!("--function {symbol}"));
    }
}

/// Enumerations in an unnamed namespace, in a class, and with a typedef as their only name.
#[test]
fn wherever_they_are_defined() {
    let source = "namespace { enum local { one, two = 6 }; }
typedef enum { three, four = 8 } typed;
template <class T> struct box { enum class kind { plain, gift = 4 }; static T f(kind k) { return k == kind::gift; } };
static int a(local x, typed *y) { if (x == two) return 1; if (*y == four) { *y = three; return 2; } return 0; }
template struct box<int>;
int uses(int x) { typed t = four; return a(x > 1 ? one : two, &t); }
";
    covers_all("", source, "--function a");
    let source = "class set { public: enum class in { none, all = 4 }; static in f(in i) { \
                  return i == in::all ? in::none : i; } };
int uses(int i) { return int(set::f(set::in(i))); }
";
    covers_all("", source, "--function set::f");
}

#[test]
fn references_to_integers() {
    let source =
        "int f(bool &b, char16_t &c, long long &l, unsigned long &u, char32_t d, wchar_t w, const signed char &s) {
  if (b) { l = 3; b = false; return 1; }
  if (c == u'x') { b = true; return 2; }
  if (l == 77) { c = u'y'; return 3; }
  if (u == 99) { --u; return 4; }
  if (d == U'q') return 5;
  if (w == L'w') return 6;
  if (s == -7) return 7;
  return 0;
}
";
    covers_all("", source, "");
    let header = "int f(bool &, char16_t &, long long &, unsigned long &, char32_t, wchar_t, const signed char &);\n";
    let source = format!("#include \"lib.h\"\n{source}");
    assert!(covers_all(header, &source, "").header.is_some());
    covers_all(header, &source, "--test-format googletest");
}
