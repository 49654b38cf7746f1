//! Branches that an evaluation takes only because of earlier calls, through state that cannot be restored, do not count
//! as covered: each kept input is replayed in a fresh process, and gcov counts the same on the emitted tests.

use std::{path::Path, process::Command};

use penfuzz_report::{Report, Status};

use crate::{
    outputs::gcov_agrees,
    support::{Dir, is_covered},
};

const OPTIONS: &str = "-f subject --max-evals 200000";

/// Returns the numbers of covered branches, of branches that depend on earlier calls, and of all branches. The statuses
/// of the branches must agree with these figures.
fn figures(report: &Report) -> (usize, usize, usize) {
    let branches = || report.sites.iter().flat_map(|s| &s.branches);
    let b = report.branches;
    let is_by_test = |b: &&penfuzz_report::Branch| is_covered(b) && b.status != Status::CoveredByCrash;
    assert_eq!(branches().filter(is_by_test).count(), b.covered, "the branches and their number");
    let depend = branches().filter(|b| b.status == Status::DependsOnEarlierCalls).count();
    assert_eq!(depend, b.depends_on_earlier_calls, "the branches and their number");
    (b.covered, depend, b.total)
}

fn figures_of(dir: &Dir, target: &Path, options: &str) -> (usize, usize, usize) {
    dir.fuzz(target, options).exits(0);
    figures(&dir.report("out"))
}

/// Returns the figures for a C text, after checking that gcov counts the same on its tests.
fn claimed(text: &str) -> (usize, usize, usize) {
    let dir = Dir::new();
    let file = dir.file("subject.c", text);
    gcov_agrees(&file, OPTIONS, "subject");
    figures_of(&dir, &file, OPTIONS)
}

/// Only the first call of a process gets the first random number.
const RANDOM: &str = "#include <stdlib.h>
int subject(int x) {
  if (rand() == 1804289383) return 1;
  if (x == 77) return 2;
  return 0;
}
";

#[test]
fn random_numbers_are_those_of_a_fresh_process() {
    assert_eq!(claimed(RANDOM), (1, 3, 4));
}

/// The pointer is restored, but the memory that it points to is not.
const HEAP: &str = "#include <stdlib.h>
static int *box;
__attribute__((constructor)) static void prepare(void) { box = calloc(1, sizeof *box); }
int subject(double x) { if (++*box > 5 && x > 3) return 1; return 0; }
";

#[test]
fn a_block_of_the_heap_is_that_of_a_fresh_process() {
    assert_eq!(claimed(HEAP), (1, 3, 4));
}

#[test]
fn the_state_of_strtok_is_that_of_a_fresh_process() {
    let text = "#include <string.h>
                static char text[] = \"a b c d\";
                __attribute__((constructor)) static void prepare(void) { strtok(text, \" \"); }
                int subject(int x) {
                  const char *word = strtok(0, \" \");
                  if (word && *word == 'b') return 1;
                  if (x == 7) return 2;
                  return 0;
                }";
    assert_eq!(claimed(text), (2, 4, 6));
}

fn library(dir: &Dir) -> String {
    dir.file("counter.c", "int calls_so_far(void) { static int n; return ++n; }\n");
    dir.other(Command::new("gcc").args(["-shared", "-fPIC", "counter.c", "-o", "libcounter.so"]));
    format!("{OPTIONS} --lib {}", dir.path("libcounter.so").display())
}

#[test]
fn a_variable_of_another_library_is_that_of_a_fresh_process() {
    let dir = Dir::new();
    let options = library(&dir);
    let text = "int calls_so_far(void); int subject(int x) { if (calls_so_far() > 1) return x; return 0; }\n";
    let file = dir.file("subject.c", text);
    gcov_agrees(&file, &options, "subject");
    assert_eq!(figures_of(&dir, &file, &options), (1, 1, 2));
}

/// Two tests must call the library, each as the first call of a process.
#[test]
fn each_test_of_such_a_function_has_a_process_of_its_own() {
    let dir = Dir::new();
    let options = library(&dir);
    let text = "int calls_so_far(void);
                int subject(int x) {
                  int n = 9;
                  if (x == 77) { if (calls_so_far() > 1) n = 3; return n; }
                  if (x == 78) { if (calls_so_far() > 1) n = 5; return n + 1; }
                  return 0;
                }";
    let file = dir.file("subject.c", text);
    gcov_agrees(&file, &options, "subject");
    assert_eq!(figures_of(&dir, &file, &options), (6, 2, 8));
    assert!(dir.report("out").tests_apart, "report.json says so");
}

/// Without such state, one process runs all tests, as before.
#[test]
fn a_function_without_state_has_one_process() {
    let dir = Dir::new();
    let file = dir.file("subject.c", "int subject(int x) { if (x == 77) return 2; return 0; }\n");
    assert_eq!(figures_of(&dir, &file, OPTIONS), (2, 0, 2));
    let report = dir.report("out");
    assert!(!report.tests_apart && report.shared_state.is_empty());
    let program = String::from_utf8(dir.files("out/tests")["test_subject.c"].clone()).expect("a text");
    assert!(!program.contains("penfuzz_in_child"), "{program}");
}

/// In the campaign, only the first evaluation can abort; in a fresh process, each evaluation can.
#[test]
fn a_replay_that_crashes_is_a_crash() {
    let text = "#include <stdlib.h>
                static int *box;
                __attribute__((constructor)) static void prepare(void) { box = calloc(1, sizeof *box); }
                int subject(int x) { if (++*box == 1) { if (x > 3) abort(); return x; } return 0; }";
    let dir = Dir::new();
    let file = dir.file("subject.c", text);
    dir.file("seeds/a", 0_i32.to_le_bytes());
    dir.file("seeds/b", 5_i32.to_le_bytes());
    dir.fuzz(&file, OPTIONS).args("-i seeds").exits(3);
    let report = dir.report("out");
    assert_eq!((figures(&report), report.branches.covered_by_crash_only), ((2, 1, 4), 1));
    assert!(report.crashes.iter().any(|c| c.reason.contains("SIGABRT")), "{:?}", report.crashes);
}

/// The sixth call of a process, and each later one, crashes, so no test can expect that crash. Null pointers crash in
/// each process.
const SOMETIMES: &str = "#include <stdlib.h>
static int *box;
__attribute__((constructor)) static void prepare(void) { box = calloc(1, sizeof *box); }
int subject(int x) {
  if (x == 12345) return *(volatile int *)0;
  if (++*box > 5 && x > 3) abort();
  return 0;
}
";

#[test]
fn a_crash_that_depends_on_earlier_calls_is_named_so() {
    let dir = Dir::new();
    let file = dir.file("subject.c", SOMETIMES);
    let run = dir.fuzz(&file, OPTIONS).exits(3);
    let report = dir.report("out");
    let known = |reason: &str| report.crashes.iter().find(|c| c.reason.contains(reason)).map(|c| c.in_fresh_process);
    let shown = format!("{:?}", report.crashes);
    run.expect(known("SIGABRT") == Some(Some(false)), &format!("the abort does not occur again: {shown}"));
    run.expect(known("SIGSEGV") == Some(Some(true)), &format!("the null pointer does: {shown}"));
    let why = "depends on earlier calls: it does not occur in a fresh process";
    let text = |name: &str| String::from_utf8(dir.files("out")[name].clone()).expect("reports are text");
    let status = dir.penfuzz("status out").exits(0).stdout;
    for (name, text) in [("terminal", run.stdout.clone()), ("page", text("report.html")), ("status", status)] {
        run.expect(text.matches(why).count() == 1, &format!("`{why}` once in {name}:\n{text}"));
    }
    run.expect(text("report.json").contains("\"in_fresh_process\": false"), "the key in report.json");
    // The emitted tests must not expect this crash.
    let commands = report.test_program.expect("the report has commands");
    let program = String::from_utf8(dir.files("out/tests")["test_subject.c"].clone()).expect("a text");
    run.expect(program.contains(why) && !program.contains("SIGABRT)"), &program);
    dir.other(Command::new("sh").args(["-c", &format!("cd out && {} && {}", commands.build, commands.run)]));
}

/// A crash that kills the process, and one after more iterations than the initial fuel of an evaluation allows. The
/// campaign of the second ends at its time limit, during the search.
#[test]
fn crashes_of_all_kinds_occur_again() {
    for body in [
        "if (x > 3) { int *p = 0; struct rlimit l = {0, 0}; setrlimit(RLIMIT_CORE, &l); kill(getpid(), SIGKILL); \
         return *p; }",
        "if (x > 3) { volatile unsigned n = 0; while (n < 3000000) n++; abort(); }",
    ] {
        let dir = Dir::new();
        let headers = "#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include <sys/resource.h>\n";
        let file = dir.file("subject.c", format!("{headers}int subject(int x) {{ {body} return 0; }}\n"));
        dir.fuzz(&file, "-f subject --max-evals 20000 --max-time 5s --timeout 5s").exits(3);
        let crashes = dir.report("out").crashes;
        assert!(!crashes.is_empty() && crashes.iter().all(|c| c.in_fresh_process == Some(true)), "{crashes:?}");
    }
}

/// Only the time limit ends the replay.
#[test]
fn a_replay_that_hangs_is_a_hang() {
    let text = "#include <stdlib.h>
                #include <unistd.h>
                static int *box;
                __attribute__((constructor)) static void prepare(void) { box = calloc(1, sizeof *box); }
                int subject(int x) { if (++*box == 1) { if (x == 3) pause(); return x; } return 0; }";
    let dir = Dir::new();
    let file = dir.file("subject.c", text);
    dir.fuzz(&file, "-f subject --max-evals 20000 --timeout 100ms --max-time 20s").run();
    let report = dir.report("out");
    assert_eq!(figures(&report).0, 2, "{report:?}");
}

/// Each part of a campaign, and each worker, has its own zygote; the results of replays are kept.
#[test]
fn a_campaign_that_goes_on_claims_the_same() {
    let dir = Dir::new();
    for text in [RANDOM, HEAP] {
        let file = dir.file("subject.c", text);
        let first = figures_of(&dir, &file, &format!("{OPTIONS} --fresh"));
        for _ in 0..2 {
            assert_eq!(figures_of(&dir, &file, OPTIONS), first);
        }
    }
}

#[test]
fn a_farm_claims_the_same() {
    let dir = Dir::new();
    let file = dir.file("subject.c", RANDOM);
    assert_eq!(figures_of(&dir, &file, &format!("{OPTIONS} --cores 0-1")), (1, 3, 4));
}

#[test]
fn seeds_and_merged_inputs_are_replayed() {
    let dir = Dir::new();
    let file = dir.file("subject.c", RANDOM);
    dir.file("seeds/a", 77_i32.to_le_bytes());
    dir.file("seeds/b", 3_i32.to_le_bytes());
    dir.fuzz(&file, OPTIONS).args("-i seeds").exits(0);
    assert_eq!(figures(&dir.report("out")), (1, 3, 4));
    dir.penfuzz("merge out seeds -o merged").exits(0);
    assert_eq!(dir.report("merged").branches.covered, 1);
}

/// Every report contains the figure and the reason.
#[test]
fn reports_name_what_depends_on_earlier_calls() {
    let dir = Dir::new();
    let file = dir.file("subject.c", RANDOM);
    let run = dir.fuzz(&file, OPTIONS).exits(0);
    let headline = "1 of 4 branches covered (25.0 %); 3 depend on earlier calls\n";
    run.expect(run.stdout.contains(headline), &format!("`{headline}`"));
    let text = |name: &str| String::from_utf8(dir.files("out")[name].clone()).expect("reports are text");
    let json = text("report.json");
    run.expect(json.contains("\"depends_on_earlier_calls\": 3"), &format!("the figure in {json}"));
    let lcov = text("coverage.lcov");
    let named = "# depends on earlier calls: BRDA:3,0,1\n";
    run.expect(lcov.contains("BRDA:3,0,1,0\n") && lcov.contains(named), &format!("the branch in {lcov}"));
    let page = text("report.html");
    run.expect(page.contains("Depends on earlier calls: no input takes it in a fresh process"), &page);
}
