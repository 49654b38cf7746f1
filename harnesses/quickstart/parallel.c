/*
 * Resistance of two resistors in parallel, in ohms.
 *
 *   penfuzz exceptions parallel.c
 *
 * penfuzz finds that the textbook formula divides 0 by 0 if both resistances are 0. Its
 * product overflows for large resistances and underflows for small ones, although the
 * result is a normal number (1 / (1 / r1 + 1 / r2) has no product). The underflow is
 * silent: the result is 0 ohms, or a normal number with wrong digits.
 */
#include <math.h>

/* Returns NaN if a resistance is negative, infinite or NaN. */
double parallel_ohms(double r1, double r2)
{
    if (!isfinite(r1) || !isfinite(r2) || r1 < 0.0 || r2 < 0.0)
        return NAN;
    return r1 * r2 / (r1 + r2);
}
