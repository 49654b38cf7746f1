/*
 * One step of a Kalman filter of one variable, with a gate for measurements that cannot be.
 */
#include <math.h>

struct kalman {
    double x;       /* estimate */
    double p;       /* its variance */
    double q, r;    /* variances of the process and of the measurement */
    double gate;    /* in standard deviations; 0: none */
    int rejected;   /* measurements in a row */
};

/* 1 if the measurement was used, 0 if it was rejected, 2 after a new start, -1 for variances that cannot be. */
int kalman_step(struct kalman *k, double z)
{
    if (!(k->p >= 0.0) || !(k->q >= 0.0) || !(k->r > 0.0))
        return -1;
    double p = k->p + k->q;
    double s = p + k->r;
    double innovation = z - k->x;
    if (isnan(innovation))
        return 0;
    if (k->gate > 0.0 && innovation * innovation > k->gate * k->gate * s) {
        k->p = p;
        if (++k->rejected < 5)
            return 0;
        k->x = z;
        k->p = k->r;
        k->rejected = 0;
        return 2;
    }
    double gain = p / s;
    k->x += gain * innovation;
    k->p = (1.0 - gain) * p;
    if (k->p < 1e-12)
        k->p = 1e-12;
    k->rejected = 0;
    return 1;
}
