//! The likely preconditions of all recorded functions, in one file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    rc::Rc,
};

use penfuzz_directory::replay::expendable::in_child;
use penfuzz_error::{Error, failed};
use penfuzz_system::{errln, files::atomic};
use penfuzz_target::{
    inputs::{self, Sizes},
    program::Target,
    recorded::{self, PRECONDITIONS, Precondition, extend_sizes},
};

type Likely = BTreeMap<String, Vec<(Precondition, usize)>>;

/// Finds the conditions that hold for all calls in `dir`, with the tables of these programs, and writes them to the
/// file [`PRECONDITIONS`]. Returns their number.
///
/// # Errors
/// When the file cannot be read or written.
pub fn write_likely(dir: &Path, programs: &[PathBuf]) -> Result<usize, Error> {
    let (mut all, mut known) = (Likely::new(), BTreeSet::new());
    for program in programs {
        match in_child(program, || likely(program, dir, &known)) {
            Ok((found, symbols)) => {
                all.extend(found);
                known.extend(symbols);
            }
            Err(e) => errln!("penfuzz: no preconditions of {}: {e}", program.display()),
        }
    }
    let file = dir.join(PRECONDITIONS);
    let old = match fs::read_to_string(&file) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        old => old.map_err(|e| failed(&file, "cannot be read", e))?,
    };
    atomic::write(&file, recorded::merged(&old, &all).as_bytes()).map_err(Error::from_source)?;
    Ok(all.values().map(Vec::len).sum())
}

/// The conditions of the recorded functions of a program, without those of `known`, and the symbols of these functions.
fn likely(program: &Path, dir: &Path, known: &BTreeSet<String>) -> Result<(Likely, Vec<String>), Error> {
    let mut target = Target::load(program)?;
    let (mut all, mut symbols) = (Likely::new(), Vec::new());
    for i in 0..target.functions.len() {
        let symbol = target.functions[i].symbol.clone();
        let file = recorded::of_symbol(dir, &symbol);
        if known.contains(&symbol) || !file.exists() {
            continue;
        }
        let calls = recorded::read(&file).map_err(|e| failed(&file, "cannot be read", e))?;
        let mut sizes = Sizes::new();
        extend_sizes(&mut target, i, &calls, &mut sizes);
        let f = &target.functions[i];
        let model = if f.frame_call().is_some() { inputs::build(&target, f, &sizes).ok() } else { None };
        target.functions[i].model = model.map(Rc::new);
        let found = recorded::likely(&target.functions[i], &calls);
        if !found.is_empty() {
            all.insert(symbol.clone(), found);
        }
        symbols.push(symbol);
    }
    Ok((all, symbols))
}
