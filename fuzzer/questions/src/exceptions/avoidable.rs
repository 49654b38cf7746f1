//! Decides whether an overflow or underflow could be avoided, as Ariadne's classifier does: if the exception occurs in
//! the middle of a computation, but the precisely computed result is an ordinary number, another way of computing would
//! avoid it (Barr, Vo, Le and Su, *Automatic Detection of Floating-Point Exceptions*, POPL 2013).
//!
//! All operations of a run in the target are recorded and computed again with MPFR, along the recorded path. This
//! requires the cargo feature `mpfr`.

use penfuzz_abi::Traced;
use penfuzz_executor::Evaluator;
use penfuzz_mutators::view::Kind;
use penfuzz_report::exceptions::Precise;
use rug::Float;

use super::{job, precise::Machine, shown};

/// Maximum number of operations of one run that are computed again, which takes some tens of milliseconds.
const STEPS: usize = 20_000;
/// Maximum number of operations for all finds of a campaign.
const ALL_STEPS: usize = 2_000_000;

/// Whether the exception could be avoided (`None` if no operation produced any of the outputs), and the precise values.
pub type Judgement = (Option<bool>, Precise);

/// Runs the input of an observed job again and judges its exception. `jobs` is the number of all jobs. Returns `None`
/// for exceptions other than overflow, underflow and subnormal sums, and if the run does not return, is too long, or
/// does not raise the exception again.
#[must_use]
pub fn examine(evaluator: &mut Evaluator, found: &job::Job, of: &job::Observed, jobs: usize) -> Option<Judgement> {
    let (values, _) = of.seen.filter(|_| found.exception.leaves_range())?;
    of.output.as_ref()?;
    let steps = evaluator.trace(&of.bytes, STEPS.min(ALL_STEPS / jobs.max(1)))?;
    let target = evaluator.target();
    let site = &target.sites[target.site_of(found.branch)];
    let actions = target.actions().wrapping_add(site.first_branch).cast_const();
    let is_it =
        |s: &Traced| s.actions == actions && s.operands == values[..job::RESULT] && s.result == values[job::RESULT];
    let at = steps.iter().position(is_it)?;
    judge(&steps, at, &shown::floats(evaluator.function(), &evaluator.output()))
}

/// Judges the exception that step number `at` raised in a run with these `outputs` of type `double` or `float`. Returns
/// `None` if the operation of this step is not supported.
#[must_use]
pub fn judge(steps: &[Traced], at: usize, outputs: &[(Kind, f64)]) -> Option<Judgement> {
    let mut machine = Machine::default();
    let mut operation = None;
    for (i, step) in steps.iter().enumerate() {
        let value = machine.step(step);
        if i == at {
            operation = value;
        }
    }
    let mut take = |(kind, x): &(Kind, f64)| Some((machine.take(x.to_bits())?, *kind));
    let mut given: Vec<_> = outputs.iter().rev().filter_map(&mut take).collect();
    given.reverse();
    let avoidable = (!given.is_empty()).then(|| given.iter().all(|(value, kind)| is_in_range(value, *kind)));
    let results = given.iter().map(|(value, _)| text(value)).collect();
    Some((avoidable, Precise { operation: text(&operation?), results }))
}

/// Returns true for ordinary numbers of the type: zero, and numbers that are neither subnormal nor too large.
fn is_in_range(value: &Float, kind: Kind) -> bool {
    let size = value.clone().abs();
    let (least, is_finite) = match kind {
        Kind::F32 => (f64::from(f32::MIN_POSITIVE), size.to_f32().is_finite()),
        _ => (f64::MIN_POSITIVE, size.to_f64().is_finite()),
    };
    value.is_zero() || (size >= least && is_finite)
}

fn text(value: &Float) -> String {
    format!("{value:.6e}")
}

#[cfg(test)]
mod tests {
    use penfuzz_abi::operation as op;

    use super::*;

    fn step(what: u32, operands: [f64; 2], result: f64) -> Traced {
        let [a, b] = operands.map(f64::to_bits);
        Traced { actions: core::ptr::null(), operands: [a, b, 0], result: result.to_bits(), what, unused: 0 }
    }

    fn returned(x: f64) -> [(Kind, f64); 1] {
        [(Kind::F64, x)]
    }

    #[test]
    fn an_overflow_whose_result_comes_back_is_avoidable() {
        // 2 a b / (a + b)
        let (a, b) = (1e200, 1e180);
        let steps = [
            step(op::MULTIPLY, [2.0, a], 2.0 * a),
            step(op::MULTIPLY, [2.0 * a, b], f64::INFINITY),
            step(op::ADD, [a, b], a + b),
            step(op::DIVIDE, [f64::INFINITY, a + b], f64::INFINITY),
        ];
        let (avoidable, precise) = judge(&steps, 1, &returned(f64::INFINITY)).expect("a product is computed");
        assert_eq!((avoidable, precise.operation.as_str()), (Some(true), "2.00000e380"));
        assert_eq!(precise.results, ["2.00000e180"]);
    }

    #[test]
    fn an_overflow_of_the_result_itself_is_not() {
        let steps = [
            step(op::MULTIPLY, [1e200, 1e200], f64::INFINITY),
            step(op::SUBTRACT, [f64::INFINITY, 1.0], f64::INFINITY),
        ];
        let (avoidable, _) = judge(&steps, 0, &returned(f64::INFINITY)).expect("a product is computed");
        assert_eq!(avoidable, Some(false));
    }

    #[test]
    fn the_range_is_that_of_the_result_type() {
        let steps = [step(op::MULTIPLY, [1e200, 1e100], 1e300)];
        let of = |kind| judge(&steps, 0, &[(kind, 1e300)]).and_then(|j| j.0);
        assert_eq!((of(Kind::F64), of(Kind::F32)), (Some(true), Some(false)), "1e300 is a double and no float");
    }

    #[test]
    fn an_underflow_that_makes_no_difference_is_avoidable() {
        let steps = [step(op::EXP, [-1000.0, 0.0], 0.0), step(op::ADD, [1.0, 0.0], 1.0)];
        let (avoidable, precise) = judge(&steps, 0, &returned(1.0)).expect("exp is computed");
        assert_eq!((avoidable, precise.operation.as_str()), (Some(true), "5.07596e-435"));
    }

    #[test]
    fn a_result_that_no_operation_gave_is_not_judged() {
        let steps = [step(op::MULTIPLY, [1e200, 1e200], f64::INFINITY)];
        assert_eq!(judge(&steps, 0, &returned(f64::NAN)).expect("a product is computed").0, None);
    }

    #[test]
    fn a_value_is_recognised_without_its_sign() {
        // copysign(a * b, 1) / c
        let steps = [
            step(op::MULTIPLY, [-1e200, 1e200], f64::NEG_INFINITY),
            step(op::DIVIDE, [f64::INFINITY, 1e200], f64::INFINITY),
        ];
        let (_, precise) = judge(&steps, 0, &returned(f64::INFINITY)).expect("a product is computed");
        assert_eq!(precise.results, ["1.00000e200"]);
    }
}
