//! Unions whose members lead to different memory: values with a tag.

use super::made::{complete, complete_function, has};

const VALUE: &str = "#include <string.h>
struct list { double first; struct list *rest; };
struct value {
  enum { NUMBER, TEXT, LIST } kind;
  union { double number; const char *text; struct list *list; } as;
};
int weight(const struct value *v)
{
  switch (v->kind) {
  case NUMBER: return v->as.number == 2.5 ? 1 : 2;
  case TEXT: return strcmp(v->as.text, \"on\") == 0 ? 3 : 4;
  case LIST: return v->as.list->first == 7.25 ? 5 : 6;
  }
  return 0;
}
";

#[test]
fn a_value_with_a_tag_holds_a_number_a_text_or_a_list() {
    let text = complete("value.c", VALUE, "weight");
    has(&text, ".as = {.number = 2.5}");
    has(&text, ".as = {.text = ");
    has(&text, ".as = {.list = ");
}

const UNNAMED: &str = "struct point { int x, y; };
struct token {
  int kind;
  union {
    long number;
    struct { const char *start; unsigned long length; };
    struct { struct point *corner; int filled; } shape;
  };
};
int read_token(struct token t)
{
  if (t.kind == 1) return t.number == 1234567 ? 1 : 2;
  if (t.kind == 2) return t.length == 3 && t.start[0] == 'e' && t.start[1] == 'n' && t.start[2] == 'd' ? 3 : 4;
  if (t.kind == 3 && t.shape.filled == 9) return t.shape.corner->y == -5 ? 5 : 6;
  return 0;
}
";

#[test]
fn a_union_without_a_name_holds_structures() {
    has(&complete("token.c", UNNAMED, "read_token"), ".shape = {.corner = &in1_t_shape_corner");
}

const SEVERAL: &str = "struct value { char kind; union { double number; const double *at; } as; };
int sum(const struct value *v, int n)
{
  double s = 0;
  for (int i = 0; i < n; i++) s += v[i].kind == 'p' ? *v[i].as.at : v[i].as.number;
  if (n == 2 && v[0].kind == 'p' && v[1].kind != 'p') return s == 11.5 ? 1 : 2;
  return 0;
}
";

#[test]
fn each_element_of_an_array_has_a_member_of_its_own() {
    complete_function("several.c", SEVERAL, "sum");
}

const CLASS: &str = "struct Shape {
  enum class Kind { Circle, Polygon } kind;
  struct Circle { double radius; };
  struct Polygon { const double *sides; int n; };
  union { Circle circle; Polygon polygon; };
};
int classify(const Shape &s)
{
  if (s.kind == Shape::Kind::Circle) return s.circle.radius == 3.75 ? 1 : 2;
  if (s.polygon.n == 1) return s.polygon.sides[0] == 8.5 ? 3 : 4;
  return 0;
}
";

#[test]
fn a_class_whose_union_has_no_name() {
    complete_function("shape.cpp", CLASS, "_Z8classifyRK5Shape");
}

const PARAMETER: &str = "union number { double real; const long *at; };
struct Base { int kind; protected: union { double real; const long *at; } u; public: int get(const number *n) const; };
int Base::get(const number *n) const
{
  if (kind == 4) return *n->at == 77 ? 1 : 2;
  return n->real == 0.125 ? 3 : 4;
}
";

#[test]
fn a_pointer_to_a_union() {
    complete_function("parameter.cpp", PARAMETER, "_ZNK4Base3getEPK6number");
}
