//! Solvers: separate programs that read SMT-LIB. Only their answers are used, and an answer counts only if no other
//! solver contradicts it.

use std::{
    env,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
    time::Duration,
};

use penfuzz_report::proof;

use penfuzz_system::process::run::{self, Ended};

/// The supported solvers, in the order in which they are run.
const NAMES: [&str; 3] = ["bitwuzla", "z3", "cvc5"];
/// The environment variable with the directories in which solvers are searched. By default they are searched in
/// `setup`'s directory and in `PATH`.
pub const DIRECTORY: &str = "PENFUZZ_SOLVERS";
/// Time limit for printing a version.
const VERSION_TIME: Duration = Duration::from_secs(20);

/// A solver's answer to a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The query is satisfiable.
    Sat,
    /// The query is unsatisfiable.
    Unsat,
    /// The solver has given up.
    Unknown,
    /// The solver was killed at its time limit.
    TimedOut,
    /// The solver failed, and how.
    Failed(String),
}

impl Answer {
    fn of(ended: &Ended) -> Self {
        let Some(status) = ended.status else { return Self::TimedOut };
        if let Some(signal) = status.signal() {
            return Self::Failed(format!("crashed with signal {signal}"));
        }
        let mut lines = ended.text.lines().map(str::trim).filter(|line| !line.is_empty());
        let answer = match lines.next() {
            Some("sat") => Self::Sat,
            Some("unsat") => Self::Unsat,
            Some("unknown" | "timeout") => return Self::Unknown,
            Some(line) => return Self::Failed(format!("printed {:?}", line.chars().take(60).collect::<String>())),
            None => return Self::Failed("printed nothing".to_owned()),
        };
        // A query has one `check-sat`. If there is a second line, it is a message, and the answer before it may be
        // about only a part of the query.
        match lines.next() {
            None if status.success() => answer,
            None => Self::Failed(format!("ended with {status}")),
            Some(line) => Self::Failed(format!("printed {:?} too", line.chars().take(60).collect::<String>())),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Sat => "sat".to_owned(),
            Self::Unsat => "unsat".to_owned(),
            Self::Unknown => "unknown".to_owned(),
            Self::TimedOut => "timeout".to_owned(),
            Self::Failed(how) => how.clone(),
        }
    }
}

/// An installed solver.
#[derive(Debug, Clone)]
pub struct Solver {
    /// Its name.
    pub name: &'static str,
    /// The version that it prints.
    pub version: String,
    path: PathBuf,
}

impl Solver {
    /// Runs the solver on the query in `file`. Returns the answer, also in the form of reports.
    #[must_use]
    pub fn ask(&self, file: &Path, limit: Duration) -> (Answer, proof::Answer) {
        self.ask_unless(file, limit, &AtomicBool::new(false))
    }

    /// As [`Solver::ask`]. The solver is killed, as at its time limit, when another thread sets `stop`.
    #[must_use]
    pub fn ask_unless(&self, file: &Path, limit: Duration, stop: &AtomicBool) -> (Answer, proof::Answer) {
        let (answer, seconds) = match self.call(file, limit, stop) {
            Ok(ended) => (Answer::of(&ended), ended.seconds),
            Err(e) => (Answer::Failed(format!("cannot be run: {e}")), 0.0),
        };
        let shown = proof::Answer {
            solver: self.name.to_owned(),
            version: self.version.clone(),
            answer: answer.text(),
            seconds: (seconds * 1e3).round() / 1e3,
        };
        (answer, shown)
    }

    /// What the solver prints after `sat` for a query that also requests values; `None` if it fails or finds no model.
    #[must_use]
    pub fn values(&self, file: &Path, limit: Duration) -> Option<String> {
        after_sat(&self.call(file, limit, &AtomicBool::new(false)).ok()?)
    }

    /// As [`Solver::values`], but not ended at the deadline of this process: an answer without its values cannot be
    /// tried as an input.
    #[must_use]
    pub fn values_past_deadline(&self, file: &Path, limit: Duration) -> Option<String> {
        after_sat(&run::run_past_deadline(self.command(file), limit).ok()?)
    }

    fn call(&self, file: &Path, limit: Duration, stop: &AtomicBool) -> std::io::Result<Ended> {
        run::run_unless(self.command(file), limit, stop)
    }

    fn command(&self, file: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.arg(file);
        if self.name == "cvc5" {
            // cvc5 1.0 reads the format of x87 only with this option.
            command.arg("--fp-exp");
        }
        command
    }
}

/// What a solver printed after `sat`.
fn after_sat(ended: &Ended) -> Option<String> {
    let values = ended.text.trim_start().strip_prefix("sat")?;
    ended.status?.success().then(|| values.to_owned())
}

/// The installed solvers.
#[must_use]
pub fn find() -> Vec<Solver> {
    let directories = directories();
    NAMES.iter().filter_map(|name| directories.iter().find_map(|directory| at(directory, name))).collect()
}

/// Returns true if there is a file with the name of a solver, whether it works or not.
#[must_use]
pub fn is_there() -> bool {
    directories().iter().any(|directory| NAMES.iter().any(|name| directory.join(name).is_file()))
}

/// The directories in which solvers are searched: those of [`DIRECTORY`], or the one of `setup` and those of `PATH`.
fn directories() -> Vec<PathBuf> {
    if let Some(only) = env::var_os(DIRECTORY) {
        return env::split_paths(&only).filter(|d| d.is_absolute()).collect();
    }
    let own = penfuzz_cc::cache_directory().ok().map(|cache| cache.join("solvers/bin"));
    let own = own.filter(|directory| directory.is_dir() && penfuzz_cc::private_directory(directory).is_ok());
    let path = env::var_os("PATH").unwrap_or_default();
    own.into_iter().chain(env::split_paths(&path).filter(|d| d.is_absolute())).collect()
}

fn at(directory: &Path, name: &'static str) -> Option<Solver> {
    let path = directory.join(name);
    if !path.is_file() {
        return None;
    }
    let mut command = Command::new(&path);
    command.arg("--version");
    let ended = run::run(command, VERSION_TIME).ok()?;
    let version = ended.text.split_whitespace().find(|word| is_version(word)).unwrap_or("unknown version");
    ended.status?.success().then(|| Solver { name, version: version.to_owned(), path })
}

/// Returns true for words like `4.8.12` and `1.0.3-dev`.
fn is_version(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.')
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use super::*;

    fn answer(text: &str, status: i32) -> Answer {
        Answer::of(&Ended { text: text.to_owned(), status: Some(ExitStatus::from_raw(status)), seconds: 0.1 })
    }

    #[test]
    fn only_one_plain_word_is_an_answer() {
        assert_eq!(answer("unsat\n", 0), Answer::Unsat);
        assert_eq!(answer("\n sat \n", 0), Answer::Sat);
        assert_eq!(answer("unknown\n(:reason-unknown \"timeout\")\n", 0), Answer::Unknown);
        for (text, status) in [
            ("", 0),
            ("unsat", 256),
            ("unsat\nunsat", 0),
            ("(error \"unknown constant\")\nunsat", 0),
            ("unsat\n(error \"unknown constant\")", 0),
            ("Unsat", 0),
            ("unsat", libc::SIGSEGV),
        ] {
            assert!(matches!(answer(text, status), Answer::Failed(_)), "{text:?} with status {status}");
        }
        assert_eq!(Answer::of(&Ended { text: "unsat".to_owned(), status: None, seconds: 1.0 }), Answer::TimedOut);
    }
}
