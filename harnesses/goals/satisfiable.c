/* Satisfiability (Mathematical Execution, Sect. 4.4.3): every condition on the way holds, as the conjuncts of a formula
 * must. r is the sum of the distances; a conjunct that is not reached stands behind one that is false. */
#include <pen_goal.h>

double pen_r0 = 0;

double pen(const struct pen_condition *at, double r, double lhs, double rhs) { return r + at->to_true; }
