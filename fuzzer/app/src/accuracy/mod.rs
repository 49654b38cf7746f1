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
//! | function and reference, loaded | [`pair`] |
//! | one evaluation of both | [`objective`] |
//! | every input, where there are few | [`exhaustive`] |
//! | the search for the largest error, and for the largest in each region | [`penfuzz_mutators::extremes`] |
//! | what that search is compared with | [`controls`] |
//! | what the rounding of each operation adds to the worst error | [`sources`] |
//! | the report | [`answer`], [`plot`] |
//!
//! Function and reference may do anything, so all of it happens in child processes. When one of them ends its process, the search
//! goes on in another one with other random numbers.

pub mod answer;
pub mod comparator;
pub mod controls;
pub mod errno;
pub mod exhaustive;
pub mod fpcore;
pub mod libm;
pub mod library;
mod local;
pub mod objective;
pub mod pair;
pub mod plot;
#[cfg(feature = "mpfr")]
pub mod precise;
pub mod reference;
mod roundings;
pub mod sources;
mod starts;
pub mod value;

use std::time::{Duration, Instant};

use libafl_bolts::rands::StdRand;
use penfuzz_engine::error::Error;
use penfuzz_mutators::{
    domain::Domain,
    extremes::{self, Extremes, Peak},
    line,
    view::{Kind, Layout, Slot},
};
use serde::{Deserialize, Serialize};

use self::{controls::Control, errno::Errno, objective::Objective, pair::Pair, reference::Reference, sources::Sources};
use crate::{
    process::{
        child::{self, Ending, Limit},
        interrupts,
    },
    replay::{exhaust, session::silence},
};

/// Regions of a search, about.
const REGIONS: usize = 4096;
/// Peaks that are looked at for the report.
const PEAKS: usize = 512;
/// Processes that function or reference may end before the search is given up.
const DEATHS: u64 = 100;
/// The share of the time in which ends of branches are looked for, and that for ends of binades, at most: one by this.
const SHORT: u32 = 8;
/// Paths in a report.
const PATHS: usize = 64;

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
    /// The error in units of the last place of the exact value; of a function with an estimate, as a multiple of that.
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
    /// Evaluations up to there.
    pub evaluations: u64,
    /// CPU time up to there, in seconds.
    pub cpu: f64,
    /// The branches of the function that it takes; of peaks only.
    pub covers: Vec<u32>,
}

/// The largest error in a part of the domain of one argument.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Part {
    /// Its ends, raw bits.
    pub ends: (u64, u64),
    /// The largest error there, in ulps.
    pub ulp: f64,
}

/// What came of the search.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// Each larger than the one before; the last is the worst.
    pub found: Vec<Found>,
    /// One of each class, region and sign at most.
    pub wrong: Vec<Found>,
    /// The worst of each set of branches, the largest first.
    pub regions: Vec<Found>,
    /// Of a function of one argument: the largest error in each part of its domain in which it was above 0.
    pub parts: Vec<Part>,
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
    /// All inputs of the box, if each was tried.
    pub exhausted: Option<u64>,
    /// Of a core: bounds of the error over the box of `:pre`, or why there are none.
    pub bound: Option<Result<Bound, String>>,
    /// Where the worst error comes from, if that is known.
    pub sources: Option<Sources>,
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
    Part(Part),
    /// So many inputs of all were tried.
    Tried(u64),
    /// All were.
    Exhausted(u64),
    Sources(Sources),
    End {
        evaluations: u64,
        cpu: f64,
        faults: u64,
        reference_faults: u64,
        compared: u64,
    },
}

/// Searches.
///
/// # Errors
/// When the box has no value, or nothing can be compared: the reference faults or is NaN everywhere.
pub fn run(pair: &mut Pair, options: &Options) -> Result<Answer, Error> {
    let _watch = interrupts::Watch::begin();
    let begun = Instant::now();
    let until = begun + options.max_time;
    let mut answer = Answer::default();
    let bar = if options.exhaust { exhaust::progress(exhaustive::inputs(pair.layout())?) } else { None };
    let patience = pair.timeout() * 2 + Duration::from_secs(2);
    loop {
        let mut has_ended = false;
        let (before, cpu, deaths) = (answer.evaluations, answer.cpu, answer.deaths);
        let worst = answer.found.last().map(|f| f.compared);
        let work = |send: &mut dyn FnMut(&Message)| {
            silence();
            if pair.on_its_own().is_ok() {
                let seed = options.seed.wrapping_add(deaths << 32);
                search(Objective::new(pair, options, (until, before, cpu), worst, send), options, seed);
            }
        };
        let receive = |message| match message {
            Message::Better(found) => {
                (answer.evaluations, answer.cpu) = (found.evaluations, found.cpu);
                answer.found.push(found);
            }
            Message::Wrong(found) => answer.wrong.push(found),
            Message::Region(found) => answer.regions.push(found),
            Message::Part(part) => answer.parts.push(part),
            Message::Tried(n) => bar.iter().for_each(|bar| bar.set_position(n)),
            Message::Exhausted(n) => answer.exhausted = Some(n),
            Message::Sources(sources) => answer.sources = Some(sources),
            Message::End { evaluations, cpu, faults, reference_faults, compared } => {
                (answer.evaluations, answer.cpu) = (evaluations, cpu);
                (answer.faults, answer.reference_faults, answer.compared) = (faults, reference_faults, compared);
                has_ended = true;
            }
        };
        let ending = child::run(work, receive, Limit::Interruptible(until + patience));
        let is_over = interrupts::requested() || Instant::now() >= until || answer.evaluations >= options.max_evals;
        let is_done = has_ended && ending == Ending::Done;
        answer.deaths += u64::from(!is_done && !is_over);
        // Another process would begin again with the first input.
        if is_done || is_over || options.exhaust || answer.deaths > DEATHS {
            break;
        }
    }
    bar.iter().for_each(indicatif::ProgressBar::finish_and_clear);
    answer.seconds = begun.elapsed().as_secs_f64();
    judge(pair, &answer)?;
    answer.sources = answer.found.last().and_then(|worst| sources::find(pair, options, worst));
    Ok(answer)
}

/// Nothing that was compared is no accuracy.
fn judge(pair: &Pair, answer: &Answer) -> Result<(), Error> {
    let reference = pair.reference().text();
    let is_other = |f: &Found| matches!(f.compared, Compared::Wrong(Class::Different | Class::Errno));
    if answer.compared > 0 || !answer.found.is_empty() || answer.wrong.iter().any(is_other) {
        return Ok(());
    }
    let n = answer.evaluations;
    Err(Error::new(if answer.reference_faults > 0 {
        format!(
            "the reference {reference} does not return: it faulted in {} of {n} evaluations",
            answer.reference_faults
        )
    } else if answer.faults > 0 {
        format!("the function does not return: it faulted in {} of {n} evaluations", answer.faults)
    } else if answer.deaths > 0 {
        format!("the function or the reference {reference} ends its process, {} times", answer.deaths)
    } else {
        format!("the reference {reference} is NaN in all of {n} evaluations; restrict the arguments with --arg")
    }))
}

/// In the child.
fn search(mut objective: Objective, options: &Options, seed: u64) {
    let layout = objective.pair().layout().clone();
    let mut rng = StdRand::with_seed(seed);
    let regions = regions(&layout);
    let mut starts = starts::starts(&layout, &mut rng);
    let peaks = if options.exhaust {
        let (peaks, is_whole) = exhaustive::all(&mut objective, regions, &starts);
        if let Ok(n) = exhaustive::inputs(&layout)
            && is_whole
        {
            objective.send(&Message::Exhausted(n));
        }
        peaks
    } else {
        let short = || Instant::now() + options.max_time / SHORT;
        let ends = objective.with_branches(|branches| starts::boundaries(&starts, &layout, short(), branches));
        starts.extend_from_slice(&ends);
        if let Some(control) = options.control {
            vec![controls::run(control, &mut objective, &layout, &mut rng, &starts)]
        } else {
            let whole = box_of(&layout);
            let mut hints = starts::near_one(&whole, &layout, &mut rng);
            let binades = starts::boundaries(&starts, &layout, short(), |at| objective.binade(at));
            let near_one = starts::first_ones(&binades, &mut rng);
            hints.extend(starts::beside(&ends, &whole, &layout, &mut rng));
            hints.extend(starts::beside(&near_one, &whole, &layout, &mut rng));
            extremes(&mut objective, Extremes::new(regions).with_hints(hints), &mut rng, &starts)
        }
    };
    report(&mut objective, &layout, &peaks);
}

fn extremes(objective: &mut Objective, mut search: Extremes, rng: &mut StdRand, starts: &[Vec<u64>]) -> Vec<Peak> {
    let kinds: Vec<Kind> = objective.pair().layout().slots().iter().map(|slot| slot.kind).collect();
    if kinds.iter().all(|kind| kind.is_float()) {
        search = search.with_kinds(kinds);
    }
    let _ = search.run(objective, rng, starts);
    search.peaks().to_vec()
}

/// Sends the largest error of each part, and the worst of each set of branches.
fn report(objective: &mut Objective, layout: &Layout, peaks: &[Peak]) {
    let mut peaks: Vec<&Peak> = peaks.iter().filter(|p| p.value > 0.0).collect();
    if let [slot] = layout.slots() {
        for peak in &peaks {
            let (least, greatest) = peak.ends[0];
            let ends = (line::raw(slot.kind, least), line::raw(slot.kind, greatest));
            objective.send(&Message::Part(Part { ends, ulp: peak.value }));
        }
    }
    peaks.sort_by(|a, b| b.value.total_cmp(&a.value));
    peaks.truncate(PEAKS);
    let mut paths = std::collections::HashSet::new();
    for peak in peaks {
        if paths.len() == PATHS {
            break;
        }
        if let Some(found) = objective.examine(&peak.at)
            && paths.insert(found.covers.clone())
        {
            objective.send(&Message::Region(found));
        }
    }
    objective.end();
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
