//! The directory to which source paths in files for continuous integration are relative. A service knows its own
//! checkout, but not the directories of the machine that ran the tests.

use std::{
    env,
    path::{Path, PathBuf},
};

use penfuzz_system::files::tidy;

/// Name of the entry that marks the root of a checkout: a directory, or a file in a work tree or a submodule.
const GIT_ENTRY: &str = ".git";

/// The root of the sources: the nearest directory that contains `.git`, from the current directory upwards; if there is
/// none, the current directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRoot {
    /// The directory to which relative paths of sources refer.
    current: PathBuf,
    root: PathBuf,
}

impl SourceRoot {
    /// The root for the current directory.
    #[must_use]
    pub fn current() -> Self {
        Self::of(&env::current_dir().unwrap_or_else(|_| PathBuf::from("/")))
    }

    /// The root for a directory, which must be absolute.
    #[must_use]
    pub fn of(directory: &Path) -> Self {
        let marked = directory.ancestors().find(|dir| dir.join(GIT_ENTRY).symlink_metadata().is_ok());
        Self { current: directory.to_owned(), root: marked.unwrap_or(directory).to_owned() }
    }

    /// The absolute path of the root.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The path of a source relative to the root; `None` for a file outside the root. Symbolic links are not resolved,
    /// because a compiler records the file names that it was given.
    #[must_use]
    pub fn relative(&self, file: &str) -> Option<PathBuf> {
        let path = self.absolute(file);
        let inside = path.strip_prefix(&self.root).ok()?;
        (!inside.as_os_str().is_empty()).then(|| inside.to_owned())
    }

    /// The absolute path of a source, without `.` and `..`.
    #[must_use]
    pub fn absolute(&self, file: &str) -> PathBuf {
        tidy(&self.current.join(file))
    }

    /// The relative path as text, or the absolute path of a file outside the root.
    #[must_use]
    pub fn name(&self, file: &str) -> String {
        self.relative(file).unwrap_or_else(|| self.absolute(file)).to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn paths_are_relative_to_the_checkout() {
        let dir = tempfile::tempdir().unwrap();
        let checkout = dir.path().join("checkout");
        fs::create_dir_all(checkout.join("build/debug")).unwrap();
        fs::write(checkout.join(GIT_ENTRY), "gitdir: elsewhere").unwrap();
        let root = SourceRoot::of(&checkout.join("build/debug"));
        assert_eq!(root.path(), checkout);
        let inside = checkout.join("src/a.c").display().to_string();
        for (file, name) in [(inside.as_str(), "src/a.c"), ("../../src/./b.c", "src/b.c"), ("c.c", "build/debug/c.c")] {
            assert_eq!(root.name(file), name);
        }
        for (file, name) in [("/usr/include/math.h", "/usr/include/math.h"), ("/../x.c", "/x.c")] {
            assert_eq!((root.name(file).as_str(), root.relative(file)), (name, None));
        }
    }

    #[test]
    fn without_a_checkout_the_current_directory_is_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = SourceRoot::of(dir.path());
        assert_eq!((root.path(), root.name("a.c").as_str()), (dir.path(), "a.c"));
    }
}
