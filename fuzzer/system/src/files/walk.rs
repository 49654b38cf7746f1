//! Walks a directory tree that may contain circular symbolic links.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{foreign::MOST_FILES, unfit::Unfit};

/// Maximum number of nested directories.
pub const DEEPEST: usize = 64;

/// The state of a walk.
struct Walk {
    files: Vec<PathBuf>,
    entries: usize,
    /// Device and inode number of each directory from the top to the current one.
    above: Vec<(u64, u64)>,
}

/// The files below `top`, including targets of symbolic links to files; relative to `top`, in no particular order. A
/// link to a directory is followed unless it leads back to a directory above it. Unreadable entries are left out.
///
/// # Errors
/// Returns [`Unfit::TooMany`] for more than [`MOST_FILES`] entries: links that lead to one another multiply the
/// entries. Returns [`Unfit::TooDeep`] for more than [`DEEPEST`] nested directories.
pub fn files_below(top: &Path) -> io::Result<Vec<PathBuf>> {
    let mut walk = Walk { files: Vec::new(), entries: 0, above: Vec::new() };
    walk.enter(top, Path::new(""))?;
    Ok(walk.files)
}

impl Walk {
    fn enter(&mut self, top: &Path, below: &Path) -> io::Result<()> {
        let dir = top.join(below);
        let Ok(about) = fs::metadata(&dir) else { return Ok(()) };
        let here = (about.dev(), about.ino());
        if self.above.contains(&here) {
            return Ok(());
        }
        if self.above.len() == DEEPEST {
            return Err(Unfit::TooDeep(DEEPEST).into());
        }
        self.above.push(here);
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            self.entries += 1;
            if self.entries > MOST_FILES {
                return Err(Unfit::TooMany(MOST_FILES).into());
            }
            let path = below.join(entry.file_name());
            match fs::metadata(top.join(&path)) {
                Ok(about) if about.is_dir() => self.enter(top, &path)?,
                Ok(about) if about.is_file() => self.files.push(path),
                _ => {}
            }
        }
        self.above.pop();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn walked(top: &Path) -> Vec<String> {
        let mut files: Vec<String> =
            files_below(top).unwrap().iter().map(|p| p.to_string_lossy().into_owned()).collect();
        files.sort();
        files
    }

    #[test]
    fn links_in_a_circle_end() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/b/x.c"), "").unwrap();
        for (i, to) in [".", "..", "../a", "b/.."].into_iter().enumerate() {
            symlink(to, at(&format!("a/loop{i}"))).unwrap();
        }
        assert_eq!(walked(dir.path()), ["a/b/x.c"]);
    }

    #[test]
    fn a_link_to_another_tree_is_followed() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(other.path().join("x.c"), "").unwrap();
        symlink(other.path(), dir.path().join("lib")).unwrap();
        symlink(other.path().join("x.c"), dir.path().join("y.c")).unwrap();
        symlink("/nonexistent", dir.path().join("dangling.c")).unwrap();
        assert_eq!(walked(dir.path()), ["lib/x.c", "y.c"]);
    }

    #[test]
    fn a_tree_without_end_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let deep: PathBuf = std::iter::repeat_n("d", DEEPEST + 1).collect();
        fs::create_dir_all(dir.path().join(deep)).unwrap();
        let error = files_below(dir.path()).unwrap_err().to_string();
        assert_eq!(error, "there are more than 64 nested directories");
    }
}
