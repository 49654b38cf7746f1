/*
 * The inverse of a matrix of three rows by elimination with pivoting.
 */
#include <math.h>

/* 0, or 1 for a matrix without inverse. */
int inverse3(const double m[3][3], double inverse[3][3])
{
    double a[3][6];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 6; j++)
            a[i][j] = j < 3 ? m[i][j] : (j - 3 == i ? 1.0 : 0.0);
    for (int k = 0; k < 3; k++) {
        int pivot = k;
        for (int i = k + 1; i < 3; i++)
            if (fabs(a[i][k]) > fabs(a[pivot][k]))
                pivot = i;
        if (!(fabs(a[pivot][k]) > 1e-300))
            return 1;
        if (pivot != k)
            for (int j = 0; j < 6; j++) {
                double t = a[k][j];
                a[k][j] = a[pivot][j];
                a[pivot][j] = t;
            }
        double scale = a[k][k];
        for (int j = 0; j < 6; j++)
            a[k][j] /= scale;
        for (int i = 0; i < 3; i++)
            if (i != k) {
                double factor = a[i][k];
                for (int j = 0; j < 6; j++)
                    a[i][j] -= factor * a[k][j];
            }
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            inverse[i][j] = a[i][j + 3];
    return 0;
}
