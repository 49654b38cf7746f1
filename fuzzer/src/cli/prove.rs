//! `penfuzz prove TARGET|DIR`: runs solvers on the branches that no input takes.

use std::{fmt::Write, path::Path, time::Duration};

use penfuzz_campaign::{Options, Proofs, models};
use penfuzz_directory::output::{manifest, reports::update, trust::Trusted};
use penfuzz_error::Error;
use penfuzz_prove::{self as prove, Limits, solver};
use penfuzz_questions::{exceptions, paths};
use penfuzz_report::{
    Branch, Report, Site,
    criterion::Criterion,
    decisions, exclusions,
    format::count,
    json,
    proof::{Proof, Verdict},
    summary,
};
use penfuzz_system::{console, errln, outln, process::deadline};

use super::{
    Outcome, fuzz,
    values::{self, TrustArgs},
};

/// Arguments. TARGET is the directory of a campaign, or as in a campaign.
#[derive(Debug, clap::Args)]
// Without this, the flattened arguments would have a group of the same name.
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    fuzz: fuzz::Args,

    #[command(flatten)]
    trust: TrustArgs,

    /// Check the translation instead: what the tests of a campaign take must be possible. TARGET is its directory.
    #[arg(long)]
    check: bool,

    /// Assume that no code outside of the sources writes their global variables.
    #[arg(long)]
    closed_world: bool,

    /// Print a patch instead that excludes the proved branches from the counts of this tool, by comments in the
    /// sources. Proofs that the report already has are not repeated.
    #[arg(long, value_name = "TOOL", conflicts_with_all = ["check", "json"])]
    exclusions: Option<Tool>,

    /// Time limit of one solver for one branch.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    solver_time: Duration,

    /// Time limit for evaluating all inputs of a function with at most 2^32, if solvers leave branches open.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = values::duration)]
    exhaust_time: Duration,

    /// Do not evaluate all inputs.
    #[arg(long, conflicts_with = "exhaust_time")]
    no_exhaust: bool,

    /// Time of all solvers for all branches [default: what the search leaves of --max-time; without that, 10m].
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    prove_time: Option<Duration>,
}

/// A tool that counts coverage.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Tool {
    /// Comments for lcov, which also reads what llvm-cov exports
    Lcov,
    /// Comments for gcovr
    Gcovr,
}

/// Time of all solvers if the user gives no limit.
const PROVE_TIME: Duration = Duration::from_mins(10);

/// Runs the proofs for a campaign. If TARGET is not the directory of a campaign, runs the campaign first.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let all = args.prove_time.or(args.fuzz.max_time).unwrap_or(PROVE_TIME);
    let limits = Limits { each: args.solver_time, all, closed_world: args.closed_world };
    if solver::find().is_empty() {
        return Err(Error::new(
            "no solver was found: install z3, cvc5 or bitwuzla, or run ./setup in penfuzz's source directory",
        ));
    }
    let target = args.fuzz.target.path()?;
    if args.check {
        return check(target, args.trust.trust, limits.each);
    }
    if let Some(limit) = args.fuzz.max_time {
        deadline::set(limit + args.prove_time.unwrap_or_default());
    }
    let is_campaign = target.join(manifest::FILE).is_file();
    let (mut report, dir) = if is_campaign {
        (of_campaign(target, args.trust.trust, limits, args.exclusions.is_some())?, target.clone())
    } else {
        let mut fuzz = args.fuzz.clone();
        if args.prove_time.is_none() {
            // The other half is for the solvers.
            fuzz.max_time = fuzz.max_time.map(|limit| limit / 2);
        }
        fuzz.proofs.limits = Some(limits);
        let done = fuzz::campaign(&fuzz, Criterion::goals(&fuzz.criterion))?;
        if !args.fuzz.json && args.exclusions.is_none() {
            console::out(&summary::text(&done.report, &done.dir));
        }
        (done.report, done.dir)
    };
    let has_gone_on = !args.no_exhaust && exhaust(&dir, args, &mut report)?;
    if (is_campaign && args.exclusions.is_none()) || has_gone_on {
        prove_criteria(&dir, args.trust.trust, limits, &mut report)?;
    }
    if report.goals.are_exceptions() {
        let campaign = Trusted::read(&dir, args.trust.trust)?;
        update(&dir, &mut report, |report| exceptions::complete(&dir, &campaign, report))?;
    }
    if let Some(tool) = args.exclusions {
        exclude(&report, &dir, tool);
    } else if args.fuzz.json {
        console::out_json(&json::to_string(&report));
    } else {
        console::out(&text(&report));
    }
    Ok(Outcome::Fine)
}

/// Maximum number of rounds of exhaustive evaluation, each of which finds an input.
const MOST_FOUND: usize = 64;

/// Evaluates all inputs of a function if there are few. If one takes an open branch, the campaign runs it, and the
/// evaluation is repeated for the remaining branches. Returns whether there was such an input.
fn exhaust(dir: &Path, args: &Args, report: &mut Report) -> Result<bool, Error> {
    let campaign = Trusted::read(dir, args.trust.trust)?;
    for round in 0..MOST_FOUND {
        if !update(dir, report, |report| prove::exhaustion::complete(dir, &campaign, report, args.exhaust_time))? {
            return Ok(round > 0);
        }
        try_models(dir, &campaign, report)?;
    }
    Ok(true)
}

/// Runs the proofs for the goals of the campaign's criteria that no test has. If a campaign has continued from models,
/// its paths are lost and are completed again.
fn prove_criteria(dir: &Path, trust: bool, limits: Limits, report: &mut Report) -> Result<(), Error> {
    let mut how = Options::resuming(Trusted::read(dir, trust)?.manifest());
    how.run.proofs = Proofs::Within(limits);
    let is_lost = |c: &Criterion| c.concerns_branch_order() && !report.criteria.contains_key(c.name());
    if how.settings.criteria.iter().any(is_lost) {
        update(dir, report, |report| paths::complete(dir, report, &how))?;
    }
    update(dir, report, |report| paths::prove(dir, report, &how))
}

fn try_models(dir: &Path, campaign: &Trusted, report: &mut Report) -> Result<(), Error> {
    let options = Options::resuming(campaign.manifest());
    for fault in update(dir, report, |report| models::try_all(&options, dir, report))? {
        errln!("penfuzz: {fault}");
    }
    Ok(())
}

/// Prints the patch, and on standard error the places that it leaves out.
fn exclude(report: &Report, dir: &Path, tool: Tool) {
    let tool = match tool {
        Tool::Lcov => exclusions::Tool::Lcov,
        Tool::Gcovr => exclusions::Tool::Gcovr,
    };
    let root = std::env::current_dir().unwrap_or_default();
    let found = exclusions::of(report, dir, &root, tool);
    for line in &found.left_out {
        errln!("penfuzz: no marker at {line}");
    }
    if found.patch.is_empty() {
        errln!("penfuzz: no line gets a marker");
    }
    console::out(&found.patch);
}

/// Proves branches of a finished campaign. With `keep`, proofs that the report already has are not repeated.
fn of_campaign(dir: &Path, trust: bool, limits: Limits, keep: bool) -> Result<Report, Error> {
    let campaign = Trusted::read(dir, trust)?;
    let mut report = json::read(&dir.join(json::FILE)).map_err(Error::from_source)?;
    if keep && report.proved().next().is_some() {
        return Ok(report);
    }
    let done = update(dir, &mut report, |report| prove::complete(dir, campaign.manifest(), report, limits))?;
    try_models(dir, &campaign, &mut report)?;
    if done.asked == 0 && report.criteria.values().all(|c| c.covered == c.total) {
        errln!("penfuzz: every branch is taken by an input: nothing is left to prove");
    }
    Ok(report)
}

/// Checks the translation against the tests. Every contradiction is a fault of penfuzz.
fn check(dir: &Path, trust: bool, each: Duration) -> Result<Outcome, Error> {
    let campaign = Trusted::read(dir, trust)?;
    let report = json::read(&dir.join(json::FILE)).map_err(Error::from_source)?;
    let branches = prove::check::check(dir, campaign.manifest(), &report, each)?;
    let paths = paths::check(dir, &campaign, &report, each)?;
    for (what, checked) in [("branches", &branches), ("paths", &paths)] {
        outln!(
            "{} {what} of tests are possible, {} unknown, {} without a query, {} contradictions",
            checked.possible,
            checked.unknown,
            checked.without_query,
            checked.contradictions.len()
        );
    }
    match branches.contradictions.first().or(paths.contradictions.first()) {
        None => Ok(Outcome::Fine),
        Some(first) => Err(Error::new(format!("the translation contradicts executions: {first}"))),
    }
}

/// Each branch that solvers examined, and the totals.
fn text(report: &Report) -> String {
    let mut out = String::new();
    let asked =
        || report.sites.iter().flat_map(|s| s.branches.iter().filter_map(move |b| Some((s, b, b.proof.as_ref()?))));
    for (site, branch, proof) in asked() {
        let _ = writeln!(out, "{}", console::shown(&line(site, branch, proof)));
    }
    let b = &report.branches;
    let left = b.reachable().saturating_sub(b.covered);
    let _ = writeln!(
        out,
        "{} of {} reachable branches covered, {} proved unreachable{}",
        b.covered,
        b.reachable(),
        b.proved_unreachable,
        if left == 0 { String::new() } else { format!(", {} undecided", count(left as u64)) }
    );
    decisions::list(report, &mut out);
    out
}

fn line(site: &Site, branch: &Branch, proof: &Proof) -> String {
    let place = format!("{}:{}:{} {}", site.file, site.line, site.column, branch.outcome);
    let by: Vec<_> = proof
        .answers
        .iter()
        .map(|a| format!("{} {}: {} ({:.2} s)", a.solver, a.version, a.answer, a.seconds))
        .collect();
    let free = if proof.free.is_empty() { String::new() } else { format!("; free: {}", proof.free.join(", ")) };
    let what = match proof.verdict {
        Verdict::Proved => "proved unreachable".to_owned(),
        Verdict::ProvedByExhaustion => "proved unreachable by exhaustion".to_owned(),
        Verdict::ProvedByOne => "proved by one solver only".to_owned(),
        Verdict::Satisfiable => format!("not proved: a model has {}", model(proof)),
        Verdict::SatisfiableIfFree => format!("not proved{free}"),
        Verdict::Undecided => "not proved: no solver had an answer".to_owned(),
        Verdict::Contradiction => "not proved: the solvers contradict each other".to_owned(),
        Verdict::NotTranslated => format!("not proved: {}", proof.free.join(", ")),
    };
    format!("{place}: {what}; {}", by.join(", "))
}

fn model(proof: &Proof) -> String {
    if proof.model.is_empty() {
        return "no arguments".to_owned();
    }
    proof.model.iter().map(|(name, bits)| format!("{name} = 0x{bits}")).collect::<Vec<_>>().join(", ")
}
