//! Structures, arrays, strings and callbacks: the search covers their branches, reports show them, and the emitted
//! tests take the same branches.

use std::process::Command;

use crate::{
    outputs::{build_line, gcov},
    support::{Dir, is_covered, open_branches},
};

/// Runs a campaign on the only function of a file. All branches must be covered, and the emitted tests must build,
/// pass, and take these branches by gcov's count. Returns the text of the test program.
pub(super) fn complete(file: &str, source: &str, symbol: &str) -> String {
    complete_with(file, source, symbol, "")
}

/// Like [`complete`], for one of several functions.
pub(super) fn complete_function(file: &str, source: &str, symbol: &str) -> String {
    complete_with(file, source, symbol, &format!("-f {symbol}"))
}

fn complete_with(file: &str, source: &str, symbol: &str, options: &str) -> String {
    let dir = Dir::new();
    dir.file(file, source);
    let run = dir.fuzz(file, &format!("--max-evals 100000 --seed 1 {options}")).exits(0);
    let report = dir.report("out");
    let open = open_branches(&report);
    run.expect(open.is_empty() && report.branches.total > 0, &format!("all branches, not {open:?}"));
    run.expect(report.sites.iter().flat_map(|s| &s.branches).all(is_covered), "no other status");
    let programs = dir.files("out/tests");
    let (_, text) = programs.iter().find(|(name, _)| name.starts_with("test_")).expect("a test program");
    let text = String::from_utf8_lossy(text).into_owned();
    // The command fails if the program does.
    dir.other(Command::new("sh").args(["-c", &format!("cd out/tests && {}", build_line(&text))]));
    run.expect(gcov(&dir, symbol) == (report.branches.total, report.branches.total), "gcov's count");
    text
}

pub(super) fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part} is not in\n{text}");
}

const PID: &str = "#include <stddef.h>
typedef struct { float kp, ki, kd, integral, last, low, high; int mode; unsigned saturated : 1, n : 5; } pid_state_t;
float pid_step(pid_state_t *s, float setpoint, float measured, float dt)
{
  if (!s) return 0;
  if (dt <= 0) return -1;
  float e = setpoint - measured;
  if (s->mode == 3) { s->integral = 0; return 0; }
  s->integral += e * dt;
  float out = s->kp * e + s->ki * s->integral + s->kd * (e - s->last) / dt;
  s->last = e;
  if (out > s->high) out = s->high;
  else if (out < s->low) out = s->low;
  if (s->n == 17) out = 2;
  return out;
}
";

#[test]
fn a_structure_with_state_and_bit_fields() {
    let text = complete("pid.c", PID, "pid_step");
    has(&text, ".mode = 3}");
    has(&text, ".n = 17");
    has(&text, "\"s->integral\", in1_s.integral");
    has(&text, "pid_step(0, ");
}

const MEAN: &str = "double mean(const double *a, int n)
{
  double s = 0;
  if (n <= 0) return -1;
  for (int i = 0; i < n; i++) s += a[i];
  if (s == 42.5) return 7;
  if (n > 3 && a[3] == 17) return 1;
  return s / n;
}
";

#[test]
fn an_array_is_as_long_as_its_parameter_says() {
    has(&complete("mean.c", MEAN, "mean"), "double in1_a[4] = {0, 0, 0, 17.0}");
}

/// The arrays are only written, so they take no input; their size follows from the declaration only.
const RESULTS: &str = "int vector(double x, double v[3]) { v[0] = v[1] = v[2] = x; if (v[2] > 3) return 1; return 0; }
int rows(double x, double m[2][3]) { m[1][2] = x; if (m[1][2] > 3) return 1; return 0; }
";

#[test]
fn declared_arrays_that_are_only_written() {
    for function in ["vector", "rows"] {
        complete_function("results.c", RESULTS, function);
    }
}

const WORDS: &str = "#include <string.h>
int word(const char *s)
{
  if (strcmp(s, \"GPGGA\") == 0) return 1;
  if (strlen(s) > 5 && s[2] == 'q') return 2;
  return 0;
}
";

#[test]
fn a_string_and_the_words_that_it_is_compared_with() {
    has(&complete("word.c", WORDS, "word"), "= \"GPGGA\"");
}

const LIST: &str = "struct node { int v; struct node *next; };
int sum(const struct node *p)
{
  int s = 0, n = 0;
  while (p) { s += p->v; p = p->next; n++; }
  if (n == 2 && s == 77) return 1;
  return s > 1000 ? 2 : 0;
}
";

#[test]
fn a_linked_list() {
    has(&complete("list.c", LIST, "sum"), ".next = &in1_p_next");
}

const CALLBACK: &str = "typedef double (*function)(double, void *);
double root(function f, void *p, double a, double b)
{
  double fa = f(a, p);
  if (fa == 0) return a;
  if (fa > 3 && b == 2) return b;
  return 0;
}
";

#[test]
fn a_callback_returns_what_the_input_says() {
    complete("root.c", CALLBACK, "root");
}

const VALUES: &str = "#include <complex.h>
typedef struct { double re, im; } number;
enum color { RED, GREEN = 40, BLUE = 777 };
int mixed(number z, double complex w, long double x, __int128 i, enum color c)
{
  if (z.re == 2 && z.im == -3) return 1;
  if (cimag(w) == 5) return 2;
  if (x > 1e300L && x < 1e301L) return 3;
  if (i == ((__int128)1 << 100)) return 4;
  return c == BLUE ? 5 : 6;
}
";

#[test]
fn structures_complex_and_wide_numbers_by_value() {
    complete("mixed.c", VALUES, "mixed");
}

const EXTENDED: &str = "#include <stdint.h>
union bits { long double f; struct { uint64_t m; uint16_t se; } i; };
int extended(long double x, const long double *a)
{
  union bits u = {x};
  if (x > 1e4000L) return 1;
  if (x > 0 && x < 1e-4932L) return 2;
  if (x == -1 - 0x1p-63L) return 3;
  if ((u.i.se & 0x7fff) == 0x4005 && !(u.i.m >> 63)) return 4;
  if ((u.i.se & 0x7fff) == 0x7fff && u.i.m == 0xc000000000000005) return 5;
  if (a[1] == 0x1.8p+9000L) return 6;
  return 0;
}
";

#[test]
#[cfg(target_arch = "x86_64")]
fn a_long_double_has_all_of_its_encodings() {
    let text = complete("extended.c", EXTENDED, "extended");
    has(&text, "extended(-1.0000000000000000001e0L");
    has(&text, "extended(penfuzz_f80(0x");
    has(&text, "__builtin_nan");
    has(&text, "in2_a[2] = {0, 2.792879735403670305e2709L}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_long_double_in_a_range_is_a_double_in_it() {
    let dir = Dir::new();
    let source = "int f(long double x) { if (x < 1 || x > 2) return 1; return x == 1.5L ? 2 : 0; }";
    let file = dir.file("f.c", source);
    let run =
        dir.penfuzz("").arg(file).args("-o out --max-evals 30000 --seed 1 --no-prove --arg").arg("x: 1..2").exits(0);
    let report = dir.report("out");
    run.expect(report.branches.covered == 4, &format!("both ends of the range hold: {:?}", report.sites));
}

const NAMELESS: &str = "#include <stdbool.h>
typedef struct { struct { int a[2]; }; long double x; _Float16 h; } record;
int nameless(bool b, const record *r)
{
  if (r->a[0] == 7 && r->a[1] == 9) return 1;
  if (r->x > 1e300L && r->x < 1e301L) return b ? 2 : 3;
  if (r->h == (_Float16)2.5) return 4;
  return 0;
}
";

#[test]
fn members_of_nameless_structures_and_converted_numbers() {
    let text = complete("nameless.c", NAMELESS, "nameless");
    has(&text, ".a = {7, 9}");
    has(&text, ".h = 2.5");
}

const CXX: &str = "namespace geo {
struct Point { double x, y; };
class Circle {
  double r;
  Point c;
  bool open;
 public:
  bool contains(const Point &p) const;
};
bool Circle::contains(const Point &p) const
{
  if (open) return false;
  double dx = p.x - c.x, dy = p.y - c.y;
  if (dx * dx + dy * dy <= r * r) return true;
  return false;
}
}
";

#[test]
fn a_member_function_and_its_object() {
    complete("circle.cc", CXX, "_ZNK3geo6Circle8containsERKNS_5PointE");
}

#[test]
fn an_access_behind_a_declared_size_is_a_crash() {
    let dir = Dir::new();
    dir.file("three.c", "int three(const int a[3], int i) { if (i >= 0 && i <= 3 && a[i] == 5) return 1; return 0; }");
    let run = dir.fuzz("three.c", "--max-evals 20000 --seed 1").exits(3);
    run.expect(run.stdout.contains("after the end of `a` (3 elements, declared)"), "the array and its size");
}

#[test]
fn a_size_behind_a_macro_is_declared() {
    let dir = Dir::new();
    dir.file("include/dim.h", "#define ROWS 3\n");
    let text = "#include \"include/dim.h\"\n#define ALL (2 * ROWS + 1)\n\
                int f(const int a[ALL]) { if (a[ALL] == 5) return 1; return 0; }\n";
    dir.file("f.c", text);
    let run = dir.fuzz("f.c", "--max-evals 20000 --seed 1").exits(3);
    run.expect(run.stdout.contains("after the end of `a` (7 elements, declared)"), "the array and its size");
}

/// Sizes are stored with the campaign. Otherwise each of its processes would determine them again, and an interruption
/// could change them.
#[test]
fn sizes_that_were_found_are_kept_with_the_campaign() {
    let dir = Dir::new();
    dir.file(
        "f.c",
        "int f(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s == 77 ? 1 : 0; }",
    );
    dir.fuzz("f.c", "--max-evals 20000 --seed 1").exits(0);
    let text = |name: &str| String::from_utf8(dir.files("out")[name].clone()).expect("a text");
    let manifest = text("campaign.json");
    let rule: String = manifest.split_whitespace().collect();
    assert!(rule.contains(r#""sizes":{"a":{"#) && rule.contains(r#""Linear":["n",1,0]"#), "{manifest}");
    // If the edited size is used, it was read from the file and not determined again.
    dir.file("out/campaign.json", manifest.replacen("\"n\",\n          1,", "\"n\",\n          2,", 1));
    assert_ne!(text("campaign.json"), manifest, "{manifest}");
    dir.fuzz("f.c", "--max-evals 30000 --seed 1").exits(0);
    let inputs = dir.report("out").signature.inputs;
    assert!(inputs.iter().any(|i| i.elements == "2*n"), "{inputs:?}");
}

/// The library's header does not include `<math.h>`.
#[test]
fn values_without_a_number_in_an_array() {
    let dir = Dir::new();
    dir.file("wild.h", "int wild(const double *a, const float b[2]);\n");
    let source = "#include \"wild.h\"
int wild(const double *a, const float b[2])
{
  if (a[1] != a[1]) return 1;
  if (a[0] > 1.7976931348623157e308) return 2;
  if (b[1] < -3.4028235e38f) return 3;
  return 4;
}
";
    dir.file("wild.c", source);
    let run = dir.fuzz("wild.c", "--max-evals 100000 --seed 1").exits(0);
    run.expect(open_branches(&dir.report("out")).is_empty(), "all branches");
    let text = String::from_utf8(dir.files("out/tests")["test_wild.c"].clone()).expect("a text");
    has(&text, "#include \"wild.h\"");
    has(&text, "NAN}");
    assert!(!text.contains("<math.h>"), "{text}");
    dir.other(Command::new("sh").args(["-c", &format!("cd out/tests && {}", build_line(&text))]));
    run.expect(gcov(&dir, "wild") == (6, 6), "gcov's count");
}
