//! Further inputs with equal operands, for each comparison of a finished search for boundary values.
//!
//! A campaign needs one input for each boundary value, and keeps no other. Boundary value analysis asks for all inputs
//! (Fu and Su, *Mathematical Execution*, 2016, Sect. 4.4.2: the example has -3, 1 and 2). So the search for a met
//! comparison starts again from many points, and keeps every input with distance 0 that differs from those before in an
//! argument that matters. Each input is confirmed in a fresh process and becomes a test.

use std::{
    fs,
    path::Path,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use libafl_bolts::rands::{Rand, StdRand};
use penfuzz_abi::{action, metric};
use penfuzz_campaign::Options as CampaignOptions;
use penfuzz_directory::{
    output::trust::Trusted,
    rendering::{arguments::arguments, results},
    replay::{
        fresh::Zygote,
        session::{ReplaySession, silence},
    },
};
use penfuzz_engine::{saturation::Goals, stages::budgeted};
use penfuzz_error::{Error, failed};
use penfuzz_executor::{Evaluator, evaluator::RunStatus};
use penfuzz_mutators::{
    basinhopping::Basinhopping,
    dictionary::Dictionary,
    evaluate::{Metric, RepresentingFunction, Stop},
    minimizer::{LocalMinimizer as _, avm::Avm},
    start::StartPoints,
    view::{Layout, Slot},
};
use penfuzz_report::{Arg, BranchIndex, Report, Test};
use penfuzz_system::{
    files::atomic,
    process::{
        child::{self, Limit},
        deadline, interrupts,
    },
};
use penfuzz_target::program::program_constants;
use serde::{Deserialize, Serialize};

use crate::{
    exceptions::{bytes_of, kept},
    paths::places,
};

/// The directory of the inputs, within the output directory.
const INPUTS: &str = "boundary";
/// Outcome of a boundary value whose operands are equal.
const EQUAL: &str = "equal";
/// Units of the search for one comparison: one per evaluation, and one per [`budgeted::FUEL_PER_UNIT`] of fuel.
const UNITS: u64 = 30_000;
/// Units from one start point.
const UNITS_OF_START: u64 = 1_000;
/// Start points without a new input after which the search for a comparison ends.
const STALE: u32 = 48;
/// Time limit of the search for one comparison.
const TIME: Duration = Duration::from_secs(2);
/// Numbers of an input that are examined: whether they matter, and in which range they give boundary inputs.
const EXAMINED: usize = 16;
/// Values tried for a number; if each gives equal operands, the number does not matter.
const PROBES: usize = 3;

/// The options of the campaign, with three quarters of its budget: the rest is for further inputs, if any are wanted.
#[must_use]
pub fn reserve_quarter_of_budget(mut options: CampaignOptions, most: usize) -> CampaignOptions {
    if options.settings.goals == Goals::Boundaries && most > 1 {
        let run = &mut options.run;
        run.max_evals = run.max_evals.map(|n| n - n / 4);
        run.max_time = run.max_time.map(|time| time * 3 / 4);
    }
    options
}

/// Searches for further inputs with equal operands, up to `most` in total for each comparison, and adds them to the
/// report, as tests and to the output directory. `how` are the options before [`reserve_quarter_of_budget`].
///
/// # Errors
/// If the target cannot be loaded any more, or files cannot be written.
pub fn complete(dir: &Path, report: &mut Report, how: &CampaignOptions, most: usize) -> Result<(), Error> {
    if how.settings.goals != Goals::Boundaries || most <= 1 {
        return Ok(());
    }
    // The campaign is trusted: this process has just run it.
    let mut session = ReplaySession::of(&Trusted::read(dir, true)?)?;
    let begun = Instant::now();
    let left = how.run.max_evals.map_or(u64::MAX, |n| n.saturating_sub(report.evaluations));
    let until = how.run.max_time.map(|time| {
        let used = Duration::from_secs_f64(report.seconds.max(0.0));
        begun + time.saturating_sub(used)
    });
    // A process for confirmation, forked before anything is evaluated.
    let Some(fresh) = session.zygote() else { return Ok(()) };
    let found = search(dir, &mut session, report, &Budget { left, until, most, seed: how.run.seed });
    report.evaluations += found.evaluations;
    report.seconds += begun.elapsed().as_secs_f64();
    report.evaluations_per_second = (report.evaluations as f64 / report.seconds.max(1e-6)).round();
    add(dir, &session, &fresh, report, found.inputs)
}

/// The limits of all searches.
struct Budget {
    left: u64,
    until: Option<Instant>,
    most: usize,
    seed: u64,
}

/// An input for a comparison: its branch, its place in the report, and its bytes.
type Further = (u32, BranchIndex, Vec<u8>);

struct Found {
    inputs: Vec<Further>,
    evaluations: u64,
}

/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
enum ChildMessage {
    Input(Vec<u8>),
    Evaluations(u64),
}

fn search(dir: &Path, session: &mut ReplaySession, report: &Report, budget: &Budget) -> Found {
    let _watch = interrupts::SignalGuard::begin();
    let target = Rc::clone(session.evaluator.target());
    let is_met = |at: &BranchIndex| {
        let branch = report.branch(*at);
        branch.outcome == EQUAL && !branch.is_open() && branch.input.is_some()
    };
    let mut goals: Vec<_> = places(&target, report).into_iter().filter(|(_, at)| is_met(at)).collect();
    goals.sort_unstable_by_key(|(branch, _)| *branch);
    let dictionary = Arc::new(program_constants::dictionary(&target, session.evaluator.function_index()));
    let is_of_numbers = session.evaluator.function().model.is_none();
    let kept = kept(dir);
    let mut found = Found { inputs: Vec::new(), evaluations: 0 };
    for (number, (branch, at)) in goals.iter().enumerate() {
        let share = (budget.left - found.evaluations.min(budget.left)) / (goals.len() - number) as u64;
        let units = UNITS.min(share);
        let now = Instant::now();
        let end = [budget.until, deadline::left().map(|left| now + left)].into_iter().flatten().min();
        let until = end.map_or(now + TIME, |end| end.min(now + TIME));
        if units == 0 || until <= now || interrupts::requested() {
            break;
        }
        let shown = report.branch(*at).input.clone().unwrap_or_default();
        let function = session.evaluator.function().clone();
        let first = is_of_numbers.then(|| bytes_of(&function, &shown));
        let seeds: Vec<Vec<u8>> = first.into_iter().chain(kept.iter().cloned()).collect();
        let timeout = session.timeout();
        let evaluator = &mut session.evaluator;
        let work = |send: &mut dyn FnMut(&ChildMessage)| {
            silence();
            if evaluator.detach_from_supervisor(timeout).is_err() {
                return;
            }
            evaluator.set_evaluations(0);
            let mut one = Comparison::new(evaluator, *branch, &dictionary, budget, Limits { units, until });
            one.run(&seeds, &mut |x| send(&ChildMessage::Input(x.to_vec())));
            let evaluations = one.evaluations();
            send(&ChildMessage::Evaluations(evaluations));
        };
        let (mut inputs, mut evaluations) = (Vec::new(), None);
        let receive = |message| match message {
            ChildMessage::Input(bytes) => inputs.push(bytes),
            ChildMessage::Evaluations(n) => evaluations = Some(n),
        };
        let _ = child::run(work, receive, Limit::Interruptible(until + timeout * 2));
        // A child that the target has ended has not sent its count.
        found.evaluations += evaluations.unwrap_or(units);
        let mut known = vec![shown];
        for bytes in inputs {
            let args = arguments(&function, &bytes);
            if known.len() < budget.most && !known.contains(&args) {
                known.push(args);
                found.inputs.push((*branch, *at, bytes));
            }
        }
    }
    found
}

/// The limits of the search for one comparison.
struct Limits {
    units: u64,
    until: Instant,
}

/// The search for inputs that make the operands of one comparison equal.
struct Comparison<'a> {
    walk: Walk<'a>,
    layout: Layout,
    dictionary: &'a Arc<Dictionary>,
    rng: StdRand,
    most: usize,
    known: Vec<Known>,
}

/// A boundary input, and the ranges of its numbers in which it remains one: the slot with its first and last position.
struct Known {
    x: Vec<u8>,
    ranges: Vec<(usize, u64, u64)>,
}

impl<'a> Comparison<'a> {
    fn new(
        evaluator: &'a mut Evaluator,
        branch: u32,
        dictionary: &'a Arc<Dictionary>,
        budget: &Budget,
        limits: Limits,
    ) -> Self {
        evaluator.set_fuel_cap(evaluator.fuel());
        evaluator.set_metric(metric::ULP, u64::MAX);
        evaluator.arm(|b| if b == branch as usize { action::WANT | action::MIN } else { 0 });
        let layout = evaluator.function().layout();
        Self {
            walk: Walk { evaluator, limits, left: 0, found: None },
            layout,
            dictionary,
            rng: StdRand::with_seed(budget.seed ^ u64::from(branch) << 32),
            most: budget.most,
            known: Vec::new(),
        }
    }

    fn evaluations(&self) -> u64 {
        self.walk.evaluator.evaluations()
    }

    /// Evaluates `seeds`, and minimizes the distance from start points until `most` inputs are found, [`STALE`] starts
    /// in a row find no new one, or the budget is spent. Passes each new input to `send`.
    fn run(&mut self, seeds: &[Vec<u8>], send: &mut dyn FnMut(&[u8])) {
        for seed in seeds {
            let mut x = seed.clone();
            x.resize(self.layout.size(), 0);
            if self.walk.is_met(&x) {
                self.keep(x, send);
            }
        }
        let minimizer = || Box::new(Avm::new(Arc::clone(self.dictionary)));
        let mut minimizer = Basinhopping::new(minimizer(), Arc::clone(self.dictionary)).with_n_iter(2);
        let (mut starts, mut stale) = (StartPoints::new(), 0);
        let mut x = vec![0; self.layout.size()];
        while stale < STALE && self.known.len() < self.most && self.walk.limits.units > 0 {
            starts.next(&mut self.rng, &self.layout, self.dictionary, &mut x);
            self.walk.left = UNITS_OF_START;
            self.walk.found = None;
            let end = minimizer.minimize(&mut self.walk, &mut x, &self.layout, &mut self.rng);
            let is_new = self.walk.found.take().is_some_and(|found| self.keep(found, send));
            stale = if is_new { 0 } else { stale + 1 };
            if end == Err(Stop::End) {
                return;
            }
        }
    }

    /// Keeps an input, unless it lies in the range of a known one. If numbers next to one of its numbers are boundary
    /// inputs, too, the ends of their range are kept, and nothing between. Returns whether the input is new.
    fn keep(&mut self, mut x: Vec<u8>, send: &mut dyn FnMut(&[u8])) -> bool {
        self.settle(&mut x);
        if self.known.len() >= self.most || self.is_known(&x) {
            return false;
        }
        send(&x);
        let mut ends = Vec::new();
        let mut ranges = Vec::new();
        for (i, slot) in self.layout.slots().to_vec().into_iter().enumerate().take(EXAMINED) {
            let [first, last] = [true, false].map(|down| self.end_of_range(&x, slot, down));
            // Any value of a number that does not matter gives a boundary input.
            if first == last || (first, last) == (0, slot.kind.mask()) {
                continue;
            }
            ranges.push((i, first, last));
            for end in [first, last] {
                let mut y = x.clone();
                slot.set_position(&mut y, end);
                if y != x && !ends.contains(&y) {
                    ends.push(y);
                }
            }
        }
        self.known.push(Known { x, ranges });
        for end in ends.into_iter().take(self.most - self.known.len()) {
            send(&end);
            self.known.push(Known { x: end, ranges: Vec::new() });
        }
        true
    }

    /// Whether the input is a known one, or differs from it only in a number that lies in its range.
    fn is_known(&self, x: &[u8]) -> bool {
        let slots = self.layout.slots();
        self.known.iter().any(|known| {
            let mut others = (0..slots.len()).filter(|i| slots[*i].get(x) != slots[*i].get(&known.x));
            match (others.next(), others.next()) {
                (None, _) => true,
                (Some(only), None) => known
                    .ranges
                    .iter()
                    .any(|(i, first, last)| *i == only && (*first..=*last).contains(&slots[only].position(x))),
                _ => false,
            }
        })
    }

    /// The last position of the number, downwards or upwards, such that it and the tried ones before it are boundary
    /// inputs. The steps double, and are halved after the first miss.
    fn end_of_range(&mut self, x: &[u8], slot: Slot, down: bool) -> u64 {
        let mut end = slot.position(x);
        let mut y = x.to_vec();
        let (mut step, mut doubles) = (1u64, true);
        while step > 0 {
            let next = if down { end.checked_sub(step) } else { end.checked_add(step) };
            let is_met = next.is_some_and(|next| {
                slot.set_position(&mut y, next);
                slot.position(&y) == next && self.walk.is_met(&y)
            });
            if let Some(next) = next.filter(|_| is_met) {
                end = next;
            } else {
                doubles = false;
            }
            step = if doubles { step.saturating_mul(2) } else { step / 2 };
        }
        end
    }

    /// Gives each number that does not matter the value that it has in the first input. Otherwise any of its values
    /// would count as a further input.
    fn settle(&mut self, x: &mut Vec<u8>) {
        let Some(first) = self.known.first().map(|known| known.x.clone()) else { return };
        for slot in self.layout.slots().to_vec().into_iter().take(EXAMINED) {
            let mut y = x.clone();
            slot.set(&mut y, slot.get(&first));
            if y == *x || !self.walk.is_met(&y) {
                continue;
            }
            let matters = (0..PROBES).any(|_| {
                let mut probe = x.clone();
                slot.set_position(&mut probe, self.rng.next());
                !self.walk.is_met(&probe)
            });
            if !matters {
                *x = y;
            }
        }
    }
}

/// The distance to equal operands as a representing function. It ends a minimization at the first input with distance
/// 0.
struct Walk<'a> {
    evaluator: &'a mut Evaluator,
    limits: Limits,
    /// Units that are left for this start point.
    left: u64,
    found: Option<Vec<u8>>,
}

impl Walk<'_> {
    fn r(&mut self, x: &[u8]) -> u64 {
        let ran = self.evaluator.run(x);
        let cost = 1 + self.evaluator.fuel_used() / budgeted::FUEL_PER_UNIT;
        self.left = self.left.saturating_sub(cost);
        self.limits.units = self.limits.units.saturating_sub(cost);
        if ran == RunStatus::Returned { self.evaluator.r() } else { u64::MAX }
    }

    /// Whether the operands are equal, and budget is left.
    fn is_met(&mut self, x: &[u8]) -> bool {
        self.limits.units > 0 && self.r(x) == 0
    }
}

impl RepresentingFunction for Walk<'_> {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        if self.left == 0 {
            return Err(Stop::Budget);
        }
        let is_late = || Instant::now() >= self.limits.until || self.evaluator.needs_restart();
        if self.limits.units == 0 || self.left.is_multiple_of(64) && is_late() {
            return Err(Stop::End);
        }
        match self.r(x) {
            0 => {
                self.found = Some(x.to_vec());
                Err(Stop::Found)
            }
            r => Ok(r),
        }
    }

    fn metric(&self) -> Metric {
        Metric::Ulp
    }
}

/// Adds the inputs that meet their comparison in a fresh process, too, to the report. An input of several comparisons
/// is one test.
fn add(
    dir: &Path,
    session: &ReplaySession,
    fresh: &Zygote,
    report: &mut Report,
    inputs: Vec<Further>,
) -> Result<(), Error> {
    report.tests.retain(|t| !t.file.starts_with(INPUTS));
    let place = dir.join(INPUTS);
    if place.exists() {
        fs::remove_dir_all(&place).map_err(|e| failed(&place, "cannot be replaced", e))?;
    }
    if inputs.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(&place).map_err(|e| failed(&place, "cannot be created", e))?;
    let function = session.evaluator.function();
    let places = places(session.evaluator.target(), report);
    let mut tests: Vec<(Vec<u8>, Test)> = Vec::new();
    let mut known: Vec<Vec<Arg>> = report.tests.iter().map(|t| t.args.clone()).collect();
    for (branch, at, bytes) in inputs {
        let Ok(Some(tested)) = fresh.test(&bytes) else { continue };
        let again = fresh.test(&bytes).ok().flatten().map(|t| t.seen);
        let (Some(again), true) = (again, tested.covers.contains(&branch)) else { continue };
        let test = results::agreed(function, &bytes, tested.seen, &[again]);
        report.sites[at.site].branches[at.branch].further.push(test.args.clone());
        if known.contains(&test.args) {
            continue;
        }
        known.push(test.args.clone());
        let covers = tested.covers.iter().filter_map(|b| places.get(b).copied()).collect();
        let file = format!("{INPUTS}/id:{:06}", tests.len());
        tests.push((bytes, Test { file, covers, ..test }));
    }
    for (bytes, test) in tests {
        atomic::write(&dir.join(&test.file), &bytes).map_err(Error::from_source)?;
        report.tests.push(test);
    }
    results::expect_changed(report.tests.iter_mut());
    report.test_program = Some(penfuzz_testgen::commands(report));
    Ok(())
}
