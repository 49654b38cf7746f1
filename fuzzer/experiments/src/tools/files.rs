//! The files that a tool reads and writes: seeds, inputs, logs.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs::{self, Metadata},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{super::corpus::Stamped, Work};

/// Distance between the seeds of one trial's starts; no two trials of an experiment share a seed.
const SEED_STEP: u64 = 1_000_003;

/// Returns the seed of this start of a trial.
#[must_use]
pub fn seed(work: &Work) -> u64 {
    work.seed.wrapping_add(u64::from(work.restarts).wrapping_mul(SEED_STEP))
}

/// Adds the files of a directory for which `at` returns a time. A missing directory has none.
///
/// # Errors
/// Those of the file system.
pub fn add(
    all: &mut Vec<Stamped>,
    directory: &Path,
    at: impl Fn(&str, &Metadata) -> Option<Duration>,
) -> io::Result<()> {
    for (name, path) in list(directory)? {
        let input = fs::metadata(&path).and_then(|about| Ok((fs::read(&path)?, about)));
        match input {
            Ok((bytes, about)) => all.extend(at(&name, &about).map(|at| Stamped { at, bytes })),
            // Tools may rename and delete files while they are being ended.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Returns the corpus of a tool whose file names have no times: its inputs, its crashing inputs (files with this
/// prefix), and the seeds.
///
/// # Errors
/// Those of the file system.
pub fn dated(work: &Work, found: &Path, crashes: &Path, prefix: &str) -> io::Result<Vec<Stamped>> {
    let mut all = Vec::new();
    let age = |about: &Metadata| Some(written(about, work.began));
    add(&mut all, found, |_, about| age(about))?;
    add(&mut all, crashes, |name, about| age(about).filter(|_| name.starts_with(prefix)))?;
    add_seeds(&mut all, work.seeds)?;
    Ok(all)
}

/// Returns the inputs in these directories, of a tool whose file names have times ([`time_in`]).
///
/// The tool's own clock starts when its search begins. The clock of the trial starts with its process, as it does for
/// tools whose only times are those at which files were written. So the tool's start-up time is added to every time. It
/// is the shortest time from the time in a name to the one at which the file was written: that may be later, because
/// AFL++ writes a file again when it trims the input. A file without a time in its name was found when it was written.
///
/// # Errors
/// Those of the file system.
pub fn named(work: &Work, directories: &[PathBuf], is_input: impl Fn(&str) -> bool) -> io::Result<Vec<Stamped>> {
    let mut all = Vec::new();
    let mut own = Vec::new();
    for directory in directories {
        let times = RefCell::new(&mut own);
        add(&mut all, directory, |name, about| {
            let at = is_input(name).then(|| written(about, work.began))?;
            times.borrow_mut().push(time_in(name));
            Some(at)
        })?;
    }
    move_to_own(&mut all, &own);
    Ok(all)
}

/// Replaces the time of each input by that in its name, if there is one, plus the shortest time until a file was
/// written.
fn move_to_own(all: &mut [Stamped], own: &[Option<Duration>]) {
    let lags = all.iter().zip(own).filter_map(|(input, own)| Some(input.at.saturating_sub((*own)?)));
    let start_up = lags.min().unwrap_or_default();
    for (input, own) in all.iter_mut().zip(own) {
        input.at = own.map_or(input.at, |own| own + start_up);
    }
}

/// Adds the seeds that a tool did not copy: it has them from the start.
///
/// # Errors
/// Those of the file system.
pub fn add_seeds(all: &mut Vec<Stamped>, seeds: &Path) -> io::Result<()> {
    let had: BTreeSet<_> = all.iter().map(|input| input.bytes.clone()).collect();
    let mut more = Vec::new();
    add(&mut more, seeds, |_, _| Some(Duration::ZERO))?;
    all.extend(more.into_iter().filter(|input| !had.contains(&input.bytes)));
    Ok(())
}

/// Returns the files in a directory by name, without hidden ones; empty if there is no directory.
fn list(directory: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(directory) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && entry.path().is_file() {
            all.push((name, entry.path()));
        }
    }
    all.sort();
    Ok(all)
}

/// Returns when a file was last written to, as time since the trial's start; 0 for one that existed before.
#[must_use]
pub fn written(about: &Metadata, began: SystemTime) -> Duration {
    about.modified().ok().and_then(|at| at.duration_since(began).ok()).unwrap_or_default()
}

/// Returns the time in a name in AFL++'s format: milliseconds of running, including those of earlier starts.
#[must_use]
pub fn time_in(name: &str) -> Option<Duration> {
    let milliseconds = name.split(',').find_map(|part| part.strip_prefix("time:"))?;
    milliseconds.parse().ok().map(Duration::from_millis)
}

/// Copies the seeds into a directory of the trial, except for those in `without`: a tool would end at every start at
/// one that crashes. If none is left, one of random bytes takes their place.
///
/// # Errors
/// Those of the file system.
pub fn copy_seeds(work: &Work, to: &Path, without: &[Vec<u8>]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut left = 0;
    for (name, path) in list(work.seeds)? {
        let bytes = fs::read(path)?;
        if without.contains(&bytes) {
            let _ = fs::remove_file(to.join(name));
        } else {
            fs::write(to.join(name), bytes)?;
            left += 1;
        }
    }
    if left == 0 {
        fs::write(to.join("random"), random(seed(work), work.subject.input_size().unwrap_or(8).max(1)))?;
    }
    Ok(())
}

/// Returns bytes of splitmix64 (Steele, Lea and Flood 2014).
fn random(mut state: u64, size: usize) -> Vec<u8> {
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut bytes: Vec<u8> = (0..size.div_ceil(8)).flat_map(|_| next().to_le_bytes()).collect();
    bytes.truncate(size);
    bytes
}

/// Returns the log of a trial, all its starts one after the other; empty if there is none.
#[must_use]
pub fn log(work: &Work) -> String {
    fs::read(work.directory.join("log.txt")).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default()
}

/// Splits a log at the lines that begin a start.
#[must_use]
pub fn starts(log: &str, is_first: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut at = Vec::new();
    let mut offset = 0;
    for line in log.split_inclusive('\n') {
        if is_first(line) {
            at.push(offset);
        }
        offset += line.len();
    }
    let ends = at.iter().copied().skip(1).chain([log.len()]);
    at.iter().zip(ends).map(|(&from, to)| &log[from..to]).collect()
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
