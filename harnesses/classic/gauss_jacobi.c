/*
 * Abscissas and weights of the Gauss-Jacobi rule: the integral of (1-x)^a (1+x)^b f(x) over [-1, 1] is about the sum
 * of w[i] f(x[i]). The roots of the Jacobi polynomial are found by Newton's method with the roots found before divided
 * out (Maehly); the polynomial comes from its three-term recurrence.
 */
#include <math.h>

#define MAX_ITERATIONS 100

/* P_n, and P_(n-1) in *before. */
static double jacobi(int n, double a, double b, double x, double *before)
{
    double p = 1.0, q = 0.0;
    for (int k = 1; k <= n; k++) {
        double next;
        if (k == 1) {
            next = (a - b + (a + b + 2.0) * x) / 2.0;
        } else {
            double s = 2.0 * k + a + b;
            double u = (s - 1.0) * (s * (s - 2.0) * x + a * a - b * b);
            double v = 2.0 * (k + a - 1.0) * (k + b - 1.0) * s;
            next = (u * p - v * q) / (2.0 * k * (k + a + b) * (s - 2.0));
        }
        q = p;
        p = next;
    }
    *before = q;
    return p;
}

/* 0; 1 for a rule that does not exist; 2 if an abscissa was not found. */
int gauss_jacobi(double x[], double w[], int n, double a, double b)
{
    if (n < 1 || n > 16 || !(a > -1.0) || !(b > -1.0))
        return 1;
    double s = 2.0 * n + a + b;
    for (int i = 0; i < n; i++) {
        double z = cos(3.14159265358979323846 * (i + 0.75 + a / 2.0) / (n + (a + b + 1.0) / 2.0));
        double slope = 0.0, before = 0.0;
        int is_found = 0;
        for (int k = 0; k < MAX_ITERATIONS && !is_found; k++) {
            double p = jacobi(n, a, b, z, &before);
            slope = (n * (a - b - s * z) * p + 2.0 * (n + a) * (n + b) * before) / (s * (1.0 - z * z));
            double others = 0.0;
            for (int j = 0; j < i; j++)
                others += 1.0 / (z - x[j]);
            double step = p / (slope - p * others);
            z -= step;
            if (fabs(step) <= 1e-13)
                is_found = 1;
        }
        if (!is_found)
            return 2;
        x[i] = z;
        w[i] = exp(lgamma(n + a) + lgamma(n + b) - lgamma(n + 1.0) - lgamma(n + a + b + 1.0)) * s * pow(2.0, a + b)
            / (slope * before);
    }
    return 0;
}
