//! Selects the sources that a test program is linked from: those of the target that the function under test needs.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use penfuzz_executor::Evaluator;

use penfuzz_report::model::Compilation;

/// The real paths of the needed sources; `None` if they are not known, so that all sources are kept.
pub struct NeededSources(Option<HashSet<PathBuf>>);

impl NeededSources {
    /// Returns the sources that the evaluator's function needs.
    #[must_use]
    pub fn by(evaluator: &Evaluator) -> Self {
        Self(evaluator.needed_units().map(|units| units.iter().map(|u| real(Path::new(u))).collect()))
    }

    /// Returns the needed ones of these sources.
    #[must_use]
    pub fn sources(&self, all: &[PathBuf]) -> Vec<String> {
        self.of(all, PathBuf::as_path).iter().map(|p| p.display().to_string()).collect()
    }

    /// Returns the needed ones of these compilations.
    #[must_use]
    pub fn compilations(&self, all: &[Compilation]) -> Vec<Compilation> {
        self.of(all, |c| Path::new(&c.source))
    }

    /// Returns the needed elements. Returns all of them if a needed source is not among them: a source that is not
    /// text, such as bitcode, records the path of the text from which it was made.
    fn of<T: Clone>(&self, all: &[T], path: impl Fn(&T) -> &Path) -> Vec<T> {
        let Some(needed) = &self.0 else { return all.to_vec() };
        let real: Vec<_> = all.iter().map(|one| real(path(one))).collect();
        if !needed.iter().all(|unit| real.contains(unit)) {
            return all.to_vec();
        }
        all.iter().zip(&real).filter(|(_, real)| needed.contains(*real)).map(|(one, _)| one.clone()).collect()
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn only_needed_sources_are_linked() {
        let needed = NeededSources(Some(paths(&["/no/a.c", "/no/c.c"]).into_iter().collect()));
        assert_eq!(needed.sources(&paths(&["/no/a.c", "/no/b.c", "/no/c.c"])), ["/no/a.c", "/no/c.c"]);
    }

    #[test]
    fn all_are_kept_when_a_needed_one_is_not_among_them() {
        let all = paths(&["/no/a.bc", "/no/b.c"]);
        let names = ["/no/a.bc", "/no/b.c"];
        assert_eq!(NeededSources(Some(paths(&["/no/a.c"]).into_iter().collect())).sources(&all), names);
        assert_eq!(NeededSources(None).sources(&all), names);
    }
}
