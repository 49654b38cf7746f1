//! Pointers that the code compares as places in one buffer: a begin, a cursor and a limit.

use super::made::{complete, complete_function, has};
use crate::support::Dir;

const STACK: &str = "struct st { int error; double *buffer, *top; };
void pop(struct st *s, unsigned n) {
  if (n > (unsigned long)(s->top - s->buffer)) { s->error = 161; return; }
  s->top -= n;
}
";

#[test]
fn a_member_leads_into_the_buffer_of_another() {
    has(&complete("stack.c", STACK, "pop"), ".top = in1_s_buffer");
}

const LIMIT: &str = "struct buf { const unsigned char *base, *limit; };
int f(const unsigned char *p, const struct buf *b) {
  int n = 0;
  while (p + 4 < b->limit) {
    if (p[0] != 0xFF) break;
    p += 2;
    n++;
  }
  return n > 2;
}
";

#[test]
fn the_limit_of_a_parameter_is_a_member() {
    has(&complete("limit.c", LIMIT, "f"), ".limit = in1_p + ");
}

const PARSER: &str = "struct parser { const char *start, *cur, *end; };
int magic(struct parser *p)
{
  if (p->end - p->cur < 4) return -1;
  if (p->cur == p->start) return -2;
  if (p->cur[0] == 'R' && p->cur[1] == 'I' && p->cur[2] == 'F' && p->cur[3] == 'F') {
    p->cur += 4;
    return p->cur < p->end && *p->cur == 7;
  }
  return 0;
}
";

#[test]
fn a_parser_has_bytes_at_its_cursor() {
    let text = complete("parser.c", PARSER, "magic");
    has(&text, ".cur = in1_p_start + ");
    has(&text, ".end = in1_p_start + ");
}

const RANGE: &str = "unsigned long n(const char *begin, const char *end)
{
  unsigned long n = 0;
  if (end - begin > 5) n = 100;
  for (; begin != end; begin++)
    if (*begin == '%') n++;
  return n == 103 ? 0 : n;
}
";

#[test]
fn a_parameter_is_the_end_of_another() {
    for (name, symbol) in [("range.c", "n"), ("range.cpp", "_Z1nPKcS0_")] {
        has(&complete(name, RANGE, symbol), "in1_begin + ");
    }
}

const VARINT: &str = "static int more(const unsigned char **p, const unsigned char *end) { return *p < end; }
int varint(const unsigned char **p, const unsigned char *end, unsigned *out)
{
  unsigned value = 0, shift = 0;
  while (more(p, end)) {
    unsigned char byte = *(*p)++;
    value |= (unsigned)(byte & 127) << shift;
    if (!(byte & 128)) { *out = value; return value == 300; }
    shift += 7;
    if (shift > 28) return -1;
  }
  return -2;
}
";

#[test]
fn a_callee_compares_a_pointer_behind_a_parameter() {
    complete_function("varint.c", VARINT, "varint");
}

const READER: &str = "class reader {
  const unsigned char *cursor_, *end_;
public:
  reader(const unsigned char *data, unsigned long size) : cursor_(data), end_(data + size) {}
  int tag() {
    if (cursor_ >= end_) return -1;
    if (*cursor_ == 0x7f && cursor_ + 2 <= end_ && cursor_[1] == 'E') return 1;
    return 0;
  }
};
int start(reader &r) { return r.tag(); }
";

#[test]
fn a_method_compares_private_members() {
    complete_function("reader.cpp", READER, "_ZN6reader3tagEv");
}

const INCLUSIVE: &str = "int sorted(const int *first, const int *last)
{
  while (first < last && first[0] <= first[1]) first++;
  return first == last;
}
int has(const int *first, const int *last, int key)
{
  while (first <= last) {
    const int *middle = first + (last - first) / 2;
    if (*middle == key) return 1;
    if (*middle < key) first = middle + 1;
    else last = middle - 1;
  }
  return 0;
}
";

#[test]
fn a_limit_may_be_the_last_element() {
    complete_function("sorted.c", INCLUSIVE, "has");
}

const OVERREAD: &str = "int last(const unsigned char *p, const unsigned char *end)
{
  while (p < end) {
    if (*p == 0x5c && p[1] == 'n') return 1;
    p++;
  }
  if (p > end) return 2; /* keeps the search busy */
  return 0;
}
";

#[test]
fn an_access_after_the_limit_is_a_crash() {
    let dir = Dir::new();
    dir.file("last.c", OVERREAD);
    let run = dir.fuzz("last.c", "--max-evals 100000 --seed 1").exits(3);
    run.expect(dir.report("out").crashes.len() == 1, "the escape at the end");
}

const SEPARATE: &str = "int same(const double *a, const double *b)
{
  if (!a || !b) return -1;
  if (a == b) return -2;
  return a[0] > b[0] ? 1 : 2;
}
void move(unsigned char *to, const unsigned char *from, unsigned n)
{
  if (to < from) for (unsigned i = 0; i < n; i++) to[i] = from[i];
  else if (to > from) for (unsigned i = n; i > 0; i--) to[i - 1] = from[i - 1];
}
";

#[test]
fn pointers_that_are_only_compared_stay_separate() {
    for (function, second) in [("same", "double in2_b["), ("move", "unsigned char in2_from[")] {
        let dir = Dir::new();
        dir.file("separate.c", SEPARATE);
        dir.fuzz("separate.c", &format!("-f {function} --max-evals 20000 --seed 1")).exits(0);
        let programs = dir.files("out/tests");
        let (_, text) = programs.iter().find(|(name, _)| name.starts_with("test_")).expect("a test program");
        has(&String::from_utf8_lossy(text), second);
    }
}
