//! The functions of a file that can be recorded, from the tables of pen-cc.

use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    rc::Rc,
};

use object::{Object, ObjectSection, ObjectSegment, ReadCache, SegmentFlags, elf};
use penfuzz_directory::replay::expendable::in_child;
use penfuzz_error::Error;
use penfuzz_system::errln;
use penfuzz_target::{
    program::{Target, names::is_of_library},
    recorded::Signature,
};
use serde::{Deserialize, Serialize};

use super::address_space::{Mapping, file_of};

/// The section with the function table of pen-cc.
const TABLE: &str = "pen_functions";

/// A function whose calls can be recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recordable {
    /// Its name for the linker.
    pub(crate) symbol: String,
    /// The address of its first instruction, from the address at which its file is loaded.
    pub(crate) offset: u64,
    /// Where its arguments are.
    pub(crate) signature: Signature,
}

/// A file that pen-cc has linked.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    pub(crate) functions: Vec<Rc<Recordable>>,
    /// The executable segments: offset in the file, and address.
    segments: Vec<(u64, u64)>,
}

impl Program {
    /// The address at which the file is loaded, if this mapping is one of its segments.
    pub(crate) fn base(&self, mapping: &Mapping) -> Option<u64> {
        let page = |n: u64| n & !0xfff;
        let (_, address) = self.segments.iter().find(|(offset, _)| page(*offset) == mapping.offset)?;
        mapping.start.checked_sub(page(*address))
    }
}

/// The files that traced programs consist of. Each is examined once.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    known: HashMap<(u64, u64), Option<Rc<Program>>>,
}

impl Programs {
    /// The paths of the files that pen-cc has linked, in alphabetical order.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let paths: BTreeSet<&PathBuf> = self.known.values().flatten().map(|program| &program.path).collect();
        paths.into_iter().cloned().collect()
    }

    /// The file of a mapping, if pen-cc has linked it.
    pub(crate) fn of(&mut self, mapping: &Mapping) -> Option<Rc<Program>> {
        let path = file_of(mapping)?;
        let identity = fs::metadata(&path).map(|m| (m.dev(), m.ino())).ok()?;
        let examine = || examined(&path).map(Rc::new);
        self.known.entry(identity).or_insert_with(examine).clone()
    }
}

fn examined(path: &Path) -> Option<Program> {
    let segments = segments(path)?;
    match in_child(path, || recordable(path)) {
        Ok(functions) => Some(Program {
            path: path.to_path_buf(),
            functions: functions.into_iter().map(Rc::new).collect(),
            segments,
        }),
        Err(e) => {
            errln!("penfuzz: nothing is recorded of {}: {e}", path.display());
            None
        }
    }
}

/// The executable segments of a file with tables; `None` for any other file. Reads the headers only.
fn segments(path: &Path) -> Option<Vec<(u64, u64)>> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&cache).ok()?;
    if !file.sections().any(|s| s.name() == Ok(TABLE)) {
        return None;
    }
    let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags } if p_flags & elf::PF_X != 0);
    Some(file.segments().filter(|s| is_code(s.flags())).map(|s| (s.file_range().0, s.address())).collect())
}

/// The functions with branches whose arguments can be read.
fn recordable(path: &Path) -> Result<Vec<Recordable>, Error> {
    let target = Target::load(path)?;
    let base = target.base();
    let own = target.functions.iter().filter(|f| {
        let is_tested = !f.sites.is_empty() && !f.is_program() && !f.is_harness();
        is_tested && !f.address.is_null() && !is_of_library(&f.name, &f.file)
    });
    let recordable = own.filter_map(|f| {
        let offset = (f.address as u64).checked_sub(base)?;
        Some(Recordable { symbol: f.symbol.clone(), offset, signature: Signature::of(&target, f)? })
    });
    Ok(recordable.collect())
}
