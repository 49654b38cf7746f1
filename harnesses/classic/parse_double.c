/*
 * A `strtod`: white space, sign, digits with a point, exponent, infinity and NaN.
 */
#include <math.h>
#include <strings.h>

/* The number that `s` begins with, and the place behind it in *end: `s` if there is none. */
double parse_double(const char *s, const char **end)
{
    const char *p = s;
    while (*p == ' ' || *p == '\t')
        p++;
    int is_negative = 0;
    if (*p == '-') {
        is_negative = 1;
        p++;
    } else if (*p == '+') {
        p++;
    }
    if (strncasecmp(p, "nan", 3) == 0) {
        *end = p + 3;
        return NAN;
    }
    if (strncasecmp(p, "inf", 3) == 0) {
        *end = p + 3;
        return is_negative ? -INFINITY : INFINITY;
    }
    double value = 0.0;
    int digits = 0, scale = 0;
    for (; *p >= '0' && *p <= '9'; p++, digits++)
        value = value * 10.0 + (*p - '0');
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++, digits++, scale--)
            value = value * 10.0 + (*p - '0');
    if (digits == 0) {
        *end = s;
        return 0.0;
    }
    *end = p;
    if (*p == 'e' || *p == 'E') {
        p++;
        int is_small = 0, exponent = 0;
        if (*p == '-') {
            is_small = 1;
            p++;
        } else if (*p == '+') {
            p++;
        }
        if (*p >= '0' && *p <= '9') {
            for (; *p >= '0' && *p <= '9'; p++)
                if (exponent < 10000)
                    exponent = exponent * 10 + (*p - '0');
            scale += is_small ? -exponent : exponent;
            *end = p;
        }
    }
    if (value == 0.0)
        return is_negative ? -0.0 : 0.0;
    value *= pow(10.0, scale);
    return is_negative ? -value : value;
}
