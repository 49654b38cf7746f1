//! The floating-point operations: values of [`Site::operation`](super::Site::operation).

/// The site is not an operation.
pub const NO_OPERATION: u32 = 0;
/// `a + b`.
pub const ADD: u32 = 1;
/// `a - b`.
pub const SUBTRACT: u32 = 2;
/// `a * b`.
pub const MULTIPLY: u32 = 3;
/// `a / b`.
pub const DIVIDE: u32 = 4;
/// `fmod(a, b)`.
pub const FMOD: u32 = 5;
/// `a * b + c`, rounded once.
pub const FMA: u32 = 6;
/// `sqrt(a)`.
pub const SQRT: u32 = 7;
/// `(float)a` of a `double`.
pub const NARROW: u32 = 8;
/// `-a`.
pub const NEGATE: u32 = 9;
/// `fabs(a)`.
pub const ABS: u32 = 10;
/// `(int)a` and the like, `lround(a)` and `lrint(a)` too.
pub const TO_SIGNED: u32 = 11;
/// `(unsigned)a` and the like.
pub const TO_UNSIGNED: u32 = 12;
/// `(double)a` of an `int` and the like.
pub const FROM_SIGNED: u32 = 13;
/// `(double)a` of an `unsigned` and the like.
pub const FROM_UNSIGNED: u32 = 14;
/// `log(a)`.
pub const LOG: u32 = 15;
/// `log2(a)`.
pub const LOG2: u32 = 16;
/// `log10(a)`.
pub const LOG10: u32 = 17;
/// `log1p(a)`.
pub const LOG1P: u32 = 18;
/// `logb(a)`.
pub const LOGB: u32 = 19;
/// `exp(a)`.
pub const EXP: u32 = 20;
/// `exp2(a)`.
pub const EXP2: u32 = 21;
/// `exp10(a)`.
pub const EXP10: u32 = 22;
/// `expm1(a)`.
pub const EXPM1: u32 = 23;
/// `sinh(a)`.
pub const SINH: u32 = 24;
/// `cosh(a)`.
pub const COSH: u32 = 25;
/// `pow(a, b)`.
pub const POW: u32 = 26;
/// `asin(a)`.
pub const ASIN: u32 = 27;
/// `acos(a)`.
pub const ACOS: u32 = 28;
/// `atanh(a)`.
pub const ATANH: u32 = 29;
/// `acosh(a)`.
pub const ACOSH: u32 = 30;
/// `remainder(a, b)`.
pub const REMAINDER: u32 = 31;
/// `tgamma(a)`.
pub const TGAMMA: u32 = 32;
/// `lgamma(a)`.
pub const LGAMMA: u32 = 33;
/// `y0(a)`.
pub const Y0: u32 = 34;
/// `y1(a)`.
pub const Y1: u32 = 35;
/// `yn(a, b)`.
pub const YN: u32 = 36;
/// `ldexp(a, b)`.
pub const LDEXP: u32 = 37;
/// `scalbn(a, b)`.
pub const SCALBN: u32 = 38;
/// `scalbln(a, b)`.
pub const SCALBLN: u32 = 39;
/// `hypot(a, b)`.
pub const HYPOT: u32 = 40;
/// `erfc(a)`.
pub const ERFC: u32 = 41;
/// `nextafter(a, b)`.
pub const NEXTAFTER: u32 = 42;
/// `sin(a)`.
pub const SIN: u32 = 43;
/// `cos(a)`.
pub const COS: u32 = 44;
/// `tan(a)`.
pub const TAN: u32 = 45;
/// `atan(a)`.
pub const ATAN: u32 = 46;
/// `atan2(a, b)`.
pub const ATAN2: u32 = 47;
/// `tanh(a)`.
pub const TANH: u32 = 48;
/// `asinh(a)`.
pub const ASINH: u32 = 49;
/// `cbrt(a)`.
pub const CBRT: u32 = 50;
/// `erf(a)`.
pub const ERF: u32 = 51;
/// `floor(a)`.
pub const FLOOR: u32 = 52;
/// `ceil(a)`.
pub const CEIL: u32 = 53;
/// `trunc(a)`.
pub const ROUND_TO_ZERO: u32 = 54;
/// `round(a)`.
pub const ROUND: u32 = 55;
/// `rint(a)`.
pub const RINT: u32 = 56;
/// The number of operations, [`NO_OPERATION`] included.
pub const OPERATIONS: u32 = 57;
