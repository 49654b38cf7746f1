//! Measures how wrong a numeric function can be, and where: the search looks for inputs whose results differ most from
//! those of a reference.
//!
//! | step | where |
//! | --- | --- |
//! | the reference: MPFR, or another implementation in C | [`reference`] |
//! | fast comparison: a C function in a wider type, accurate to about a thousandth of an ulp | [`comparator`] |
//! | exact comparison of candidates for the largest error; reported errors do not depend on the fast one | `precise` |
//! | cores of `FPBench` as functions and as references | [`fpcore`] |
//! | functions of shared libraries as black boxes | [`library`] |
//! | the value left in `errno` | [`errno`] |
//! | the number that is compared, and the function's own estimate of its error | [`value`] |
//! | arguments that vary, and those that are held | [`inputs`] |
//! | function and reference, loaded | [`pair`] |
//! | one evaluation of both | [`objective`] |
//! | exhaustive search over small domains | [`exhaustive`] |
//! | the search for the largest error, and for the largest in each region | [`penfuzz_mutators::extremes`] |
//! | baseline searches that the default search is compared with | [`controls`] |
//! | contribution of each operation's rounding to the worst error | [`sources`] |
//! | the processes of a search, and their messages | [`run`] |
//! | results that are stored in an output directory | [`kept`], [`store`] |
//! | the report | [`answer`], [`page`], [`plot`] |
//! | tests that expect the values of the reference | [`emitted`] |
//!
//! Function and reference may crash, hang or exit, so all calls run in child processes. When a call ends its process,
//! the search continues in a new one with other random numbers.

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
mod loaded_code;
mod local;
pub mod objective;
pub mod page;
pub mod pair;
pub mod plot;
#[cfg(feature = "mpfr")]
pub mod precise;
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
    kept::{PATHS, WRONG},
    objective::Objective,
    reference::Reference,
    sources::Sources,
};

/// Approximate number of regions of a search.
const REGIONS: usize = 4096;
/// Number of peaks whose branches are determined for the report even if the function is slow. Further peaks are
/// examined for at most [`LOOKING`].
const PEAKS: usize = 512;
const LOOKING: Duration = Duration::from_secs(1);
/// Approximate slowdown of a call whose operations are recorded.
const RECORDED: usize = 8;
/// The search for branch boundaries takes at most `1 / SHORT` of the time of the search; the search for boundaries
/// between binades takes the same.
const SHORT: u32 = 8;

/// A difference from the reference that has no size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Exactly one of result and reference is NaN.
    Nan,
    /// Exactly one of result and reference is infinite and they are more than one ulp apart, or they are infinities of
    /// different sign.
    Infinity,
    /// A zero of the wrong sign, where the reference is zero.
    Zero,
    /// Bits that differ from the reference, if every difference counts ([`Options::exact`]).
    Different,
    /// A value in `errno` that differs from that of the standard or of the reference.
    Errno,
}

impl Class {
    const ALL: [Self; 5] = [Self::Nan, Self::Infinity, Self::Zero, Self::Different, Self::Errno];

    /// The number that the comparing function returns for this class.
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

    /// The name of the class in texts.
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

/// The outcome of a comparison with the reference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Compared {
    /// The error in the chosen unit: ulps of the exact value, the absolute error, the relative error, or a multiple of
    /// the function's estimate.
    Ulps(f64),
    /// A difference that has no size.
    Wrong(Class),
}

/// A result of the function compared with the exact value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exact {
    /// The comparison.
    pub compared: Compared,
    /// The exact value, rounded to the type of the result; raw bits.
    pub rounded: u64,
    /// The exact value in decimal, with more digits than the type has.
    pub text: String,
    /// The absolute error; `None` if one of the values is NaN, or the error exceeds the largest double.
    pub absolute: Option<f64>,
    /// The relative error; `None` if it is not finite.
    pub relative: Option<f64>,
}

/// Options of the search.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seed of the pseudo-random generator.
    pub seed: u64,
    /// Wall time limit of the search.
    pub max_time: Duration,
    /// CPU time limit of the search.
    pub max_cpu: Duration,
    /// Evaluation limit of the search.
    pub max_evals: u64,
    /// Every difference of bits counts, and the search ends with the first one.
    pub exact: bool,
    /// Compare `errno`, too.
    pub errno: bool,
    /// Try every input of the box instead of searching.
    pub exhaust: bool,
    /// A baseline search that replaces the default one.
    pub control: Option<Control>,
    /// The peaks that an earlier run has stored, from which the search starts. `None` if results are not stored.
    pub kept: Option<Vec<Peak>>,
    /// Number of inputs that an earlier exhaustive search has already tried, counted from the first one.
    pub tried: u64,
}

/// One input and its error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    /// The input.
    pub bytes: Vec<u8>,
    /// The result, raw bits.
    pub result: u64,
    /// The function's own estimate of its error.
    #[serde(default)]
    pub estimate: Option<f64>,
    /// The value in `errno` after the call, if it is compared.
    #[serde(default)]
    pub errno: Option<Errno>,
    /// The error by MPFR if MPFR computes the reference, otherwise by the comparing function; as a multiple of the
    /// estimate if there is one.
    pub compared: Compared,
    /// The comparison by MPFR, if MPFR computes the reference.
    pub exact: Option<Exact>,
    /// The result of a reference that MPFR does not compute, rounded to the type of the result; raw bits.
    #[serde(default)]
    pub of_reference: Option<u64>,
    /// Evaluations before this input was found.
    pub evaluations: u64,
    /// CPU time before this input was found, in seconds.
    pub cpu: f64,
    /// The branches of the function that the input covers; only for entries of [`Answer::regions`].
    pub covers: Vec<u32>,
}

/// The result of the search.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Answer {
    /// Inputs with increasing errors; the last one is the worst.
    pub found: Vec<Found>,
    /// Inputs whose difference has no size: at most one for each class and combination of binades.
    pub wrong: Vec<Found>,
    /// The input with the largest error for each set of branches, in descending order of the error.
    pub regions: Vec<Found>,
    /// The largest error of each region, if it is above 0, in the order of the regions' ends. A region is a part of the
    /// domain of one argument, or a box of several; its ends are positions on the ULP lines of the arguments.
    pub peaks: Vec<Peak>,
    /// Counters of all runs and processes.
    #[serde(flatten)]
    pub counts: Counts,
    /// Number of inputs of the box that were tried by exhaustive search, counted from the first one.
    #[serde(default)]
    pub tried: u64,
    /// For a core: bounds of the error over the box of `:pre`, or the reason why there are none.
    #[serde(skip)]
    pub bound: Option<Result<Bound, String>>,
    /// The contributions of roundings to the worst error, if they are known.
    #[serde(skip)]
    pub sources: Option<Sources>,
    /// For an output directory: the seeds whose runs are merged here.
    #[serde(skip)]
    pub seeds: Vec<u64>,
}

/// Upper bounds of the error over the box of `:pre`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// Bound of the absolute error.
    pub absolute: f64,
    /// Bound in ulps; `None` near a zero of the function.
    pub ulp: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Better(Found),
    Wrong(Found),
    Region(Found),
    /// The largest error of each region so far.
    Peaks(Vec<Peak>),
    /// Number of inputs tried so far by exhaustive search, for the progress bar.
    Tried(u64),
    /// As `Tried`, and all results for these inputs have been sent: they need not be tried again.
    Passed(u64, Counts),
    Sources(Sources),
    End(Counts),
}

/// Counters of a search, including those of the earlier runs and processes that it continues.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Counts {
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
    /// Wall time in seconds, set at the end of a run.
    pub seconds: f64,
    /// Number of processes that function or reference ended.
    pub deaths: u64,
}

impl Counts {
    /// Adds the counters of another run.
    pub(crate) fn add(&mut self, other: Self) {
        self.evaluations += other.evaluations;
        self.reference_faults += other.reference_faults;
        self.faults += other.faults;
        self.compared += other.compared;
        self.cpu += other.cpu;
        self.seconds += other.seconds;
        self.deaths += other.deaths;
    }
}

/// Runs the search; called in the child process.
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
        peaks.extend_from_slice(kept);
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
            hints.extend(starts::near_boundaries(&ends, &whole, &layout, &mut rng));
            hints.extend(starts::near_boundaries(&near_one, &whole, &layout, &mut rng));
            extremes(&mut objective, Extremes::new(regions).with_hints(hints), &mut rng, &with_kept(&starts))
        }
    };
    report(&mut objective, &peaks);
}

/// Returns points at which sums or differences inside the function cancel: neighbours between which one of them changes
/// its sign.
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

/// Sends the largest error of each region, and the worst point of each set of branches.
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

/// Returns the first point of each set of branches. If the function is slow, not all points are examined.
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

/// Returns the range of each argument as positions on its ULP line: its domain, or else all finite values.
fn box_of(layout: &Layout) -> Vec<(u64, u64)> {
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
