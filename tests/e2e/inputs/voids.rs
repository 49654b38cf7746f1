//! Pointee types of `void *`, inferred from the code that uses the pointers.

use super::made::{complete, complete_function, has};
use crate::support::Dir;

fn shows(dir: &Dir, arguments: &str, text: &str) {
    let run = dir.penfuzz(arguments).exits(0);
    run.expect(run.stdout.contains(text), text);
}

const CONTEXT: &str = "struct spline { int n; double x[4]; };
typedef struct { double low, high; const struct spline *s; unsigned mode; } range;
double integrand(double x, void *params)
{
  range *r = (range *)params;
  if (x < r->low || x > r->high) return 0;
  if (r->mode == 40123) return r->low;
  if (r->s->n == 3 && r->s->x[2] == 2.5) return 1;
  return x;
}
";

#[test]
fn a_local_variable_gives_its_type_to_a_parameter() {
    let text = complete("integrand.c", CONTEXT, "integrand");
    has(&text, "range in2_params = {.");
    has(&text, "struct spline ");
}

const CAST: &str = "struct point { float x, y; int tag; };
int inside(const void *p, float r)
{
  if (((const struct point *)p)->tag != 77) return -1;
  if (((const struct point *)p)->x * ((const struct point *)p)->x > r) return 0;
  return 1;
}
";

#[test]
fn an_address_in_a_structure_gives_its_type() {
    has(&complete("inside.c", CAST, "inside"), "struct point in1_p = {");
}

const COPY: &str = "struct limits { double low, high; int n; };
int clip(double x, const void *p)
{
  struct limits own = *(const struct limits *)p;
  if (own.n == 31337) return 3;
  if (x < own.low) return 1;
  if (x > own.high) return 2;
  return 0;
}
";

#[test]
fn a_copy_gives_its_type() {
    has(&complete("clip.c", COPY, "clip"), "struct limits in2_p = {");
}

const COMPARATOR: &str = "int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  if (x != x && y != y) return 7;
  if (x < y) return -1;
  if (x > y) return 1;
  return 0;
}
";

#[test]
fn a_comparator_takes_the_numbers_that_it_loads() {
    has(&complete("compare.c", COMPARATOR, "compare"), "double in1_a[");
}

const WORDS: &str = "struct entry { const char *name; int rank; };
int by_rank(const void *a, const void *b)
{
  const struct entry *const *x = a, *const *y = b;
  if ((*x)->rank == 1234567) return 7;
  if ((*x)->rank < (*y)->rank) return -1;
  return (*x)->rank > (*y)->rank;
}
";

#[test]
fn a_comparator_of_pointers() {
    let text = complete("by_rank.c", WORDS, "by_rank");
    has(&text, "struct entry ");
    has(&text, ".rank = 1234567");
}

const ARRAY: &str = "double mean(const void *base, int n)
{
  const double *x = base;
  double s = 0;
  if (n < 1) return -1;
  for (int i = 0; i < n; i++) s += x[i];
  if (n == 5 && x[4] == 17) return 1;
  if (s > 1e10) return 2;
  return s / n;
}
";

/// Types that the user declares take precedence, as everywhere.
#[test]
fn a_size_that_is_given_is_one_of_elements() {
    let dir = Dir::new();
    dir.file("mean.c", ARRAY);
    let arguments = ["--max-evals 20000 --seed 1 --arg", "base: array[9]", "--arg", "n: ..9"];
    let run = dir.fuzz("mean.c", arguments[0]).arg(arguments[1]).arg(arguments[2]).arg(arguments[3]).exits(0);
    let inputs = dir.report("out").signature.inputs;
    run.expect(inputs.iter().any(|i| i.elements == "9" && i.type_name == "double"), &format!("9 doubles: {inputs:?}"));
}

#[test]
fn an_array_behind_a_pointer_without_type_is_as_long_as_its_parameter_says() {
    has(&complete("mean.c", ARRAY, "mean"), "double in1_base[5] = {0, 0, 0, 0, 17.0}");
    let dir = Dir::new();
    dir.file("mean.c", ARRAY);
    shows(&dir, "functions mean.c -f mean", "base: double[n], found by calls");
}

const MEMBER: &str = "struct matrix { int rows; double x[3]; };
struct curve { unsigned n; float *y; };
typedef struct stage { int type; void *data; struct stage *next; } stage;
int of_matrix(const stage *s)
{
  struct matrix *m = (struct matrix *)s->data;
  if (m->rows == 12345 && m->x[1] == 2.5) return 1;
  if (s->type == 7) return 2;
  return 0;
}
int of_curve(stage *s, float limit)
{
  struct curve *c = s->data;
  if (c->n > 3) return -1;
  if (c->y[2] == 11) c->n = 4;
  if (c->y[0] > limit) return 1;
  return 0;
}
int of_either(const stage *s)
{
  if (s->type == 1 && ((struct matrix *)s->data)->rows > 3) return 1;
  if (s->type == 2 && ((struct curve *)s->data)->n > 3) return 2;
  return 0;
}
static int rows(const struct matrix *m) { return m->rows; }
int of_callee(stage *s) { if (rows(s->data) == 98765) return 1; return 0; }
";

#[test]
fn a_member_has_another_type_in_each_function() {
    let text = complete_function("stage.c", MEMBER, "of_matrix");
    has(&text, "struct matrix ");
    has(&text, ".rows = 12345");
    let text = complete_function("stage.c", MEMBER, "of_curve");
    has(&text, "struct curve ");
    has(&text, "float in1_s_data_y[3] = {0, 0, 11.0f}");
    has(&complete_function("stage.c", MEMBER, "of_callee"), ".rows = 98765");
}

#[test]
fn contradicting_types_leave_bytes() {
    let dir = Dir::new();
    dir.file("stage.c", MEMBER);
    shows(&dir, "functions stage.c -f of_either", "s->data: unsigned char[");
    shows(&dir, "functions stage.c -f of_matrix", "s->data: struct matrix");
    // Bytes suffice here.
    has(&complete_function("stage.c", MEMBER, "of_either"), "unsigned char in1_s_data[");
}

const PASSED: &str = "struct task { int id; short level; };
static int third(void *p) { struct task *t = p; return t->level == 321; }
static int second(void *p, int n) { return n > 3 ? third(p) : 0; }
int first(int n, void *p) { if (second(p, n)) return 5; return 6; }
";

#[test]
fn a_pointer_is_followed_into_the_functions_that_get_it() {
    has(&complete_function("first.c", PASSED, "first"), ".level = 321");
}

const BASE: &str = "struct shape { int kind; };
struct circle { struct shape base; double r; };
int area(void *p)
{
  struct shape *s = p;
  if (s->kind != 3) return 0;
  struct circle *c = p;
  if (c->r == 2.5) return 1;
  return 2;
}
";

#[test]
fn a_structure_that_begins_with_another_is_both() {
    has(&complete("area.c", BASE, "area"), "struct circle in1_p = {");
}

const CXX: &str = "namespace solver {
struct Settings { double tolerance; int steps; bool strict; };
struct Job { void *user; const void *data; int n; };
int run(double x, void *user, const void *data)
{
  auto *s = static_cast<Settings *>(user);
  const double *d = static_cast<const double *>(data);
  if (s->strict && s->steps == 4321) return 1;
  if (d[1] == 2.5) { s->steps = 9; return 2; }
  if (x < s->tolerance) return 3;
  return 4;
}
int job(const Job &j)
{
  const auto *s = static_cast<const Settings *>(j.user);
  if (j.n == 3 && static_cast<const double *>(j.data)[2] == 1.5) return 1;
  if (s->steps == 777) return 2;
  return 0;
}
}
";

#[test]
fn pointers_in_cxx() {
    let text = complete_function("run.cc", CXX, "_ZN6solver3runEdPvPKv");
    has(&text, "solver::Settings in2_user");
    complete_function("run.cc", CXX, "_ZN6solver3jobERKNS_3JobE");
}
