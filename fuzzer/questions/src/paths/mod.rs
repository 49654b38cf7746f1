//! Completes a finished campaign for the criteria about sequences of branches: paths, and numbers of loop iterations.
//!
//! The campaign has found inputs for branches. Starting from their paths, this module enumerates further paths
//! ([`explore`]), or paths with other numbers of loop iterations ([`loops`]). Each is the goal of a search. A small,
//! greedily selected subset of the found inputs is added to the tests.

mod explore;
mod join;
mod loops;

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    rc::Rc,
    time::{Duration, Instant},
};

use penfuzz_campaign::{Options as CampaignOptions, Proofs, assembly::code_of, models};
use penfuzz_directory::{output::trust::Trusted, replay::session::ReplaySession};
use penfuzz_engine::{
    saturation::{BranchGraph, Goals, Scope, ScopeKind},
    stages::SearchKind,
};
use penfuzz_error::Error;
use penfuzz_mutators::minimizer::MINIMIZERS;
use penfuzz_path_search::{Options, Query, record_all};
use penfuzz_prove::{self as prove, check::Checked, solver, together};
use penfuzz_report::{
    Paths, Report,
    criterion::Criterion,
    criterion_goals::{self, CriterionGoal},
};
use penfuzz_system::errln;
use penfuzz_target::program::Target;

use self::explore::{Explored, SolverContext, explore};
pub(crate) use self::join::places;
use crate::{
    exceptions::{bytes_of, input_of, kept},
    reach::{
        enumerate::{Bounds, Loops},
        spec::Conditionals,
    },
};

/// The directory of the inputs that were added to the tests, within the output directory.
const INPUTS: &str = "paths";
/// Maximum number of evaluations for one prefix.
const EVALUATIONS: u64 = 20_000;
/// Maximum number of branches of a path that are checked.
const CHECKED: usize = 64;
/// Time limit for one prefix.
const TIME: Duration = Duration::from_secs(10);

/// The options of the campaign, with half of its budget if it has criteria about sequences: the searches here use the
/// other half.
#[must_use]
pub fn reserve_half_of_budget(mut options: CampaignOptions) -> CampaignOptions {
    if options.settings.criteria.iter().any(|c| c.concerns_branch_order()) {
        let run = &mut options.run;
        run.max_evals = run.max_evals.map(|n| n.div_ceil(2));
        run.max_time = run.max_time.map(|time| time / 2);
    }
    options
}

/// An input, and the branches that it takes, in order.
type Run = (Vec<u8>, Vec<u32>);

/// The condition that a path must meet to fulfil a goal.
#[derive(Debug)]
enum PathRequirement {
    /// Be exactly this path.
    Path(Vec<u32>),
    /// Begin with certain branches; no input that does so was found.
    Prefix,
    /// Let a loop make a number of iterations.
    Loop(loops::Goal),
}

/// A goal, and an input that fulfils it, if one was found.
struct Goal {
    what: PathRequirement,
    shown: CriterionGoal,
    bytes: Option<Vec<u8>>,
}

/// Completes the criteria about sequences of a campaign with these options. It searches within the budget that the
/// campaign has left, and adds inputs to the tests and figures to the report. Does nothing without such criteria.
///
/// # Errors
/// When the target cannot be compiled or loaded any more, or when files cannot be written.
pub fn complete(dir: &Path, report: &mut Report, how: &CampaignOptions) -> Result<(), Error> {
    if how.settings.criteria.iter().any(|c| c.concerns_branch_order()) {
        // The campaign is trusted: this process has just run it.
        let campaign = Trusted::read(dir, true)?;
        search(dir, &campaign, &mut ReplaySession::of(&campaign)?, report, how)?;
    }
    Ok(())
}

/// Runs solvers on the goals of criteria that no test has, except for prefixes of paths.
///
/// # Errors
/// As [`complete`].
pub fn prove(dir: &Path, report: &mut Report, how: &CampaignOptions) -> Result<(), Error> {
    let is_asked = |criterion| how.settings.criteria.contains(&criterion) && how.run.proofs != Proofs::Off;
    let has_other_criteria = [Criterion::Boundary, Criterion::Exceptions, Criterion::Loop].into_iter().any(is_asked);
    if !is_asked(Criterion::Mcdc) && !has_other_criteria {
        return Ok(());
    }
    // The campaign is trusted: the caller has run it, or has checked that it may be loaded.
    let campaign = Trusted::read(dir, true)?;
    if is_asked(Criterion::Mcdc) {
        let target = Rc::clone(ReplaySession::of(&campaign)?.evaluator.target());
        let places = places(&target, report);
        together::vectors(dir, campaign.manifest(), report, &target, &places, limits(how, report))?;
    }
    if has_other_criteria {
        prove::criteria::examine(dir, campaign.manifest(), report, limits(how, report))?;
    }
    Ok(())
}

/// The time limits of solvers. `penfuzz prove` has its own limits. After a campaign, the limit for all queries is the
/// duration of its search, at least 10 s and at most 60 s, and the limit for one query is a quarter of that.
fn limits(how: &CampaignOptions, report: &Report) -> prove::Limits {
    if let Proofs::Within(limits) = how.run.proofs {
        return limits;
    }
    let all = Duration::from_secs_f64(report.seconds.clamp(10.0, 60.0));
    prove::Limits { each: all / 4, all, closed_world: false }
}

/// Checks the translation of paths: the query for the path of each test, up to its first [`CHECKED`] branches, must be
/// satisfiable with the arguments of the test.
///
/// # Errors
/// When the target cannot be loaded, or when files cannot be written.
pub fn check(dir: &Path, campaign: &Trusted, report: &Report, each: Duration) -> Result<Checked, Error> {
    let mut session = ReplaySession::of(campaign)?;
    let target = Rc::clone(session.evaluator.target());
    let scope = Scope::new(&target, session.evaluator.function_index(), session.scope.kind, Goals::Branches);
    let counts = Conditionals::new(&target, &scope).branches();
    let tests = inputs_of_tests(&session, report);
    let timeout = session.timeout();
    session.evaluator.set_scope(&scope.sites);
    let mut paths = Vec::new();
    for (test, x) in tests {
        let run = record_all(&mut session.evaluator, &counts, &[x], penfuzz_path_search::MAX_PASSES, timeout).pop();
        paths.extend(run.map(|(_, passes)| (test, passes.into_iter().take(CHECKED).collect())));
    }
    prove::check::check_paths(dir, campaign.manifest(), report, &places(&target, report), &paths, each)
}

/// Searches for paths and for numbers of loop iterations.
fn search(
    dir: &Path,
    campaign: &Trusted,
    session: &mut ReplaySession,
    report: &mut Report,
    how: &CampaignOptions,
) -> Result<(), Error> {
    let target = Rc::clone(session.evaluator.target());
    let function = session.evaluator.function_index();
    let scope = Scope::new(&target, function, session.scope.kind, Goals::Branches);
    let names = Conditionals::new(&target, &scope);
    let query = Query { scope: scope.clone(), counts: names.branches(), paths: Vec::new(), parts: Vec::new() };
    let begun = Instant::now();
    let mut bounds = remaining_bounds(how, report, begun);
    let inputs = inputs(dir, &tests_of(session, report));
    let options = Options {
        search: SearchKind::Targeted,
        seed: how.run.seed,
        max_time: TIME,
        max_evals: EVALUATIONS,
        timeout: session.timeout(),
        simplify: false,
        seeds: inputs.clone(),
        minimizer: MINIMIZERS[0].0.to_owned(),
    };
    let evaluator = &mut session.evaluator;
    evaluator.set_scope(&query.scope.sites);
    let mut paths = record_all(evaluator, &query.counts, &inputs, penfuzz_path_search::MAX_PASSES, options.timeout);
    let mut solver_time = Duration::ZERO;
    let calls = report.signature.calls > 0 || !report.signature.makers.is_empty();
    let is_single_activation = session.scope.kind == ScopeKind::Function && !calls;
    let mut made =
        GoalCollector { target: &target, function, names: &names, is_single_activation, wanted: Vec::new(), spent: 0 };
    if let Some(rounds) =
        how.settings.criteria.iter().find_map(|c| if let Criterion::Path(k) = c { Some(*k) } else { None })
    {
        let asked = (how.run.proofs != Proofs::Off && !solver::find().is_empty()).then(|| SolverContext {
            dir,
            manifest: campaign.manifest(),
            report,
            limits: limits(how, report),
        });
        let all = explore(evaluator, &query, &options, rounds, &bounds, asked)?;
        report.paths = Some(Paths { rounds, complete: all.is_complete });
        made.spent += all.evaluations;
        solver_time = all.solver_time;
        bounds.evaluations = bounds.evaluations.saturating_sub(all.evaluations);
        bounds.until = bounds.until.map(|end| end + solver_time);
        paths.extend(all.found.iter().map(|(passes, bytes)| (bytes.clone(), passes.clone())));
        made.paths(&all);
    }
    if how.settings.criteria.contains(&Criterion::Loop) {
        let graph = BranchGraph::new(&target, &scope);
        let goals = loops::Goals::new(&target, Loops::new(&target, &scope, function), &graph);
        made.spent += loops::search(evaluator, &goals, &query, &options, &bounds, &mut paths)?;
        made.loops(&goals, &paths);
    }
    let GoalCollector { wanted, spent, .. } = made;
    let known = wanted.iter().filter_map(|goal| goal.bytes.clone()).collect();
    let spent =
        (report.evaluations + spent, report.seconds + begun.elapsed().saturating_sub(solver_time).as_secs_f64());
    try_new_branches(dir, report, how, &target, &paths, known)?;
    (report.evaluations, report.seconds) = spent;
    report.evaluations_per_second = (report.evaluations as f64 / report.seconds.max(1e-6)).round();
    let goals = join::join(dir, session, &query, report, wanted)?;
    report
        .criterion_goals
        .retain(|g| !how.settings.criteria.iter().any(|c| c.concerns_branch_order() && c.name() == g.criterion));
    report.criterion_goals.extend(goals);
    for criterion in how.settings.criteria.iter().filter(|c| c.concerns_branch_order()) {
        let name = criterion.name();
        report.criteria.insert(name.to_owned(), criterion_goals::figures(report, name));
    }
    Ok(())
}

/// Half of the limits, or more if the campaign has used less than its half. The campaign may have used more than half,
/// since it continues for a short time from models of solvers.
fn remaining_bounds(how: &CampaignOptions, report: &Report, begun: Instant) -> Bounds {
    let evaluations = how.run.max_evals.map_or(u64::MAX, |most| most.saturating_sub(report.evaluations).max(most / 2));
    let used = Duration::from_secs_f64(report.seconds.max(0.0));
    let until = how.run.max_time.map(|time| begun + time.saturating_sub(used).max(time / 2));
    Bounds { evaluations, until }
}

/// A path may take a branch that the campaign has not found. If so, evaluates the inputs as a continuation of the
/// campaign.
fn try_new_branches(
    dir: &Path,
    report: &mut Report,
    how: &CampaignOptions,
    target: &Target,
    paths: &[Run],
    known: Vec<Vec<u8>>,
) -> Result<(), Error> {
    let places = places(target, report);
    let is_new = |branch: &u32| places.get(branch).is_some_and(|at| report.branch(*at).status.is_untaken());
    if paths.iter().any(|(_, passes)| passes.iter().any(is_new)) {
        for fault in models::try_inputs(how, dir, report, known)? {
            errln!("penfuzz: {fault}");
        }
    }
    Ok(())
}

/// Collects the goals.
struct GoalCollector<'a> {
    target: &'a Target,
    function: usize,
    names: &'a Conditionals<'a>,
    /// True if an execution is a single activation of the function, and only its own conditionals count: then the
    /// iterations in a path are those of the translation.
    is_single_activation: bool,
    wanted: Vec<Goal>,
    spent: u64,
}

impl GoalCollector<'_> {
    fn paths(&mut self, all: &Explored) {
        let function = &self.target.functions[self.function];
        let goal = |text: String| CriterionGoal {
            criterion: Criterion::Path(0).name().to_owned(),
            function: function.name.clone(),
            file: function.file.clone(),
            line: function.line,
            goal: text,
            ..CriterionGoal::default()
        };
        let text = |passes: &[u32]| self.names.path(passes, usize::MAX);
        let taken = all.found.iter().map(|(passes, bytes)| {
            // A function without conditionals has one, empty path.
            let end = if passes.is_empty() { "$" } else { ",$" };
            Goal {
                what: PathRequirement::Path(passes.clone()),
                shown: goal(text(passes) + end),
                bytes: Some(bytes.clone()),
            }
        });
        let open = all.missing.iter().map(|(prefix, proof)| Goal {
            what: PathRequirement::Prefix,
            shown: CriterionGoal { proved_infeasible: proof.is_some(), proof: proof.clone(), ..goal(text(prefix)) },
            bytes: None,
        });
        self.wanted.extend(taken.chain(open));
    }

    fn loops(&mut self, goals: &loops::Goals, paths: &[Run]) {
        let shown: Vec<BTreeSet<loops::Goal>> = paths.iter().map(|(_, passes)| goals.shown(passes)).collect();
        for goal in goals.all() {
            let site = &self.target.sites[goal.0];
            let text = CriterionGoal {
                criterion: Criterion::Loop.name().to_owned(),
                function: self.target.functions[site.function].name.clone(),
                file: site.file.clone(),
                line: site.line,
                column: site.column,
                goal: goal.1.text().to_owned(),
                code: self.is_single_activation.then(|| code_of(self.target, goal.0, &[goal.1.in_translation()])),
                ..CriterionGoal::default()
            };
            // The shortest path is the simplest test.
            let by = (0..paths.len()).filter(|i| shown[*i].contains(&goal)).min_by_key(|i| (paths[*i].1.len(), *i));
            self.wanted.push(Goal {
                what: PathRequirement::Loop(goal),
                shown: text,
                bytes: by.map(|i| paths[i].0.clone()),
            });
        }
    }
}

/// Removes the tests that were added here before, and returns the inputs of the others, with their indices. For
/// functions with structures or arrays the inputs of tests are not known, and the result is empty.
fn tests_of(session: &ReplaySession, report: &mut Report) -> Vec<(usize, Vec<u8>)> {
    report.tests.retain(|t| !t.file.starts_with(INPUTS));
    inputs_of_tests(session, report)
}

/// The inputs of all tests, with their indices.
fn inputs_of_tests(session: &ReplaySession, report: &Report) -> Vec<(usize, Vec<u8>)> {
    let function = session.evaluator.function();
    if function.model.is_some() {
        return Vec::new();
    }
    report.tests.iter().enumerate().map(|(i, test)| (i, bytes_of(function, &test.args))).collect()
}

/// The inputs of the tests, those that the campaign has kept, and those that were found here before, without
/// duplicates.
fn inputs(dir: &Path, tests: &[(usize, Vec<u8>)]) -> Vec<Vec<u8>> {
    let mut inputs: Vec<Vec<u8>> = tests.iter().map(|(_, bytes)| bytes.clone()).chain(kept(dir)).collect();
    let names = fs::read_dir(dir.join(INPUTS)).into_iter().flatten().flatten();
    let mut names: Vec<_> = names.map(|e| format!("{INPUTS}/{}", e.file_name().to_string_lossy())).collect();
    names.sort_unstable();
    inputs.extend(names.iter().filter_map(|name| input_of(dir, name)));
    let mut seen = BTreeSet::new();
    inputs.retain(|bytes| seen.insert(bytes.clone()));
    inputs
}
