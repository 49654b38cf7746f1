//! `penfuzz record -- COMMAND`: records the calls that a program's own tests make.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use penfuzz_error::{Error, at};
use penfuzz_record::{Recorded, Recording, Traced, trace, write_likely};
use penfuzz_system::{console::shown, outln};
use penfuzz_target::recorded::PRECONDITIONS;

use super::Outcome;

/// The directory without `-o`.
const DEFAULT: &str = "penfuzz-recorded";

/// Maximum number of functions that are listed.
const LISTED: usize = 20;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "penfuzz record [OPTIONS] -- COMMAND [ARGUMENTS]\n       penfuzz record [OPTIONS] --build DIR",
    after_help = "Build the library and its tests with pen-cc first:\n  \
                  make CC=pen-cc\n  \
                  penfuzz record -- make check\n  \
                  penfuzz libfoo.a --function foo -i penfuzz-recorded"
)]
pub struct Args {
    /// Directory for the recorded calls, one file per function. Calls that are there are kept.
    #[arg(short, long, value_name = "DIR", default_value = DEFAULT)]
    output: PathBuf,

    /// Build directory whose tests are run instead of a command: `meson test`, `ctest` or `make check`.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    build: Option<PathBuf>,

    /// The command, such as `make check`. The functions of each program that it runs are recorded if pen-cc has linked
    /// the program, or a library that it loads.
    #[arg(required_unless_present = "build", last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A file of a build directory, and the command that runs its tests; the directory follows.
const TESTS: [(&str, &[&str]); 3] = [
    ("meson-info", &["meson", "test", "-C"]),
    ("CTestTestfile.cmake", &["ctest", "--test-dir"]),
    ("Makefile", &["make", "check", "-C"]),
];

/// The command that runs the tests of a build directory.
fn tests_of(build: &Path) -> Result<Vec<String>, Error> {
    let found = TESTS.iter().find(|(file, _)| build.join(file).exists());
    let (_, command) = found.ok_or_else(|| {
        at(
            build,
            "is no build directory of Meson, CMake (with tests) or make; give the command: penfuzz record -- COMMAND",
        )
    })?;
    let build = build.to_str().ok_or_else(|| at(build, "is not a UTF-8 name"))?;
    Ok(command.iter().map(|part| (*part).to_owned()).chain([build.to_owned()]).collect())
}

/// Runs the command and lists the functions that it called.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let command = args.build.as_deref().map_or_else(|| Ok(args.command.clone()), tests_of)?;
    let [name, arguments @ ..] = &command[..] else { return Err(Error::new("record needs a command")) };
    let mut recording = Recording::open(&args.output)?;
    let Traced { status, programs } = trace(Command::new(name).args(arguments), &mut recording)?;
    let functions: Vec<(&str, Recorded)> = recording.functions().into_iter().collect();
    if functions.is_empty() {
        let why = "calls no function that pen-cc has compiled: build the library and its tests with pen-cc \
                   (for example make CC=pen-cc CXX=pen-c++)";
        return Err(Error::new(format!("{name}: {}{why}", failed(status))));
    }
    let likely = write_likely(&args.output, &programs)?;
    print(&args.output, functions, likely);
    if status.success() {
        Ok(Outcome::Fine)
    } else {
        Err(at(Path::new(name), format!("{}its calls are recorded", failed(status))))
    }
}

/// The start of a sentence about a command that has failed; empty for any other.
fn failed(status: ExitStatus) -> String {
    if status.success() { String::new() } else { format!("failed ({status}); ") }
}

fn print(dir: &Path, mut functions: Vec<(&str, Recorded)>, likely: usize) {
    let new: usize = functions.iter().map(|(_, r)| r.new).sum();
    outln!("{}: {new} new calls of {} functions", dir.display(), functions.len());
    functions.sort_by_key(|(symbol, r)| (core::cmp::Reverse(r.new), *symbol));
    outln!("    new  function");
    for (symbol, recorded) in functions.iter().take(LISTED) {
        outln!("  {:5}  {}", recorded.new, shown(symbol));
    }
    if let Some(more @ 1..) = functions.len().checked_sub(LISTED) {
        outln!("         and {more} more");
    }
    outln!("{}: {likely} likely preconditions", dir.join(PRECONDITIONS).display());
    let example = shown(functions[0].0);
    outln!("To start a campaign with them: penfuzz TARGET --function {example} -i {}", dir.display());
}
