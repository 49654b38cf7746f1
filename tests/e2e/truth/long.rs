//! Fuel does not decide what is a hang: a call that returns within `--timeout` is a test like any other.

use std::time::{Duration, Instant};

use crate::support::{Dir, open_branches};

/// 20 million iterations of a loop that no compiler removes: about 20 to 100 ms, and 20 times the fuel of an
/// evaluation.
const LOOP: &str = "static double turns(void) {
    volatile double sum = 0;
    for (long i = 0; i < 20000000; i++) sum += 1;
    return sum;
}
";

#[test]
fn an_input_that_returns_late_is_a_test_and_no_hang() {
    let dir = Dir::new();
    let source =
        format!("{LOOP}int slow(double x) {{\n    if (x > 3) return turns() > 5 ? 1 : 2;\n    return 0;\n}}\n");
    dir.file("slow.c", source);
    let arguments = "-f slow --scope calls --max-evals 20000 --timeout 20s";
    let run = dir.fuzz("slow.c", arguments).exits(0);
    let report = dir.report("out");
    run.expect(report.hangs.is_empty() && report.crashes.is_empty(), "neither hangs nor crashes");
    run.expect(report.long.len() == 1, "one long input");
    let long = &report.long[0];
    run.expect((1..20_000).contains(&long.milliseconds), &format!("a time, is {} ms", long.milliseconds));
    run.expect(run.stdout.contains(&format!("LONG  returns after {} ms", long.milliseconds)), "listed in the text");
    let page = String::from_utf8_lossy(&dir.files("out")["report.html"]).into_owned();
    run.expect(page.contains(&format!("returns after {} ms", long.milliseconds)), "listed in the page");
    // 20000000 > 5 always holds; tests cover all other branches.
    run.expect(open_branches(&report) == ["7 false"], &format!("open: {:?}", open_branches(&report)));
    run.expect(report.tests.iter().any(|t| t.file == long.file), "a test runs the long input");

    let replay = dir.penfuzz("replay -f slow --scope calls --timeout 20s slow.c").arg(dir.path("out").join(&long.file));
    let replay = replay.exits(0);
    replay.expect(replay.stdout.contains("long: returns after"), "replay knows it");

    dir.until_unlocked("out");
    let again = dir.fuzz("slow.c", arguments).exits(0);
    let report = dir.report("out");
    again.expect(report.hangs.is_empty() && report.long.len() == 1, "a resumed campaign knows it");
}

#[test]
fn a_crash_after_a_long_way_is_a_crash() {
    let dir = Dir::new();
    let source = format!(
        "{LOOP}int late(double x) {{\n    if (x > 3) return *(volatile int *)(turns() < 1);\n    return 0;\n}}\n"
    );
    dir.file("late.c", source);
    let run = dir.fuzz("late.c", "-f late --max-evals 20000 --timeout 20s").exits(3);
    let report = dir.report("out");
    run.expect(report.hangs.is_empty() && report.long.is_empty(), "neither hangs nor takes long");
    run.expect(report.crashes.len() == 1 && report.crashes[0].reason.contains("SIGSEGV"), "one crash");
}

const ENDLESS: &str = "int endless(double x) {
    volatile int go_on = 1;
    if (x > 3)
        while (go_on) {}
    return 0;
}
";

#[test]
fn a_hang_says_how_long_it_ran() {
    let dir = Dir::new();
    dir.file("endless.c", ENDLESS);
    let run = dir.fuzz("endless.c", "--max-evals 20000 --timeout 300ms").exits(3);
    let report = dir.report("out");
    run.expect(report.hangs.len() == 1 && report.long.is_empty(), "one hang");
    let reason = &report.hangs[0].reason;
    run.expect(reason.ends_with("nor within 300ms"), &format!("the time, is `{reason}`"));
    let replay =
        dir.penfuzz("replay --timeout 300ms endless.c").arg(dir.path("out").join(&report.hangs[0].file)).exits(3);
    replay.expect(replay.stdout.contains(reason), "the same reason again");
}

#[test]
fn a_campaign_ends_while_it_is_decided_what_hangs() {
    let dir = Dir::new();
    dir.file("endless.c", ENDLESS);
    let begun = Instant::now();
    let run = dir.fuzz("endless.c", "--max-time 1s --timeout 5m").exits(3);
    run.expect(begun.elapsed() < Duration::from_secs(30), "it ends long before the time limit of an evaluation");
}
