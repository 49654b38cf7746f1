/*
 * Puts ten numbers in order by exchanges that standard input names: two places per round.
 */
#include <stdio.h>

/* 1 if the numbers are in order after all rounds, 0 if not, -1 at the end of the input, -2 for a place that is none. */
int proc(double a[10], int rounds)
{
    for (int round = 0; round < rounds; round++) {
        int i, j;
        if (scanf("%d %d", &i, &j) != 2)
            return -1;
        if (i < 0 || i > 9 || j < 0 || j > 9)
            return -2;
        if (i < j && a[i] > a[j]) {
            double t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
    }
    for (int i = 1; i < 10; i++)
        if (!(a[i - 1] <= a[i]))
            return 0;
    return 1;
}
