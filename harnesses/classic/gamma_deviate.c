/*
 * A random number of the gamma distribution. The generator's state is in statics: it is seeded in the first call.
 *
 * By the rejection of Marsaglia and Tsang (A simple method for generating gamma variables, 2000), with normal numbers
 * of the polar method.
 */
#include <math.h>

static unsigned long long state;
static int is_seeded;

static double uniform(long seed)
{
    if (!is_seeded) {
        state = (unsigned long long)seed;
        is_seeded = 1;
    }
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return ((state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(long seed)
{
    double u, v, s;
    do {
        u = 2.0 * uniform(seed) - 1.0;
        v = 2.0 * uniform(seed) - 1.0;
        s = u * u + v * v;
    } while (s >= 1.0);
    return u * sqrt(-2.0 * log(s) / s);
}

double gamma_deviate(double shape, long seed)
{
    if (!(shape > 0.0) || shape > 1e6)
        return -1.0;
    if (shape < 1.0)
        return gamma_deviate(shape + 1.0, seed) * pow(uniform(seed), 1.0 / shape);
    double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = normal(seed), v = 1.0 + c * x;
        if (v <= 0.0)
            continue;
        v = v * v * v;
        if (log(uniform(seed)) < x * x / 2.0 + d - d * v + d * log(v))
            return d * v;
    }
}
