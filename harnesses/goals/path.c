/* A path (Mathematical Execution, Sect. 4.4.1): the first condition does not hold, and the second one does. r is the
 * sum of the distances to these outcomes. */
#include <pen_goal.h>

static const int wanted[] = {0, 1};
static unsigned passes;

void pen_begin(void) { passes = 0; }

double pen_r0 = 0;

double pen(const struct pen_condition *at, double r, double lhs, double rhs) {
  if (passes == sizeof wanted / sizeof *wanted) return r;
  return r + pen_distance(at, wanted[passes++]);
}
