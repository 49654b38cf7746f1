/*
 * Solves a x^2 + b x + c = 0 for real x.
 *
 *   penfuzz quadratic.c
 *
 * penfuzz finds the special cases that random testing does not find. A double
 * root needs b*b == 4ac to the last bit. "Overflow" needs b*b outside the range
 * of double, but a, b and c inside it. "No equation" needs two exact zeros.
 * Each case is one point or a very small part of the input space.
 */
#include <math.h>

enum { NO_EQUATION = -1, NOT_FINITE = -2 };

/* Returns the number of distinct real roots, or one of the negative values above.
   Writes the roots to *x1 <= *x2; a place without a root is set to NaN. */
int quadratic_roots(double a, double b, double c, double *x1, double *x2)
{
    double discriminant, q;

    *x1 = *x2 = NAN;
    if (!isfinite(a) || !isfinite(b) || !isfinite(c))
        return NOT_FINITE;
    if (a == 0.0) {
        if (b == 0.0)
            return c == 0.0 ? NO_EQUATION : 0;
        *x1 = -c / b;
        return 1;
    }

    discriminant = b * b - 4.0 * a * c;
    if (!isfinite(discriminant)) {
        /* Scaling all three by the same power of two does not change the roots. */
        a = ldexp(a, -600);
        b = ldexp(b, -600);
        c = ldexp(c, -600);
        if (a == 0.0)
            return NOT_FINITE;
        discriminant = b * b - 4.0 * a * c;
    }

    if (discriminant < 0.0)
        return 0;
    if (discriminant == 0.0) {
        *x1 = -b / (2.0 * a);
        return 1;
    }
    /* Both summands have the same sign, so no digits cancel. */
    q = -0.5 * (b + copysign(sqrt(discriminant), b));
    *x1 = q / a;
    *x2 = c / q;
    if (*x1 > *x2) {
        double swap = *x1;
        *x1 = *x2;
        *x2 = swap;
    }
    return 2;
}
