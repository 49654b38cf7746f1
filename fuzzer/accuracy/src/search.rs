//! The search: its start points, regions and methods.

use std::time::Instant;

use libafl_bolts::rands::StdRand;
use penfuzz_mutators::{
    domain::Domain,
    extremes::{self, Extremes, Peak},
    view::{Kind, Layout, Slot},
};

use super::{Options, controls, exhaustive, objective::Objective, starts};

/// Approximate number of regions of a search.
const REGIONS: usize = 4096;
/// Approximate slowdown of a call whose operations are recorded.
const RECORDED: usize = 8;
/// The search for branch boundaries takes at most `1 / SHORT` of the time of the search; the search for boundaries
/// between binades takes the same.
const SHORT: u32 = 8;

/// Searches, or tries all inputs, until a limit is reached. Returns the largest error of each region.
pub(super) fn search(objective: &mut Objective, options: &Options, seed: u64) -> Vec<Peak> {
    let layout = objective.pair().layout().clone();
    let mut rng = StdRand::with_seed(seed);
    let regions = regions(&layout);
    let mut starts = starts::starts(&layout, &mut rng);
    let kept = options.kept.as_deref().unwrap_or_default();
    let with_kept = |starts: &[Vec<u64>]| kept.iter().map(|peak| &peak.at).chain(starts).cloned().collect::<Vec<_>>();
    if options.exhaust {
        let mut peaks = exhaustive::all(objective, regions, &starts, options.tried);
        peaks.extend_from_slice(kept);
        peaks
    } else {
        let short = || Instant::now() + options.max_time / SHORT;
        let ends = objective.with_branches(|branches| starts::boundaries(&starts, &layout, short(), 1, branches));
        starts.extend_from_slice(&ends);
        starts.extend(cancelled(objective, &starts, &layout, Instant::now() + options.max_time / (2 * SHORT)));
        if let Some(control) = options.control {
            vec![controls::run(control, objective, &layout, &mut rng, &with_kept(&starts))]
        } else {
            let whole = box_of(&layout);
            let mut hints = starts::near_one(&whole, &layout, &mut rng);
            let binades = starts::boundaries(&starts, &layout, short(), 1, |at| objective.binade(at));
            let near_one = starts::first_ones(&binades, &mut rng);
            hints.extend(starts::near_boundaries(&ends, &whole, &layout, &mut rng));
            hints.extend(starts::near_boundaries(&near_one, &whole, &layout, &mut rng));
            extremes(objective, Extremes::new(regions).with_hints(hints), &mut rng, &with_kept(&starts))
        }
    }
}

/// Returns points at which sums or differences inside the function cancel: neighbours between which one of them changes
/// its sign.
fn cancelled(objective: &mut Objective, starts: &[Vec<u64>], layout: &Layout, until: Instant) -> Vec<Vec<u64>> {
    if !objective.has_operations() {
        return Vec::new();
    }
    let mut all = starts::boundaries(starts, layout, until, RECORDED, |at| objective.signs_of_sums(at));
    all.retain(|at| objective.cancels(at));
    all
}

fn extremes(objective: &mut Objective, mut search: Extremes, rng: &mut StdRand, starts: &[Vec<u64>]) -> Vec<Peak> {
    let kinds: Vec<Kind> = objective.pair().layout().slots().iter().map(|slot| slot.kind).collect();
    if kinds.iter().all(|kind| kind.is_float()) {
        search = search.with_kinds(kinds);
    }
    let _ = search.run(objective, rng, starts);
    search.peaks().to_vec()
}

/// Returns the range of each argument as positions on its ULP line: its domain, or else all finite values.
pub(super) fn box_of(layout: &Layout) -> Vec<(u64, u64)> {
    let of = |slot: &Slot| {
        let given = layout.domains().find(|(s, _)| s == slot).map(|(_, domain)| domain.positions());
        let finite = || Domain::finite(slot.kind).map(Domain::positions);
        given.or_else(finite).unwrap_or((0, slot.kind.mask()))
    };
    layout.slots().iter().map(of).collect()
}

/// Cuts the box of the arguments into about [`REGIONS`] regions: binades or parts of them for one argument, boxes for
/// several.
fn regions(layout: &Layout) -> Vec<Vec<(u64, u64)>> {
    let ends = box_of(layout);
    let boxes = match layout.slots() {
        [slot] if slot.kind.is_float() => binades(slot.kind, ends[0]).into_iter().map(|binade| vec![binade]).collect(),
        _ => vec![ends],
    };
    extremes::cut(boxes, REGIONS)
}

/// Cuts an interval of positions at the ends of binades.
fn binades(kind: Kind, (least, greatest): (u64, u64)) -> Vec<(u64, u64)> {
    let low_bits = (1 << kind.fraction_bits()) - 1;
    let mut all = Vec::new();
    let mut from = least;
    loop {
        let to = (from | low_bits).min(greatest);
        all.push((from, to));
        if to == greatest {
            return all;
        }
        from = to + 1;
    }
}

#[cfg(test)]
mod tests {
    use penfuzz_mutators::line;

    use super::*;

    #[test]
    fn an_interval_is_cut_at_powers_of_two() {
        let position = |x: f64| line::position(Kind::F64, x.to_bits());
        let of = |a, b| {
            let value = |p| f64::from_bits(line::raw(Kind::F64, p));
            let all = binades(Kind::F64, (position(a), position(b)));
            all.into_iter().map(|(a, b)| (value(a), value(b))).collect::<Vec<_>>()
        };
        assert_eq!(of(1.5, 5.0), [(1.5, 2.0f64.next_down()), (2.0, 4.0f64.next_down()), (4.0, 5.0)]);
        assert_eq!(of(-5.0, -3.0), [(-5.0, -4.0), ((-4.0f64).next_up(), -3.0)]);
    }

    #[test]
    fn regions_fill_the_box() {
        let layout = Layout::packed(&[Kind::F32, Kind::I32]);
        let domain = Domain::new(Kind::I32, 1, 8).expect("a range");
        let all = regions(&layout.with_domain(1, domain));
        let points = |r: &Vec<(u64, u64)>| r.iter().map(|(a, b)| u128::from(b - a + 1)).product::<u128>();
        let finite = u128::from(f32::INFINITY.to_bits()) * 2;
        assert_eq!(all.iter().map(points).sum::<u128>(), finite * 8);
    }
}
