/*
 * Is `target` somewhere in `a`, and everywhere in `b`? Ten equalities must hold at once.
 */
int sample(int a[10], int b[10], int target)
{
    int is_in_a = 0, fills_b = 0;
    for (int i = 0; i < 10; i++)
        if (a[i] == target)
            is_in_a = 1;
    if (is_in_a) {
        fills_b = 1;
        for (int i = 0; i < 10; i++)
            if (b[i] != target)
                fills_b = 0;
    }
    if (fills_b)
        return 1;
    return 0;
}
