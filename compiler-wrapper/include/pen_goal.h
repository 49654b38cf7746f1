/* A goal of one's own, for `penfuzz TARGET --goal FILE`: FILE includes this header and defines which inputs are wanted.
 * It is the researcher's layer of Mathematical Execution (Fu and Su 2016, Sect. 4): `pen_r0` is the value of r before a
 * run, and `pen` is called before each conditional of TARGET and returns the new r. penfuzz minimizes |r| at the end of
 * the run. An input with r = 0 is wanted. r must be 0 for wanted inputs only; NaN is the largest value.
 *
 *   #include <pen_goal.h>
 *   double pen_r0 = 1;
 *   double pen(const struct pen_condition *at, double r, double lhs, double rhs) {
 *     return pen_product(r, fabs(lhs - rhs));
 *   }
 *
 * `pen` must not depend on anything but its arguments and variables of FILE; `pen_begin`, if FILE defines it, is called
 * before each run to reset these. No conditional of FILE calls `pen`. */
#ifndef PEN_GOAL_H
#define PEN_GOAL_H

/* `lhs RELATION rhs` is the condition. A float that is NaN makes all relations but PEN_NE false or true as in the
 * source: `to_true` and `to_false` tell which. */
enum pen_relation {
  PEN_EQ, PEN_NE, PEN_LT, PEN_LE, PEN_GT, PEN_GE,
  PEN_OTHER_RELATION /* a test for NaN, or no comparison: lhs is 1 if the condition holds, else 0, and rhs is 0 */
};

/* The type of the operands, which are converted to double: 64-bit integers lose their low bits. `to_true` and
 * `to_false` are computed from the operands as they are. */
enum pen_operand_type { PEN_OF_TRUTH, PEN_OF_FLOAT, PEN_OF_DOUBLE, PEN_OF_SIGNED, PEN_OF_UNSIGNED, PEN_OF_POINTER };

/* The condition that decides next. */
struct pen_condition {
  const char *function; /* as in the source */
  const char *file;     /* as given to the compiler */
  unsigned line, column; /* from 1 */
  unsigned relation; /* enum pen_relation */
  unsigned operands; /* enum pen_operand_type */
  /* Branch distances: 0 if the condition is true (false), else the number of floats or integers from there. Exactly one
   * of them is 0. A condition of several comparisons has distances, too. */
  double to_true, to_false;
};

#ifdef PEN_GOAL_FILE /* not defined while the compiler pass reads the declarations above */

#include <float.h>
#include <math.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

extern double pen_r0;
double pen(const struct pen_condition *at, double r, double lhs, double rhs);
void pen_begin(void) __attribute__((weak));

/* Whether the condition holds. */
static inline int pen_holds(const struct pen_condition *at) { return at->to_true == 0; }

/* The branch distance to one outcome of the condition: 1 true, 0 false. */
static inline double pen_distance(const struct pen_condition *at, int outcome) {
  return outcome ? at->to_true : at->to_false;
}

/* Whether this is a condition of the function in the line. */
static inline int pen_is_at(const struct pen_condition *at, const char *function, unsigned line) {
  return at->line == line && strcmp(at->function, function) == 0;
}

/* a * b for a, b >= 0. It is 0 only if a factor is 0, and never infinite: a plain product underflows and overflows. */
static inline double pen_product(double a, double b) {
  double p = a * b;
  if (a == 0 || b == 0) return 0;
  if (!(p <= DBL_MAX)) return DBL_MAX;
  return p < DBL_MIN ? DBL_MIN : p;
}

/* The number of doubles between a and b: 0 if they are equal, +0 and -0 included. Infinity if one of them is NaN. */
static inline double pen_ulps(double a, double b) {
  long long x, y; /* positions on the line of all doubles */
  if (a != a || b != b) return INFINITY;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  if (x < 0) x = -(x & 0x7fffffffffffffff);
  if (y < 0) y = -(y & 0x7fffffffffffffff);
  unsigned long long low = (unsigned long long)(x < y ? x : y), high = (unsigned long long)(x < y ? y : x);
  return (double)(high - low);
}

/* What follows is called by code that pen-cc -fpen-goal compiles: at the start and the end of a run, and before each
 * conditional. */
static double pen_r_of_run;
static int pen_is_off = 1; /* outside of a run, and while `pen` runs: it may call functions of TARGET */

void __pen_goal_begin(void) {
  pen_is_off = 1;
  if (pen_begin) pen_begin();
  pen_r_of_run = pen_r0;
  pen_is_off = 0;
}

void __pen_goal_condition(struct pen_condition *at, double lhs, double rhs, unsigned long long to_true,
                          unsigned long long to_false) {
  if (pen_is_off) return;
  pen_is_off = 1;
#ifdef __SSE2__ /* TARGET must not see floating-point exceptions that `pen` raises */
  unsigned flags = __builtin_ia32_stmxcsr();
#endif
  at->to_true = (double)to_true;
  at->to_false = (double)to_false;
  pen_r_of_run = pen(at, pen_r_of_run, lhs, rhs);
#ifdef __SSE2__
  __builtin_ia32_ldmxcsr(flags);
#endif
  pen_is_off = 0;
}

/* The condition of this function is the goal of the campaign. */
#line 1 PEN_GOAL_FILE
int PEN_GOAL_END(double r) {
  if (r == 0) return 1;
  return 0;
}

void __pen_goal_end(void) {
  pen_is_off = 1;
  (void)PEN_GOAL_END(pen_r_of_run);
}

#ifdef __cplusplus
}
#endif

#endif

#endif
