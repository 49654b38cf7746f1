//! Every form of target: pointers, all widths of integers, floats, overloads, static functions, libFuzzer harnesses,
//! bitcode, linked files.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use penfuzz_campaign::watch;

use crate::support::{Dir, children, fixture, open_branches, pen_cc, quickstart, skip};

fn covers(target: &Path, arguments: &str, covered: usize, total: usize) {
    let dir = Dir::new();
    let run = dir.fuzz(target, arguments).exits(0);
    let b = dir.report("out").branches;
    run.expect(
        (b.covered, b.total) == (covered, total),
        &format!(
            "{covered} of {total} branches, are {} of {}; open: {:?}",
            b.covered,
            b.total,
            open_branches(&dir.report("out"))
        ),
    );
}

#[test]
fn pointers_to_results() {
    covers(&fixture("pointers.c"), "", 10, 10);
}

#[test]
fn code_behind_a_constant_has_no_sites() {
    covers(&fixture("dead_code.c"), "", 7, 7);
}

#[test]
fn a_function_that_the_compiler_knows_is_called_all_the_same() {
    covers(&fixture("own_sqrt.c"), "", 6, 6);
}

#[test]
fn integers_of_every_width() {
    covers(&fixture("ints.c"), "", 44, 44);
}

#[test]
fn float_and_double() {
    covers(&fixture("floats.c"), "", 16, 16);
}

#[test]
fn an_overload_by_its_symbol() {
    covers(&fixture("overload.cc"), "-f _Z4signi", 4, 4);
    covers(&fixture("overload.cc"), "-f _ZN7numeric4signEd", 2, 2);
}

#[test]
fn an_overload_by_its_signature() {
    let dir = Dir::new();
    dir.fuzz(fixture("overload.cc"), "-f").arg("int sign(int n)").exits(0);
    assert_eq!(dir.report("out").signature.symbol, "_Z4signi", "the one for integers");
}

#[test]
fn the_only_public_function_is_chosen() {
    let dir = Dir::new();
    dir.fuzz(fixture("static_only.c"), "").exits(0);
    let report = dir.report("out");
    assert_eq!((report.function.as_str(), report.branches.covered), ("static_only", 2), "function and branches");
}

#[test]
fn a_static_function_by_name() {
    covers(&fixture("static_only.c"), "-f clamp", 4, 4);
}

#[test]
fn all_functions_in_scope() {
    covers(&fixture("static_only.c"), "--scope all", 6, 6);
}

#[test]
fn quickstart_functions() {
    for (file, status) in [("triangle.c", 0), ("quadratic.c", 0), ("day_of_year.c", 0), ("thermocouple.c", 3)] {
        let dir = Dir::new();
        let run = dir.fuzz(quickstart(file), "--max-time 20s").exits(status);
        let report = dir.report("out");
        run.expect(report.branches.covered == report.branches.total, "every branch covered");
    }
}

#[test]
fn a_libfuzzer_harness() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("fuzzer_harness.c"), "--max-evals 200000").exits(3);
    let report = dir.report("out");
    run.expect(report.function == "LLVMFuzzerTestOneInput", "the harness chosen by itself");
    run.expect(report.branches.total == 6, "the branches of all functions");
    run.expect(report.crashes.len() == 1 && report.crashes[0].place.contains("check"), "the crash in check");
    // All inputs have the same length, so only `size < sizeof xy` is infeasible.
    run.expect(open_branches(&report).len() <= 1, &format!("one open branch at most: {:?}", open_branches(&report)));
}

#[test]
fn pending_inputs_are_kept_once_the_rest_is_given_up() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("unreachable_in_loop.c"), "").exits(0);
    let report = dir.report("out");
    run.expect(report.branches.covered == 9 && report.branches.given_up == 1, "9 of 10 covered, 1 given up");
    run.expect(report.branches.saturated == 10, "nothing open after that");
    run.expect(dir.files("out/pending").is_empty(), "no pending input left");
    run.expect(!dir.files("out/queue").is_empty(), "inputs in queue/");
    let covered_by_tests: usize = {
        let mut all: Vec<_> = report.tests.iter().flat_map(|t| t.covers.clone()).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    run.expect(covered_by_tests == 9, "tests that cover what was covered");
}

#[test]
fn seeds_are_tried_first() {
    let dir = Dir::new();
    dir.file("seeds/right_angled", [3f64, 4.0, 5.0].map(f64::to_le_bytes).concat());
    dir.file("seeds/short", [1, 2, 3]);
    dir.file("seeds/long", [0; 100]);
    let run = dir.fuzz(quickstart("triangle.c"), "-i seeds --max-evals 3 --search random").exits(0);
    let report = dir.report("out");
    let open = open_branches(&report);
    let right = report.sites.iter().find(|s| s.predicate == "==" && s.line == 28).or(report.sites.last());
    let line = right.expect("the triangle has sites").line;
    run.expect(
        !open.contains(&format!("{line} true")),
        &format!("the branch of 3, 4, 5 at line {line}; open: {open:?}"),
    );
}

/// A clang whose bitcode the clang of the build can read.
fn clang() -> Option<PathBuf> {
    let names = [format!("clang-{}", penfuzz_cc::LLVM_MAJOR), "clang".to_owned()];
    names
        .into_iter()
        .find(|n| Command::new(n).arg("--version").output().is_ok_and(|o| o.status.success()))
        .map(PathBuf::from)
}

fn llvm_ir(flag: &str, file: &str) {
    let Some(clang) = clang() else {
        skip(&format!("clang {}", penfuzz_cc::LLVM_MAJOR), "it is not in the PATH");
        return;
    };
    let dir = Dir::new();
    let mut compile = Command::new(clang);
    compile
        .args(["-g", "-O0", "-Xclang", "-disable-O0-optnone", "-emit-llvm", flag, "-o", file])
        .arg(quickstart("triangle.c"));
    dir.other(&mut compile);
    covers(&dir.path(file), "", 30, 30);
}

#[test]
fn llvm_bitcode() {
    llvm_ir("-c", "triangle.bc");
}

#[test]
fn llvm_assembly() {
    llvm_ir("-S", "triangle.ll");
}

#[test]
fn a_file_linked_by_pen_cc() {
    let dir = Dir::new();
    let mut link = Command::new(pen_cc());
    dir.other(link.args(["-O2", "-o", "triangle"]).arg(quickstart("triangle.c")));
    covers(&dir.path("triangle"), "", 30, 30);
}

#[test]
fn two_sources_with_flags_and_a_library() {
    let dir = Dir::new();
    dir.file("first.c", "double second(double);\ndouble first(double x) { return second(x) == LIMIT ? 1.0 : 0.0; }\n");
    dir.file("second.c", "#include <math.h>\ndouble second(double x) { return cbrt(x); }\n");
    let run = dir.fuzz("first.c", "--with second.c --cflag=-DLIMIT=3.0 --lib=-lm -f first").exits(0);
    run.expect(dir.report("out").branches.covered == 2, "both branches");
}

#[test]
fn names_with_spaces_and_signs() {
    let dir = Dir::new();
    dir.file("a dir/it's $HOME & co.c", "double f(double x) { if (x > 1.0) return 1.0; return x; }\n");
    let run = dir.penfuzz("-o").arg("out dir").arg("a dir/it's $HOME & co.c").exits(0);
    run.expect(dir.report("out dir").branches.covered == 2, "both branches");
}

#[test]
fn a_changed_source_is_compiled_again() {
    let dir = Dir::new();
    dir.file("limit.h", "#define LIMIT 1.0\n");
    dir.file("f.c", "#include \"limit.h\"\ndouble f(double x) { if (x > LIMIT) return 1.0; return x; }\n");
    dir.fuzz("f.c", "").exits(0);
    dir.file("limit.h", "#define LIMIT 1.0 && x < 1e9\n");
    let run = dir.penfuzz("f.c -o new").exits(0);
    run.expect(dir.report("new").branches.total == 4, "the branches of the new header");
}

/// Returns the number of bytes that a process has read so far.
fn bytes_read(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).expect("the kernel counts what a process reads");
    let count = text.lines().find_map(|l| l.strip_prefix("rchar: "));
    count.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

/// Most of a large target is debug information, which is not needed to start a campaign.
#[test]
fn a_large_target_is_not_read_as_a_whole() {
    const SIZE: u64 = 48 << 20;
    let dir = Dir::new();
    let source = format!(
        "__asm__(\".section .debug_pad,\\\"\\\",@progbits\\n.skip {SIZE}\\n.text\");
int f(int n) {{ if (n * n == 7) return 1; return 0; }}\n"
    );
    let file = dir.file("large.c", source);
    dir.other(Command::new(pen_cc()).arg(&file).args(["-shared", "-o", "large.pen"]));
    let linked = dir.path("large.pen");
    assert!(fs::metadata(&linked).expect("it is linked").len() > SIZE, "the section is there");
    let mut running = dir.fuzz(linked, "--search random --max-time 50s").start();
    let out = dir.path("out");
    running.until("evaluations", || watch::read(&out).is_ok_and(|now| now.evaluations > 0));
    let pids: Vec<u32> = children(running.pid()).into_iter().map(|(pid, _)| pid).chain([running.pid()]).collect();
    let read: Vec<u64> = pids.iter().map(|pid| bytes_read(*pid)).collect();
    running.signal(libc::SIGINT);
    let run = running.wait();
    run.expect(read.len() > 1 && read.iter().sum::<u64>() < SIZE, &format!("less than {SIZE} bytes read: {read:?}"));
}
