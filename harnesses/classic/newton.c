/*
 * A root of x^3 - 2x - 5 (Newton's and Wallis' example) by Newton's method from a start.
 */
#include <math.h>

#define MAX_ITERATIONS 100

double newton(double start)
{
    double x = start;
    for (int i = 0; i < MAX_ITERATIONS; i++) {
        double slope = 3.0 * x * x - 2.0;
        if (fabs(slope) < 1e-9)
            return -1.0; /* a horizontal tangent */
        double step = (x * x * x - 2.0 * x - 5.0) / slope;
        x -= step;
        if (fabs(step) < 1e-12)
            return x;
    }
    return -2.0;
}
