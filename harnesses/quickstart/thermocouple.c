/*
 * Voltage of a type K thermocouple, interpolated between the entries of a table.
 *
 *   penfuzz thermocouple.c        finds a crash
 *
 * The range check looks complete but is not: it lets one kind of value pass,
 * and for this value the index into the table is invalid. Tests with
 * temperatures, random ones included, never show it. penfuzz also tries the
 * special values of floating-point comparisons, and reports the one that crashes.
 */
static const double first = -200.0; /* degrees Celsius */
static const double step = 100.0;   /* degrees Celsius */
static const double millivolts[] = {-5.891, -3.554, 0.000,  4.096,  8.138,
                                    12.209, 16.397, 20.644, 24.905, 29.129};
enum { ENTRIES = sizeof millivolts / sizeof millivolts[0] };

double thermocouple_millivolts(double celsius)
{
    double position = (celsius - first) / step;
    double fraction;
    int index;

    if (position < 0.0 || position > ENTRIES - 1)
        return 0.0; /* the sensor is broken or not connected */

    index = (int)position;
    if (index == ENTRIES - 1)
        return millivolts[index];
    fraction = position - index;
    if (fraction == 0.0)
        return millivolts[index];
    return millivolts[index] + fraction * (millivolts[index + 1] - millivolts[index]);
}
