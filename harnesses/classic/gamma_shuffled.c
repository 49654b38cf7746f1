/*
 * A random number of the gamma distribution with an integer shape, by rejection from a Cauchy distribution (Ahrens and
 * Dieter, 1974). The generator is x -> 16807 x mod 2^31 - 1 (Park and Miller, 1988), shuffled (Bays and Durham, 1976),
 * with the largest numbers reduced so that 1 is never returned: the branch that one number in millions takes.
 */
#include <math.h>

#define MODULUS 2147483647L
#define PLACES 32
#define LARGEST (1.0 - 1.2e-7)

static long table[PLACES], last;

static long next(long *state)
{
    *state = 16807 * *state % MODULUS;
    return *state;
}

static double uniform(long *state)
{
    if (*state <= 0 || !last) {
        *state = -*state < 1 ? 1 : -*state;
        for (int i = PLACES + 7; i >= 0; i--) {
            long value = next(state);
            if (i < PLACES)
                table[i] = value;
        }
        last = table[0];
    }
    int place = last / (1 + (MODULUS - 1) / PLACES);
    last = table[place];
    table[place] = next(state);
    double u = (double)last / MODULUS;
    if (u > LARGEST)
        return LARGEST;
    return u;
}

double gamma_shuffled(int shape, int seed)
{
    long state = seed;
    if (shape < 1)
        return -1.0;
    if (shape < 6) {
        double product = 1.0;
        for (int i = 0; i < shape; i++)
            product *= uniform(&state);
        return -log(product);
    }
    double x, y, mode = shape - 1, width = sqrt(2.0 * mode + 1.0);
    do {
        do {
            double u, v;
            do {
                u = uniform(&state);
                v = 2.0 * uniform(&state) - 1.0;
            } while (u * u + v * v > 1.0);
            y = v / u;
            x = width * y + mode;
        } while (x <= 0.0);
    } while (uniform(&state) > (1.0 + y * y) * exp(mode * log(x / mode) - width * y));
    return x;
}
