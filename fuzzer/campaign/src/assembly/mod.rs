//! Assembles the [`Report`] of a campaign from its state.

pub mod blocked_sites;
pub mod claims;
pub mod criteria;
mod findings;
mod grades;
pub mod limits;
pub mod operands;
mod origin;
pub mod requirements;
mod statements;
mod texts;

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    rc::Rc,
    time::Duration,
};

use penfuzz_directory::{
    output::store::SavedState,
    rendering::{
        arguments::arguments,
        limits::{is_there, shared_state},
        linked::BuildRecord,
        needed::NeededSources,
        prototypes::signature,
        results,
    },
    replay::fresh::Zygote,
    shrink::{self, Closest, Failing, Finds, Shrinker, Shrunk, cover::Kept},
};
use penfuzz_engine::{
    saturation::{BranchCounts, Saturation, Scope, ScopeKind},
    stages::budget::Spent,
};
use penfuzz_executor::{Evaluator, Fault, FaultKind, evaluator::RunStatus};
use penfuzz_report::{self as report, BranchIndex, Branches, Report, Status, Test, literal, proof::Code};
use penfuzz_system::process::{child::NoProcess, deadline};
use penfuzz_target::program::{Target, environment, state};

pub use self::texts::{outcome_text, predicate_text};
use self::{
    claims::Claims,
    operands::met,
    texts::{kind_text, outcome_texts, unit_text},
};
use super::{
    options::{CallerSearch, Options},
    worker_shm::StopReason,
};

/// Time limit for shrinking at the end of a campaign; inputs that are not shrunk by then stay as they are. The unit
/// limits of [`penfuzz_directory::shrink`] normally end shrinking long before.
const TIME_AT_END: Duration = Duration::from_secs(2);
/// The same limit for reports of a running campaign, which are written every few seconds.
const TIME_RUNNING: Duration = Duration::from_millis(100);

/// The data that a report is assembled from.
pub struct ReportInputs<'a> {
    /// The output directory, which may have likely preconditions.
    pub dir: &'a Path,
    /// Options of the campaign.
    pub options: &'a Options,
    /// Kept and pending inputs: the file relative to the output directory, and the bytes.
    pub inputs: &'a [(String, Vec<u8>)],
    /// The inputs of the faults, by file.
    pub fault_inputs: &'a BTreeMap<String, Vec<u8>>,
    /// The saved state of the campaign.
    pub saved: &'a SavedState,
    /// The coverage and saturation of the branches.
    pub saturation: &'a Saturation,
    /// Evaluations spent on each branch.
    pub spent: Option<&'a Spent>,
    /// The goals.
    pub scope: &'a Scope,
    /// Why the campaign ended.
    pub stop: StopReason,
    /// Evaluates the tests in fresh processes. `None`: the tests are not confirmed.
    pub fresh: Option<&'a Zygote>,
    /// Whether inputs are evaluated in fresh processes only, because in this process they could end it. Then nothing is
    /// shrunk.
    pub only_fresh: bool,
}

/// Assembles the report. Evaluates each kept input once more to find the branches that it covers. Inputs are shown
/// shrunk. If [`ReportInputs::fresh`] is set, each emitted test is evaluated in a fresh process, and only the branches
/// taken there count as covered.
#[must_use]
pub fn report(evaluator: &mut Evaluator, from: &ReportInputs, shrinker: &mut Shrinker) -> Report {
    let function = evaluator.function().clone();
    let evaluations = from.saved.evaluations;
    evaluator.fill_locals();
    let mut kept = rerun(evaluator, from);
    let wanted = criteria::keep_wanted(evaluator.target(), from, &mut kept);
    if from.options.run.caller_search == CallerSearch::ThisOne {
        kept.truncate(TESTS_BESIDE_CRASHES);
    }
    let finds = finds(evaluator, from, kept, wanted);
    let time = time_for_shrinking(from);
    let mut shrunk = if from.only_fresh { shrink::unchanged(&finds) } else { shrinker.shrink(evaluator, &finds, time) };
    let order = source_order(evaluator, from.scope);
    order.sort(&mut shrunk.tests);
    let claims = claims::confirm(from, &finds, &mut shrunk, &order);
    let BranchCounts { total, covered, .. } = from.saturation.counts();
    if total == 0 && shrunk.tests.is_empty() && !from.only_fresh {
        // In a function without branches, no coverage selects an input.
        shrunk.tests.extend(limits::any_test(evaluator, &finds.kept));
    }
    let tests = tests(evaluator, from, &shrunk, &order, &claims);
    let seconds = rounded(from.saved.seconds, 1e6);
    let mut sites = sites(evaluator, from, &order, &tests, &shrunk, &claims);
    // Only branches keep control from the code after them; goals of other kinds do not.
    if from.options.settings.goals.include_branches() {
        blocked_sites::find_ways(&Rc::clone(evaluator.target()), &order, &mut sites);
        if from.stop.is_end() && !from.only_fresh {
            blocked_sites::find_unchanged(evaluator, &order, &finds.kept, &mut sites);
        }
    }
    let needed = NeededSources::by(evaluator);
    let made_of =
        BuildRecord { compilations: from.options.compilations.clone(), libs: from.options.settings.libs.clone() };
    let made_of = made_of.for_tests(&from.options.settings.linked, &from.options.settings.sources);
    let signature = signature(&function);
    let target = Rc::clone(evaluator.target());
    let index = evaluator.function_index();
    let mut report = Report {
        schema: report::SCHEMA,
        origin: Some(origin::now(&from.options.settings.sources)),
        target: from.options.settings.target.display().to_string(),
        sources: needed.sources(&from.options.settings.sources),
        compilations: needed.compilations(&made_of.compilations),
        flags: penfuzz_cc::for_other_compilers(&from.options.settings.flags),
        libs: made_of.libs,
        function: function.name.clone(),
        without_source: !is_there(signature.source()),
        signature,
        seed: from.options.run.seed,
        search: from.options.run.search.name().to_owned(),
        rounding: from.options.settings.rounding,
        goals: from.options.settings.goals,
        ulp: from.options.run.ulp,
        expects: None,
        test_format: from.options.run.test_format,
        test_style: from.options.run.test_style,
        header: None,
        branches: branches(from.saturation, &claims),
        branches_of_calls: branches_of_calls(evaluator, from),
        evaluations,
        seconds,
        evaluations_per_second: if seconds > 0.0 { rounded(evaluations as f64 / seconds, 10.0) } else { 0.0 },
        stop_reason: from.stop.name().to_owned(),
        source_hashes: report::source_hashes(&sites),
        sites,
        test_program: None,
        tests,
        crashes: findings::of_kind(from, &target, index, FaultKind::Crash, &shrunk, &claims),
        hangs: findings::of_kind(from, &target, index, FaultKind::Hang, &shrunk, &claims),
        long: findings::long_inputs(from, &function),
        unmet_assumption: limits::unmet_assumption(from, evaluator.target(), covered),
        not_followed: limits::not_followed(evaluator.target(), from.scope.kind),
        undefined: state::undefined(evaluator.target(), &function),
        provided: environment::provided(evaluator.target()).into_iter().collect(),
        exceptions: None,
        verdict: None,
        operations: None,
        goal: None,
        criteria: BTreeMap::new(),
        uncovered_lines: Vec::new(),
        requirements: Vec::new(),
        decisions: Vec::new(),
        criterion_goals: Vec::new(),
        paths: None,
        mutation: None,
        shared_state: shared_state(evaluator),
        tests_apart: claims.are_apart,
        unconfirmed_tests: claims.unconfirmed,
        test_checks: Vec::new(),
        failed_tests: Vec::new(),
        uninitialized: Vec::new(),
        reads_environment: function.uses_environment,
    };
    let covers: Vec<_> = shrunk.tests.iter().map(|t| t.covers.clone()).collect();
    criteria::complete(&mut report, evaluator.target(), from, &order, &covers);
    report.goal = report::goal::GoalResult::of(&report);
    grades::grade(&function, &mut report);
    report.test_program = Some(penfuzz_testgen::commands(&report));
    report
}

/// Number of inputs that return and remain if only crashes matter: their objects show on what a crash depends.
const TESTS_BESIDE_CRASHES: usize = 8;

/// Time before the deadline in which each test is evaluated less often.
const LITTLE_TIME: Duration = Duration::from_millis(500);

/// The time for shrinking. A campaign that has used up its time limit may exceed it by little: most of the excess is
/// for the confirmation of the tests, for proofs and for files, and all of it if a single evaluation takes long.
fn time_for_shrinking(from: &ReportInputs) -> Duration {
    let limit = from.options.run.max_time.filter(|_| from.stop == StopReason::MaxTime);
    match limit {
        Some(_) if from.saved.seconds > SLOW * from.saved.evaluations as f64 => Duration::ZERO,
        Some(limit) => TIME_AT_END.min(deadline::excess(limit) / 4),
        None if from.stop.is_end() => TIME_AT_END,
        None => TIME_RUNNING,
    }
}

/// Mean time of an evaluation, in seconds, from which there is no time to shrink after the time limit.
const SLOW: f64 = 0.02;

/// Rounds to a multiple of `1 / per_unit`: further digits are meaningless, and JSON readers differ in the last one.
fn rounded(x: f64, per_unit: f64) -> f64 {
    (x * per_unit).round() / per_unit
}

fn rerun(evaluator: &mut Evaluator, from: &ReportInputs) -> Vec<Kept> {
    let mut runs = Vec::new();
    let count = evaluator.evaluations();
    evaluator.arm_records(&from.scope.recorded);
    let n = evaluator.target().n_branches;
    for (file, bytes) in from.inputs {
        if let Some(long) = from.saved.long.get(file) {
            // The state file may have been edited.
            let covers = long.covers.iter().copied().filter(|b| (*b as usize) < n).collect();
            runs.push(Kept { file: file.clone(), bytes: bytes.clone(), covers });
            continue;
        }
        let covers = if from.only_fresh || from.saturation.has_unconfirmed() {
            taken_in_fresh_process(from, bytes).unwrap_or_else(|NoProcess| taken_here(evaluator, bytes))
        } else {
            // Memory that this process no longer shares with a fresh one may keep the input from returning here.
            taken_here(evaluator, bytes).or_else(|| taken_in_fresh_process(from, bytes).unwrap_or_default())
        };
        runs.extend(covers.map(|covers| Kept { file: file.clone(), bytes: bytes.clone(), covers }));
    }
    evaluator.set_evaluations(count);
    runs
}

fn taken_in_fresh_process(from: &ReportInputs, bytes: &[u8]) -> Result<Option<Vec<u32>>, NoProcess> {
    let Some(fresh) = from.fresh else { return Err(NoProcess) };
    Ok(fresh.test(bytes)?.map(|tested| tested.covers))
}

fn taken_here(evaluator: &mut Evaluator, bytes: &[u8]) -> Option<Vec<u32>> {
    let (ran, covers) = evaluator.run_recorded(bytes);
    (ran == RunStatus::Returned).then_some(covers)
}

/// The sites in source order, each with the branches that the report lists (as numbers within the site), and the
/// position of each branch in the report.
pub(super) struct Order {
    sites: Vec<(usize, Vec<usize>)>,
    pub(super) place: BTreeMap<u32, BranchIndex>,
}

impl Order {
    /// Sorts tests by the last branch, in source order, that no other test takes.
    pub(super) fn sort(&self, tests: &mut [Kept]) {
        let mut takers: HashMap<u32, usize> = HashMap::new();
        tests.iter().flat_map(|t| &t.covers).for_each(|branch| *takers.entry(*branch).or_default() += 1);
        let place = |branch: &&u32| self.place.get(branch).copied();
        tests.sort_by_cached_key(|test| {
            let own = test.covers.iter().filter(|b| takers[b] == 1);
            own.filter_map(|b| place(&b)).max().or_else(|| test.covers.iter().filter_map(|b| place(&b)).max())
        });
    }
}

fn source_order(evaluator: &Evaluator, scope: &Scope) -> Order {
    let all = &evaluator.target().sites;
    let asked =
        |s: usize| (0..all[s].n_branches).filter(|k| scope.requested[all[s].first_branch + k]).collect::<Vec<_>>();
    let mut sites: Vec<_> =
        scope.sites.iter().map(|s| (*s, asked(*s))).filter(|(_, asked)| !asked.is_empty()).collect();
    sites.sort_by_key(|(s, _)| (&all[*s].file, all[*s].line, all[*s].column, *s));
    let mut place = BTreeMap::new();
    for (i, (s, asked)) in sites.iter().enumerate() {
        for (j, k) in asked.iter().enumerate() {
            place.insert((all[*s].first_branch + k) as u32, BranchIndex { site: i, branch: j });
        }
    }
    Order { sites, place }
}

/// The counts of the branches, without those that no test takes.
fn branches(set: &Saturation, claims: &Claims) -> Branches {
    let BranchCounts { total, covered, saturated, given_up } = set.counts();
    let lost_uninitialized = claims.lost.intersection(&claims.uninitialized).count();
    Branches {
        total,
        covered: covered - claims.lost.len(),
        covered_by_crash_only: set.covered_by_crash_only(),
        depends_on_earlier_calls: set.depending_on_earlier_calls() + claims.lost.len() - lost_uninitialized,
        depends_on_uninitialized: set.depending_on_uninitialized() + lost_uninitialized,
        without_test: 0,
        saturated: saturated - claims.lost.iter().filter(|b| set.is_saturated(**b as usize)).count(),
        given_up,
        proved_unreachable: 0,
    }
}

/// The number of branches of functions that the function under test calls, if it has none itself.
fn branches_of_calls(evaluator: &Evaluator, from: &ReportInputs) -> usize {
    let is_without = from.scope.is_empty() && from.scope.kind == ScopeKind::Function;
    if !is_without || !from.options.settings.goals.include_branches() {
        return 0;
    }
    Scope::new(evaluator.target(), evaluator.function_index(), ScopeKind::Calls, from.scope.goals).len()
}

/// The inputs to be shrunk for the report.
fn finds(evaluator: &Evaluator, from: &ReportInputs, kept: Vec<Kept>, goals: Vec<bool>) -> Finds {
    let uncovered: Vec<u32> = from.saturation.uncovered().map(|b| b as u32).collect();
    let closest = uncovered.iter().filter_map(|b| {
        let (distance, bytes) = evaluator.closest(*b as usize)?;
        Some((*b, Closest { distance, bytes: bytes.to_vec() }))
    });
    // A simpler input that also exhausts its fuel might return if it had more.
    let can_shrink = |f: &Fault| f.is_cheap && !f.is_out_of_fuel;
    let faults = from.saved.faults.iter().filter(|(_, f)| can_shrink(f)).filter_map(|(file, fault)| {
        let bytes = from.fault_inputs.get(file)?.clone();
        let (file, reason) = (file.clone(), fault.reason.clone());
        Some(Failing { file, bytes, key: fault.key, reason, ..Failing::default() })
    });
    Finds { kept, goals, closest: closest.collect(), faults: faults.collect(), uncovered }
}

/// The emitted tests with the observed behaviour of the function for each. This takes two more evaluations per test,
/// which are not counted.
fn tests(evaluator: &mut Evaluator, from: &ReportInputs, shrunk: &Shrunk, order: &Order, claims: &Claims) -> Vec<Test> {
    let count = evaluator.evaluations();
    evaluator.arm_records(&from.scope.requested);
    let has_model = evaluator.model().is_some();
    let digits = |bytes: &[u8]| literal::hex(&bytes[..bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1)]);
    let test = |kept: &Kept| Test {
        file: kept.file.clone(),
        input: has_model.then(|| digits(&kept.bytes)),
        covers: kept.covers.iter().filter_map(|b| order.place.get(b).copied()).collect(),
        depends_on_uninitialized: claims.indefinite.contains_key(&kept.file),
        indefinite: claims.indefinite.get(&kept.file).cloned().unwrap_or_default(),
        ..observed(evaluator, from, kept, claims)
    };
    let mut tests: Vec<_> = shrunk.tests.iter().map(test).collect();
    results::expect_changed(tests.iter_mut());
    evaluator.set_evaluations(count);
    tests
}

/// What a test expects: what two more evaluations confirm. When little time is left, the evaluation after the other
/// tests has to do.
fn observed(evaluator: &mut Evaluator, from: &ReportInputs, kept: &Kept, claims: &Claims) -> Test {
    let alone = claims.seen(&kept.file);
    let again = if from.only_fresh {
        from.fresh.and_then(|fresh| fresh.test(&kept.bytes).ok().flatten()).map(|tested| tested.seen)
    } else {
        claims.seen_together(&kept.file).filter(|_| deadline::left().is_some_and(|left| left < LITTLE_TIME))
    };
    match (alone, again) {
        (Some(alone), Some(again)) => results::agreed(evaluator.function(), &kept.bytes, alone, &[again]),
        (alone, _) => results::of(evaluator, &kept.bytes, alone),
    }
}

fn sites(
    evaluator: &mut Evaluator,
    from: &ReportInputs,
    order: &Order,
    tests: &[Test],
    shrunk: &Shrunk,
    claims: &Claims,
) -> Vec<report::Site> {
    let target = Rc::clone(evaluator.target());
    let first_tests = first_tests(tests);
    order
        .sites
        .iter()
        .enumerate()
        .map(|(i, (s, asked))| {
            let site = &target.sites[*s];
            let outcomes = outcome_texts(site);
            report::Site {
                function: target.functions[site.function].name.clone(),
                file: site.file.clone(),
                line: site.line,
                column: site.column,
                kind: kind_text(site.kind).to_owned(),
                predicate: predicate_text(site.predicate).to_owned(),
                operation: site.name.clone(),
                branches: asked
                    .iter()
                    .enumerate()
                    .map(|(j, k)| {
                        let test = first_tests.get(&BranchIndex { site: i, branch: j }).copied();
                        let branch = branch(evaluator, from, site.first_branch + k, test, shrunk, claims);
                        let outcome = outcomes[*k].clone();
                        report::Branch {
                            outcome,
                            met: if from.only_fresh { None } else { met(evaluator, site, *k, shrunk) },
                            ..branch
                        }
                    })
                    .collect(),
                distance_unit: unit_text(site.predicate).to_owned(),
                waits_for: None,
                code: Some(code_of(&target, *s, asked)),
            }
        })
        .collect()
}

/// Locates a site in the compiled code, with the branches that the report lists.
pub fn code_of(target: &Target, site: usize, asked: &[usize]) -> Code {
    let function = target.sites[site].function;
    Code {
        symbol: target.functions[function].symbol.clone(),
        number: target.sites[..site].iter().filter(|s| s.function == function).count(),
        branches: asked.to_vec(),
    }
}

/// The first test that covers each position in the report.
fn first_tests(tests: &[Test]) -> HashMap<BranchIndex, &Test> {
    let mut first = HashMap::new();
    for test in tests {
        for place in &test.covers {
            first.entry(*place).or_insert(test);
        }
    }
    first
}

/// The report entry of one branch, without the name of its outcome and the operands. `test` is a test that takes it.
fn branch(
    evaluator: &Evaluator,
    from: &ReportInputs,
    branch: usize,
    test: Option<&Test>,
    shrunk: &Shrunk,
    claims: &Claims,
) -> report::Branch {
    let set = from.saturation;
    let function = evaluator.function();
    let is_lost = claims.lost.contains(&(branch as u32));
    let depends = set.is_unconfirmed(branch) || is_lost;
    let status = if depends {
        let uninitialized = is_lost && claims.uninitialized.contains(&(branch as u32));
        let uninitialized = uninitialized || set.depends_on_uninitialized(branch);
        if uninitialized { Status::DependsOnUninitialized } else { Status::DependsOnEarlierCalls }
    } else if !set.is_covered(branch) {
        if set.is_given_up(branch) { Status::GivenUp } else { Status::Uncovered }
    } else if set.is_covered_by_crash(branch) {
        Status::CoveredByCrash
    } else if set.is_saturated(branch) {
        Status::Saturated
    } else {
        Status::Covered
    };
    let covered = set.is_covered(branch) && !depends;
    let closest = shrunk.closest.get(&(branch as u32)).filter(|_| !covered && !depends);
    let best_input = closest.map(|c| arguments(function, &c.bytes));
    let covering = test.filter(|_| covered).map(|t| t.args.clone());
    report::Branch {
        outcome: String::new(),
        status,
        evaluations: from.spent.and_then(|s| s.evaluations.get(branch).copied()).unwrap_or(0),
        covered_at: Some(evaluator.taken_at()[branch]).filter(|at| covered && *at > 0),
        best_distance: if covered { Some(0) } else { closest.map(|c| c.distance) },
        input: covering.or_else(|| best_input.clone()),
        best_input,
        met: None,
        further: Vec::new(),
        unchanged_over: None,
        proof: None,
    }
}
