//! Search at the edges of a plateau: where the value starts to increase along the line of one number.
//!
//! `index = (int)((x - 200) / 100)` is constant over an interval of length 100. The `x` that gives the last index may
//! be the largest that an earlier comparison accepts; from the next double on, the site is not reached. No value inside
//! the plateau indicates where that `x` is. But bisection finds the place where the value increases, and the wanted
//! point is often the one before it.

use super::{
    line_ulp::try_step,
    probe::{Probe, Verdict},
};
use crate::{evaluate::Stop, view::Slot};

/// Searches both edges of the plateau around the best point, and returns whether a better point was found. Costs at
/// most about twice as many evaluations per side as the number has bits.
///
/// # Errors
/// The [`Stop`] of an evaluation.
pub(super) fn search(probe: &mut Probe, slot: Slot) -> Result<bool, Stop> {
    Ok(one_side(probe, slot, true)? || one_side(probe, slot, false)?)
}

/// Doubles the step until the value increases, then bisects.
fn one_side(probe: &mut Probe, slot: Slot, rising: bool) -> Result<bool, Stop> {
    let (mut inside, mut outside) = (0u64, None);
    for bit in 0..slot.kind.bits() {
        match try_step(probe, slot, rising, 1 << bit)? {
            Verdict::Better => return Ok(true),
            Verdict::Equal => inside = 1 << bit,
            Verdict::Worse(_) => {
                outside = Some(1u64 << bit);
                break;
            }
        }
    }
    // The plateau extends to the end of the line, as far as steps of powers of two show.
    let Some(mut outside) = outside else { return Ok(false) };
    while outside - inside > 1 {
        let middle = inside + (outside - inside) / 2;
        match try_step(probe, slot, rising, middle)? {
            Verdict::Better => return Ok(true),
            Verdict::Equal => inside = middle,
            Verdict::Worse(_) => outside = middle,
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        testing::{Counted, exact},
        view::Layout,
    };

    #[test]
    fn the_last_accepted_point_is_found() {
        // The site is reached up to 700, and the distance is the number of hundreds that are missing.
        let f = exact(|x: &[f64]| if x[0] <= 700.0 && x[0] >= 0.0 { 7 - (x[0] / 100.0) as u64 } else { u64::MAX });
        let mut f = Counted::new(1000, f);
        let mut x = 639.99f64.to_le_bytes();
        let mut probe = Probe::start(&mut f, &mut x).unwrap();
        assert_eq!(search(&mut probe, Layout::doubles(8).slots()[0]), Ok(true));
        assert_eq!((probe.best(), f.evaluations < 130), (0, true), "{} evaluations", f.evaluations);
    }

    #[test]
    fn a_flat_line_has_no_edge() {
        let mut f = Counted::new(1000, |_: &[u8]| 5);
        let mut x = 1f64.to_le_bytes();
        let mut probe = Probe::start(&mut f, &mut x).unwrap();
        assert_eq!(search(&mut probe, Layout::doubles(8).slots()[0]), Ok(false));
    }
}
