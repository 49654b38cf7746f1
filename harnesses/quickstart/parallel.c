/*
 * Resistance of two resistors in parallel, in ohms.
 *
 *   penfuzz exceptions parallel.c
 *
 * What penfuzz finds: the formula of the textbook divides 0 by 0 for two wires; and
 * its product overflows for large resistances and underflows for small ones, although
 * the result would be an ordinary number (1 / (1 / r1 + 1 / r2) has no product). The
 * underflow is silent: the result is 0 ohms, or an ordinary number with wrong digits.
 */
#include <math.h>

/* Returns NaN when a resistance is negative or no finite number. */
double parallel_ohms(double r1, double r2)
{
    if (!isfinite(r1) || !isfinite(r2) || r1 < 0.0 || r2 < 0.0)
        return NAN;
    return r1 * r2 / (r1 + r2);
}
