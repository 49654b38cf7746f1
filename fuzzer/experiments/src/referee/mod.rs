//! The referee of corpora: replays the inputs that a tool found on the function as `gcc -O0 --coverage` compiles it,
//! and counts the branches taken with gcov.
//!
//! The program consists of the [`harness`](super::harness) that every tool gets, the function's file with gcc's
//! counters, the support files without, and `referee/replay.c`, which runs the inputs in the order of their stamps.
//! They run in one process one after the other, as the tools run them, so variables of the target keep their values. An
//! input that ends the process affects no other: the next ones run in a new process. At the end of each time span
//! libgcov writes the current counters, and one gcov process reads all these files.
//!
//! The branches of an input that does not return:
//! - if it ends the process by a call (`exit`, `abort`, an uncaught exception), those up to the call count;
//! - if it faults, is killed, or does not end in time, none counts. gcov derives most counts from few counters by the
//!   flow into and out of a block, and a flow that stops inside a block looks like a branch that was taken.
//!
//! An input whose call was left because it accessed memory of unknown size ([harness](super::harness)) covers none, and
//! neither does one that violates an assumption ([assumptions](super::assumptions)).
//!
//! The suite's [referee](penfuzz_suite::referee) judges emitted tests, which have neither kind of inputs.

mod checkpoints;
mod program;

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use penfuzz_directory::object::finish;
use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_suite::{
    TakenBranch,
    gcov::{self, GcovCriteria, branches_of, criteria_of},
};
use program::Program;
use tempfile::TempDir;

use super::{
    corpus::Stamped,
    model::{Point, seconds},
    subject::Subject,
};

/// Statuses of inputs in `replay.c` that are no failures.
const RETURNED: u8 = 0;
const REJECTED: u8 = 4;

/// The limits of one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Wall time. It is halved after every 8 inputs that exceed it, down to 20 ms, so that a corpus of nothing but
    /// hangs comes to an end, too.
    pub time: Duration,
    /// Address space of the process, in bytes.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(1), memory: 1 << 30 }
    }
}

/// The replay program of one function. Any number of threads may use it concurrently.
#[derive(Debug)]
pub struct Referee {
    program: Program,
    /// The name of the function in gcov's output.
    symbol: String,
    total: usize,
    /// The lines of assumptions; branches on them do not belong to the function.
    assumed: BTreeSet<u32>,
    limits: Limits,
}

/// The branches that a corpus covers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RefereeCount {
    /// Number of branches of the function by gcov's count.
    pub total: usize,
    /// Branches that the corpus covers, as indices below `total`, ascending; by line, then in gcov's order. An index
    /// denotes the same branch in all verdicts on the function.
    pub taken: Vec<u32>,
    /// The points at which coverage rises: the stamp of an input, and the number of branches that the inputs found
    /// until then cover. Empty if nothing is covered; ends with the final count.
    pub timeline: Vec<Point>,
    /// Number of inputs that do not return: they end the process, crash, or take too long. The same bytes count once.
    pub failing_inputs: usize,
    /// The other criteria of gcov; `None` if there is no input.
    pub criteria: Option<GcovCriteria>,
}

impl Referee {
    /// Compiles and links the replay program. Compiled support files are kept in `cache`, which any number of processes
    /// may use concurrently. The program is in a directory of its own below `scratch`, which is deleted with the
    /// referee.
    ///
    /// # Errors
    /// A file does not compile or link, or gcov has no data on the function.
    pub fn build(subject: &Subject, cache: &Path, scratch: &Path) -> Result<Self> {
        let program = Program::build(subject, cache, scratch)?;
        // gcov also lists branches if there are no counts.
        let work = work_directory(&program)?;
        let documents = gcov_json(&program, work.path(), 1)?;
        let assumed = subject.assumed.as_ref().map(|a| a.lines.clone()).unwrap_or_default();
        for symbol in [&subject.report.signature.symbol, &subject.report.function] {
            if let Some(branches) = branches(symbol, &assumed, &documents[0])? {
                let (symbol, total) = (symbol.clone(), branches.len());
                return Ok(Self { program, symbol, total, assumed, limits: Limits::default() });
            }
        }
        bail!("gcov has no data on {}; is it defined in this file under these flags?", subject.report.function)
    }

    /// Sets other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the number of branches of the function by gcov's count.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// Counts the branches that the inputs of a corpus cover. They may have any order and sizes; of inputs with the
    /// same bytes the earliest counts.
    ///
    /// # Errors
    /// The program or gcov cannot be run, or the program ends before its first input.
    pub fn judge(&self, corpus: &[Stamped]) -> Result<RefereeCount> {
        let inputs = checkpoints::ordered(corpus);
        if inputs.is_empty() {
            return Ok(RefereeCount { total: self.total, ..RefereeCount::default() });
        }
        let ends = checkpoints::ends(&inputs);
        let work = work_directory(&self.program)?;
        let failing_inputs = self.replay(work.path(), &inputs, &ends)?;
        let mut verdict = RefereeCount { total: self.total, failing_inputs, ..RefereeCount::default() };
        let documents = gcov_json(&self.program, work.path(), ends.len())?;
        for (end, document) in ends.iter().zip(&documents) {
            let taken = self.taken(document)?;
            if taken.len() > verdict.taken.len() {
                verdict.timeline.push(Point { seconds: seconds(inputs[*end].at), covered: taken.len() });
                verdict.taken = taken;
            }
        }
        let last = ends.len() - 1;
        verdict.criteria = self.criteria(work.path(), last, &documents[last])?;
        Ok(verdict)
    }

    /// The other criteria of `number.gcda`, whose JSON is `document`.
    fn criteria(&self, directory: &Path, number: usize, document: &[u8]) -> Result<Option<GcovCriteria>> {
        let mut command = Command::new("gcov");
        command.current_dir(directory).args(gcov::ANNOTATED).arg(format!("{number}.gcda"));
        let annotated = finish(command, || "gcov failed".to_owned())?;
        let annotated = String::from_utf8_lossy(&annotated);
        criteria_of(&self.symbol, document, &annotated).context(|| "cannot read what gcov printed".to_owned())
    }

    /// Runs the inputs. Writes the counters after each input in `ends` to `directory/0.gcda` and so on. Returns the
    /// number of inputs that fail.
    fn replay(&self, directory: &Path, inputs: &[&Stamped], ends: &[usize]) -> Result<usize> {
        let request = directory.join("request");
        fs::write(&request, checkpoints::request(self.program.counters(), inputs, ends))
            .and_then(|()| fs::create_dir(directory.join("scratch")))
            .context(|| format!("cannot write to {}", directory.display()))?;
        let mut command = Command::new(self.program.path());
        command
            .arg("request")
            .arg(self.limits.time.as_millis().max(1).to_string())
            .arg(self.limits.memory.to_string())
            .current_dir(directory)
            // Counters are in shared memory, so a target that calls exit need not write them.
            .env("GCOV_PREFIX", "/dev/null")
            .env("GCOV_PREFIX_STRIP", "999")
            .stdin(Stdio::null());
        finish(command, || format!("the inputs of {} cannot be replayed", self.program.name()))?;
        let statuses = fs::read(directory.join("statuses")).context(|| "cannot read the replay's result".to_owned())?;
        Ok(statuses.iter().filter(|s| ![RETURNED, REJECTED].contains(*s)).count())
    }

    fn taken(&self, document: &[u8]) -> Result<Vec<u32>> {
        let branches = branches(&self.symbol, &self.assumed, document)?.unwrap_or_default();
        if branches.len() != self.total {
            bail!("gcov counts {} branches of {} now and {} before", branches.len(), self.symbol, self.total);
        }
        Ok((0_u32..).zip(&branches).filter(|(_, b)| b.taken).map(|(i, _)| i).collect())
    }
}

/// Creates a directory inside that of the program, so that it is removed with an experiment that was killed.
fn work_directory(program: &Program) -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix("judge-").tempdir_in(program.directory());
    made.context(|| "cannot make a temporary directory for gcov".to_owned())
}

/// Returns gcov's JSON for `0.gcda` to `COUNT-1.gcda`.
fn gcov_json(program: &Program, directory: &Path, count: usize) -> Result<Vec<Vec<u8>>> {
    let mut command = Command::new("gcov");
    command.current_dir(directory).args(gcov::JSON);
    for i in 0..count {
        std::os::unix::fs::symlink(program.notes(), directory.join(format!("{i}.gcno")))
            .context(|| format!("cannot write to {}", directory.display()))?;
        command.arg(format!("{i}.gcda"));
    }
    let json = finish(command, || "gcov failed".to_owned())?;
    // gcov prints one document per line.
    let documents: Vec<_> = json.split(|b| *b == b'\n').filter(|d| !d.is_empty()).map(<[u8]>::to_vec).collect();
    if documents.len() != count {
        bail!("gcov printed {} files instead of {count}", documents.len());
    }
    Ok(documents)
}

fn branches(symbol: &str, assumed: &BTreeSet<u32>, document: &[u8]) -> Result<Option<Vec<TakenBranch>>> {
    let all = branches_of(symbol, document).context(|| "cannot read what gcov printed".to_owned())?;
    Ok(all.map(|all| all.into_iter().filter(|b| !assumed.contains(&b.line)).collect()))
}

#[cfg(test)]
mod tests;
