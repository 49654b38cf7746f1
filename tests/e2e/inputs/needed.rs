//! A structure may lead to more memory than an input has room for: only the parts that the function uses are made.

use super::made::complete;

/// The unused pointers come first, and there are more of them than blocks in an input.
const LARGE: &str = "struct part { int tag; double value; };
struct large { double *unused[100]; struct part *parts[20]; int at; char text[3000]; struct part *last; };
int pick(const struct large *l) {
  if (l->at < 0 || l->at >= 20) return -1;
  if (l->parts[l->at]->tag == 77) return 1;
  if (l->last->value == 2.5) return 2;
  return 0;
}
";

#[test]
fn pointers_behind_others_that_are_not_used() {
    let text = complete("large.c", LARGE, "pick");
    assert!(text.contains(".value = 2.5"), "{text}");
}

/// A chain of pointers longer than the depth to which unused pointers are followed.
const DEEP: &str = "struct e { int n; };
struct d { struct e *e; };
struct c { struct d *d; };
struct b { struct c *c; };
struct a { int id; struct b *b; };
int deep(struct a *a) { return a->id == 3 && a->b->c->d->e->n == 1234567 ? 1 : 0; }
";

#[test]
fn pointers_behind_pointers() {
    let text = complete("deep.c", DEEP, "deep");
    assert!(text.contains(".n = 1234567"), "{text}");
}
