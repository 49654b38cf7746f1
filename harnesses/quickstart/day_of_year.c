/*
 * Computes the number of a day in its year from a date of the Gregorian calendar.
 *
 *   penfuzz day_of_year.c
 *
 * Random testing does not get past "no such year": of the 2^96 triples of ints
 * about one in 10^22 is a date. penfuzz finds all branches. Integer comparisons
 * have distances too, and so have the cases of the switch. penfuzz recognises
 * *out as a place for the result.
 */
#include <stdbool.h>

enum { OK = 0, NO_SUCH_YEAR = -1, NO_SUCH_MONTH = -2, NO_SUCH_DAY = -3 };

static bool is_leap(int year)
{
    if (year % 400 == 0)
        return true;
    if (year % 100 == 0)
        return false;
    return year % 4 == 0;
}

/* Writes 1 to 366 to *out and returns 0, or returns a negative value. */
int day_of_year(int year, int month, int day, int *out)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int days;

    if (year < 1583 || year > 9999)
        return NO_SUCH_YEAR;

    switch (month) {
    case 2:
        days = is_leap(year) ? 29 : 28;
        break;
    case 4:
    case 6:
    case 9:
    case 11:
        days = 30;
        break;
    case 1:
    case 3:
    case 5:
    case 7:
    case 8:
    case 10:
    case 12:
        days = 31;
        break;
    default:
        return NO_SUCH_MONTH;
    }
    if (day < 1 || day > days)
        return NO_SUCH_DAY;

    *out = before[month - 1] + day;
    if (month > 2 && is_leap(year))
        ++*out;
    return OK;
}
