/*
 * A table with linear interpolation; outside it, the first and the last value.
 */
#include <math.h>
#include <stddef.h>

struct table {
    size_t n;
    double x[8], y[8];  /* x rises */
};

double lookup(const struct table *t, double x)
{
    if (t->n == 0 || t->n > 8 || isnan(x))
        return NAN;
    for (size_t i = 1; i < t->n; i++)
        if (!(t->x[i - 1] < t->x[i]))
            return NAN;
    if (x <= t->x[0])
        return t->y[0];
    if (x >= t->x[t->n - 1])
        return t->y[t->n - 1];
    size_t low = 0, high = t->n - 1;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (t->x[middle] == x)
            return t->y[middle];
        if (t->x[middle] < x)
            low = middle;
        else
            high = middle;
    }
    return t->y[low] + (t->y[high] - t->y[low]) * (x - t->x[low]) / (t->x[high] - t->x[low]);
}
