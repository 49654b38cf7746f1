//! The value that a numeric function leaves in `errno`, and the value that the C standard requires.
//!
//! C17 7.12.1, with `math_errhandling & MATH_ERRNO`: `EDOM` where the function is not defined, `ERANGE` where its value
//! is infinite at finite arguments (a pole) or too large for the type. `ERANGE` is allowed where the value is too
//! small. Everywhere else `errno` does not change, also for NaNs and infinities that come from those in the arguments.

use libc::{EDOM, ERANGE};
use penfuzz_mutators::view::Kind;
use serde::{Deserialize, Serialize};

/// The value in `errno` after a call, which was 0 before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errno {
    /// The value after the call of the function.
    pub left: i32,
    /// The required value.
    pub expected: i32,
}

impl Errno {
    /// Returns whether both are equal.
    #[must_use]
    pub fn is_right(self) -> bool {
        self.left == self.expected
    }
}

/// Returns the required `errno` of a function of `<math.h>` whose value at `args` is `r`, rounded to the type of the
/// result. If the standard allows several values and `left` is one of them, that is `left`.
#[must_use]
pub fn of_math(name: &str, args: &[f64], r: f64, result: Kind, left: i32) -> Errno {
    let is_finite = args.iter().all(|x| x.is_finite());
    let smallest = if result == Kind::F32 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    let allowed: &[i32] = if args.iter().any(|x| x.is_nan()) {
        &[0]
    } else if r.is_nan() {
        // "A domain error or pole error may occur" at integers below 0.
        if name == "tgamma" && is_finite { &[EDOM, ERANGE] } else { &[EDOM] }
    } else if r.is_infinite() {
        if is_finite { &[ERANGE] } else { &[0] }
    } else if r.abs() < smallest && is_finite {
        &[0, ERANGE]
    } else {
        &[0]
    };
    // Errors of fma "may occur" (7.12.13.1).
    let is_right = allowed.contains(&left) || (name == "fma" && left == 0);
    Errno { left, expected: if is_right { left } else { allowed[0] } }
}

/// Returns the name of the value: `EDOM`, `ERANGE`, or the number.
#[must_use]
pub fn text(errno: i32) -> String {
    match errno {
        EDOM => "EDOM".to_owned(),
        ERANGE => "ERANGE".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_right(name: &str, args: &[f64], r: f64, left: i32) -> bool {
        of_math(name, args, r, Kind::F64, left).is_right()
    }

    #[test]
    fn errors_of_domain_and_range_are_those_of_the_standard() {
        let (nan, infinity) = (f64::NAN, f64::INFINITY);
        for (name, args, r, right) in [
            ("log", &[-1.0][..], nan, &[EDOM][..]),
            ("log", &[0.0], -infinity, &[ERANGE]),
            ("log", &[nan], nan, &[0]),
            ("log", &[infinity], infinity, &[0]),
            ("sin", &[infinity], nan, &[EDOM]),
            ("exp", &[1000.0], infinity, &[ERANGE]),
            ("exp", &[-1000.0], 0.0, &[0, ERANGE]),
            ("exp", &[-infinity], 0.0, &[0]),
            ("exp", &[1.0], 2.5, &[0]),
            ("tgamma", &[-1.0], nan, &[EDOM, ERANGE]),
            ("tgamma", &[-infinity], nan, &[EDOM]),
            ("fmod", &[1.0, 0.0], nan, &[EDOM]),
            ("pow", &[0.0, -1.0], infinity, &[ERANGE]),
            ("fma", &[1e300, 1e300, 0.0], infinity, &[0, ERANGE]),
            ("fma", &[infinity, 0.0, 1.0], nan, &[0, EDOM]),
            ("fma", &[1.0, 1.0, 1.0], 2.0, &[0]),
        ] {
            for left in [0, EDOM, ERANGE, libc::ENOENT] {
                assert_eq!(is_right(name, args, r, left), right.contains(&left), "{name}{args:?} leaves {left}");
            }
        }
    }

    #[test]
    fn the_smallest_number_is_that_of_the_type() {
        let of = |kind| of_math("expf", &[-90.0], 8e-40, kind, ERANGE).is_right();
        assert!(of(Kind::F32) && !of(Kind::F64));
    }
}
