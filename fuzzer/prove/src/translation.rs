//! Compiles the sources of a target again, so that the pass writes the translation of the functions with open branches
//! (`pass/smt/`).
//!
//! The bitcode of other sources is linked into a source with such a function. So the translation knows the definitions
//! of the functions that it calls.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use penfuzz_cc::Compile;
use penfuzz_error::{Error, failed};
use penfuzz_system::{files::foreign, process::interrupts};

use penfuzz_system::process::run;

use super::{slice::Translation, world::World};

/// Environment variables that the pass reads.
const DIRECTORY: &str = "PEN_PROOFS";
const SYMBOLS: &str = "PEN_PROOFS_OF";
const INPUTS: &str = "PEN_PROOFS_INPUTS";
const UNWRITTEN: &str = "PEN_PROOFS_UNWRITTEN";
const ROUNDS: &str = "PEN_PROOFS_ROUNDS";
const MUTANTS: &str = "PEN_PROOFS_MUTANTS";
const PATHS: &str = "PEN_PROOFS_PATHS";
const LOOPS: &str = "PEN_PROOFS_LOOPS";
const INSIDE: &str = "PEN_PROOFS_INSIDE";

/// Time limit of one compiler, without the time in which it waits for a processor. A source that takes longer is not
/// translated.
const LONGEST: Duration = Duration::from_mins(1);

/// Maximum number of sources that are linked into each other if the target's file does not record what they call:
/// linking takes as long as compiling all of them.
const MAX_LINKED_SOURCES: usize = 150;

/// A source and the options with which it was compiled.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Its absolute path.
    pub source: PathBuf,
    /// Options of pen-cc.
    pub flags: Vec<String>,
    /// The working directory of the compiler, for relative paths in the options; by default that of this process.
    pub directory: Option<PathBuf>,
}

impl Unit {
    /// The compiler's command line with output `to` and more options.
    fn command(&self, to: &Path, more: impl IntoIterator<Item = String>) -> Option<Command> {
        let mut compile = Compile::new(to)
            .source(&self.source)
            .flags(self.flags.iter().cloned())
            .flag("-c")
            .flags(more)
            .san_cov(false);
        compile.libraries.clear();
        let mut command = compile.command().ok()?;
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        Some(command)
    }
}

/// The mutants to translate.
#[derive(Debug)]
pub struct Mutants {
    /// The option of pen-cc with which they were compiled.
    pub flag: String,
    /// One line per mutant: symbol, number of the mutation point, and number of the mutant.
    pub lines: String,
}

/// What to translate.
#[derive(Debug)]
pub struct TranslationRequest {
    /// The sources of the target.
    pub units: Vec<Unit>,
    /// The source files that define the functions.
    pub files: BTreeSet<PathBuf>,
    /// The linker symbols of the functions.
    pub symbols: BTreeSet<String>,
    /// If set, only these mutants are translated ([`super::mutants`]).
    pub mutants: Option<Mutants>,
    /// If set, only these paths are translated. A line for the pass has the symbol, the number of the path, and
    /// `SITE:BRANCH` for each of its branches.
    pub paths: Option<String>,
    /// Translate also the first iterations of loops.
    pub loops: bool,
    /// If set, the translation of the function with this symbol has also goals about the operations of the functions
    /// that it calls, in the context of these calls.
    pub inside: Option<String>,
    /// The inputs of the campaign set global variables.
    pub has_global_inputs: bool,
    /// Assume that no code outside of the sources writes their variables.
    pub is_closed: bool,
    /// If set, translate only executions with at most this many iterations of each loop and one more: then loops leave
    /// no free values. Otherwise loops are cut.
    pub rounds: Option<u32>,
    /// What the sources define, call and write; `None` if the target's file does not record it.
    pub world: Option<World>,
}

impl TranslationRequest {
    /// The sources that are linked into `unit`: those that define its variables, and with `calls` also those of the
    /// functions that it calls.
    fn needed(&self, unit: &Unit, calls: bool) -> Vec<&Unit> {
        let others = self.units.iter().filter(|other| other.source != unit.source);
        match &self.world {
            _ if !calls && !self.is_closed => Vec::new(),
            Some(world) => {
                let needed = world.needed(&unit.source, &self.symbols, calls);
                let is_needed = |u: &&Unit| fs::canonicalize(&u.source).is_ok_and(|path| needed.contains(&*path));
                others.filter(is_needed).collect()
            }
            None if self.units.len() <= MAX_LINKED_SOURCES => others.collect(),
            None => Vec::new(),
        }
    }
}

/// Translates the functions. With `calls`, the sources that define what a source calls are linked into it; in a closed
/// world those that define its variables always are. A source has no translations if it no longer compiles, or if the
/// compiler needs more than [`LONGEST`].
///
/// # Errors
/// When there is no room for the files.
pub fn translate(wanted: &TranslationRequest, calls: bool) -> Result<Vec<Translation>, Error> {
    let temporary = tempfile::tempdir().map_err(|e| failed(&std::env::temp_dir(), "cannot be written", e))?;
    let own = |unit: &&Unit| fs::canonicalize(&unit.source).is_ok_and(|path| wanted.files.contains(&path));
    let mut first: Vec<&Unit> = wanted.units.iter().filter(own).collect();
    if first.is_empty() {
        first = wanted.units.iter().collect();
    }
    let needed: Vec<_> = first.iter().map(|unit| wanted.needed(unit, calls)).collect();
    let is_needed = |unit: &&Unit| needed.iter().flatten().any(|n| n.source == unit.source);
    let bitcode = bitcode(&wanted.units.iter().filter(is_needed).collect::<Vec<_>>(), temporary.path());
    let mut all = Vec::new();
    for (number, (unit, needed)) in first.into_iter().zip(needed).enumerate() {
        if interrupts::requested() {
            break;
        }
        let is_other = |source: &Path| needed.iter().any(|n| n.source == source);
        let others: Vec<_> = bitcode.iter().filter(|(u, _)| is_other(&u.source)).map(|(u, f)| (*u, f)).collect();
        let to = temporary.path().join(format!("linked{number}"));
        let mut found = one(unit, &others, wanted, &to)?;
        if found.is_empty() && !others.is_empty() {
            // Linking fails if two sources define the same name, or takes too long.
            found = one(unit, &[], wanted, &temporary.path().join(format!("alone{number}")))?;
        }
        all.extend(found);
    }
    Ok(all)
}

/// The translations of one source, with the bitcode files of `others` linked in.
fn one(
    unit: &Unit,
    others: &[(&Unit, &PathBuf)],
    wanted: &TranslationRequest,
    to: &Path,
) -> Result<Vec<Translation>, Error> {
    fs::create_dir(to).map_err(|e| failed(to, "cannot be made", e))?;
    let with = |(_, file): &(&Unit, &PathBuf)| {
        ["-Xclang", "-mlink-bitcode-file", "-Xclang", &file.to_string_lossy()].map(str::to_owned)
    };
    let flag = wanted.mutants.as_ref().map(|mutants| mutants.flag.clone());
    let Some(mut command) = unit.command(&to.join("unused.o"), others.iter().flat_map(with).chain(flag)) else {
        return Ok(Vec::new());
    };
    if let Some(mutants) = &wanted.mutants {
        command.env(MUTANTS, &mutants.lines);
    }
    if let Some(paths) = &wanted.paths {
        // Outside of `to`, whose files are read below.
        let file = to.with_extension("paths");
        fs::write(&file, paths).map_err(|e| failed(&file, "cannot be written", e))?;
        command.env(PATHS, file);
    }
    let symbols: Vec<&str> = wanted.symbols.iter().map(String::as_str).collect();
    command.env(DIRECTORY, to).env(SYMBOLS, symbols.join("\n"));
    if let Some(rounds) = wanted.rounds {
        command.env(ROUNDS, rounds.to_string());
    }
    if wanted.loops {
        command.env(LOOPS, "any");
    }
    if let Some(symbol) = &wanted.inside {
        command.env(INSIDE, symbol);
    }
    if wanted.has_global_inputs {
        command.env(INPUTS, "any");
    }
    if let Some(world) = wanted.world.as_ref().filter(|_| wanted.is_closed) {
        let sources = others.iter().map(|(other, _)| other.source.as_path()).chain([unit.source.as_path()]);
        command.env(UNWRITTEN, world.unwritten(sources).into_iter().collect::<Vec<_>>().join("\n"));
    }
    if !run::compiles(command, LONGEST) {
        return Ok(Vec::new());
    }
    let names = foreign::names(to).map_err(|e| failed(to, "cannot be read", e))?;
    let texts = names.iter().filter_map(|name| fs::read_to_string(to.join(name)).ok());
    Ok(texts.filter_map(|text| Translation::read(&text)).collect())
}

/// Compiles each source to bitcode in parallel, without LLVM passes. Sources that fail are left out.
fn bitcode<'a>(units: &[&'a Unit], dir: &Path) -> Vec<(&'a Unit, PathBuf)> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = units.get(number).filter(|_| !interrupts::requested()) else { break };
            let file = dir.join(format!("{number}.bc"));
            let command = unit.command(&file, ["-emit-llvm", "-Xclang", "-disable-llvm-passes"].map(str::to_owned));
            if command.is_some_and(|command| run::compiles(command, LONGEST)) {
                done.lock().unwrap_or_else(PoisonError::into_inner).push((number, file));
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(units.len());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable();
    done.into_iter().map(|(number, file)| (units[number], file)).collect()
}
