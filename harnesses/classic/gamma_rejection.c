/*
 * A random number of the gamma distribution with an integer shape, by rejection from a Cauchy distribution (Ahrens and
 * Dieter, 1974); for small shapes, by the sum of exponential numbers. The generator is x -> 16807 x mod 2^31 - 1.
 */
#include <math.h>

#define MODULUS 2147483647LL

static long long state;

static double uniform(void)
{
    state = 16807 * state % MODULUS;
    return (double)state / (double)MODULUS;
}

/* The tangent of a random angle: the ratio of the coordinates of a point in the unit circle. */
static double tangent(void)
{
    double u, v;
    do {
        u = uniform();
        v = 2.0 * uniform() - 1.0;
    } while (u * u + v * v > 1.0);
    return v / u;
}

double gamma_rejection(int shape, int seed)
{
    if (shape < 1)
        return -1.0;
    if (seed < 1 || seed >= MODULUS)
        return -2.0;
    state = seed;
    if (shape < 6) {
        double product = 1.0;
        for (int i = 0; i < shape; i++)
            product *= uniform();
        return -log(product);
    }
    double mode = shape - 1, width = sqrt(2.0 * mode + 1.0);
    for (;;) {
        double y = tangent(), x = width * y + mode;
        if (x <= 0.0)
            continue;
        if (uniform() <= (1.0 + y * y) * exp(mode * log(x / mode) - width * y))
            return x;
    }
}
