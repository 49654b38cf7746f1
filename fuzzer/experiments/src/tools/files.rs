//! The files that a tool reads and leaves: seeds, inputs, logs.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs::{self, Metadata},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{super::corpus::Stamped, Work};

/// Distance between the seeds of one trial's starts, so that no two trials of an experiment share a seed.
const SEED_STEP: u64 = 1_000_003;

/// The seed of this start of a trial.
#[must_use]
pub fn seed(work: &Work) -> u64 {
    work.seed.wrapping_add(u64::from(work.restarts).wrapping_mul(SEED_STEP))
}

/// Adds the files of a directory for which `at` has a time. A missing directory has none.
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
            // Tools rename and prune while they are being ended.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The corpus of a tool whose file names have no times: its inputs, its crashing inputs (files of this prefix), and the seeds.
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

/// The inputs in these directories of a tool whose file names have times ([`time_in`]). Its own clock starts when it begins to
/// search; that of the trial has started with its process, as for tools whose files have no other time than that at which they were
/// written. So every time is moved by the tool's start-up time: the shortest time from the one in a name to the one at which the file
/// was written. Not all of them are, because AFL++ writes a file again when it trims the input. A file without a time in its name
/// was found when it was written.
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

/// Gives each input the time in its name, where it has one, moved by the shortest time until a file was written.
fn move_to_own(all: &mut [Stamped], own: &[Option<Duration>]) {
    let lags = all.iter().zip(own).filter_map(|(input, own)| Some(input.at.saturating_sub((*own)?)));
    let start_up = lags.min().unwrap_or_default();
    for (input, own) in all.iter_mut().zip(own) {
        input.at = own.map_or(input.at, |own| own + start_up);
    }
}

/// Adds the seeds that a tool did not take over: it has them from the start.
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

/// The files in a directory by name, hidden ones left out; none if there is no directory.
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

/// When a file was last written to, counted from the trial's start; 0 for one that was there before.
#[must_use]
pub fn written(about: &Metadata, began: SystemTime) -> Duration {
    about.modified().ok().and_then(|at| at.duration_since(began).ok()).unwrap_or_default()
}

/// The time in a name of AFL++'s kind: milliseconds of running, those of earlier starts included.
#[must_use]
pub fn time_in(name: &str) -> Option<Duration> {
    let milliseconds = name.split(',').find_map(|part| part.strip_prefix("time:"))?;
    milliseconds.parse().ok().map(Duration::from_millis)
}

/// Copies the seeds into a directory of the trial, all but those that are in `without`: at every start a tool would end
/// at one that crashes. When none is left, one of random bytes takes their place.
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

/// Bytes by splitmix64 (Steele, Lea and Flood 2014).
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

/// The log of a trial, all its starts one after the other; empty when there is none.
#[must_use]
pub fn log(work: &Work) -> String {
    fs::read(work.directory.join("log.txt")).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default()
}

/// The parts of a log, each from a line that begins a start to the next one.
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
