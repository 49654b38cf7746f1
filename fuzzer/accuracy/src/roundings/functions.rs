//! Functions of the C library as operations of a run: the rounding error and the derivatives, by MPFR.

/// The behaviour of a function near its operands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Local {
    /// The result minus the exact value.
    pub error: f64,
    /// Derivatives by the operands.
    pub first: [f64; 2],
    /// Second derivatives by each operand, halved, and by both.
    pub square: [f64; 2],
    pub product: f64,
}

pub(super) use by_mpfr::local;

mod by_mpfr {
    use penfuzz_abi::operation as op;
    use rug::Float;

    use super::{
        super::super::{libm, precise},
        Local,
    };

    /// Precision of a value, in bits: second-order differences lose twice the bits of [`STEP`].
    const PRECISION: u32 = 320;
    /// Step of a difference quotient, relative to the operand: `2^-STEP`.
    const STEP: i32 = 64;

    /// Returns the name of a function.
    fn named(operation: u32) -> Option<&'static str> {
        Some(match operation {
            op::LOG => "log",
            op::LOG2 => "log2",
            op::LOG10 => "log10",
            op::LOG1P => "log1p",
            op::EXP => "exp",
            op::EXP2 => "exp2",
            op::EXP10 => "exp10",
            op::EXPM1 => "expm1",
            op::SINH => "sinh",
            op::COSH => "cosh",
            op::TANH => "tanh",
            op::ASIN => "asin",
            op::ACOS => "acos",
            op::ATAN => "atan",
            op::ASINH => "asinh",
            op::ACOSH => "acosh",
            op::ATANH => "atanh",
            op::SIN => "sin",
            op::COS => "cos",
            op::TAN => "tan",
            op::CBRT => "cbrt",
            op::ERF => "erf",
            op::ERFC => "erfc",
            op::TGAMMA => "tgamma",
            op::LGAMMA => "lgamma",
            op::POW => "pow",
            op::HYPOT => "hypot",
            op::ATAN2 => "atan2",
            _ => return None,
        })
    }

    /// Returns `None` for another operation, and if a value is not finite.
    pub(in super::super) fn local(operation: u32, operands: [f64; 2], value: f64) -> Option<Local> {
        let name = named(operation)?;
        let n = libm::find(name)?.parameters.len();
        let steps = operands.map(|x| Float::with_val(PRECISION, if x == 0.0 { 1.0 } else { x.abs() }) >> STEP);
        // The value at this number of steps along each operand.
        let at = |away: [i32; 2]| -> Option<Float> {
            let moved =
                |i: usize| Float::with_val(PRECISION, operands[i]) + Float::with_val(PRECISION, &steps[i] * away[i]);
            precise::apply(name, (0..n).map(moved).collect()).map(|(value, _)| value).filter(Float::is_finite)
        };
        let here = at([0, 0])?;
        let mut local = Local {
            error: (Float::with_val(PRECISION, value) - &here).to_f64(),
            first: [0.0; 2],
            square: [0.0; 2],
            product: 0.0,
        };
        for i in 0..n {
            let one = |steps: i32| if i == 0 { [steps, 0] } else { [0, steps] };
            let (above, below) = (at(one(1))?, at(one(-1))?);
            let step = &steps[i];
            local.first[i] = (Float::with_val(PRECISION, &above - &below) / step / 2u32).to_f64();
            let bend = Float::with_val(PRECISION, &above - &here) - Float::with_val(PRECISION, &here - &below);
            local.square[i] = (bend / step / step / 2u32).to_f64();
        }
        if n == 2 {
            let across = at([1, 1])? - at([1, -1])? - at([-1, 1])? + at([-1, -1])?;
            local.product = (across / &steps[0] / &steps[1] / 4u32).to_f64();
        }
        let all = [local.error, local.first[0], local.first[1], local.square[0], local.square[1], local.product];
        all.iter().all(|x| x.is_finite()).then_some(local)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn assert_near(found: f64, expected: f64) {
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{found}, {expected}");
        }

        #[test]
        fn derivatives_are_those_of_calculus() {
            let of = |operation, a: f64, b: f64| local(operation, [a, b], 0.0).expect("it is known");
            let e = of(op::EXP, -1.25, 0.0);
            assert_near(e.first[0], (-1.25f64).exp());
            assert_near(e.square[0], (-1.25f64).exp() / 2.0);
            assert_near(-e.error, (-1.25f64).exp());
            let s = of(op::SIN, 0.0, 0.0);
            assert_near(s.first[0], 1.0);
            let p = of(op::POW, 3.0, 2.5);
            assert_near(p.first[0], 2.5 * 3f64.powf(1.5));
            assert_near(p.first[1], 3f64.powf(2.5) * 3f64.ln());
            assert_near(p.square[0], 2.5 * 1.5 / 2.0 * 3f64.sqrt());
            assert_near(p.product, 3f64.powf(1.5) * 2.5f64.mul_add(3f64.ln(), 1.0));
            assert_eq!(local(op::LOG, [-1.0, 0.0], f64::NAN), None);
            assert_eq!(local(op::FMOD, [3.0, 2.0], 1.0), None, "it jumps");
        }
    }
}
