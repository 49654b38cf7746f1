//! `penfuzz mutate TARGET|DIR`: measures which mutants the emitted tests kill, and finds inputs that kill more. For a
//! TARGET.fpcore, generates tests that kill the mutants of the specification.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use penfuzz_accuracy::{
    fpcore,
    specification::{self, Points, Specification},
};
use penfuzz_directory::output::{directory, manifest, reports::update, trust::Trusted};
use penfuzz_engine::{saturation::Goals, stages::SearchKind};
use penfuzz_error::{Error, failed};
use penfuzz_prove::Limits;
use penfuzz_questions::code_mutants::{self as mutation, Distances};
use penfuzz_report::{Report, TESTS, json, mutation::Mutation};
use penfuzz_system::{
    console, errln,
    files::{atomic, own},
};

use super::{
    Outcome, choices, fuzz,
    values::{self, TrustArgs},
};

/// Arguments.
#[derive(Debug, clap::Args)]
// Without this, the flattened arguments would have a group of the same name.
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    fuzz: fuzz::Args,

    #[command(flatten)]
    trust: TrustArgs,

    /// Time limit of the search for inputs that kill surviving mutants.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    search_time: Duration,

    /// Approximate limit of runs of the search [default: as many as its time allows]. For a TARGET.fpcore: of
    /// evaluations for each specification [default: 256 for each mutant].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    search_evals: Option<u64>,

    /// The distance that the search minimizes.
    #[arg(long, value_name = "WHAT", value_parser = choices::distances(), default_value = "infection")]
    distances: Distances,

    /// Only measure what the tests kill.
    #[arg(long, conflicts_with = "search_time")]
    no_search: bool,

    /// Time limit of all solvers that decide which surviving mutants are equivalent [0s: no solvers].
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = values::duration)]
    proof_time: Duration,

    /// Time limit of one solver for one mutant.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = values::duration)]
    solver_time: Duration,

    /// Measure these inputs instead of the emitted tests: a campaign, or a directory of files.
    #[arg(long, value_name = "DIR")]
    tests: Option<PathBuf>,

    /// For a TARGET.fpcore: the relative accuracy of results [default: :accuracy, else 1e-10, in binary32 1e-5].
    #[arg(long, value_name = "E")]
    accuracy: Option<f64>,

    /// For a TARGET.fpcore: the function that the test program calls [default: the name of the specification].
    #[arg(long, value_name = "NAME", value_parser = identifier)]
    implementation: Option<String>,

    /// Exit with status 4 when less than this share of the mutants that are not proved equivalent is killed.
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    fail_under_mutation: Option<f64>,
}

/// Runs the campaign unless TARGET is the directory of a finished one, measures its tests, and prints the mutants that
/// survive.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let target = args.fuzz.target.path()?;
    if fpcore::is_fpcore(target) {
        return specifications(args, target);
    }
    if target.join(manifest::FILE).is_file() {
        let mut report = json::read(&target.join(json::FILE)).map_err(Error::from_source)?;
        let campaign = Trusted::read(target, args.trust.trust)?;
        measure(args, target, &campaign, &mut report)?;
        return Ok(outcome(args, &report, Outcome::Fine));
    }
    let mut before_more = args.fuzz.clone();
    before_more.no_check_tests = true;
    let mut done = fuzz::campaign_before_more(&before_more, Goals::Branches)?;
    // The campaign is trusted: this process has just run it.
    let campaign = Trusted::read(&done.dir, true)?;
    measure(args, &done.dir, &campaign, &mut done.report)?;
    fuzz::check_tests(&args.fuzz, &mut done)?;
    let otherwise = fuzz::outcome(&args.fuzz, &done)?;
    Ok(outcome(args, &done.report, otherwise))
}

/// How points of a specification are chosen: by the method of the paper (constraints), at random from the box, or at
/// random with corners.
fn points(search: SearchKind) -> Points {
    match search {
        SearchKind::Paper | SearchKind::PaperAsRun => Points::Constraints,
        SearchKind::Uniform | SearchKind::Random => Points::Uniform,
        SearchKind::Targeted | SearchKind::Structured | SearchKind::Havoc => Points::Random,
    }
}

/// Accepts the name of a C function.
fn identifier(text: &str) -> Result<String, String> {
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name { Ok(text.to_owned()) } else { Err("not the name of a C function".to_owned()) }
}

/// The file of an output directory with the tests of specifications.
const SPECIFICATIONS: &str = "specifications.json";

/// Generates tests of the specifications in a file, or only of the one that is named. With `-o`, writes them as data
/// and as a C program for each specification.
fn specifications(args: &Args, file: &Path) -> Result<Outcome, Error> {
    let wanted = args.fuzz.target.function.as_deref();
    let out = args.fuzz.output.as_deref();
    if let Some(dir) = out {
        directory::refuse_foreign(dir, &[SPECIFICATIONS])?;
        own::make_directory(dir).map_err(|e| failed(dir, "cannot be created", e))?;
    }
    let options = specification::Options {
        seed: args.fuzz.seed,
        points: points(args.fuzz.search),
        evaluations: args.search_evals,
        proves: args.fuzz.proofs.are_wanted(),
    };
    let mut answers = Vec::new();
    for (name, core) in fpcore::read_all(file)? {
        if wanted.is_some_and(|wanted| wanted != name) {
            continue;
        }
        match core.and_then(|core| Specification::of(&core, args.accuracy)) {
            Ok(specification) => {
                let answer = specification::examine(&specification, options);
                if let Some(dir) = out {
                    let (file, text) = specification::program(&specification, &answer, args.implementation.as_deref());
                    write(&dir.join(TESTS), &file, &text)?;
                }
                if !args.fuzz.json && !args.fuzz.quiet {
                    console::out(&answer.text());
                }
                answers.push(answer);
            }
            Err(why) => errln!("penfuzz: {name} {why}"),
        }
    }
    if answers.is_empty() {
        return Err(Error::new(format!("{} has no such specification with bounds", file.display())));
    }
    if let Some(dir) = out {
        write(dir, SPECIFICATIONS, &specification::json(&answers))?;
    }
    if args.fuzz.json {
        console::out_json(&specification::json(&answers));
    }
    let (killed, total) =
        answers.iter().fold((0, 0), |(k, t), a| (k + a.mutants.killed, t + a.mutants.can_be_killed()));
    let score = 100.0 * killed as f64 / total as f64;
    Ok(match args.fail_under_mutation {
        Some(least) if score < least => Outcome::Below,
        _ => Outcome::Fine,
    })
}

fn write(dir: &Path, file: &str, text: &str) -> Result<(), Error> {
    own::make_directory(dir).map_err(|e| failed(dir, "cannot be created", e))?;
    let path = dir.join(file);
    atomic::write(&path, text.as_bytes()).map_err(|e| failed(&path, "cannot be written", e))
}

fn measure(args: &Args, dir: &Path, campaign: &Trusted, report: &mut Report) -> Result<(), Error> {
    let limits = Limits { each: args.solver_time, all: args.proof_time, closed_world: false };
    let how = mutation::How {
        inputs: args.tests.as_deref().map(super::reach::seeds).transpose()?,
        ulp: args.fuzz.ulp,
        search: (!args.no_search).then_some(args.search_time),
        search_evals: args.search_evals,
        distances: args.distances,
        seed: args.fuzz.seed,
        proofs: args.fuzz.proofs.are_wanted().then_some(limits),
        scope: args.fuzz.scope,
    };
    update(dir, report, |report| mutation::complete(dir, campaign, report, &how))?;
    if args.fuzz.json {
        console::out_json(&json::to_string(report));
    } else if let Some(mutation) = report.mutation.as_ref().filter(|_| !args.fuzz.quiet) {
        console::out(&mutation.text(&report.function));
    }
    Ok(())
}

fn outcome(args: &Args, report: &Report, otherwise: Outcome) -> Outcome {
    let score = report.mutation.as_ref().map_or(100.0, Mutation::score);
    match args.fail_under_mutation {
        Some(least) if score < least => {
            // Rounded down, so that a score below the limit is not shown as the limit.
            let shown = (score * 100.0).floor() / 100.0;
            errln!("penfuzz: the mutation score {shown:.2} % is below --fail-under-mutation {least}");
            Outcome::Below
        }
        _ => otherwise,
    }
}
