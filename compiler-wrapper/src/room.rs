//! Cache directories whose files can be created again. Files that were unused for a long time are removed.

use std::{
    fs::{self, File, FileTimes, Metadata},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{
    Error,
    directories::{cache_directory, private_directory},
};

/// A file that was neither read nor written for this time is removed.
const UNUSED_FOR: Duration = Duration::from_hours(60 * 24);
/// Time between two examinations of a directory.
const EXAMINED_EVERY: Duration = Duration::from_hours(24);

/// The directory with this name in the cache, for files that can be created again. Files that were not used for 60 days
/// are removed from it, at most once a day.
///
/// # Errors
/// Those of [`cache_directory`] and [`private_directory`].
pub fn cache_room(name: &str) -> Result<PathBuf, Error> {
    let room = cache_directory()?.join(name);
    private_directory(&room)?;
    remove_unused(&room, &room.with_extension("examined"));
    Ok(room)
}

/// Notes that a file of the cache is used now. The time of its last change stays, because names of other files depend
/// on it.
pub fn note_use(file: &Path) {
    let now = FileTimes::new().set_accessed(SystemTime::now());
    // If this fails, the file is only removed earlier and created again.
    let _ = File::open(file).and_then(|file| file.set_times(now));
}

/// Removes unused files. The time of the file `examined` is that of the last examination. Files that cannot be removed
/// stay.
fn remove_unused(room: &Path, examined: &Path) {
    // An explicit mode: with umask 0 others could write it.
    let note = || File::options().write(true).create(true).truncate(true).mode(0o600).open(examined);
    if examined.metadata().is_ok_and(|file| !is_unused(&file, EXAMINED_EVERY)) || note().is_err() {
        return;
    }
    for entry in fs::read_dir(room).into_iter().flatten().flatten() {
        // The metadata of a link itself, not of its target.
        let Ok(found) = entry.metadata() else { continue };
        if is_unused(&found, UNUSED_FOR) {
            // A killed compilation may leave a directory.
            let _ = if found.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        }
    }
}

/// Whether the file was neither read nor written for this time. A time in the future counts as used.
fn is_unused(file: &Metadata, time: Duration) -> bool {
    let last = [file.accessed(), file.modified()].into_iter().filter_map(Result::ok).max();
    last.and_then(|last| last.elapsed().ok()).is_some_and(|age| age >= time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn file(directory: &Path, name: &str, age: Duration) {
        fs::create_dir_all(directory).unwrap();
        let then = SystemTime::now() - age;
        let times = FileTimes::new().set_accessed(then).set_modified(then);
        File::create(directory.join(name)).unwrap().set_times(times).unwrap();
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn unused_cache_files_are_removed_once_a_day() {
        let cache = tempfile::tempdir().unwrap();
        let (targets, examined) = (cache.path().join("targets"), cache.path().join("targets.examined"));
        for name in ["old.o", "used.o"] {
            file(&targets, name, 61 * DAY);
        }
        file(&targets, "new.o", 59 * DAY);
        file(&targets.join(".tmp1"), "out.o", Duration::ZERO);
        let changed = targets.join("used.o").metadata().unwrap().modified().unwrap();
        note_use(&targets.join("used.o"));
        assert_eq!(targets.join("used.o").metadata().unwrap().modified().unwrap(), changed);

        remove_unused(&targets, &examined);
        assert_eq!(names(&targets), [".tmp1", "new.o", "used.o"]);

        file(&targets, "old.o", 61 * DAY);
        remove_unused(&targets, &examined);
        assert_eq!(names(&targets), [".tmp1", "new.o", "old.o", "used.o"], "on the same day");
        file(cache.path(), "targets.examined", 2 * DAY);
        remove_unused(&targets, &examined);
        assert_eq!(names(&targets), [".tmp1", "new.o", "used.o"]);

        file(&targets, "old.o", 61 * DAY);
        remove_unused(&targets, &examined);
        assert_eq!(names(&targets), [".tmp1", "new.o", "old.o", "used.o"], "examined a moment ago");
    }
}
