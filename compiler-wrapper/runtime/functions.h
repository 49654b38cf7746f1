/* The functions of <math.h> that are sites with -fpen-exceptions; domains and ranges as in Ariadne (Barr et al., POPL
 * 2013).
 *
 * One line for each, which both pass and runtime read:
 *   FUNCTION(enum pen_operation, name, operands, exceptions, region where it is invalid, region where it has a pole)
 * The name is that of the function of double. The function of float has the suffix f; that of long double is no site.
 * Operands: D is a float, I is an integer. Exceptions: O overflow, U underflow, Z divide-by-zero, V invalid. Inexact is
 * omitted, because it cannot be decided without the exact result. A function that raises nothing for finite operands is
 * listed so that the fuzzer can repeat the computation of a run in higher precision. A new function needs a line here,
 * one in enum pen_operation, and one in its mirror. */
#ifndef PEN_FUNCTIONS_H
#define PEN_FUNCTIONS_H

/* The regions in which functions are invalid or have a pole. */
enum region {
  NOWHERE, BELOW_ZERO, BELOW_MINUS_ONE, BELOW_ONE, BEYOND_ONE, SECOND_IS_ZERO, ROOT_OF_NEGATIVE, AT_NEGATIVE_INTEGERS,
  AT_ZERO, AT_MINUS_ONE, AT_PLUS_MINUS_ONE, POWER_OF_ZERO, AT_INTEGERS_TO_ZERO
};

#define PEN_FUNCTIONS(FUNCTION)                                                   \
  FUNCTION(PEN_LOG, "log", "D", "ZV", BELOW_ZERO, AT_ZERO)                        \
  FUNCTION(PEN_LOG2, "log2", "D", "ZV", BELOW_ZERO, AT_ZERO)                      \
  FUNCTION(PEN_LOG10, "log10", "D", "ZV", BELOW_ZERO, AT_ZERO)                    \
  FUNCTION(PEN_LOG1P, "log1p", "D", "ZV", BELOW_MINUS_ONE, AT_MINUS_ONE)          \
  FUNCTION(PEN_LOGB, "logb", "D", "Z", NOWHERE, AT_ZERO)                          \
  FUNCTION(PEN_EXP, "exp", "D", "OU", NOWHERE, NOWHERE)                           \
  FUNCTION(PEN_EXP2, "exp2", "D", "OU", NOWHERE, NOWHERE)                         \
  FUNCTION(PEN_EXP10, "exp10", "D", "OU", NOWHERE, NOWHERE)                       \
  FUNCTION(PEN_EXPM1, "expm1", "D", "O", NOWHERE, NOWHERE)                        \
  FUNCTION(PEN_SINH, "sinh", "D", "O", NOWHERE, NOWHERE)                          \
  FUNCTION(PEN_COSH, "cosh", "D", "O", NOWHERE, NOWHERE)                          \
  FUNCTION(PEN_POW, "pow", "DD", "OUZV", ROOT_OF_NEGATIVE, POWER_OF_ZERO)         \
  FUNCTION(PEN_ASIN, "asin", "D", "V", BEYOND_ONE, NOWHERE)                       \
  FUNCTION(PEN_ACOS, "acos", "D", "V", BEYOND_ONE, NOWHERE)                       \
  FUNCTION(PEN_ATANH, "atanh", "D", "ZV", BEYOND_ONE, AT_PLUS_MINUS_ONE)          \
  FUNCTION(PEN_ACOSH, "acosh", "D", "V", BELOW_ONE, NOWHERE)                      \
  FUNCTION(PEN_REMAINDER, "remainder", "DD", "V", SECOND_IS_ZERO, NOWHERE)        \
  FUNCTION(PEN_TGAMMA, "tgamma", "D", "OUZV", AT_NEGATIVE_INTEGERS, AT_ZERO)      \
  FUNCTION(PEN_LGAMMA, "lgamma", "D", "OZ", NOWHERE, AT_INTEGERS_TO_ZERO)         \
  FUNCTION(PEN_Y0, "y0", "D", "ZV", BELOW_ZERO, AT_ZERO)                          \
  FUNCTION(PEN_Y1, "y1", "D", "OZV", BELOW_ZERO, AT_ZERO)                         \
  FUNCTION(PEN_YN, "yn", "ID", "OZV", BELOW_ZERO, AT_ZERO)                        \
  FUNCTION(PEN_LDEXP, "ldexp", "DI", "OU", NOWHERE, NOWHERE)                      \
  FUNCTION(PEN_SCALBN, "scalbn", "DI", "OU", NOWHERE, NOWHERE)                    \
  FUNCTION(PEN_SCALBLN, "scalbln", "DI", "OU", NOWHERE, NOWHERE)                  \
  FUNCTION(PEN_HYPOT, "hypot", "DD", "O", NOWHERE, NOWHERE)                       \
  FUNCTION(PEN_ERFC, "erfc", "D", "U", NOWHERE, NOWHERE)                          \
  FUNCTION(PEN_NEXTAFTER, "nextafter", "DD", "U", NOWHERE, NOWHERE)               \
  FUNCTION(PEN_SIN, "sin", "D", "", NOWHERE, NOWHERE)                             \
  FUNCTION(PEN_COS, "cos", "D", "", NOWHERE, NOWHERE)                             \
  FUNCTION(PEN_TAN, "tan", "D", "", NOWHERE, NOWHERE)                             \
  FUNCTION(PEN_ATAN, "atan", "D", "", NOWHERE, NOWHERE)                           \
  FUNCTION(PEN_ATAN2, "atan2", "DD", "", NOWHERE, NOWHERE)                        \
  FUNCTION(PEN_TANH, "tanh", "D", "", NOWHERE, NOWHERE)                           \
  FUNCTION(PEN_ASINH, "asinh", "D", "", NOWHERE, NOWHERE)                         \
  FUNCTION(PEN_CBRT, "cbrt", "D", "", NOWHERE, NOWHERE)                           \
  FUNCTION(PEN_ERF, "erf", "D", "", NOWHERE, NOWHERE)                             \
  FUNCTION(PEN_FLOOR, "floor", "D", "", NOWHERE, NOWHERE)                         \
  FUNCTION(PEN_CEIL, "ceil", "D", "", NOWHERE, NOWHERE)                           \
  FUNCTION(PEN_ROUND_TO_ZERO, "trunc", "D", "", NOWHERE, NOWHERE)                 \
  FUNCTION(PEN_ROUND, "round", "D", "", NOWHERE, NOWHERE)                         \
  FUNCTION(PEN_RINT, "rint", "D", "", NOWHERE, NOWHERE)

#endif
