//! `--since REF`: findings that existed before a change do not count.

use std::process::Command;

use penfuzz_report::Finding;

use crate::support::Dir;

const OLD: &str = "int known(int n) { return 100 / n; }\nint f(int n)\n{\n  if (n * n == 3) return 5;\n  \
                   if (n == 7) __builtin_trap();\n  return n > 3;\n}\n";

fn git(dir: &Dir, args: &[&str]) {
    let identity = ["-c", "user.name=tester", "-c", "user.email=tester@example.org"];
    let status = Command::new("git").args(identity).args(args).current_dir(dir.path("")).status().expect("git");
    assert!(status.success(), "git {args:?}");
}

/// A repository with one commit, whose sources are in a folder of it.
fn repository() -> Dir {
    let dir = Dir::new();
    std::fs::create_dir(dir.path("src")).expect("a folder");
    dir.file("src/f.c", OLD);
    git(&dir, &["init", "-q"]);
    git(&dir, &["add", "src"]);
    git(&dir, &["commit", "-q", "-m", "first"]);
    dir
}

const OPTIONS: &str = "--function f --max-evals 60000 --no-prove";

#[test]
fn a_crash_of_the_revision_does_not_count_and_a_new_one_does() {
    let dir = repository();
    let changed = OLD.replace("  return n > 3;", "  if (n == 9) __builtin_trap(); // new\n  return n > 3;");
    let file = dir.file("src/f.c", format!("/* moved\n   down */\n{changed}"));
    let run = dir.fuzz(&file, &format!("{OPTIONS} --since HEAD")).exits(3);
    let report = dir.report("out");
    let known: Vec<&Finding> = report.crashes.iter().filter(|crash| crash.existed_in.is_some()).collect();
    assert_eq!((report.crashes.len(), known.len()), (2, 1), "{:?}", report.crashes);
    assert!(known[0].place.ends_with("f.c:7)") && !known[0].counts(), "{known:?}");
    run.expect(run.stdout.contains("KNOWN  SIGILL in f"), "the known crash");
    run.expect(run.stdout.matches("CRASH  ").count() == 1, "one new crash");
}

#[test]
fn a_change_without_findings_passes() {
    let dir = repository();
    let file = dir.file("src/f.c", OLD.replace("n > 3", "n > 4"));
    dir.fuzz(&file, &format!("{OPTIONS} --since HEAD --sarif found.sarif")).exits(0);
    let sarif = std::fs::read_to_string(dir.path("found.sarif")).expect("a file");
    assert!(sarif.contains("\"baselineState\": \"unchanged\""), "{sarif}");
}

#[test]
fn a_target_that_the_revision_does_not_have_is_new() {
    let dir = repository();
    let file = dir.file("src/g.c", OLD);
    let run = dir.fuzz(&file, &format!("{OPTIONS} --since HEAD")).exits(3);
    run.says("all findings count as new");
}

#[test]
fn an_unknown_revision_is_named() {
    let dir = repository();
    let run = dir.fuzz(dir.path("src/f.c"), &format!("{OPTIONS} --since nowhere")).exits(2);
    run.says("--since nowhere is neither a file nor a revision");
}
