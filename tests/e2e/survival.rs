//! A campaign resumes after kills, with damaged files, and while orphaned processes run, and no find is lost.

use std::{collections::BTreeSet, fs, path::PathBuf, thread::sleep, time::Duration};

use crate::support::{Dir, fixture, is_covered};

/// A pseudo-random generator with a fixed seed: every run has the same kills and damages.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Returns the contents of all files that hold inputs, in any directory.
fn inputs(dir: &Dir) -> BTreeSet<Vec<u8>> {
    let folders = ["queue", "pending", "crashes", "hangs", "set-aside/queue", "set-aside/pending"];
    let all = folders.iter().filter(|f| dir.path("out").join(f).is_dir()).flat_map(|f| dir.files(&format!("out/{f}")));
    all.filter(|(name, _)| name.starts_with("id:")).map(|(_, bytes)| bytes).collect()
}

/// Returns the branches that the report lists as taken.
fn covered(dir: &Dir) -> BTreeSet<(usize, String)> {
    let of = |(i, s): (usize, penfuzz_report::Site)| {
        s.branches.into_iter().filter(is_covered).map(move |b| (i, b.outcome)).collect::<Vec<_>>()
    };
    dir.report("out").sites.into_iter().enumerate().flat_map(of).collect()
}

fn files_below(dir: PathBuf) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
    let folders: Vec<PathBuf> = all.iter().filter(|p| p.is_dir()).cloned().collect();
    all.retain(|p| p.is_file());
    all.extend(folders.into_iter().flat_map(files_below));
    all.sort();
    all
}

#[test]
fn kills_and_damaged_files() {
    let dir = Dir::new();
    let target = fixture("unreachable_in_loop.c");
    let mut chance = Chance(1);
    for round in 0..15 {
        let running = dir.fuzz(&target, "--search random --max-time 50s").start();
        sleep(Duration::from_millis(20 + chance.below(150) as u64));
        let announced = if dir.path("out/queue").is_dir() { inputs(&dir) } else { BTreeSet::new() };
        running.signal_group(libc::SIGKILL);
        let run = running.wait();
        run.expect(announced.is_subset(&inputs(&dir)), &format!("round {round}: every input that was there"));
        let files = files_below(dir.path("out"));
        if files.is_empty() {
            continue;
        }
        let file = &files[chance.below(files.len())];
        let mut content = fs::read(file).expect("a file of ours can be read");
        match chance.below(3) {
            0 => content.truncate(content.len() / 2),
            1 => content.clear(),
            _ => content.fill(b'x'),
        }
        fs::write(file, content).expect("a file of ours can be written");
    }
    let before = inputs(&dir);
    let run = dir.fuzz(&target, "--search random --max-time 300ms").exits(0);
    run.expect(before.is_subset(&inputs(&dir)), "every input that was there");
    let after = covered(&dir);
    dir.penfuzz("--search random --max-evals 100000 -o whole").arg(&target).exits(0);
    run.expect(after.len() == dir.report("whole").branches.covered, "all branches that this search can cover");
    let left = files_below(dir.path("out"));
    run.expect(!left.iter().any(|p| p.to_string_lossy().contains(".penfuzz-tmp-")), "no temporary file left");
}

#[test]
fn foreign_files_are_set_aside_but_not_those_of_afl() {
    let dir = Dir::new();
    let target = fixture("floats.c");
    dir.fuzz(&target, "").exits(0);
    for name in
        ["queue/.state/x", "queue/README.txt", "queue/README", "pending/id:000077,short", "crashes/id:000000,empty"]
    {
        dir.file(&format!("out/{name}"), if name.ends_with("empty") { "" } else { "foreign" });
    }
    let run = dir.fuzz(&target, "").exits(0);
    run.says("3 files").says("are set aside in out/set-aside");
    for name in ["set-aside/queue/README", "set-aside/pending/id:000077,short", "set-aside/crashes/id:000000,empty"] {
        run.expect(dir.path("out").join(name).is_file(), name);
    }
    run.expect(dir.path("out/queue/.state/x").is_file() && dir.path("out/queue/README.txt").is_file(), "AFL++'s files");
}

#[test]
fn crashes_that_are_missing_in_the_state_are_restored() {
    let dir = Dir::new();
    let target = fixture("segv.c");
    dir.fuzz(&target, "").exits(3);
    let before = dir.files("out/crashes");
    fs::remove_file(dir.path("out/state.json")).expect("the state is there");
    let run = dir.fuzz(&target, "").exits(3);
    run.expect(dir.files("out/crashes") == before, "the same crashes under the same names");
    run.expect(dir.report("out").crashes.len() == before.len(), "each in the report");
}

#[test]
fn a_state_with_impossible_numbers() {
    let dir = Dir::new();
    let target = fixture("unreachable_in_loop.c");
    dir.fuzz(&target, "").exits(0);
    let before = covered(&dir);
    let mut state: serde_json::Value =
        serde_json::from_slice(&dir.files("out")["state.json"]).expect("the state is JSON");
    for (key, value) in [
        ("given_up", serde_json::json!([4_000_000_000_u32])),
        ("by_crash", serde_json::json!([77, 4_000_000_000_u32])),
        ("spent", serde_json::json!([u64::MAX])),
        ("attempts", serde_json::json!(vec![u32::MAX; 50])),
        ("workers", serde_json::json!(u32::MAX)),
        ("taken_at", serde_json::json!([1, 2, 3])),
    ] {
        state[key] = value;
    }
    dir.file("out/state.json", state.to_string());
    let run = dir.fuzz(&target, "").exits(0);
    run.expect(covered(&dir) == before, "the same branches");
}

#[test]
fn a_lock_that_only_an_orphan_holds_is_taken_over() {
    let dir = Dir::new();
    dir.fuzz(fixture("floats.c"), "--max-evals 20").exits(0);
    // Takes the lock like a process that the campaign started and that outlives it.
    let lock = fs::File::open(dir.path("out/.lock")).expect("the lock file is there");
    lock.try_lock().expect("nobody holds it");
    let run = dir.fuzz(fixture("floats.c"), "").exits(0);
    run.says("has ended, but a process that it started still runs");
    run.expect(dir.report("out").branches.covered == dir.report("out").branches.total, "all branches covered");
}

#[test]
fn interrupted_ten_times_covers_what_one_run_covers() {
    // The budget must suffice to cover everything: a resumed campaign restarts its random generator, so covered sets
    // could differ otherwise.
    let name = "unreachable_in_loop.c";
    for (seed, search) in [(1, "random"), (2, "targeted")] {
        let arguments = &format!("--search {search} --seed 3 --max-evals 3000000");
        let dir = Dir::new();
        let mut chance = Chance(seed);
        drop(dir.fuzz(fixture(name), arguments).run());
        let whole = covered(&dir);
        fs::remove_dir_all(dir.path("out")).expect("a directory of ours can be removed");
        for round in 0..10 {
            let running = dir.fuzz(fixture(name), arguments).start();
            sleep(Duration::from_millis(5 + chance.below(60) as u64));
            // The last ones may end before they are interrupted.
            let signal = if round % 2 == 0 { libc::SIGINT } else { libc::SIGKILL };
            // SAFETY: a plain system call; the process has not been waited for.
            unsafe { libc::kill(-running.pid().cast_signed(), signal) };
            drop(running.wait());
        }
        let run = dir.fuzz(fixture(name), arguments).run();
        run.expect(covered(&dir) == whole, &format!("{search}: the branches of the uninterrupted run"));
    }
}
