//! The output directory of an experiment. Finished trials stay in it; unfinished ones are run again.
//!
//! ```text
//! DIR/experiment.json                        the functions, the tools and the protocol
//! DIR/trials/FUNCTION/TOOL/N/trial.json      a finished trial: written last, durably and atomically
//! DIR/trials/FUNCTION/TOOL/N/corpus.csv      its inputs: time of the find in ms, bytes in hex
//! DIR/running/                               running trials; removed afterwards
//! ```

use std::{
    fmt::Write,
    fs::{self, File},
    path::{Path, PathBuf},
};

use penfuzz_directory::output::directory;
use penfuzz_error::{
    Error, at,
    context::{Context, Result},
};
use penfuzz_system::files::{atomic, foreign};

use super::{
    corpus::Stamped,
    model::{Experiment, FunctionInfo, SCHEMA, ToolInfo, Trial},
};

/// The file that identifies the directory of an experiment.
pub const EXPERIMENT: &str = "experiment.json";
const TRIAL: &str = "trial.json";

/// The output directory of an experiment, locked as long as the experiment runs.
#[derive(Debug)]
pub struct Archive {
    dir: PathBuf,
    /// Released with the archive.
    _lock: File,
}

impl Archive {
    /// Opens or creates the directory.
    ///
    /// # Errors
    /// It cannot be written to, is in use, or is not the directory of an experiment.
    pub fn open(dir: &Path) -> Result<Self> {
        directory::refuse_foreign(dir, &[EXPERIMENT, directory::LOCK])?;
        let lock = directory::lock(dir, std::process::id())?;
        let archive = Self { dir: dir.to_path_buf(), _lock: lock };
        // Left over by an experiment that was killed.
        let work = archive.work();
        if work.exists() {
            fs::remove_dir_all(&work).context(|| format!("cannot remove {}", work.display()))?;
        }
        fs::create_dir_all(&work).context(|| format!("cannot create {}", work.display()))?;
        Ok(archive)
    }

    /// The path of the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directory for running trials.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.dir.join("running")
    }

    /// Removes the files of running trials. Files that cannot be removed now are removed by the next experiment.
    pub fn tidy(&self) {
        let _ = fs::remove_dir_all(self.work());
    }

    /// Continues the experiment in the directory, or starts this one.
    ///
    /// # Errors
    /// The directory holds an experiment with other budgets, seeds or versions: the trials are not comparable.
    pub fn begin(&self, experiment: &Experiment) -> Result<()> {
        if let Some(old) = read_experiment(&self.dir)?
            && let Some(difference) = difference(&old, experiment)
        {
            return Err(at(&self.dir, format!("holds another experiment ({difference}); give another -o")));
        }
        self.save(experiment)
    }

    /// Writes `experiment.json`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&self, experiment: &Experiment) -> Result<()> {
        let text = serde_json::to_vec_pretty(experiment).context(|| "cannot describe the experiment".to_owned())?;
        atomic::write(&self.dir.join(EXPERIMENT), &text).map_err(Error::from_source)
    }

    /// Stores a finished trial and its corpus.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn keep(&self, trial: &Trial, corpus: &[Stamped]) -> Result<()> {
        let dir = place(&self.dir, &trial.function, &trial.tool, trial.trial);
        fs::create_dir_all(&dir).context(|| format!("cannot create {}", dir.display()))?;
        let text = serde_json::to_vec(trial).context(|| "cannot describe a trial".to_owned())?;
        let write = |name: &str, bytes: &[u8]| atomic::write(&dir.join(name), bytes);
        write("corpus.csv", corpus_text(corpus).as_bytes())
            .and_then(|()| write(TRIAL, &text))
            .map_err(Error::from_source)
    }

    /// Reads a finished trial.
    #[must_use]
    pub fn find(&self, function: &str, tool: &str, number: u32) -> Option<Trial> {
        find(&self.dir, function, tool, number)
    }
}

fn place(dir: &Path, function: &str, tool: &str, number: u32) -> PathBuf {
    dir.join("trials").join(function).join(tool).join(number.to_string())
}

fn find(dir: &Path, function: &str, tool: &str, number: u32) -> Option<Trial> {
    let path = place(dir, function, tool, number).join(TRIAL);
    let bytes = foreign::read_own(&path, foreign::LONGEST_TEXT).ok()?;
    serde_json::from_slice::<Trial>(&bytes).ok().filter(|t| t.schema == SCHEMA)
}

/// Reads the finished trials of an experiment, in the order of its functions and tools.
#[must_use]
pub fn read_trials(dir: &Path, experiment: &Experiment) -> Vec<Trial> {
    let of = |function: &FunctionInfo, tool: &ToolInfo| {
        (0..experiment.trials).filter_map(|n| find(dir, &function.name, &tool.name, n)).collect::<Vec<_>>()
    };
    let tools = |f| experiment.tools.iter().flat_map(move |t| of(f, t));
    experiment.functions.iter().flat_map(tools).collect()
}

/// Reads the experiment of a directory; `None` if there is none.
///
/// # Errors
/// `experiment.json` cannot be read.
pub fn read_experiment(dir: &Path) -> Result<Option<Experiment>> {
    let path = dir.join(EXPERIMENT);
    if !path.exists() {
        return Ok(None);
    }
    let bytes =
        foreign::read_own(&path, foreign::LONGEST_TEXT).context(|| format!("cannot read {}", path.display()))?;
    let experiment = serde_json::from_slice(&bytes)
        .context(|| format!("{} is not a description of an experiment of this version", path.display()))?;
    Ok(Some(experiment))
}

/// Returns why the trials of both are not comparable; `None` if they are. The functions, tools and number of trials may
/// differ.
fn difference(old: &Experiment, new: &Experiment) -> Option<String> {
    if old.budget != new.budget {
        return Some("with another budget".to_owned());
    }
    if old.without_seeds != new.without_seeds {
        return Some("with other seed inputs".to_owned());
    }
    if old.seed != new.seed {
        return Some(format!("with seed {}", old.seed));
    }
    if old.suites != new.suites {
        return Some(format!("on {}", old.suites.join(", ")));
    }
    for tool in old.tools.iter().filter(|t| t.skipped.is_none()) {
        let same = new.tools.iter().find(|t| t.name == tool.name && t.skipped.is_none());
        if let Some(now) = same.filter(|now| now.version != tool.version) {
            return Some(format!("with {} instead of {}", tool.version, now.version));
        }
    }
    None
}

fn corpus_text(corpus: &[Stamped]) -> String {
    let mut out = String::from("milliseconds,bytes\n");
    for input in corpus {
        let _ = write!(out, "{},", input.at.as_millis());
        for byte in &input.bytes {
            let _ = write!(out, "{byte:02x}");
        }
        out.push('\n');
    }
    out
}
