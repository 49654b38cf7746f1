//! The output directory of `penfuzz accuracy` and `penfuzz differ`. Results are stored as soon as they are found, and
//! the next run continues from them.
//!
//! | file | content |
//! | --- | --- |
//! | `accuracy.json` | the compared function and reference; identifies the directory |
//! | `seed-N/run.json` | results of the runs with this seed |
//! | `report.json`, `report.html` | the report on all seeds |
//! | `tests/` | a program that expects the values of the reference |
//!
//! Only one process at a time works on a seed. Processes with other seeds may work in the same directory, on one
//! machine or on several that share it. Function and reference may change between two runs, so the worst input of each
//! run is evaluated again. If its result differs, only the inputs of that run are used, and they are evaluated again.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use penfuzz_directory::output::directory;
use penfuzz_engine::saturation::ScopeKind;
use penfuzz_error::{Error, at, failed};
use penfuzz_system::{
    errln,
    files::{
        atomic, foreign,
        lock::{self, LOCK},
        own,
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Answer, Options, answer, aside::holds, page, pair::Pair};

/// The file that identifies the comparison.
const ABOUT: &str = "accuracy.json";
/// The file with the results of a seed.
const RUN: &str = "run.json";
/// The report for programs, and that for a browser.
const JSON: &str = "report.json";
const HTML: &str = "report.html";
/// Prefix of the directory of a seed.
const SEED: &str = "seed-";
/// Version of the format of these files.
const SCHEMA: u32 = 1;
/// Maximum size of a run's file in bytes: 4096 regions of several arguments.
const LONGEST: u64 = 1 << 28;
/// Minimum time between two reports during a search, for all processes in a directory together.
const PUBLISHED: Duration = Duration::from_secs(30);
/// Minimum time between two writes that survive a crash of the machine; those between them survive a crash of the
/// process.
const DURABLE: Duration = Duration::from_secs(1);

/// Identity of a comparison: what all runs of a directory have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// [`SCHEMA`].
    schema: u32,
    /// The target, as an absolute path or a name for the loader.
    target: String,
    /// The function with its type.
    function: String,
    reference: String,
    /// The compared value of a call, and the unit of errors.
    result: String,
    unit: String,
    /// The user's statements about the arguments.
    arguments: Vec<String>,
    exact: bool,
    errno: bool,
    search: String,
    #[serde(default = "by_default")]
    scope: ScopeKind,
}

/// The scope of runs that were stored before there was an option for it.
fn by_default() -> ScopeKind {
    ScopeKind::Function
}

impl Identity {
    /// Returns the identity of the comparison of a pair.
    #[must_use]
    pub fn of(pair: &Pair, target: &Path, arguments: &[String], options: &Options) -> Self {
        let is_file = target.exists();
        let target = if is_file { std::path::absolute(target).ok() } else { None }.unwrap_or_else(|| target.to_owned());
        Self {
            schema: SCHEMA,
            target: target.display().to_string(),
            function: pair.function().signature(),
            reference: pair.reference().text(),
            result: pair.value().name().to_owned(),
            unit: pair.value().unit().to_owned(),
            arguments: arguments.to_vec(),
            exact: options.exact,
            errno: options.errno,
            search: options.control.map_or("extremes", |control| control.name()).to_owned(),
            scope: pair.session().scope.kind,
        }
    }
}

/// Results of the runs with one seed.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Run {
    schema: u32,
    /// Number of processes that were started; each has other random numbers.
    processes: u64,
    answer: Answer,
    /// Identity of the code that the last process loaded: tried inputs are skipped only if it is the same.
    #[serde(default)]
    code: String,
}

/// An output directory, locked for the runs with one seed.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// The target as the user named it.
    target: String,
    seed: u64,
    run: PathBuf,
    _lock: File,
    processes: u64,
    /// Results of earlier runs with this seed.
    before: Run,
    /// Identity of the loaded code.
    code: String,
    /// Seeds whose worst input now has another result.
    stale: Vec<u64>,
    written: Option<Instant>,
    /// The first error of a write.
    failure: Option<Error>,
}

impl Store {
    /// Opens or creates a directory.
    ///
    /// # Errors
    /// When it holds other files or runs of another comparison, another process with this seed uses it, or it cannot be
    /// written.
    pub fn open(dir: &Path, about: &Identity, target: &Path, seed: u64) -> Result<Self, Error> {
        directory::refuse_foreign(dir, &[ABOUT, LOCK])?;
        fs::create_dir_all(dir).map_err(|e| failed(dir, "cannot be created as output directory", e))?;
        let _turn = lock_directory(dir)?;
        let path = dir.join(ABOUT);
        match read::<Identity>(&path)? {
            Some(known) if known != *about => return Err(other(dir, &known)),
            Some(_) => {}
            None => write(&path, about, true).map_err(Error::from_source)?,
        }
        let own = dir.join(format!("{SEED}{seed}"));
        let lock = lock::lock_or(&own, std::process::id(), "give another --seed or another -o")?;
        let run = own.join(RUN);
        let before = read_or_set_aside(&run)?;
        let dir = dir.to_owned();
        Ok(Self {
            dir,
            target: target.display().to_string(),
            seed,
            run,
            _lock: lock,
            processes: before.processes,
            before,
            code: String::new(),
            stale: Vec::new(),
            written: None,
            failure: None,
        })
    }

    /// Returns the results of earlier runs with this seed. If they are no longer valid, only the inputs remain, as
    /// peaks without an error.
    pub(super) fn load_previous(&mut self, pair: &mut Pair, options: &Options) -> Answer {
        self.code = crate::loaded_code::code(&pair.twin_file().into_iter().collect::<Vec<_>>());
        let run = core::mem::take(&mut self.before);
        if run.answer.tried > 0 && run.code != self.code && options.exhaust {
            let dir = self.dir.display();
            errln!("penfuzz: the loaded code differs from that of earlier runs in {dir}; all inputs are tried again");
        }
        let mut before = self.answer_of(run);
        if !before.fits(&pair.inputs) {
            before = Answer::default();
        }
        if !is_reproducible(pair, options, &before) {
            let dir = self.dir.display();
            errln!(
                "penfuzz: \
                 the worst input of earlier runs in {dir} now has a different result; their inputs are evaluated again"
            );
            let mut peaks = core::mem::take(&mut before.peaks);
            for peak in &mut peaks {
                peak.value = 0.0;
            }
            before = Answer { peaks, ..Answer::default() };
        }
        let others = self.others().into_iter();
        self.stale = others.filter(|(_, run)| !is_reproducible(pair, options, run)).map(|(seed, _)| seed).collect();
        before
    }

    /// Returns the number of a process that is started now.
    pub(super) fn next_process(&mut self) -> u64 {
        self.processes += 1;
        self.processes - 1
    }

    /// Stores the results so far.
    pub(super) fn keep(&mut self, answer: &Answer) {
        let is_durable = self.written.is_none_or(|written| written.elapsed() >= DURABLE);
        if is_durable {
            self.written = Some(Instant::now());
        }
        self.write_run(answer, is_durable);
    }

    /// Stores the final results. Earlier failures to write no longer matter.
    pub(super) fn keep_durably(&mut self, answer: &Answer) {
        self.failure = None;
        self.write_run(answer, true);
    }

    fn write_run(&mut self, answer: &Answer, is_durable: bool) {
        let run = Run { schema: SCHEMA, processes: self.processes, answer: answer.clone(), code: self.code.clone() };
        let written = write(&self.run, &run, is_durable);
        self.note(written.map_err(Error::from_source));
    }

    /// Prints the first failure at once, because a search may run for days.
    fn note(&mut self, done: Result<(), Error>) {
        if let Err(e) = done
            && self.failure.is_none()
        {
            errln!("penfuzz: {e}; the search continues");
            self.failure = Some(e);
        }
    }

    /// Returns the results of a run. Tried inputs count only if the code is the same.
    fn answer_of(&self, run: Run) -> Answer {
        let tried = if run.code == self.code { run.answer.tried } else { 0 };
        Answer { tried, ..run.answer }
    }

    /// Returns the runs with other seeds.
    fn others(&self) -> Vec<(u64, Answer)> {
        let names = foreign::names(&self.dir).unwrap_or_default();
        let of = |name: &std::ffi::OsStr| name.to_str()?.strip_prefix(SEED)?.parse::<u64>().ok();
        let mut seeds: Vec<u64> = names.iter().filter_map(|name| of(name)).filter(|seed| *seed != self.seed).collect();
        seeds.sort_unstable();
        let of = |seed| {
            let path = self.dir.join(format!("{SEED}{seed}")).join(RUN);
            match read::<Run>(&path) {
                Ok(run) => run.map(|run| (seed, self.answer_of(run))),
                Err(e) => {
                    errln!("penfuzz: {e}; it is ignored");
                    None
                }
            }
        };
        seeds.into_iter().filter_map(of).collect()
    }

    /// Merges the answer with those of all other runs that are still valid.
    pub(super) fn merge_others(&mut self, pair: &mut Pair, options: &Options, answer: Answer) -> Answer {
        let others = self.others().into_iter();
        let (held, stale): (Vec<_>, Vec<_>) = others.partition(|(_, run)| is_reproducible(pair, options, run));
        for (seed, _) in &stale {
            errln!(
                "penfuzz: {}/{SEED}{seed} is ignored: its worst input now has a different result; run --seed {seed} \
                 again",
                self.dir.display()
            );
        }
        self.stale = stale.into_iter().map(|(seed, _)| seed).collect();
        self.together(answer, held)
    }

    fn together(&self, answer: Answer, others: Vec<(u64, Answer)>) -> Answer {
        let mut all = others;
        all.push((self.seed, answer));
        all.sort_by_key(|(seed, _)| *seed);
        let (seeds, runs): (Vec<u64>, Vec<Answer>) = all.into_iter().unzip();
        Answer { seeds, ..Answer::of_all(runs) }
    }

    /// Writes the report during a search.
    pub(super) fn publish_interim(&mut self, pair: &Pair, answer: &Answer) {
        let age = fs::metadata(self.dir.join(JSON)).and_then(|about| about.modified()).map(|t| t.elapsed());
        if age.is_ok_and(|age| age.is_ok_and(|age| age < PUBLISHED)) {
            return;
        }
        let holds = |(seed, run): &(u64, Answer)| !self.stale.contains(seed) && run.fits(&pair.inputs);
        let others = self.others().into_iter().filter(holds).collect();
        let all = self.together(answer.clone(), others);
        let done = self.publish(pair, &all);
        self.note(done);
    }

    /// Writes the report.
    ///
    /// # Errors
    /// Those of the file system, with the path.
    pub fn publish(&self, pair: &Pair, answer: &Answer) -> Result<(), Error> {
        let _turn = lock_directory(&self.dir)?;
        let files = [(HTML, page::page(pair, answer)), (JSON, answer::json(pair, answer, &self.target, self.seed))];
        for (name, text) in files {
            atomic::write(&self.dir.join(name), text.as_bytes()).map_err(Error::from_source)?;
        }
        Ok(())
    }

    /// The path of the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Closes the directory.
    ///
    /// # Errors
    /// The first failure to write during the search.
    pub fn close(self) -> Result<(), Error> {
        self.failure.map_or(Ok(()), Err)
    }
}

/// Returns whether the worst input of a run still has the same result and error.
fn is_reproducible(pair: &mut Pair, options: &Options, run: &Answer) -> bool {
    let fits = run.fits(&pair.inputs);
    fits && run.found.last().or(run.wrong.first()).is_none_or(|found| holds(pair, options, found))
}

/// Locks the directory against other processes until the file is dropped. Has no effect on a file system without locks.
fn lock_directory(dir: &Path) -> Result<File, Error> {
    let file = own::open(&dir.join(LOCK)).map_err(|e| failed(dir, "cannot be written as output directory", e))?;
    let _ = file.lock();
    Ok(file)
}

fn other(dir: &Path, known: &Identity) -> Error {
    let arguments = known.arguments.join("', '");
    let arguments = if arguments.is_empty() { arguments } else { format!(" with '{arguments}'") };
    let exact = if known.exact { " --exact" } else { "" };
    let errno = if known.errno { " --errno" } else { "" };
    let scope = format!("{:?}", known.scope).to_lowercase();
    at(
        dir,
        format!(
            "contains runs of a different comparison: {} of {} against {}, {} in {}{arguments}{exact}{errno}, \
             --search {}, \
             --scope {}; give another -o",
            known.function, known.target, known.reference, known.result, known.unit, known.search, scope
        ),
    )
}

/// Reads the results of a seed. A damaged file is renamed, and the run starts from nothing.
fn read_or_set_aside(path: &Path) -> Result<Run, Error> {
    match read(path) {
        Ok(run) => Ok(run.unwrap_or_default()),
        Err(e) => {
            let aside = path.with_extension("json.unreadable");
            fs::rename(path, &aside).map_err(|_| e)?;
            errln!(
                "penfuzz: {} is damaged and was renamed to {}; this seed starts from scratch",
                path.display(),
                aside.display()
            );
            Ok(Run::default())
        }
    }
}

/// Reads one of these files; `None` if it does not exist.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    let bytes = match foreign::read_own(path, LONGEST) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(path, "cannot be read", e)),
    };
    let parsed = serde_json::from_slice(&bytes);
    parsed.map(Some).map_err(|e| failed(path, "was not written by penfuzz; remove it, or give another -o", e.into()))
}

fn write(path: &Path, content: &impl Serialize, is_durable: bool) -> io::Result<()> {
    let bytes = serde_json::to_vec(content)?;
    if is_durable { atomic::write(path, &bytes) } else { atomic::replace(path, &bytes) }
}
