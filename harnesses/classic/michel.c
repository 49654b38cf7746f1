/*
 * Conditions that no real number fulfils, and that numbers in binary64 fulfil by rounding: a positive number is
 * absorbed in a sum, and a product and a quotient do not cancel.
 */
int michel(double x, double y)
{
    if (x > 0.0) {
        if (16.0 + x == 16.0)
            return 1;
        if (y > 0.0 && x * y / y != x)
            return 2;
    }
    return 0;
}
