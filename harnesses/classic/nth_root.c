/*
 * The n-th root of a number by bisection.
 *
 * The equality in the loop is taken when a midpoint is the root exactly; the last return when no interval of the
 * wanted width was reached.
 */
#define MAX_ITERATIONS 100

static double power(double x, int n)
{
    double p = 1.0;
    while (n-- > 0)
        p *= x;
    return p;
}

/* The root of `x` between 0 and max(1, x), to the relative precision `eps`; -1 for an argument without one. */
double nth_root(double x, int n, double eps)
{
    if (!(x >= 0.0) || n < 1 || n > 64)
        return -1.0;
    double low = 0.0, high = x > 1.0 ? x : 1.0;
    for (int i = 0; i < MAX_ITERATIONS; i++) {
        double middle = low + (high - low) / 2.0;
        double p = power(middle, n);
        if (p == x)
            return middle;
        if (p < x)
            low = middle;
        else
            high = middle;
        if (high - low <= eps * high)
            return low;
    }
    return -2.0;
}
