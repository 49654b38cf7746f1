//! Structures that an emitted test cannot name, and results that are structures.

use std::process::Command;

use super::made::{complete, has};
use crate::{
    outputs::build_line,
    support::{Dir, skip},
};

const NAMELESS: &str = "int nameless(char **words, struct { int a; double b[2]; union { int i; double d; } u; } *p)
{
  if (words[1][0] == 'q' && p->b[1] == 3) return 1;
  if (p->u.d == 2.5) { p->a = 7; return 2; }
  return 0;
}
";

#[test]
fn a_structure_without_a_name() {
    let text = complete("nameless.c", NAMELESS, "nameless");
    has(&text, "struct structure_mirror in2_p = {.b = {0, 3.0}");
    has(&text, ".u = {.d = 2.5}");
    has(&text, "char *in1_words[2] = {in1_words_0, in1_words_1}");
    has(&text, "_Static_assert(sizeof(struct structure_mirror) == 32");
    has(&text, "\"p->a\", in2_p.a, 7");
}

const CLASS: &str = "struct Base { int id; char tag; };
class Node : public Base {
  char own;
  double *data;
  bool ok;
  unsigned b : 3, q : 9;
 public:
  int get(char **words, Node *next);
};
int Node::get(char **words, Node *next)
{
  if (id == 7 && own == 3) return 1;
  if (data && data[0] == 5.5) return 2;
  if (q == 77) { q = 3; tag = 'x'; return 3; }
  if (words[1][0] == 'z') return 4;
  if (next->ok) { next->id = 12; return 5; }
  return 0;
}
";

#[test]
fn a_class_with_a_base_class_and_bit_fields() {
    let text = complete("node.cc", CLASS, "_ZN4Node3getEPPcPS_");
    has(&text, "struct Node_mirror in1_this = {.id = 7");
    has(&text, ".q = 77");
    has(&text, "static_assert(sizeof(struct Node_mirror) == 32");
    has(&text, "next.id, 12");
}

const PACKED: &str = "struct __attribute__((packed)) record { char kind; double value; short n[2]; };
class Reader { record r; public: int read(); };
int Reader::read()
{
  if (r.kind == 4 && r.value == 2.5) return 1;
  return r.n[1] == 300 ? 2 : 0;
}
";

#[test]
fn a_packed_structure() {
    let text = complete("packed.cc", PACKED, "_ZN6Reader4readEv");
    has(&text, "__attribute__((packed))");
    has(&text, ".value = 2.5");
}

const ORBIT: &str = "namespace geo {
struct Point { double x, y; };
Point mirrored(const Point &p, int n)
{
  Point q = {p.y, p.x};
  if (n == 3) q.x = 9;
  return q;
}
}
";

#[test]
fn a_plain_structure_of_cxx_and_a_result_of_it() {
    let text = complete("orbit.cc", ORBIT, "_ZN3geo8mirroredERKNS_5PointEi");
    has(&text, "geo::Point result = ");
    has(&text, "\"result.x\", result.x, 9.0");
}

const RESULT: &str = "#include <errno.h>
#include <complex.h>
typedef struct { int code; double value; float f[2]; } answer;
answer ask(double x, int n)
{
  answer a = {0, 1, {2, 3}};
  if (x < 0) { errno = 33; a.code = -1; a.value = 1 / 0.0; return a; }
  if (n == 5) a.f[1] = 8.5f;
  return a;
}
";

#[test]
fn the_numbers_of_a_result_are_checked() {
    let text = complete("ask.c", RESULT, "ask");
    has(&text, "answer result = ask(");
    has(&text, "\"result.code\", result.code, -1)");
    has(&text, "\"result.f[1]\", result.f[1], 8.5f)");
    has(&text, "\"errno\"");
}

const COMPLEX: &str = "#include <complex.h>
float complex turned(float complex *z, int n)
{
  if (n == 3) { z[0] = 4 + 5 * I; return 2 - I; }
  return 0;
}
";

#[test]
fn complex_results_and_what_is_left_of_complex_numbers() {
    let text = complete("turned.c", COMPLEX, "turned");
    has(&text, "float _Complex result = turned(");
    has(&text, "\"__imag__ result\"");
    has(&text, "\"__imag__ z[0]\"");
}

/// The emitted test fails if the function returns another result.
#[test]
fn a_result_that_has_changed_fails() {
    let dir = Dir::new();
    dir.file("ask.c", RESULT);
    dir.fuzz("ask.c", "--max-evals 20000 --seed 1").exits(0);
    let text = String::from_utf8(dir.files("out/tests")["test_ask.c"].clone()).expect("a text");
    dir.file("ask.c", RESULT.replace("8.5f", "8.25f"));
    let line = format!("cd out/tests && {}", build_line(&text));
    let output = Command::new("sh").args(["-c", &line]).current_dir(dir.path("")).output().expect("sh runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && printed.contains("FAILED"), "{printed}");
}

const STATE: &str =
    "typedef struct { struct { int a[2]; }; double x; unsigned b : 3, c : 7; const char *name; } record;
typedef struct { double re, im; } number;
number f(record *r, number z, int n)
{
  number q = {0, 1};
  if (r->a[1] == 7 && z.re == 2) { q.re = 5; r->x = 2; }
  if (r->c == 17 && n == 4) q.im = 8;
  return q;
}
";

/// The debug information of bitcode may name a source that does not exist.
#[test]
fn bitcode_without_its_source() {
    let clang = format!("clang-{}", penfuzz_cc::LLVM_MAJOR);
    if !Command::new(&clang).arg("--version").output().is_ok_and(|o| o.status.success()) {
        skip(&clang, "it is not in the PATH");
        return;
    }
    let dir = Dir::new();
    let source = dir.file("f.c", STATE);
    dir.other(Command::new(&clang).args(["-g", "-emit-llvm", "-c", "f.c"]));
    std::fs::remove_file(source).expect("the source can be removed");
    let run = dir.fuzz("f.bc", "--max-evals 50000 --seed 1").exits(0);
    let report = dir.report("out");
    run.expect(report.branches.covered == report.branches.total, "all branches");
    let text = String::from_utf8(dir.files("out/tests")["test_f.c"].clone()).expect("a text");
    has(&text, "struct number_mirror f(void *, struct number_mirror, int);");
    has(&text, "struct record_mirror in1_r = {.a = {0, 7}");
    has(&text, "struct number_mirror result = f(");
    let line = build_line(&text);
    let line = line.split(" && gcov").next().unwrap_or(&line);
    dir.other(Command::new("sh").args(["-c", &format!("cd out/tests && {line}")]));
}
