//! The command line: one file per subcommand. The doc comment of a flag is its help text.

mod accuracy;
mod boundary;
mod choices;
mod ci;
mod cmin;
mod compare;
mod differ;
mod exceptions;
mod functions;
mod fuzz;
mod generate;
mod merge;
mod mutate;
mod prove;
mod reach;
mod record;
mod replay;
mod report;
mod since;
mod solve;
mod status;
mod suite;
mod target;
mod tmin;
mod triage;
mod values;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use penfuzz_directory::output::trust::Untrusted;
use penfuzz_error::Error;
use penfuzz_system::{console, errln, files::destination::Unusable};

/// The outcome of a command that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// No crash and no hang was found: exit status 0.
    Fine,
    /// Crashes or hangs were found: exit status 3.
    Found,
    /// Coverage is below `--fail-under`, with or without crashes and hangs: exit status 4.
    Below,
}

#[derive(Debug, Parser)]
#[command(
    name = "penfuzz",
    version,
    about = "Covers the branches of numeric C and C++ code",
    long_about = "Covers the branches of numeric C and C++ code. For each branch that no input takes yet, penfuzz \
                  minimizes the distance of its condition; ordinary mutation runs as well.\n\n\
                  TARGET is a C or C++ source file, LLVM bitcode, or a file linked by pen-cc. No harness is needed.",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Exit status: 0 finished; 1 failed; 2 invalid arguments; 3 finished, with crashes or hangs found; \
                  4 finished, and less is covered than --fail-under demands (also when crashes or hangs were found)."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    fuzz: fuzz::Args,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find the inputs on which a numeric function is most wrong.
    Accuracy(Box<accuracy::Args>),
    /// Find inputs that make the operands of each comparison equal, or neighbours.
    Boundary(Box<boundary::Args>),
    /// Run the campaigns of a suite and print one table.
    Suite(suite::Args),
    /// Find inputs that raise floating-point exceptions, for each operation.
    Exceptions(Box<exceptions::Args>),
    /// Measure which mutants the emitted tests kill, and find inputs that kill more.
    Mutate(Box<mutate::Args>),
    /// Compare penfuzz with other fuzzers on the functions of a suite.
    Compare(compare::Args),
    /// Find the inputs on which two implementations of a function differ most, or at all.
    Differ(differ::Args),
    /// Generate a suite from the functions of a library.
    Generate(generate::Args),
    /// List the functions of a target that can be tested.
    Functions(functions::Args),
    /// Find an input that takes a given path or executes a given line.
    Reach(reach::Args),
    /// Record the calls that a program's own tests make, as seeds of campaigns.
    Record(record::Args),
    /// Prove that uncovered branches are unreachable, or print why a proof is missing.
    Prove(Box<prove::Args>),
    /// Find models of SMT-LIB formulas of floats and bit vectors, and of reals and integers.
    Solve(solve::Args),
    /// Run inputs again and print arguments, branches and result.
    Replay(replay::Args),
    /// Write the reports of a campaign again and print its summary.
    Report(report::Args),
    /// Print the progress of running campaigns, and the results of finished ones.
    Status(status::Args),
    /// Choose a few inputs of a campaign that cover the same branches as all of them.
    Cmin(cmin::Args),
    /// Merge campaigns, and the inputs of other fuzzers, into one campaign.
    Merge(merge::Args),
    /// Simplify one input.
    Tmin(tmin::Args),
    /// List the crashes and hangs of a campaign by place, with arguments and stacks.
    Triage(triage::Args),
}

/// Parses the arguments, runs the command, and turns errors into a message and an exit status.
#[must_use]
pub fn main() -> ExitCode {
    // For `accuracy` alone, a library given by an option may be the target.
    let command = Cli::command().mut_subcommand("accuracy", accuracy::without_target);
    let cli = match command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(e) => return print_usage(&e),
    };
    restrict_umask();
    turn_size_limits_into_errors();
    let outcome = match cli.command {
        Some(Command::Accuracy(args)) => accuracy::run(&args),
        Some(Command::Boundary(args)) => boundary::run(&args),
        Some(Command::Suite(args)) => suite::run(&args),
        Some(Command::Exceptions(args)) => exceptions::run(&args),
        Some(Command::Mutate(args)) => mutate::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Differ(args)) => differ::run(&args),
        Some(Command::Generate(args)) => generate::run(&args),
        Some(Command::Functions(args)) => functions::run(&args),
        Some(Command::Reach(args)) => reach::run(&args),
        Some(Command::Record(args)) => record::run(&args),
        Some(Command::Prove(args)) => prove::run(&args),
        Some(Command::Solve(args)) => solve::run(&args),
        Some(Command::Replay(args)) => replay::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Status(args)) => status::run(&args),
        Some(Command::Cmin(args)) => cmin::run(&args),
        Some(Command::Merge(args)) => merge::run(&args),
        Some(Command::Tmin(args)) => tmin::run(&args),
        Some(Command::Triage(args)) => triage::run(&args),
        None => fuzz::run(&cli.fuzz),
    };
    end(match outcome {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Found) => ExitCode::from(3),
        Ok(Outcome::Below) => ExitCode::from(4),
        Err(e) => {
            print_error(&e);
            if Untrusted::is_cause_of(&e) || Unusable::is_cause_of(&e) { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    })
}

/// The exit status of a command, or a failure if its output could not be written. A closed pipe is not a failure: a
/// script that reads only the first line still learns from the status whether crashes were found.
fn end(code: ExitCode) -> ExitCode {
    match console::finish() {
        Ok(()) => code,
        Err(e) => {
            print_error(&e);
            ExitCode::FAILURE
        }
    }
}

/// Prints help, the version, or what is wrong with the arguments. clap colours its text on a terminal, but quotes
/// arguments unescaped, and these may be file names chosen by others. So the arguments are escaped and parsed again.
fn print_usage(e: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(2));
    let shown = std::env::args_os().map(|a| console::shown(&a.to_string_lossy()).into_owned());
    match Cli::try_parse_from(shown) {
        _ if !e.use_stderr() => console::note(e.print()),
        // If standard error fails, the failure cannot be reported.
        Err(e) => drop(e.print()),
        Ok(_) => console::err(&e.render().to_string()),
    }
    end(code)
}

/// Restricts the umask so that other users cannot write files that penfuzz makes, above all files that it runs later.
/// Compilers and workers inherit the umask.
fn restrict_umask() {
    // SAFETY: umask only replaces a number of this process.
    unsafe {
        let before = libc::umask(libc::S_IWGRP | libc::S_IWOTH);
        libc::umask(before | libc::S_IWGRP | libc::S_IWOTH);
    }
}

/// Makes a write beyond the limit on the size of files (`ulimit -f`) fail like one on a full disk. By default it ends
/// the process, and compilers with it.
fn turn_size_limits_into_errors() {
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Prints the details of an error, if any, then the error itself in one line.
fn print_error(e: &Error) {
    if let Some(detail) = e.detail() {
        console::err(&format!("{}\n", detail.trim_end_matches('\n')));
    }
    errln!("error: {}", e.to_string().trim_end());
}
