/*
 * Binary search in a sorted array of ten numbers. An array that is not sorted is refused.
 */
int binary_search(double a[10], double x)
{
    for (int i = 1; i < 10; i++)
        if (!(a[i - 1] <= a[i]))
            return -2;
    int low = 0, high = 9;
    while (low <= high) {
        int middle = (low + high) / 2;
        if (a[middle] == x)
            return middle;
        if (a[middle] < x)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}
