//! Builds the replay program of a function.

use std::{
    fs,
    path::{Path, PathBuf},
};

use object::{Object, ObjectSymbol};
use penfuzz_directory::object::{Compiler, without_main};
use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_system::files::atomic;
use tempfile::TempDir;

use super::super::{
    harness,
    subject::Subject,
    toolchain::{Objects, Toolchain},
};

/// The source of `main` and of the target's limits.
const REPLAY: &str = include_str!("replay.c");

/// The file with gcc's counters is compiled to `NAME.o`; `replay.c` uses the same name.
const MEASURED: &str = "measured";

/// A linked replay program and the addresses of its counters.
#[derive(Debug)]
pub(super) struct Program {
    /// The temporary directory of the program and gcc's notes.
    directory: TempDir,
    /// For each array of counters, its address minus that of `main`, and its size in bytes.
    counters: Vec<(i64, u64)>,
    name: String,
}

impl Program {
    /// Compiles and links the program.
    pub(super) fn build(subject: &Subject, cache: &Path, scratch: &Path) -> Result<Self> {
        for directory in [cache, scratch] {
            fs::create_dir_all(directory).context(|| format!("cannot create {}", directory.display()))?;
        }
        let directory = tempfile::Builder::new()
            .prefix("referee-")
            .tempdir_in(scratch)
            .context(|| format!("cannot write to {}", scratch.display()))?;
        // Only g++ links the C++ library by itself.
        let compiler = Compiler { cxx: "g++".into(), ..Compiler::gcc() };
        let plain = compiler.clone();
        let toolchain = Toolchain { compiler, plain, instrument: Vec::new(), link: vec!["--coverage".to_owned()] };
        let mut linked = compile(subject, &toolchain.compiler, directory.path())?;
        let flags = subject.flags();
        linked.push(replay(&toolchain.compiler, cache)?);
        linked.extend(toolchain.cached(&subject.linked(), &flags, &[], cache)?);
        let archived = toolchain.cached(&subject.archived(), &flags, &[], cache)?;
        toolchain.link(subject, &Objects { linked, archived }, directory.path())?;
        let counters = counters(&directory.path().join("target"))?;
        Ok(Self { directory, counters, name: subject.name.clone() })
    }

    /// The directory of the program.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The executable.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("target")
    }

    /// gcc's notes on the file with counters.
    pub(super) fn notes(&self) -> PathBuf {
        self.directory.path().join(MEASURED).with_extension("gcno")
    }

    /// For each array of counters, its address minus that of `main`, and its size in bytes.
    pub(super) fn counters(&self) -> &[(i64, u64)] {
        &self.counters
    }

    /// The name of the subject.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// Compiles harness and function. Returns the objects.
fn compile(subject: &Subject, gcc: &Compiler, directory: &Path) -> Result<Vec<PathBuf>> {
    let (file, flags) = (subject.file(), subject.flags());
    let mut report = subject.report.clone();
    report.signature.set_source(&file);
    let measured = directory.join(MEASURED).with_extension("o");
    let mut objects = vec![measured.clone()];
    let harness = directory.join(harness::file_name(&report));
    let text = harness::text(&report);
    if let Some(text) = &text {
        fs::write(&harness, text).context(|| format!("cannot write {}", harness.display()))?;
    }
    if let Some(text) = harness::decoder(&report) {
        let decoder = directory.join(harness::DECODER);
        fs::write(&decoder, text).context(|| format!("cannot write {}", decoder.display()))?;
        objects.push(directory.join("decode.o"));
        gcc.compile(&decoder, &objects[1], &[], &[])?;
    }
    if text.is_some() && harness::includes_source(&report) {
        gcc.compile(&harness, &measured, &flags, &["--coverage"])?;
        return Ok(objects);
    }
    gcc.compile(&file, &measured, &flags, &without_main(&file, &["--coverage"]))?;
    if text.is_some() {
        let object = directory.join("harness.o");
        gcc.compile(&harness, &object, &[], &[])?;
        objects.push(object);
    }
    Ok(objects)
}

/// Compiles `replay.c`. Returns the object.
fn replay(gcc: &Compiler, cache: &Path) -> Result<PathBuf> {
    let source = cache.join("replay.c");
    // Written only if it differs: its age decides whether the compiler runs again.
    if !fs::read_to_string(&source).is_ok_and(|old| old == REPLAY) {
        atomic::write(&source, REPLAY.as_bytes()).context(|| "cannot write the replay program".to_owned())?;
    }
    gcc.cached(&source, &[], &[], cache)
}

/// Finds the arrays of [`Program::counters`]. gcc names those of a function `f` `__gcov0.f`.
fn counters(program: &Path) -> Result<Vec<(i64, u64)>> {
    let bytes = fs::read(program).context(|| format!("cannot read {}", program.display()))?;
    let file = object::File::parse(&*bytes).context(|| format!("cannot read {}", program.display()))?;
    let main = file.symbols().find(|s| s.name() == Ok("main")).map(|s| s.address());
    let is_counter = |name: &str| name.starts_with("__gcov0.") || name.starts_with("__gcov0_");
    let found = file.symbols().filter(|s| s.size() > 0 && s.name().is_ok_and(is_counter));
    let found: Vec<_> = found.map(|s| (s.address(), s.size())).collect();
    let Some(main) = main.filter(|_| !found.is_empty()) else {
        bail!("the replay program has no symbols; do the flags strip it?")
    };
    Ok(found.into_iter().map(|(at, size)| (at.wrapping_sub(main).cast_signed(), size)).collect())
}
