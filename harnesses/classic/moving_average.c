/*
 * A moving average over the last values, without those that are not finite and without one outlier.
 */
#include <math.h>

#define WINDOW 8

typedef struct {
    double values[WINDOW];
    double sum;
    unsigned count, next;
    double limit;       /* distance from the average that makes an outlier; 0: none */
} average_t;

double average_add(average_t *a, double x)
{
    if (a->count > WINDOW || a->next >= WINDOW)
        return NAN;
    double mean = a->count ? a->sum / a->count : x;
    if (!isfinite(x))
        return mean;
    if (a->limit > 0.0 && a->count == WINDOW && fabs(x - mean) > a->limit)
        return mean;
    if (a->count == WINDOW)
        a->sum -= a->values[a->next];
    else
        a->count++;
    a->values[a->next] = x;
    a->next = (a->next + 1) % WINDOW;
    a->sum += x;
    return a->sum / a->count;
}
