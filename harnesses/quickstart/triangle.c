/*
 * Classifies a triangle by the lengths of its sides.
 *
 *   penfuzz triangle.c
 *
 * What penfuzz finds that random testing does not: two random doubles are as
 * good as never equal, so random sides make scalene triangles and nothing else.
 * Every == and the exact equality of Pythagoras is a distance to penfuzz, which
 * it minimizes to zero, one branch after the other.
 */
enum triangle { NOT_A_TRIANGLE, DEGENERATE, EQUILATERAL, ISOSCELES, RIGHT_ANGLED, SCALENE };

int classify_triangle(double a, double b, double c)
{
    /* Written so that a NaN is no triangle either. */
    if (!(a > 0.0) || !(b > 0.0) || !(c > 0.0))
        return NOT_A_TRIANGLE;
    if (a + b < c || b + c < a || c + a < b)
        return NOT_A_TRIANGLE;
    if (a + b == c || b + c == a || c + a == b)
        return DEGENERATE;
    if (a == b && b == c)
        return EQUILATERAL;
    if (a == b || b == c || c == a)
        return ISOSCELES;
    /* The hypotenuse comes last. */
    if (a * a + b * b == c * c)
        return RIGHT_ANGLED;
    return SCALENE;
}
