//! Removes from the cache what has not been used for long: compiled targets, and sources that penfuzz wrote itself.

use std::{
    fs::{self, File, FileTimes, Metadata},
    path::Path,
    time::{Duration, SystemTime},
};

/// A file that was neither read nor written for this time is removed.
const UNUSED_FOR: Duration = Duration::from_hours(60 * 24);
/// Time between two examinations of the cache.
const EXAMINED_EVERY: Duration = Duration::from_hours(24);
/// The file whose time is that of the last examination.
const EXAMINED: &str = "examined";
/// The directories of the cache whose files can be made again.
const ROOMS: [&str; 4] = ["targets", "assumed", "formulas", "references"];

/// Notes that a file of the cache is used now. The time of its last change stays: names of other files depend on it.
pub(super) fn note_use(file: &Path) {
    let now = FileTimes::new().set_accessed(SystemTime::now());
    // Without the note it is made again some day.
    let _ = File::open(file).and_then(|file| file.set_times(now));
}

/// Removes what was not used for 60 days, if nobody has done it within a day. What cannot be removed stays.
pub(super) fn remove_unused(cache: &Path) {
    let examined = cache.join(EXAMINED);
    if examined.metadata().is_ok_and(|file| !is_unused(&file, EXAMINED_EVERY)) || fs::write(&examined, "").is_err() {
        return;
    }
    let entries = ROOMS.iter().filter_map(|room| fs::read_dir(cache.join(room)).ok()).flatten().flatten();
    for entry in entries {
        // That of a link, not of what it leads to.
        let Ok(found) = entry.metadata() else { continue };
        if is_unused(&found, UNUSED_FOR) {
            // A directory was left by a compilation that was killed.
            let _ = if found.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        }
    }
}

/// Was it neither read nor written for this time? Not if it is from the future.
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
    fn what_was_not_used_for_long_is_removed_once_a_day() {
        let cache = tempfile::tempdir().unwrap();
        let (targets, solvers) = (cache.path().join("targets"), cache.path().join("solvers"));
        for name in ["old.o", "used.o"] {
            file(&targets, name, 61 * DAY);
        }
        file(&targets, "new.o", 59 * DAY);
        file(&targets.join(".tmp1"), "out.o", Duration::ZERO);
        file(&solvers, "old", 100 * DAY);
        let changed = targets.join("used.o").metadata().unwrap().modified().unwrap();
        note_use(&targets.join("used.o"));
        assert_eq!(targets.join("used.o").metadata().unwrap().modified().unwrap(), changed);

        remove_unused(cache.path());
        assert_eq!(names(&targets), [".tmp1", "new.o", "used.o"]);
        assert_eq!(names(&solvers), ["old"], "what is not made again");

        file(&targets, "old.o", 61 * DAY);
        remove_unused(cache.path());
        assert_eq!(names(&targets), [".tmp1", "new.o", "old.o", "used.o"], "a day later");
        file(cache.path(), EXAMINED, 2 * DAY);
        remove_unused(cache.path());
        assert_eq!(names(&targets), [".tmp1", "new.o", "used.o"]);
    }
}
