//! Results that are pointers: the emitted tests check whether they are null, where they point, and text.

use super::{
    callbacks::notices,
    made::{complete_function, has},
};

const SOURCE: &str = "#include <stddef.h>
struct node { int v; struct node *next; };
const char *name(int x)
{
  switch (x) {
  case 1: return \"one\";
  case 2: return \"two\";
  }
  if (x < 0) return NULL;
  return \"many\";
}
struct node *last(struct node *n)
{
  while (n && n->next) n = n->next;
  return n;
}
static const double zero;
const double *pick(const double *a, int n)
{
  for (int i = 0; i < n; i++) if (a[i] > 3) return a + i;
  return n == 7 ? &zero : 0;
}
char *skip(char *s)
{
  while (*s == ' ') s++;
  return s;
}
";

#[test]
fn text_is_checked() {
    let text = complete_function("f.c", SOURCE, "name");
    has(&text, "const char *result = name(2);");
    has(&text, "penfuzz_check_signed(\"result is \\\"two\\\"\", strcmp(result, \"two\"), 0);");
    has(&text, "test_name_returns_null_when_x_is_below_0");
    has(&text, "test_name_returns_one_when_x_is_1");
    notices("f.c", SOURCE, "-f name", &[("\"two\"", "\"three\""), ("return NULL", "return \"\"")]);
}

const OWN: &str = "char *strdup(const char *s)
{
  static char copy[8];
  int i = 0;
  for (; i < 7 && s[i]; i++) copy[i] = s[i] == 'b' ? 'c' : 'a';
  copy[i] = 0;
  return copy;
}
";

#[test]
fn text_of_a_function_that_has_a_name_of_the_c_library_is_checked() {
    notices("own.c", OWN, "--cflag -fno-builtin", &[("'c' : 'a'", "'d' : 'a'")]);
}

#[test]
fn the_variable_that_a_result_points_to_is_checked() {
    has(&complete_function("f.c", SOURCE, "last"), "result == &in1_n");
    notices("f.c", SOURCE, "-f last", &[("  return n;", "  return n && n->next ? n->next : 0;")]);
    complete_function("f.c", SOURCE, "pick");
    notices("f.c", SOURCE, "-f pick", &[("return a + i", "return a + i + 1"), ("? &zero : 0", "? 0 : &zero")]);
    complete_function("f.c", SOURCE, "skip");
    notices("f.c", SOURCE, "-f skip", &[("  return s;", "  return s + 1;")]);
}

const DELETED: &str = "struct list { int n, room; int *all; };
void grow(list *l, int room)
{
  if (room <= l->room || room > 1000) return;
  int *more = new int[room];
  for (int i = 0; i < l->n && i < room; i++) more[i] = l->all[i];
  delete[] l->all;
  l->all = more;
  l->room = room;
}
struct node { int v; node *next; };
int drop(node *n)
{
  int m = n->v == 77 ? 1 : 0;
  delete n;
  return m;
}
";

#[test]
fn memory_that_the_call_deletes_is_allocated() {
    notices("d.cpp", DELETED, "-f grow", &[("l->room = room", "l->room = 0")]);
    notices("d.cpp", DELETED, "-f drop", &[("? 1 : 0", "? 2 : 0")]);
}

const OPERATORS: &str = "#include <string>
namespace g {
struct point {
  int x, y;
  friend bool operator==(const point &a, const point &b);
  friend point operator-(const point &);
};
bool operator==(const point &a, const point &b) { return a.x == b.x && a.y == b.y; }
point operator-(const point &a) { return a.x > 5 ? point{-a.x, -a.y} : a; }
const char *kind(const point *p) { return p->x == 3 ? \"three\" : p->y == 4 ? nullptr : \"other\"; }
}
";

#[test]
fn operators_and_pointers_of_cpp_are_checked() {
    notices("g.cpp", OPERATORS, "-f g::operator==", &[("a.y == b.y", "a.y != b.y")]);
    notices("g.cpp", OPERATORS, "-f g::operator-", &[("{-a.x", "{a.x")]);
    notices("g.cpp", OPERATORS, "-f g::kind", &[("\"three\"", "\"four\""), ("nullptr", "\"\"")]);
}
