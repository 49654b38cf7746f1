/*
 * A sentence of NMEA 0183, `$GPGGA,...*hh`: frame, checksum, type, and the number of the fix.
 */
#include <string.h>

struct fix {
    char type[6];
    int fields;
    int quality;        /* the sixth field of a GGA sentence */
};

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* 0; 1 no frame, 2 no checksum, 3 a wrong one, 4 an unknown type, 5 no quality. */
int nmea_parse(const char *sentence, struct fix *fix)
{
    if (sentence[0] != '$')
        return 1;
    unsigned char sum = 0;
    const char *p = sentence + 1;
    fix->fields = 0;
    while (*p != '\0' && *p != '*') {
        if (*p == ',')
            fix->fields++;
        sum ^= (unsigned char)*p++;
    }
    if (*p != '*')
        return 2;
    int high = hex(p[1]);
    if (high < 0)
        return 2;
    int low = hex(p[2]);
    if (low < 0)
        return 2;
    if (sum != high * 16 + low)
        return 3;
    if (p - sentence < 6)
        return 4;
    memcpy(fix->type, sentence + 1, 5);
    fix->type[5] = '\0';
    fix->quality = -1;
    if (strncmp(fix->type + 2, "GGA", 3) == 0) {
        const char *q = sentence;
        for (int i = 0; i < 6; i++) {
            q = strchr(q, ',');
            if (q == 0)
                return 5;
            q++;
        }
        if (*q < '0' || *q > '8')
            return 5;
        fix->quality = *q - '0';
        return 0;
    }
    if (strncmp(fix->type + 2, "RMC", 3) == 0)
        return 0;
    return 4;
}
