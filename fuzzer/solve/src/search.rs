//! Searches for a model: compiles the C function like any target, and searches for an input that takes the path through
//! all of its conditionals.

use std::time::{Duration, Instant};

use penfuzz_directory::replay::{
    exhaust::{self, Space},
    generated,
    session::ReplaySession,
};
use penfuzz_engine::{
    goals::{Goal, Path as Route, path::Step},
    saturation::{BranchGraph, Saturation},
    stages::SearchKind,
};
use penfuzz_error::Error;
use penfuzz_executor::Evaluator;
use penfuzz_mutators::view::Layout;
use penfuzz_path_search::Query;
use penfuzz_system::process::interrupts;
use penfuzz_target::program::Target;

use super::{
    Answer, Method, Options, Solved, accept,
    emit::{self, Emitted},
    problem::Problem,
    term::{Sort, Terms, Value},
};

/// No fused operations. Little optimization, because compiling takes longer than most searches.
const FLAGS: [&str; 2] = ["-O1", "-ffp-contract=off"];

/// Time limit of the search if all inputs can be evaluated afterwards.
pub(super) const SEARCH_FIRST: Duration = Duration::from_secs(1);

/// Evaluations of the first round of each form. They double with each further round.
const FIRST_TURN: u64 = 1 << 18;

/// A problem as a loaded target.
struct Form {
    emitted: Emitted,
    session: ReplaySession,
    query: Query,
    layout: Layout,
    /// The input with the smallest distance so far, or none.
    best: Vec<Vec<u8>>,
}

impl Form {
    fn new(terms: &Terms, problem: &Problem) -> Result<Self, Error> {
        let emitted = emit::emit(terms, problem);
        let file = generated::source("formulas", &emitted.text)?;
        let session = generated::load(&file, emit::FUNCTION, FLAGS.map(str::to_owned).to_vec(), Vec::new())?;
        let layout = session.evaluator.function().layout();
        let query = query(&session, &emitted, parts(terms, problem, &layout));
        Ok(Self { emitted, session, query, layout, best: Vec::new() })
    }
}

/// Whether all inputs of this many bits can be evaluated.
pub(super) fn can_exhaust(bits: u32, options: &Options) -> bool {
    bits <= exhaust::MAX_BITS && !options.exhaust_time.is_zero()
}

/// The search for a model of a problem. Two forms of the problem alternate, since each finds models that the other does
/// not: one conditional per conjunct, and the form of [`Problem::summed`].
pub(super) struct Search {
    forms: Vec<Form>,
    summed: Option<Problem>,
    turns: usize,
}

impl Search {
    /// Compiles the first form.
    pub(super) fn new(solved: &mut Solved, problem: &Problem) -> Result<Self, Error> {
        let forms = vec![Form::new(&solved.script.terms, problem)?];
        Ok(Self { forms, summed: problem.summed(&mut solved.script.terms), turns: 0 })
    }

    /// Searches until a model is found, for this time at most; goes on where the last call has ended. The limit does
    /// not include the compilation of the first form, which takes seconds for a large formula.
    pub(super) fn run(
        &mut self,
        solved: &mut Solved,
        problem: &Problem,
        options: &Options,
        time: Duration,
    ) -> Result<(), Error> {
        if solved.answer != Answer::Unknown {
            return Ok(());
        }
        let until = Instant::now() + time;
        loop {
            if let Some(other) = self.summed.take_if(|_| self.turns == 1) {
                self.forms.push(Form::new(&solved.script.terms, &other)?);
            }
            let (round, number) = (self.turns / self.forms.len(), self.turns % self.forms.len());
            let left = options.max_evals.saturating_sub(solved.evaluations);
            if Instant::now() >= until || left == 0 || interrupts::requested() {
                return Ok(());
            }
            solved.method = Method::Search;
            let turn = Round { until, evaluations: left.min(FIRST_TURN << round.min(30)), number: self.turns as u64 };
            if search(solved, problem, options, &mut self.forms[number], &turn)? {
                return Ok(());
            }
            self.turns += 1;
        }
    }

    /// Evaluates all inputs, unless the user has interrupted.
    pub(super) fn exhaust(&mut self, solved: &mut Solved, problem: &Problem, options: &Options) -> Result<(), Error> {
        exhaust(solved, problem, options, &mut self.forms[0])
    }
}

/// The limits of one round of a form. `number` changes the seed.
struct Round {
    until: Instant,
    evaluations: u64,
    number: u64,
}

/// Searches with one form. Returns whether a model was found.
fn search(
    solved: &mut Solved,
    problem: &Problem,
    options: &Options,
    form: &mut Form,
    turn: &Round,
) -> Result<bool, Error> {
    let search = penfuzz_path_search::Options {
        search: SearchKind::Targeted,
        seed: options.seed.wrapping_add(turn.number << 40),
        max_time: turn.until.saturating_duration_since(Instant::now()),
        max_evals: turn.evaluations,
        timeout: form.session.timeout(),
        simplify: false,
        seeds: form.best.clone(),
        minimizer: options.minimizer.clone(),
    };
    let answer = penfuzz_path_search::run(&mut form.session.evaluator, &form.query, &search)?;
    solved.evaluations += answer.evaluations;
    let Some(bytes) = answer.bytes else { return Ok(false) };
    if answer.r != 0 {
        form.best = vec![bytes];
        return Ok(false);
    }
    // An input that the evaluator rejects is not a useful start point.
    form.best.clear();
    Ok(accept(solved, problem, &decode(&solved.script.terms, problem, &form.layout, &bytes)))
}

fn exhaust(solved: &mut Solved, problem: &Problem, options: &Options, form: &mut Form) -> Result<(), Error> {
    if interrupts::requested() {
        return Ok(());
    }
    solved.method = Method::Exhaustion;
    let widths = widths(&solved.script.terms, problem);
    let mut models = Vec::new();
    let (evaluator, query) = (&mut form.session.evaluator, &form.query);
    let path = query.paths.first().and_then(|steps| Route::new(steps, query.counts.clone()));
    let path = path.ok_or_else(|| Error::new("the formula has no condition"))?;
    let arm = |evaluator: &mut Evaluator| {
        let saturation = Saturation::new(BranchGraph::new(evaluator.target(), &query.scope));
        path.arm(evaluator, &saturation);
    };
    let space = Space { widths: &widths, time: options.exhaust_time, only_if_complete: false };
    let done = exhaust::all(evaluator, &space, arm, |evaluator| evaluator.r() == 0, |bytes| models.push(bytes));
    solved.evaluations += done.evaluations;
    for bytes in &models {
        let values = decode(&solved.script.terms, problem, &form.layout, bytes);
        if accept(solved, problem, &values) {
            return Ok(());
        }
    }
    if done.is_complete && models.is_empty() && form.emitted.is_exact {
        solved.answer = Answer::Unsat;
    }
    Ok(())
}

/// The path through the conditionals of all conjuncts. Other conditionals, such as those of `ite`, do not count.
fn query(session: &ReplaySession, emitted: &Emitted, all_parts: Vec<Layout>) -> Query {
    let target: &Target = session.evaluator.target();
    let function = session.evaluator.function_index();
    let own = || target.sites.iter().filter(|s| s.function == function);
    let with_parts = emitted.lines.iter().zip(all_parts);
    let sites = with_parts.filter_map(|(line, part)| Some((own().find(|s| s.line == *line)?, part)));
    let mut counts = vec![false; target.n_branches];
    let (mut steps, mut parts) = (Vec::new(), Vec::new());
    for (site, part) in sites {
        counts[site.first_branch..site.first_branch + 2].fill(true);
        steps.push(Step::Branch(site.first_branch));
        parts.push(part);
    }
    Query { scope: session.scope.clone(), paths: vec![steps], counts, parts }
}

/// For each conjunct the slots of the free variables of its part.
fn parts(terms: &Terms, problem: &Problem, layout: &Layout) -> Vec<Layout> {
    let mut slots = layout.slots().iter().copied();
    let mut own = Vec::new();
    for variable in &problem.free {
        let n = if terms.variables[*variable].sort.bits() > 64 { 2 } else { 1 };
        own.push(slots.by_ref().take(n).collect::<Vec<_>>());
    }
    let of = |part: &Vec<usize>| Layout::of_slots(part.iter().flat_map(|place| own[*place].clone()).collect());
    problem.parts.iter().map(of).collect()
}

/// Number of bits of each input, in the order of the parameters.
fn widths(terms: &Terms, problem: &Problem) -> Vec<u32> {
    problem.free.iter().map(|v| terms.variables[*v].sort.bits()).collect()
}

/// Decodes an input to the values of the free variables.
fn decode(terms: &Terms, problem: &Problem, layout: &Layout, bytes: &[u8]) -> Vec<Value> {
    let mut slots = layout.slots().iter();
    let mut next = || {
        slots.next().map_or(0, |slot| {
            let own = &bytes[slot.offset..slot.offset + slot.kind.size()];
            own.iter().rev().fold(0u128, |all, byte| all << 8 | u128::from(*byte))
        })
    };
    let value = |sort| {
        let low = next();
        match sort {
            Sort::Bits(65..) => Value::of_bits(sort, next() << 64 | low),
            // The input encodes binary16 in the order of the values (`HALF_INPUT` in prelude.h).
            Sort::Float(format) if format.width() == 16 => {
                Value::of_bits(sort, if low & 0x8000 == 0 { !low & 0xffff } else { low & 0x7fff })
            }
            _ => Value::of_bits(sort, low),
        }
    };
    problem.free.iter().map(|v| terms.variables[*v].sort).map(value).collect()
}
