/* Boundary values (Mathematical Execution, Sect. 4.4.2): the operands of some condition are equal. r is the product of
 * their distances. */
#include <pen_goal.h>

double pen_r0 = 1;

double pen(const struct pen_condition *at, double r, double lhs, double rhs) {
  return pen_product(r, pen_ulps(lhs, rhs));
}
