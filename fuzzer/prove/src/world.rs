//! What the translation units of a target define, call and write, as the pass records it in the linked file
//! (`pass/smt/world.cc`). With these records only the units that a query needs are compiled again, and variables that
//! no unit writes are known.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use object::{Object, ObjectSection};
use penfuzz_target::program::mapped::MappedFile;

/// The section that contains the records.
const SECTION: &str = "pen_world";
/// The depth of nested calls that are translated (`MostDepth` in `pass/smt/calls.cc`).
const DEPTH: usize = 4;

/// The records of all units of a target.
#[derive(Debug, Default)]
pub struct World {
    units: Vec<Unit>,
    /// The index of the unit that defines an external function or variable, by its name.
    defined: HashMap<String, usize>,
    /// Variables that some unit writes, or whose address it passes on.
    written: HashSet<String>,
    /// Assembly texts. They can name any variable.
    assembly: Vec<String>,
}

#[derive(Debug, Default)]
struct Unit {
    source: PathBuf,
    /// The names that each function refers to.
    functions: HashMap<String, Vec<String>>,
    variables: BTreeSet<String>,
}

impl World {
    /// Reads the linked file at `path`; `None` if it has no records, as one of an older pen-cc.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        let data = MappedFile::open(path).ok()?;
        let file = object::File::parse(&*data).ok()?;
        let world = Self::of(file.section_by_name(SECTION)?.data().ok()?);
        (!world.units.is_empty()).then_some(world)
    }

    fn of(records: &[u8]) -> Self {
        let mut all = Self::default();
        let mut function = String::new();
        for record in records.split(|b| *b == 0).filter(|r| !r.is_empty()) {
            let text = String::from_utf8_lossy(&record[1..]).into_owned();
            if record[0] == b'U' {
                let source = fs::canonicalize(&text).unwrap_or_else(|_| PathBuf::from(&text));
                all.units.push(Unit { source, ..Unit::default() });
                continue;
            }
            let number = all.units.len().wrapping_sub(1);
            let Some(unit) = all.units.get_mut(number) else { continue };
            match record[0] {
                b'F' | b'f' => {
                    if record[0] == b'F' {
                        all.defined.entry(text.clone()).or_insert(number);
                    }
                    unit.functions.entry(text.clone()).or_default();
                    function = text;
                }
                b'R' => unit.functions.entry(function.clone()).or_default().push(text),
                b'V' => {
                    all.defined.entry(text.clone()).or_insert(number);
                    unit.variables.insert(text);
                }
                b'W' => drop(all.written.insert(text)),
                b'A' => all.assembly.push(text),
                _ => {}
            }
        }
        all
    }

    /// Returns true if there are records of all these sources.
    #[must_use]
    pub fn has_all<'a>(&self, mut sources: impl Iterator<Item = &'a Path>) -> bool {
        sources.all(|source| self.unit(source).is_some())
    }

    fn unit(&self, source: &Path) -> Option<usize> {
        let source = fs::canonicalize(source).ok()?;
        self.units.iter().position(|unit| unit.source == source)
    }

    /// The sources of the units, except `source`, that define what the functions `symbols` of `source` refer to,
    /// directly or in nested calls up to the translated depth. Without `calls`, only units that define variables.
    #[must_use]
    pub fn needed(&self, source: &Path, symbols: &BTreeSet<String>, calls: bool) -> BTreeSet<&Path> {
        let Some(own) = self.unit(source) else { return BTreeSet::new() };
        let (mut level, mut seen, mut units) = (Vec::new(), HashSet::new(), BTreeSet::new());
        level.extend(symbols.iter().map(|symbol| (own, symbol.as_str())));
        for depth in 0..=DEPTH {
            for (unit, name) in std::mem::take(&mut level) {
                let Some(references) = self.units[unit].functions.get(name) else { continue };
                if !seen.insert((unit, name)) {
                    continue;
                }
                units.insert(unit);
                for reference in references {
                    let to = if self.units[unit].functions.contains_key(reference) {
                        unit
                    } else if let Some(to) = self.defined.get(reference) {
                        *to
                    } else {
                        continue;
                    };
                    if self.units[to].functions.contains_key(reference) {
                        if depth < DEPTH && (calls || to == own) {
                            level.push((to, reference.as_str()));
                        }
                    } else if self.units[to].variables.contains(reference) {
                        units.insert(to);
                    }
                }
            }
        }
        units.remove(&own);
        units.into_iter().map(|unit| self.units[unit].source.as_path()).collect()
    }

    /// The variables of these sources that no unit writes.
    #[must_use]
    pub fn unwritten<'a>(&self, sources: impl Iterator<Item = &'a Path>) -> BTreeSet<&str> {
        let units = sources.filter_map(|source| Some(&self.units[self.unit(source)?]));
        let is_written = |name: &str| self.written.contains(name) || self.assembly.iter().any(|a| a.contains(name));
        units.flat_map(|unit| &unit.variables).map(String::as_str).filter(|name| !is_written(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes an empty source for each part, with the records of the part.
    fn world(parts: &[&str]) -> (tempfile::TempDir, Vec<PathBuf>, World) {
        let dir = tempfile::tempdir().unwrap();
        let (mut sources, mut records) = (Vec::new(), Vec::new());
        for (number, part) in parts.iter().enumerate() {
            let source = fs::canonicalize(dir.path()).unwrap().join(format!("{number}.c"));
            fs::write(&source, "").unwrap();
            for record in [&format!("U{}", source.display())].into_iter().map(String::as_str).chain(part.split(' ')) {
                records.extend(record.as_bytes());
                records.push(0);
            }
            sources.push(source);
        }
        (dir, sources, World::of(&records))
    }

    fn numbers(sources: &[PathBuf], found: &BTreeSet<&Path>) -> Vec<usize> {
        (0..sources.len()).filter(|n| found.contains(sources[*n].as_path())).collect()
    }

    #[test]
    fn only_units_within_the_depth_of_calls_are_needed() {
        let chain = ["Ff Rg Rfree", "Fg Rh", "Fh Ri", "Fi Rj", "Fj Rk", "Fk Rl", "Fother Rf", "Vversion"];
        let (_dir, sources, world) = world(&chain);
        let symbols = BTreeSet::from(["f".to_owned()]);
        assert_eq!(numbers(&sources, &world.needed(&sources[0], &symbols, true)), [1, 2, 3, 4]);
        let (_dir, sources, world) = self::world(&["Ff Rs fs Rversion", "Vversion fs Rg", "Fg"]);
        let needed = world.needed(&sources[0], &symbols, true);
        assert_eq!(numbers(&sources, &needed), [1], "the static function of the same unit comes first");
        let (_dir, sources, world) = self::world(&["Ff Rg Rversion", "Vversion", "Fg Rother", "Vother"]);
        assert_eq!(numbers(&sources, &world.needed(&sources[0], &symbols, true)), [1, 2, 3]);
        assert_eq!(numbers(&sources, &world.needed(&sources[0], &symbols, false)), [1]);
    }

    #[test]
    fn variables_written_or_named_in_assembly_are_not_unwritten() {
        let (_dir, sources, world) = world(&["Va Vb Vc Vd", "Wa Fg", "Amov\tb,%eax", "Vd"]);
        assert!(world.has_all(sources.iter().map(PathBuf::as_path)));
        assert!(!world.has_all([Path::new("/nowhere.c")].into_iter()));
        assert_eq!(world.unwritten([sources[0].as_path()].into_iter()), BTreeSet::from(["c", "d"]));
        assert!(world.unwritten([sources[1].as_path()].into_iter()).is_empty());
    }
}
