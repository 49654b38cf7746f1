//! How wrong a numeric function can be, and where: inputs on which its result is farthest from that of a reference.
//!
//! | step | where |
//! | --- | --- |
//! | the reference: MPFR, or another implementation in C | [`reference`] |
//! | a C function compares results in a wider type: cheap, and wrong by about a thousandth of an ulp | [`comparator`] |
//! | what comes near the largest error is computed by MPFR, so that no reported error depends on the cheap reference | `precise` |
//! | cores of `FPBench` as functions and as references | [`fpcore`] |
//! | functions of shared libraries as black boxes | [`library`] |
//! | what is left in `errno` | [`errno`] |
//! | the number that is compared, and the function's own estimate of its error | [`value`] |
//! | arguments that vary, and those that are held | [`inputs`] |
//! | function and reference, loaded | [`pair`] |
//! | one evaluation of both | [`objective`] |
//! | every input, where there are few | [`exhaustive`] |
//! | the search for the largest error, and for the largest in each region | [`penfuzz_mutators::extremes`] |
//! | what that search is compared with | [`controls`] |
//! | what the rounding of each operation adds to the worst error | [`sources`] |
//! | the processes of a search, and what they send | [`run`] |
//! | what is kept of a search, in an output directory | [`kept`], [`store`] |
//! | the report | [`answer`], [`page`], [`plot`] |
//! | tests that expect the values of the reference | [`emitted`] |
//!
//! Function and reference may do anything, so all of it happens in child processes. When one of them ends its process, the search
//! goes on in another one with other random numbers.

pub mod answer;
mod aside;
pub mod comparator;
pub mod controls;
pub mod emitted;
#[cfg(feature = "mpfr")]
pub mod enclosure;
pub mod errno;
pub mod exhaustive;
pub mod fpcore;
pub mod inputs;
pub mod kept;
pub mod libm;
pub mod library;
mod local;
mod mapped;
pub mod objective;
pub mod page;
pub mod pair;
pub mod plot;
#[cfg(feature = "mpfr")]
pub mod precise;
mod publish;
pub mod reference;
mod roundings;
pub mod sources;
pub mod specification;
mod starts;
pub mod store;
mod supervisor;
pub mod value;

use std::time::{Duration, Instant};

use libafl_bolts::rands::StdRand;
use penfuzz_mutators::{
    domain::Domain,
    extremes::{self, Extremes, Peak},
    view::{Kind, Layout, Slot},
};
use serde::{Deserialize, Serialize};

pub use self::supervisor::run;
use self::{
    controls::Control,
    errno::Errno,
    kept::{PATHS, Summit, WRONG},
    objective::Objective,
    reference::Reference,
    sources::Sources,
};

/// Regions of a search, about.
const REGIONS: usize = 4096;
/// Peaks whose branches are looked at for the report, also of a slow function, and the time for the others.
const PEAKS: usize = 512;
const LOOKING: Duration = Duration::from_secs(1);
/// So many times as long as a call takes one whose operations are recorded, about.
const RECORDED: usize = 8;
/// The share of the time in which ends of branches are looked for, and that for ends of binades, at most: one by this.
const SHORT: u32 = 8;

/// A difference that no number of ulps measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// NaN, and the reference is a number; or a number, and the reference is NaN.
    Nan,
    /// An infinity where the reference is finite and more than one ulp away, the other way round, or an infinity of the other sign.
    Infinity,
    /// A zero of the other sign, where the reference is zero.
    Zero,
    /// Other bits than the reference, where any difference counts.
    Different,
    /// Another `errno` than the standard or the reference has.
    Errno,
}

impl Class {
    const ALL: [Self; 5] = [Self::Nan, Self::Infinity, Self::Zero, Self::Different, Self::Errno];

    /// The number that the comparing function returns.
    #[must_use]
    pub const fn code(self) -> i32 {
        match self {
            Self::Nan => -1,
            Self::Infinity => -2,
            Self::Zero => -3,
            Self::Different => -4,
            Self::Errno => -5,
        }
    }

    fn of_code(code: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.code() == code as i32 && code < 0.0)
    }

    /// As in texts.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Nan => "wrong NaN",
            Self::Infinity => "wrong infinity",
            Self::Zero => "wrong sign of zero",
            Self::Different => "other bits",
            Self::Errno => "wrong errno",
        }
    }
}

/// What a comparison with the reference gives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Compared {
    /// The error in units of the last place of the exact value, or in what else it is measured in: itself, divided by the exact value, or as a
    /// multiple of the function's estimate.
    Ulps(f64),
    /// None that has a size.
    Wrong(Class),
}

/// A comparison with the exact value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exact {
    /// The comparison.
    pub compared: Compared,
    /// The exact value, rounded to the type of the result; raw bits.
    pub rounded: u64,
    /// The exact value with more digits.
    pub text: String,
    /// The error itself; none where one of the values is NaN, or the error is beyond all doubles.
    pub absolute: Option<f64>,
    /// The error, divided by the exact value.
    pub relative: Option<f64>,
}

/// How to search.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seed of the pseudo-random generator.
    pub seed: u64,
    /// Time for the search.
    pub max_time: Duration,
    /// CPU time for the search.
    pub max_cpu: Duration,
    /// Evaluations for the search.
    pub max_evals: u64,
    /// Every difference of bits is one that is wanted, and the search ends with the first.
    pub exact: bool,
    /// `errno` is compared, too.
    pub errno: bool,
    /// Every input of the box is tried, in place of a search.
    pub exhaust: bool,
    /// A simpler search in place of the default one.
    pub control: Option<Control>,
    /// If what is found is kept: what an earlier run has found, with which the search begins.
    pub kept: Option<Vec<Summit>>,
    /// Of all inputs of the box, in the order in which they are tried, so many are left out: an earlier run has tried them.
    pub tried: u64,
}

/// One input and its error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    /// The input.
    pub bytes: Vec<u8>,
    /// The result, raw bits.
    pub result: u64,
    /// What the function says that its error is at most.
    #[serde(default)]
    pub estimate: Option<f64>,
    /// What it left in `errno`, if that is compared.
    #[serde(default)]
    pub errno: Option<Errno>,
    /// The error by the comparing function, or MPFR where the reference is that; as a multiple of the estimate if there is one.
    pub compared: Compared,
    /// By MPFR.
    pub exact: Option<Exact>,
    /// The result of a reference that is not computed by MPFR, rounded to the type of the result; raw bits.
    #[serde(default)]
    pub of_reference: Option<u64>,
    /// Evaluations up to there.
    pub evaluations: u64,
    /// CPU time up to there, in seconds.
    pub cpu: f64,
    /// The branches of the function that it takes; of peaks only.
    pub covers: Vec<u32>,
}

/// What came of the search.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Answer {
    /// Each larger than the one before; the last is the worst.
    pub found: Vec<Found>,
    /// One of each class, region and sign at most.
    pub wrong: Vec<Found>,
    /// The worst of each set of branches, the largest first.
    pub regions: Vec<Found>,
    /// The largest error of each region in which it was above 0, in the order of their ends.
    pub peaks: Vec<Summit>,
    /// Evaluations.
    pub evaluations: u64,
    /// Evaluations in which the reference faulted.
    pub reference_faults: u64,
    /// Evaluations in which the function faulted.
    pub faults: u64,
    /// Evaluations in which the reference was a number.
    pub compared: u64,
    /// CPU time in seconds.
    pub cpu: f64,
    /// Wall time in seconds.
    pub seconds: f64,
    /// How often a process was ended.
    pub deaths: u64,
    /// Inputs of the box that were tried one after the other, from the first.
    #[serde(default)]
    pub tried: u64,
    /// Of a core: bounds of the error over the box of `:pre`, or why there are none.
    #[serde(skip)]
    pub bound: Option<Result<Bound, String>>,
    /// Where the worst error comes from, if that is known.
    #[serde(skip)]
    pub sources: Option<Sources>,
    /// Of an output directory: the seeds whose runs this is about.
    #[serde(skip)]
    pub seeds: Vec<u64>,
}

/// Upper bounds of the error over the box that is given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// Of the error itself.
    pub absolute: f64,
    /// In ulps; none near a zero of the function.
    pub ulp: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Better(Found),
    Wrong(Found),
    Region(Found),
    /// The largest errors of all regions so far.
    Peaks(Vec<Summit>),
    /// So many inputs of all were tried.
    Tried(u64),
    /// The same, and whatever they have shown was sent before.
    Passed(u64, Counts),
    Sources(Sources),
    End(Counts),
}

/// What a search counts, with those of the earlier runs that it goes on from in the first two.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Counts {
    evaluations: u64,
    /// CPU time in seconds.
    cpu: f64,
    faults: u64,
    reference_faults: u64,
    compared: u64,
}

/// In the child.
fn search(mut objective: Objective, options: &Options, seed: u64) {
    let layout = objective.pair().layout().clone();
    let mut rng = StdRand::with_seed(seed);
    let regions = regions(&layout);
    let mut starts = starts::starts(&layout, &mut rng);
    let kept = options.kept.as_deref().unwrap_or_default();
    let with_kept =
        |starts: &[Vec<u64>]| kept.iter().map(|summit| &summit.at).chain(starts).cloned().collect::<Vec<_>>();
    let peaks = if options.exhaust {
        let mut peaks = exhaustive::all(&mut objective, regions, &starts, options.tried);
        peaks.extend(kept.iter().map(Summit::peak));
        peaks
    } else {
        let short = || Instant::now() + options.max_time / SHORT;
        let ends = objective.with_branches(|branches| starts::boundaries(&starts, &layout, (short(), 1), branches));
        starts.extend_from_slice(&ends);
        starts.extend(cancelled(&mut objective, &starts, &layout, Instant::now() + options.max_time / (2 * SHORT)));
        if let Some(control) = options.control {
            vec![controls::run(control, &mut objective, &layout, &mut rng, &with_kept(&starts))]
        } else {
            let whole = box_of(&layout);
            let mut hints = starts::near_one(&whole, &layout, &mut rng);
            let binades = starts::boundaries(&starts, &layout, (short(), 1), |at| objective.binade(at));
            let near_one = starts::first_ones(&binades, &mut rng);
            hints.extend(starts::beside(&ends, &whole, &layout, &mut rng));
            hints.extend(starts::beside(&near_one, &whole, &layout, &mut rng));
            extremes(&mut objective, Extremes::new(regions).with_hints(hints), &mut rng, &with_kept(&starts))
        }
    };
    report(&mut objective, &peaks);
}

/// Points at which sums or differences inside of the function cancel: neighbours between which one of them has changed its sign.
fn cancelled(objective: &mut Objective, starts: &[Vec<u64>], layout: &Layout, until: Instant) -> Vec<Vec<u64>> {
    if !objective.has_operations() {
        return Vec::new();
    }
    let mut all = starts::boundaries(starts, layout, (until, RECORDED), |at| objective.signs_of_sums(at));
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

/// Sends the largest error of each region, and the worst of each set of branches.
fn report(objective: &mut Objective, peaks: &[Peak]) {
    objective.send_peaks(peaks);
    let worst = objective.worst_point();
    let mut points: Vec<&Vec<u64>> = worst.iter().collect();
    let mut peaks: Vec<&Peak> = peaks.iter().filter(|p| p.value > 0.0).collect();
    peaks.sort_by(|a, b| b.value.total_cmp(&a.value));
    points.extend(peaks.into_iter().map(|peak| &peak.at));
    let mut n = 0;
    for point in first_of_paths(objective, &points) {
        if n < PATHS
            && let Some(found) = objective.examine(&point)
        {
            n += 1;
            objective.send(&Message::Region(found));
        }
    }
    objective.end();
}

/// The first point of each set of branches. Of slow functions not all points are looked at.
fn first_of_paths(objective: &mut Objective, points: &[&Vec<u64>]) -> Vec<Vec<u64>> {
    let until = Instant::now() + LOOKING;
    let mut paths = std::collections::HashSet::new();
    objective.with_branches(|branches| {
        let mut is_first = |(i, at): (usize, &&Vec<u64>)| {
            let mut taken = if i < PEAKS || Instant::now() < until { branches(at) } else { return None };
            taken.sort_unstable();
            taken.dedup();
            paths.insert(taken).then(|| (*at).clone())
        };
        points.iter().enumerate().filter_map(&mut is_first).collect()
    })
}

/// The ends of each argument on its line: its domain, or all finite values.
fn box_of(layout: &Layout) -> Vec<(u64, u64)> {
    let of = |slot: &Slot| {
        let given = layout.domains().find(|(s, _)| s == slot).map(|(_, domain)| domain.positions());
        let finite = || Domain::finite(slot.kind).map(Domain::positions);
        given.or_else(finite).unwrap_or((0, slot.kind.mask()))
    };
    layout.slots().iter().map(of).collect()
}

/// Binades, or parts of them, of one argument; boxes of several.
fn regions(layout: &Layout) -> Vec<Vec<(u64, u64)>> {
    let ends = box_of(layout);
    let boxes = match layout.slots() {
        [slot] if slot.kind.is_float() => binades(slot.kind, ends[0]).into_iter().map(|binade| vec![binade]).collect(),
        _ => vec![ends],
    };
    extremes::cut(boxes, REGIONS)
}

/// The binades of an interval of positions.
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
