/*
 * The kind of a triangle with integer sides: 0 none, 1 scalene, 2 isosceles, 3 equilateral.
 */
int tritype(int i, int j, int k)
{
    if (i <= 0 || j <= 0 || k <= 0)
        return 0;
    int equal = 0;
    if (i == j)
        equal += 1;
    if (i == k)
        equal += 2;
    if (j == k)
        equal += 3;
    if (equal == 0) {
        /* In this form no sum overflows. */
        if (i - k >= 0 ? i - k >= j : k - i >= j)
            return 0;
        if (j <= i && j <= k)
            return 1;
        if (i > j - k)
            return 1;
        return 0;
    }
    if (equal > 3)
        return 3;
    if (equal == 1 && i > k - j)
        return 2;
    if (equal == 2 && i > j - k)
        return 2;
    if (equal == 3 && j > i - k)
        return 2;
    return 0;
}
