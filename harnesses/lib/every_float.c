// every_float LIBRARY.so FUNCTION: the largest error of a function of one float, by trying all floats.
//
// FUNCTION, for example sinf, is taken from the library. The exact value is that of this system's function of double
// (sin), whose own error is about 1e-9 units of the last place of a float. No code of penfuzz is involved. Prints the
// error in ulps of the exact value, and the input. Results or values that are not finite are ignored.
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// One unit of the last place of a float with this value. Of 0 it is the smallest subnormal number.
static double ulp(double exact) {
    if (exact == 0.0) return 0x1p-149;
    int exponent;
    frexp(exact, &exponent);
    exponent -= 24;
    return ldexp(1.0, exponent < -149 ? -149 : exponent);
}

int main(int argc, char **argv) {
    char name[64] = "";
    if (argc == 3 && strlen(argv[2]) < sizeof name) strcpy(name, argv[2]);
    size_t length = strlen(name);
    if (length < 2 || name[length - 1] != 'f') return fprintf(stderr, "usage: every_float LIBRARY.so FUNCTIONf\n"), 2;
    // The library's own functions come first when it calls one.
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
    float (*tested)(float) = (float (*)(float))dlsym(library, name);
    name[length - 1] = '\0';
    double (*exact)(double) = (double (*)(double))dlsym(RTLD_DEFAULT, name);
    if (!tested || !exact) return fprintf(stderr, "%s or %s is not there\n", argv[2], name), 1;

    double worst = 0.0;
    float at = 0.0F;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits++) {
        uint32_t word = (uint32_t)bits;
        float x;
        memcpy(&x, &word, sizeof x);
        double result = tested(x), value = exact(x);
        if (!isfinite(result) || !isfinite(value)) continue;
        double difference = fabs(result - value);
        // Most inputs are not the worst: the unit is computed for those that can be.
        if (difference <= worst * 0x1p-23 * fabs(value) * 0.49 && fabs(value) > 0x1p-120) continue;
        double error = difference / ulp(value);
        if (error > worst) worst = error, at = x;
    }
    printf("%.9f %a\n", worst, at);
    return 0;
}
