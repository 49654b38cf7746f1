/*
 * The exponential integral Ei(x) for x > 0, by its power series and its asymptotic series (Abramowitz and Stegun 5.1.10
 * and 5.1.51). Two conditions never hold, and two loops never reach their last iteration: five outcomes cannot be
 * taken.
 */
#include <math.h>

#define EULER 0.57721566490153286061
#define MAX_ITERATIONS 100
#define EPSILON 6e-16

double ei_dead(double x)
{
    if (!(x > 0.0))
        return -1.0;
    if (x < 1e-290)
        return log(x) + EULER;
    if (x <= 35.0) {
        double sum = 0.0, factor = 1.0;
        for (int k = 1; k <= MAX_ITERATIONS; k++) {
            factor *= x / k;
            double term = factor / k;
            sum += term;
            if (term < EPSILON * sum)
                return sum + log(x) + EULER;
        }
        if (x < 0.0) /* dead: x is positive here */
            return -3.0;
        return -2.0;
    }
    double sum = 0.0, term = 1.0;
    for (int k = 1; k <= MAX_ITERATIONS; k++) {
        double last = term;
        term *= k / x;
        if (term < EPSILON)
            break;
        if (term >= last) { /* the series diverges from here on */
            sum -= last;
            break;
        }
        sum += term;
    }
    if (x <= 35.0) /* dead */
        return -4.0;
    return exp(x) * (1.0 + sum) / x;
}
