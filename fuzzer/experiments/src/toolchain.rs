//! Builds a subject with the compiler of a tool. Harness and function are linked with an archive of the support files,
//! so that the program contains only functions that are called. Compiled files are kept in a cache.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use penfuzz_directory::object::{Compiler, finish, without_main};
use penfuzz_error::context::{Context, Result};
use penfuzz_report::c_text::is_cxx;
use penfuzz_system::files::atomic;
use serde::{Deserialize, Serialize};

use super::{harness, model::seconds, subject::Subject};

/// The programs that a tool runs on one function.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Built {
    /// The programs, in an order that the tool defines.
    pub programs: Vec<PathBuf>,
    /// The time it took to build them, in seconds, when they were built.
    pub seconds: f64,
}

/// A way to build a program.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// The compiler of the function and of the files it needs, and of the link.
    pub compiler: Compiler,
    /// The compiler of the harness, without instrumentation: its branches do not belong to the function.
    pub plain: Compiler,
    /// Flags for the function's file and the support files, after those of the suite.
    pub instrument: Vec<String>,
    /// Flags for the link.
    pub link: Vec<String>,
}

impl Toolchain {
    /// Builds the program of a subject, with the harness. Its `main` comes with the link flags, as libFuzzer's does.
    ///
    /// # Errors
    /// A file does not compile, or it does not link.
    pub fn build(&self, subject: &Subject, cache: &Path) -> Result<Built> {
        let began = Instant::now();
        let directory = cache.join(format!("{:016x}", self.key(subject)));
        let program = directory.join("target");
        let objects = cache.join("objects");
        // Objects are always requested: if they differ from those of the cached program, a source has changed.
        let made = self.objects(subject, &objects, &directory)?;
        let list: Vec<_> = made.linked.iter().chain(&made.archived).cloned().collect();
        let note = directory.join("build.json");
        let had = fs::read(&note).ok().and_then(|bytes| serde_json::from_slice::<Note>(&bytes).ok());
        if let Some(had) = had.filter(|had| had.objects == list && program.is_file()) {
            return Ok(Built { programs: vec![program], seconds: had.seconds });
        }
        let aside = tempfile::tempdir_in(&directory).context(|| format!("cannot write to {}", directory.display()))?;
        self.link(subject, &made, aside.path())?;
        fs::rename(aside.path().join("target"), &program).context(|| format!("cannot write {}", program.display()))?;
        let new = Note { objects: list, seconds: seconds(began.elapsed()) };
        let text = serde_json::to_vec(&new).context(|| "cannot describe a build".to_owned())?;
        atomic::write(&note, &text).context(|| "cannot finish a build".to_owned())?;
        Ok(Built { programs: vec![program], seconds: new.seconds })
    }

    fn key(&self, subject: &Subject) -> u64 {
        let mut hash = self.compiler.hash();
        hash.texts(&self.instrument).texts(&self.link).bytes(subject.file().as_os_str().as_encoded_bytes());
        hash.text(&subject.report.function).texts(&subject.flags()).texts(subject.libs()).finish()
    }

    /// Returns the objects of the program; compiles those that are not in the cache.
    fn objects(&self, subject: &Subject, cache: &Path, directory: &Path) -> Result<Objects> {
        fs::create_dir_all(directory).context(|| format!("cannot create {}", directory.display()))?;
        let flags = subject.flags();
        let instrument: Vec<&str> = self.instrument.iter().map(String::as_str).collect();
        let (file, mut all) = (subject.file(), Vec::new());
        let mut report = subject.report.clone();
        report.signature.set_source(&file);
        let includes = harness::includes_source(&report);
        if let Some(text) = harness::text(&report) {
            let path = write(directory.join(harness::file_name(&report)), &text)?;
            all.push(if includes {
                self.compiler.cached(&path, &flags, &instrument, cache)?
            } else {
                self.plain.cached(&path, &[], &[], cache)?
            });
        }
        if let Some(text) = harness::decoder(&report) {
            let path = write(directory.join(harness::DECODER), &text)?;
            all.push(self.plain.cached(&path, &[], &[], cache)?);
        }
        if !includes {
            all.push(self.compiler.cached(&file, &flags, &without_main(&file, &instrument), cache)?);
        }
        let archived = self.cached(&subject.archived(), &flags, &instrument, cache)?;
        all.extend(self.cached(&subject.linked(), &flags, &instrument, cache)?);
        Ok(Objects { linked: all, archived })
    }

    pub(super) fn cached(
        &self,
        sources: &[PathBuf],
        flags: &[String],
        options: &[&str],
        cache: &Path,
    ) -> Result<Vec<PathBuf>> {
        sources.iter().map(|s| self.compiler.cached(s, flags, options, cache)).collect()
    }

    /// Links `directory/target`.
    pub(super) fn link(&self, subject: &Subject, objects: &Objects, directory: &Path) -> Result<()> {
        let cxx = is_cxx(&subject.file()) || subject.support().iter().any(|f| is_cxx(f));
        let mut command = self.compiler.command(cxx);
        command.args(&objects.linked).args(&self.link);
        if !objects.archived.is_empty() {
            let archive = directory.join("support.a");
            let mut ar = Command::new("ar");
            ar.arg("rcs").arg(&archive).args(&objects.archived);
            finish(ar, || "ar cannot make an archive".to_owned())?;
            command.arg(archive);
        }
        command.args(subject.libs()).arg("-lm").arg("-o").arg(directory.join("target"));
        finish(command, || format!("the program of {} cannot be linked", subject.name)).map(drop)
    }
}

/// Writes a file only if it differs: its age decides whether the compiler runs again.
fn write(path: PathBuf, text: &str) -> Result<PathBuf> {
    if !fs::read_to_string(&path).is_ok_and(|old| old == text) {
        fs::write(&path, text).context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(path)
}

/// The record of a program in the cache.
#[derive(Serialize, Deserialize)]
struct Note {
    /// The objects that it was linked from; it is linked again if they differ.
    objects: Vec<PathBuf>,
    /// The time it took to build it.
    seconds: f64,
}

/// Compiled files.
pub(super) struct Objects {
    /// Always linked.
    pub(super) linked: Vec<PathBuf>,
    /// Linked if the program calls a function in them.
    pub(super) archived: Vec<PathBuf>,
}
