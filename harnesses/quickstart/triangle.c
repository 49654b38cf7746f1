/*
 * Classifies a triangle by the lengths of its sides.
 *
 *   penfuzz triangle.c
 *
 * Two random doubles are almost never equal, so random testing finds scalene
 * triangles only. penfuzz finds all branches: it computes a distance for every
 * ==, and for the exact equality of Pythagoras, and minimizes it to zero, one
 * branch after the other.
 */
enum triangle { NOT_A_TRIANGLE, DEGENERATE, EQUILATERAL, ISOSCELES, RIGHT_ANGLED, SCALENE };

int classify_triangle(double a, double b, double c)
{
    /* In this form a NaN is no triangle either. */
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
