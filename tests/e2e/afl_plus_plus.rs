//! AFL++ and penfuzz in one directory: each imports what only the other finds, and AFL++'s own tools show both.

use std::{
    collections::BTreeMap,
    fs::File,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::{
    experiments::peers,
    support::{Dir, Running, is_covered},
};

/// The first branch is taken by AFL++'s seed only, the second by none, the third by penfuzz only.
const SOURCE: &str = "
#include <string.h>
static unsigned long scramble(double x) {
    unsigned long b;
    memcpy(&b, &x, sizeof b);
    b = (b ^ (b >> 31)) * 0x9e3779b97f4a7c15ul;
    b = (b ^ (b >> 29)) * 0xbf58476d1ce4e5b9ul;
    return b ^ (b >> 32);
}
int solve(double x, double y) {
    if (scramble(x) == 0x2f863dad66fc56a6ul) return 1;
    if (scramble(x) == 0x0123456789abcdeful && scramble(y) == 1) return 2;
    if (x * 1.5 + y / 3.0 == 1234.5678) return 3;
    return 0;
}
";

const HARNESS: &str = "
#include \"solve.c\"
int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) {
    double x[2] = {0, 0};
    memcpy(x, data, size < sizeof x ? size : sizeof x);
    (void)solve(x[0], x[1]);
    return 0;
}
";

/// An input that satisfies the scrambled equality in its first number.
fn seed() -> Vec<u8> {
    [(-8.123_456_789_012_345e-77_f64).to_le_bytes(), 1.0_f64.to_le_bytes()].concat()
}

/// Whether an input takes the branch that penfuzz finds.
fn is_solution(input: &[u8]) -> bool {
    let number = |at| input.get(at..at + 8).and_then(|b| b.try_into().ok()).map(f64::from_le_bytes);
    match (number(0), number(8)) {
        (Some(x), Some(y)) => (x * 1.5 + y / 3.0).to_bits() == 1234.5678_f64.to_bits(),
        _ => false,
    }
}

/// The directory of AFL++'s programs; `None`, with a message, if they are not installed.
fn afl() -> Option<PathBuf> {
    let bin = PathBuf::from(peers()?).join("bin");
    if bin.join("afl-fuzz").exists() {
        return Some(bin);
    }
    assert!(std::env::var_os("PENFUZZ_ALL_PEERS").is_none(), "AFL++ is not in {}", bin.display());
    println!("skipped: AFL++ is not installed; run ./setup --peers");
    None
}

/// A running afl-fuzz, ended when dropped.
struct Afl {
    fuzzer: Child,
    target: PathBuf,
}

impl Afl {
    fn start(dir: &Dir, bin: &std::path::Path) -> Self {
        let log = File::create(dir.path("afl.log")).expect("a log");
        let child = Command::new(bin.join("afl-fuzz"))
            .args("-M afl1 -i seeds -o sync -g 16 -G 16 -V 50 -- ./target".split(' '))
            .envs(["AFL_NO_UI", "AFL_NO_AFFINITY", "AFL_SKIP_CPUFREQ", "AFL_FAST_CAL"].map(|name| (name, "1")))
            .env("AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES", "1")
            .env("AFL_FUZZER_STATS_UPDATE_INTERVAL", "1")
            .current_dir(dir.path("."))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a descriptor can be copied"))
            .stderr(log)
            .spawn()
            .expect("afl-fuzz can be started");
        let target = dir.path("target");
        Self { fuzzer: child, target: target.canonicalize().unwrap_or(target) }
    }

    fn end(&mut self) {
        // SAFETY: a plain system call on our own process, which has not been waited for yet.
        unsafe { libc::kill(self.fuzzer.id().cast_signed(), libc::SIGINT) };
        let _ = self.fuzzer.wait();
    }
}

impl Drop for Afl {
    fn drop(&mut self) {
        let _ = self.fuzzer.kill();
        let _ = self.fuzzer.wait();
        // The fork server has its own session, and its target may be stopped: neither ends with afl-fuzz.
        for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let is_target = std::fs::read_link(process.path().join("exe")).is_ok_and(|exe| exe == self.target);
            if let Some(pid) = process.file_name().to_str().and_then(|n| n.parse().ok()).filter(|_| is_target) {
                // SAFETY: a plain system call on a process that runs the target of this test.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        }
    }
}

/// Names and contents of the files in a queue; empty if the queue does not exist yet.
fn queue(dir: &Dir, instance: &str) -> BTreeMap<String, Vec<u8>> {
    let name = format!("sync/{instance}/queue");
    if dir.path(&name).exists() { dir.files(&name) } else { BTreeMap::new() }
}

fn penfuzz<'a>(dir: &'a Dir, search: &str) -> Running<'a> {
    dir.file("solve.c", SOURCE);
    dir.penfuzz(&format!("solve.c --function solve -o sync/pen --sync sync --max-time 50s -q --search {search}"))
        .start()
}

fn build(dir: &Dir, bin: &std::path::Path) {
    dir.file("solve.c", SOURCE);
    dir.file("harness.c", HARNESS);
    dir.file("seeds/seed", seed());
    let mut compiler = Command::new(bin.join("afl-clang-fast"));
    compiler.args("-O0 -fsanitize=fuzzer harness.c -o target".split(' '));
    dir.other(compiler.env("AFL_QUIET", "1").env("AFL_DONT_OPTIMIZE", "1"));
}

/// The value of a key in the statistics of an instance.
fn stat(dir: &Dir, instance: &str, key: &str) -> u64 {
    let text = String::from_utf8_lossy(&dir.files(&format!("sync/{instance}"))["fuzzer_stats"]).into_owned();
    let value = text.lines().filter_map(|l| l.split_once(':')).find(|(k, _)| k.trim() == key).map(|(_, v)| v.trim());
    value.and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("no number {key} of {instance} in\n{text}"))
}

#[test]
fn afl_imports_what_penfuzz_finds() {
    let Some(bin) = afl() else { return };
    let dir = Dir::new();
    build(&dir, &bin);
    let mut running = penfuzz(&dir, "targeted");
    running.until("the branch that penfuzz finds", || queue(&dir, "pen").values().any(|i| is_solution(i)));
    let _afl = Afl::start(&dir, &bin);
    let imported = || queue(&dir, "afl1").into_iter().any(|(n, i)| n.contains(",sync:pen,src:") && is_solution(&i));
    running.until("the input in AFL++'s queue as sync:pen", imported);
    running.signal(libc::SIGINT);
    running.wait();
}

#[test]
fn penfuzz_imports_what_afl_has_and_afl_whatsup_shows_both() {
    let Some(bin) = afl() else { return };
    let dir = Dir::new();
    build(&dir, &bin);
    let mut running = penfuzz(&dir, "random");
    running.until("a report", || dir.path("sync/pen/report.json").exists());
    let before = dir.report("sync/pen").branches.covered;
    let mut afl = Afl::start(&dir, &bin);
    let imported = || queue(&dir, "pen").into_iter().any(|(n, i)| n.contains(",op:sync,sync:afl1,src:") && i == seed());
    running.until("AFL++'s seed in our queue", imported);
    running.until("AFL++'s statistics", || dir.path("sync/afl1/fuzzer_stats").exists());
    let whatsup = |option: &str| dir.other(Command::new(bin.join("afl-whatsup")).arg(option).arg(dir.path("sync")));
    let alive = whatsup("-n");
    assert!(alive.contains("Fuzzers alive : 2"), "two fuzzers alive\n{alive}");
    assert!(alive.contains("solve.c instance: pen"), "penfuzz among them\n{alive}");

    afl.end();
    running.signal(libc::SIGINT);
    running.wait();
    let report = dir.report("sync/pen");
    let taken = report.sites.iter().flat_map(|s| &s.branches).find(|b| b.outcome == "true").is_some_and(is_covered);
    assert!(taken && report.branches.covered > before, "the branch of AFL++'s seed");
    let sum = stat(&dir, "pen", "execs_done") + stat(&dir, "afl1", "execs_done");
    let (millions, thousands) = (sum / 1_000_000, sum / 1000 % 1000);
    let shown = match millions {
        0 => format!("Total execs : {thousands} thousands\n"),
        1..10 => format!("Total execs : {millions} millions, {thousands} thousands\n"),
        _ => format!("Total execs : {millions} millions\n"),
    };
    let dead = whatsup("-d");
    assert!(dead.contains(&shown), "`{shown}` in\n{dead}");
}
