//! The answer of `penfuzz reach`: the input and what it does, or how far the search got.

use std::path::Path;

use penfuzz_directory::{
    rendering::{
        arguments::arguments,
        single::{self, BuildInputs},
    },
    replay::session::ReplaySession,
};
use penfuzz_engine::goals::Path as Goal;
use penfuzz_error::{Error, failed};
use penfuzz_mutators::view::Kind;
use penfuzz_path_search::{Answer, Query};
use penfuzz_questions::reach::spec::Conditionals;
use penfuzz_report::{Arg, BranchIndex, Branches, End, Report, Test, c_text, literal};
use penfuzz_system::{console, files::atomic, outln};
use serde::Serialize;

use super::{
    super::{Outcome, target::Linked},
    Args,
};

/// Maximum number of items of a path in the text; `--json` has all of them.
const SHOWN: usize = 40;

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: u32,
    target: String,
    function: &'a str,
    found: bool,
    seed: u64,
    search: &'static str,
    evaluations: u64,
    seconds: f64,
    /// The arguments of the found input, or else of the closest one.
    args: Option<Vec<Arg>>,
    call: Option<String>,
    /// The raw bytes in hex.
    input: Option<String>,
    /// The whole path that the found input takes; `passes` is the number of its steps.
    path: Option<String>,
    passes: Option<usize>,
    result: Option<String>,
    fault: Option<String>,
    /// If the search found nothing, the first step that the closest input does not take.
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<Missed>,
    deaths: u64,
}

/// The first step that the closest input does not take: its number from 1 on, the number of all steps, its text, and
/// the distance.
#[derive(Debug, Serialize)]
struct Missed {
    step: usize,
    steps: usize,
    text: String,
    distance: Option<u64>,
}

/// Prints the answer and writes the files. An input that was not found is an error.
pub(super) fn report_answer(
    args: &Args,
    linked: &Linked,
    session: &ReplaySession,
    names: &Conditionals,
    query: &Query,
    answer: &Answer,
) -> Result<Outcome, Error> {
    let function = session.evaluator.function();
    let report = report(args, linked, session, answer)?;
    let arguments = answer.bytes.as_ref().map(|b| arguments(function, b));
    let missed = (answer.r != 0).then(|| missed(names, query, answer));
    if args.json {
        let json = Json {
            schema: 1,
            target: report.target.clone(),
            function: &function.name,
            found: answer.r == 0,
            seed: args.seed,
            search: args.search.name(),
            evaluations: answer.evaluations,
            seconds: report.seconds,
            call: arguments.as_ref().map(|a| c_text::call(&report, a)),
            args: arguments.clone(),
            input: answer.bytes.as_deref().map(literal::hex),
            path: answer.confirmed.as_ref().map(|c| names.path(&c.passes, usize::MAX)),
            passes: answer.confirmed.as_ref().map(|c| c.n_passes),
            result: result(session, answer).map(|(kind, bits)| literal::c_literal(kind, bits)),
            fault: fault(answer),
            missed: None,
            deaths: answer.deaths,
        };
        let json = Json { missed: (answer.r != 0).then(|| self::missed(names, query, answer)), ..json };
        console::out_json(&serde_json::to_string_pretty(&json).unwrap_or_default());
    }
    if let Some(missed) = missed {
        return Err(Error::new(failure(&missed, args, query, answer, &report, arguments.as_deref())));
    }
    let arguments = arguments.unwrap_or_default();
    if !args.json {
        print_found(session, names, answer, &report, &arguments);
    }
    if let (Some(out), Some(bytes)) = (&args.output, &answer.bytes) {
        write(out, bytes, &report)?;
    }
    Ok(if fault(answer).is_some() { Outcome::Found } else { Outcome::Fine })
}

fn fault(answer: &Answer) -> Option<String> {
    let fault = answer.confirmed.as_ref()?.fault.as_ref()?;
    Some(format!("{} in {}", fault.reason, fault.place))
}

fn result(session: &ReplaySession, answer: &Answer) -> Option<(Kind, u64)> {
    let run = answer.confirmed.as_ref().filter(|c| c.fault.is_none() && c.exit.is_none() && c.throws.is_none())?;
    let kind = session.evaluator.function().result_kind?;
    Some((kind, run.result & kind.mask()))
}

fn print_found(session: &ReplaySession, names: &Conditionals, answer: &Answer, report: &Report, arguments: &[Arg]) {
    for arg in arguments {
        outln!("  {:<12} = {}   ({})", arg.name, arg.hex, arg.decimal);
    }
    outln!("  call         = {}", c_text::call(report, arguments));
    match (fault(answer), result(session, answer)) {
        (Some(fault), _) => outln!("  then         : {fault}"),
        (None, Some((kind, bits))) => {
            outln!("  returned     = {}   ({})", literal::c_literal(kind, bits), literal::decimal(kind, bits));
        }
        (None, None) => match answer.confirmed.as_ref().map(|c| (c.exit, &c.throws)) {
            Some((Some(status), _)) => outln!("  then         : exit({status})"),
            Some((None, Some(thrown))) => outln!("  then         : throws {}", console::shown(thrown)),
            _ => outln!("  returned"),
        },
    }
    if let Some(run) = &answer.confirmed {
        outln!("  path         = {}", names.path(&run.passes, SHOWN));
        outln!("  {} branches taken, {} evaluations, {:.3} s", run.n_passes, answer.evaluations, answer.seconds);
    }
    if answer.deaths > 0 {
        outln!("  on the way {}", deaths_text(answer.deaths));
    }
}

fn missed(names: &Conditionals, query: &Query, answer: &Answer) -> Missed {
    let steps = &query.paths[answer.path];
    let progress = Goal::new(steps, query.counts.clone()).map(|p| p.progress(answer.r, steps.len()));
    let step = progress.map_or(0, |p| p.step);
    Missed {
        step: step + 1,
        steps: steps.len(),
        text: names.step(steps[step.min(steps.len() - 1)]),
        distance: progress.and_then(|p| p.distance),
    }
}

fn failure(
    missed: &Missed,
    args: &Args,
    query: &Query,
    answer: &Answer,
    report: &Report,
    arguments: Option<&[Arg]>,
) -> String {
    let what = match &args.wanted.line {
        Some(line) if query.paths.len() > 1 => {
            format!(
                "{line} is not executed by any input tried; of {} branches that lead there {}",
                query.paths.len(),
                missed.text
            )
        }
        Some(line) => {
            format!("{line} is not executed by any input tried; the branch that leads there, {},", missed.text)
        }
        None => format!("no input tried takes the path; step {} of {}, {},", missed.step, missed.steps, missed.text),
    };
    let how = match missed.distance {
        Some(d) => format!("is {d} away at closest"),
        None => "was not reached".to_owned(),
    };
    let closest = match arguments {
        Some(a) if !a.is_empty() => format!(", by {}", c_text::call(report, a)),
        _ => String::new(),
    };
    let deaths = if answer.deaths > 0 { format!("; {}", deaths_text(answer.deaths)) } else { String::new() };
    let end = if answer.interrupted { "interrupted" } else { "give more --max-time; it may be infeasible" };
    format!("{what} {how}{closest} ({} evaluations, {:.1} s{deaths}); {end}", answer.evaluations, answer.seconds)
}

/// A note on inputs that ended their process: their branches are not recorded.
fn deaths_text(n: u64) -> String {
    let times = if n == 1 { "once".to_owned() } else { format!("{n} times") };
    format!("the function ended the process {times}, and what it did before that is not recorded")
}

/// Makes a report with one test, from which the C program is written.
fn report(args: &Args, linked: &Linked, session: &ReplaySession, answer: &Answer) -> Result<Report, Error> {
    let function = session.evaluator.function();
    let passes = answer.confirmed.as_ref().map(|c| c.passes.as_slice()).unwrap_or_default();
    let taken: std::collections::BTreeSet<u32> = passes.iter().copied().collect();
    let test = answer.bytes.as_ref().map(|bytes| Test {
        file: INPUT.to_owned(),
        args: arguments(function, bytes),
        covers: vec![BranchIndex { site: 0, branch: 0 }; taken.len()],
        ends: answer.confirmed.as_ref().and_then(|c| c.exit).map(End::Exit),
        throws: answer.confirmed.as_ref().and_then(|c| c.throws.clone()),
        ..Test::default()
    });
    let libs = [args.target.libs.clone(), linked.libs.clone()].concat();
    let made = BuildInputs {
        target: args.target.path()?,
        sources: &linked.sources,
        flags: &args.target.flags(),
        compilations: &linked.compilations,
        libs: &libs,
        rounding: args.target.rounding,
    };
    Ok(Report {
        seed: args.seed,
        search: args.search.name().to_owned(),
        branches: Branches { total: session.n_goals(), covered: taken.len(), ..Branches::default() },
        evaluations: answer.evaluations,
        seconds: (answer.seconds * 1e6).round() / 1e6,
        evaluations_per_second: (answer.evaluations as f64 / answer.seconds.max(1e-6)).round(),
        stop_reason: if answer.r == 0 { "reached" } else { "max-time" }.to_owned(),
        tests: test.into_iter().collect(),
        ..single::report(session, &made)
    })
}

/// The raw bytes of the found input, in the output directory.
const INPUT: &str = "input";

fn write(out: &Path, bytes: &[u8], report: &Report) -> Result<(), Error> {
    std::fs::create_dir_all(out).map_err(|e| failed(out, "cannot be made", e))?;
    let program = penfuzz_testgen::program_files(report).into_iter().map(|(name, text)| (name, text.into_bytes()));
    for (name, content) in std::iter::once((INPUT.to_owned(), bytes.to_vec())).chain(program) {
        let path = out.join(name);
        atomic::write(&path, &content).map_err(|e| failed(&path, "cannot be written", e))?;
    }
    Ok(())
}
