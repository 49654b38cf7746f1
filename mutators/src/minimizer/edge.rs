//! The edges of a plateau: where walking along the line of one number stops being harmless.
//!
//! `index = (int)((x - 200) / 100)` is flat over a hundred, and the `x` that gives the last index may be the very last one
//! that is let in at all: one step further another comparison turns it away. From inside the plateau nothing points there,
//! but the place where the value gets worse can be found by bisection, and the wanted point is often right before it.

use super::{
    line_ulp::go,
    probe::{Probe, Verdict},
};
use crate::{evaluate::Stop, view::Slot};

/// Looks at both ends of the plateau around the best point; whether anything there is better. At most about twice the bits
/// of the number in evaluations for each side.
///
/// # Errors
/// What an evaluation returned.
pub(super) fn search(probe: &mut Probe, slot: Slot) -> Result<bool, Stop> {
    Ok(one_side(probe, slot, true)? || one_side(probe, slot, false)?)
}

fn one_side(probe: &mut Probe, slot: Slot, rising: bool) -> Result<bool, Stop> {
    let (mut inside, mut outside) = (0u64, None);
    for bit in 0..slot.kind.bits() {
        match go(probe, slot, rising, 1 << bit)? {
            Verdict::Better => return Ok(true),
            Verdict::Equal => inside = 1 << bit,
            Verdict::Worse(_) => {
                outside = Some(1u64 << bit);
                break;
            }
        }
    }
    // Flat to the end of the line: no edge.
    let Some(mut outside) = outside else { return Ok(false) };
    while outside - inside > 1 {
        let middle = inside + (outside - inside) / 2;
        match go(probe, slot, rising, middle)? {
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
    fn the_last_admitted_point_is_found() {
        // Admitted up to 700; the distance counts hundreds that are missing.
        let f = exact(|x: &[f64]| if x[0] <= 700.0 && x[0] >= 0.0 { 7 - (x[0] / 100.0) as u64 } else { u64::MAX });
        let mut f = Counted::new(1000, f);
        let mut x = 639.99f64.to_le_bytes();
        let mut probe = Probe::start(&mut f, &mut x).unwrap();
        assert_eq!(search(&mut probe, Layout::doubles(8).slots()[0]), Ok(true));
        assert_eq!((probe.best(), f.made < 130), (0, true), "{} evaluations", f.made);
    }

    #[test]
    fn a_flat_line_has_no_edge() {
        let mut f = Counted::new(1000, |_: &[u8]| 5);
        let mut x = 1f64.to_le_bytes();
        let mut probe = Probe::start(&mut f, &mut x).unwrap();
        assert_eq!(search(&mut probe, Layout::doubles(8).slots()[0]), Ok(false));
    }
}
