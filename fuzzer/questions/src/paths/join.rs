//! Adds few inputs to the tests of a report, so that each goal has a test.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    rc::Rc,
    time::{Duration, Instant},
};

use penfuzz_directory::{
    rendering::results,
    replay::session::ReplaySession,
    shrink::cover::{self, Kept},
};
use penfuzz_engine::{goals::path::Step, saturation::BranchGraph, stages::SearchKind};
use penfuzz_error::{Error, failed};
use penfuzz_mutators::minimizer::MINIMIZERS;
use penfuzz_path_search::{Options, Query, confirm};
use penfuzz_prove::together::Places;
use penfuzz_report::{BranchIndex, Report, Test, criterion_goals::CriterionGoal};
use penfuzz_system::files::atomic;
use penfuzz_target::program::Target;

use super::{Goal, INPUTS, PathRequirement, loops, tests_of};
use crate::{code_mutants::score::each, reach::enumerate::Loops};

/// Time limit for simplifying the inputs.
const SIMPLIFYING: Duration = Duration::from_secs(5);
/// Maximum number of branches of a path whose input is simplified.
const LONGEST: usize = 4096;

/// The place in the report of each branch.
pub(crate) fn places(target: &Target, report: &Report) -> Places {
    let mut places = Places::new();
    let by_symbol: HashMap<&str, usize> =
        target.functions.iter().enumerate().map(|(i, f)| (f.symbol.as_str(), i)).collect();
    for (i, code) in report.sites.iter().enumerate().filter_map(|(i, s)| Some((i, s.code.as_ref()?))) {
        let Some(function) = by_symbol.get(code.symbol.as_str()) else { continue };
        let mut sites = target.sites.iter().filter(|s| s.function == *function);
        let Some(site) = sites.nth(code.number) else { continue };
        let branch = |(j, k): (usize, &usize)| ((site.first_branch + k) as u32, BranchIndex { site: i, branch: j });
        places.extend(code.branches.iter().enumerate().map(branch));
    }
    places
}

/// Adds inputs to the tests of the report and to the output directory. Returns the goals with the tests that fulfil
/// them: each test was run for this in a child process.
///
/// # Errors
/// When the inputs cannot be written.
pub(super) fn join(
    dir: &Path,
    session: &mut ReplaySession,
    query: &Query,
    report: &mut Report,
    mut wanted: Vec<Goal>,
) -> Result<Vec<CriterionGoal>, Error> {
    let target = Rc::clone(session.evaluator.target());
    let graph = BranchGraph::new(&target, &query.scope);
    let goals =
        loops::Goals::new(&target, Loops::new(&target, &query.scope, session.evaluator.function_index()), &graph);
    let fulfilled = |wanted: &[Goal], passes: &[u32]| -> Vec<u32> {
        let shown = goals.shown(passes);
        let is_fulfilled = |goal: &Goal| match &goal.what {
            PathRequirement::Path(path) => path == passes,
            PathRequirement::Prefix => false,
            PathRequirement::Loop(goal) => shown.contains(goal),
        };
        (0..wanted.len()).filter(|i| is_fulfilled(&wanted[*i])).map(|i| i as u32).collect()
    };
    for (test, bytes) in tests_of(session, report) {
        let Some(passes) = passes_of(session, query, &bytes) else { continue };
        for goal in fulfilled(&wanted, &passes) {
            wanted[goal as usize].shown.tests.push(test + 1);
        }
    }
    let mut candidates: BTreeMap<Vec<u8>, Vec<u32>> = BTreeMap::new();
    for bytes in wanted.iter().filter(|goal| goal.shown.tests.is_empty()).filter_map(|goal| goal.bytes.clone()) {
        let passes = passes_of(session, query, &bytes);
        candidates.extend(passes.map(|passes| (bytes, passes)));
    }
    let kept = candidates.iter().map(|(bytes, passes)| {
        let open = fulfilled(&wanted, passes).into_iter().filter(|goal| wanted[*goal as usize].shown.tests.is_empty());
        Kept { file: String::new(), bytes: bytes.clone(), covers: open.collect() }
    });
    let mut chosen = cover::choose(kept.collect());
    let until = Instant::now() + SIMPLIFYING;
    for input in chosen.iter_mut().take_while(|_| Instant::now() < until) {
        simplify(session, query, &candidates[&input.bytes], &mut input.bytes);
    }
    let places = places(&target, report);
    for (input, test) in chosen.iter().zip(add(dir, session, report, &chosen)?) {
        let Some((number, passes)) = test.zip(passes_of(session, query, &input.bytes)) else { continue };
        let mut covers: Vec<_> = passes.iter().filter_map(|b| places.get(b).copied()).collect();
        covers.sort_unstable();
        covers.dedup();
        report.tests[number].covers = covers;
        for goal in fulfilled(&wanted, &passes) {
            wanted[goal as usize].shown.tests.push(number + 1);
        }
    }
    report.test_program = Some(penfuzz_testgen::commands(report));
    Ok(wanted.into_iter().map(|goal| goal.shown).collect())
}

/// Runs an input in a child process. Returns its path if the input returns.
fn passes_of(session: &mut ReplaySession, query: &Query, bytes: &[u8]) -> Option<Vec<u32>> {
    let timeout = session.timeout();
    let confirmed = confirm(&mut session.evaluator, query, bytes, timeout)?;
    (confirmed.fault.is_none() && confirmed.n_passes == confirmed.passes.len()).then_some(confirmed.passes)
}

/// Simplifies an input that takes this path.
fn simplify(session: &mut ReplaySession, query: &Query, passes: &[u32], bytes: &mut Vec<u8>) {
    if passes.is_empty() || passes.len() > LONGEST {
        return;
    }
    let steps = passes.iter().map(|b| Step::Branch(*b as usize)).chain([Step::End]).collect();
    let query = Query { paths: vec![steps], ..query.clone() };
    let options = Options {
        search: SearchKind::Targeted,
        seed: 0,
        max_time: Duration::from_secs(1),
        max_evals: 1,
        timeout: session.timeout(),
        simplify: true,
        seeds: vec![bytes.clone()],
        minimizer: MINIMIZERS[0].0.to_owned(),
    };
    if let Ok(answer) = penfuzz_path_search::run(&mut session.evaluator, &query, &options)
        && answer.r == 0
        && let Some(simple) = answer.bytes
    {
        *bytes = simple;
    }
}

/// Writes the inputs and appends their tests to the report. Returns the index of each test; an input that ends its
/// process has none.
fn add(
    dir: &Path,
    session: &mut ReplaySession,
    report: &mut Report,
    chosen: &[Kept],
) -> Result<Vec<Option<usize>>, Error> {
    let place = dir.join(INPUTS);
    if place.exists() {
        fs::remove_dir_all(&place).map_err(|e| failed(&place, "cannot be replaced", e))?;
    }
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    fs::create_dir_all(&place).map_err(|e| failed(&place, "cannot be created", e))?;
    let tests = each(session, chosen.len(), |evaluator, i, _| Some(results::of(evaluator, &chosen[i].bytes, None)));
    let mut numbers = Vec::new();
    for (i, (input, test)) in chosen.iter().zip(tests).enumerate() {
        let file = format!("{INPUTS}/id:{i:06}");
        atomic::write(&dir.join(&file), &input.bytes).map_err(Error::from_source)?;
        numbers.push(test.is_some().then_some(report.tests.len()));
        report.tests.extend(test.map(|test| Test { file, ..test }));
    }
    results::expect_changed(report.tests.iter_mut());
    Ok(numbers)
}
