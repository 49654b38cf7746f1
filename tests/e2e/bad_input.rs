//! Invalid targets and arguments are refused with one clear message: status 1 for errors found by trying, 2 for
//! arguments.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use crate::support::{Dir, Penfuzz, Run, fixture};

/// The run must fail with status 1, print nothing on standard output, and print one line that starts with `error:`.
#[track_caller]
fn fails<'a>(penfuzz: Penfuzz<'a>, text: &str) -> Run<'a> {
    let run = penfuzz.exits(1);
    run.expect(run.stdout.is_empty(), "nothing on standard output");
    run.expect(run.stderr.lines().filter(|l| l.starts_with("error: ")).count() == 1, "one line `error: …`");
    run.says(text);
    run
}

/// Like [`fails`], and this line is the whole message.
#[track_caller]
fn fails_in_one_line(penfuzz: Penfuzz, text: &str) {
    let run = fails(penfuzz, text);
    run.expect(run.stderr.lines().count() == 1, "one line on standard error");
}

/// The arguments must be refused: status 2, and the first line names the option.
#[track_caller]
fn unusable(arguments: &str, text: &str) {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("segv.c"), arguments).exits(2);
    run.expect(run.stdout.is_empty(), "nothing on standard output");
    let first = run.stderr.lines().next().unwrap_or_default();
    run.expect(first.starts_with("error: ") && first.contains(text), &format!("`{text}` in the first line"));
    run.expect(!dir.path("out").exists(), "no output directory");
}

#[test]
fn missing_file() {
    fails_in_one_line(Dir::new().fuzz("missing.c", ""), "missing.c cannot be read");
}

#[test]
fn directory() {
    let dir = Dir::new();
    dir.file("sources/a.c", "int a;");
    fails_in_one_line(dir.fuzz("sources", ""), "sources is a directory");
}

#[test]
fn empty_file() {
    fails_in_one_line(Dir::new().fuzz(fixture("empty.c"), ""), "empty.c is empty");
}

#[test]
fn text_that_is_no_source() {
    fails_in_one_line(Dir::new().fuzz(fixture("not_c.txt"), ""), "not_c.txt is neither C or C++ source");
}

#[test]
fn code_that_does_not_compile() {
    let dir = Dir::new();
    let run = fails(dir.fuzz(fixture("broken.c"), ""), "broken.c does not compile");
    run.says("broken.c:5:").says("expected ';'");
}

#[test]
fn text_in_a_source_file() {
    let dir = Dir::new();
    dir.file("text.c", "This is no C.\n");
    fails(dir.fuzz("text.c", ""), "text.c does not compile").says("text.c:1:");
}

/// The message names the symbol instead of quoting the linker.
#[test]
fn code_that_does_not_link() {
    let dir = Dir::new();
    dir.file("half.c", "double half(double x) { return x > 1.0 ? 2 : x; }\n");
    dir.file("again.c", "double half(double x) { return x; }\n");
    fails(dir.fuzz("half.c", "--with again.c"), "half.c").says("half");
}

#[test]
fn shared_object_without_tables() {
    let dir = Dir::new();
    dir.file("plain.c", "double plain(double x) { return x > 1.0 ? x : 1.0; }");
    dir.other(Command::new("gcc").args("-shared -fPIC plain.c -o plain.so".split(' ')));
    fails_in_one_line(dir.fuzz("plain.so", ""), "plain.so has no pen tables: build it with pen-cc");
}

#[test]
fn ordinary_program() {
    fails_in_one_line(Dir::new().fuzz("/bin/true", ""), "/bin/true cannot be loaded");
}

#[test]
fn damaged_elf_file() {
    let dir = Dir::new();
    dir.file("cut", b"\x7fELF\x02\x01\x01");
    fails_in_one_line(dir.fuzz("cut", ""), "cut cannot be loaded");
}

/// The version is the first word at the symbol in every version of the tables.
#[test]
fn tables_of_another_version() {
    let dir = Dir::new();
    dir.file("future.c", "unsigned __pen_tables[64] = {99};");
    dir.other(Command::new("gcc").args("-shared -fPIC future.c -o future".split(' ')));
    fails_in_one_line(dir.fuzz("future", ""), "future has pen tables of version 99");
}

#[test]
fn unknown_function_offers_the_nearest() {
    let run = Dir::new();
    fails_in_one_line(
        run.fuzz(fixture("ambiguous.c"), "-f secnd"),
        "ambiguous.c has no function `secnd`; did you mean second",
    );
}

#[test]
fn several_functions_are_listed_with_signatures() {
    let dir = Dir::new();
    let run =
        fails(dir.fuzz(fixture("ambiguous.c"), ""), "ambiguous.c has several functions; select one with --function");
    for signature in ["double first(double x)", "double second(double x, double y)", "int third(int n)"] {
        run.says(signature);
    }
}

#[test]
fn overloads_are_listed_with_symbols() {
    let dir = Dir::new();
    let run = fails(dir.fuzz(fixture("overload.cc"), "-f sign"), "several functions `sign`");
    for text in ["_Z4signd   int sign(double x)", "_Z4signi   int sign(int n)", "_ZN7numeric4signEd"] {
        run.says(text);
    }
}

#[test]
fn unsupported_parameter_is_named_with_its_type() {
    fails_in_one_line(Dir::new().fuzz(fixture("unsupported.c"), ""), "(a list of arguments)");
}

#[test]
fn function_without_parameters() {
    let dir = Dir::new();
    dir.file("constant.c", "int constant(void) { return 1; }");
    fails_in_one_line(dir.fuzz("constant.c", ""), "`int constant(void)` takes no arguments");
}

#[test]
fn source_without_functions() {
    let dir = Dir::new();
    dir.file("data.c", "int data = 3;");
    fails_in_one_line(dir.fuzz("data.c", ""), "data.c defines no function");
}

#[test]
fn output_directory_below_a_file() {
    let dir = Dir::new();
    dir.file("file", "text");
    let run = dir.penfuzz("-o file/out").arg(fixture("segv.c"));
    fails_in_one_line(run, "file/out cannot be created as output directory");
    assert_eq!(dir.files(".")["file"], b"text", "the file in the way is as before");
}

#[test]
fn output_directory_that_is_a_file() {
    let dir = Dir::new();
    dir.file("out", "text");
    fails_in_one_line(dir.fuzz(fixture("segv.c"), ""), "out cannot be created as output directory");
}

#[test]
fn missing_seeds() {
    fails_in_one_line(Dir::new().fuzz(fixture("segv.c"), "-i nowhere"), "nowhere cannot be read as seeds");
}

/// A unique flag prevents a hit in the cache, so that the compiler has to run.
#[test]
fn no_clang() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("segv.c"), "--cflag=-DNO_CLANG").env("PEN_CC_CLANG", "/nonexistent");
    fails_in_one_line(run, "cannot run /nonexistent");
}

#[test]
fn clang_of_another_version() {
    let dir = Dir::new();
    let old = dir.file("old-clang", "#!/bin/sh\necho clang version 3.4.2\n");
    fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).expect("a script can be made executable");
    let run = dir.fuzz(fixture("segv.c"), "--cflag=-DOLD_CLANG").env("PEN_CC_CLANG", &old);
    fails_in_one_line(run, "is LLVM 3, but the pen pass is built for LLVM");
}

#[test]
fn cache_that_cannot_be_written() {
    let dir = Dir::new();
    let file = dir.file("cache", "");
    fails_in_one_line(dir.fuzz(fixture("segv.c"), "").env("XDG_CACHE_HOME", file), "cache");
}

#[test]
fn no_target() {
    let dir = Dir::new();
    dir.penfuzz("").exits(2).says("TARGET");
}

#[test]
fn time_of_zero() {
    unusable("--max-time 0", "--max-time");
}

#[test]
fn negative_time() {
    unusable("--max-time=-1s", "--max-time");
    unusable("--max-time -1s", "-1");
}

#[test]
fn no_evaluations() {
    unusable("--max-evals 0", "--max-evals");
}

#[test]
fn seed_that_is_no_number() {
    unusable("--seed x", "--seed");
}

#[test]
fn unknown_minimizer() {
    unusable("--minimizer nope", "--minimizer");
}

#[test]
fn unknown_search() {
    unusable("--search nope", "--search");
}

#[test]
fn memory_limit_that_nothing_can_live_with() {
    unusable("--memory-limit 1", "--memory-limit");
}

#[test]
fn no_fuel() {
    unusable("--fuel 0", "--fuel");
}

#[test]
fn unknown_option() {
    unusable("--frobnicate", "--frobnicate");
}

#[test]
fn report_on_a_directory_without_one() {
    let dir = Dir::new();
    dir.file("other/file", "");
    fails_in_one_line(dir.penfuzz("report other"), "other/report.json");
}

#[test]
fn damaged_report() {
    let dir = Dir::new();
    dir.file("other/report.json", "{\"schema\": 1,");
    fails_in_one_line(dir.penfuzz("report other"), "not a penfuzz report");
}

#[test]
fn missing_suite() {
    fails_in_one_line(Dir::new().penfuzz("suite missing.toml"), "missing.toml");
}

#[test]
fn suite_that_is_no_toml() {
    let dir = Dir::new();
    dir.file("suite.toml", "This is no TOML.\n");
    fails(dir.penfuzz("suite suite.toml"), "suite.toml is not a suite").says("line 1");
}

#[test]
fn suite_with_a_misspelled_key() {
    let dir = Dir::new();
    dir.file(
        "suite.toml",
        "name = \"s\"\nsources = \".\"\n[[target]]\nname = \"a\"\nfile = \"a.c\"\nfuntion = \"a\"\n",
    );
    fails(dir.penfuzz("suite suite.toml"), "suite.toml is not a suite").says("funtion");
}

#[test]
fn replay_of_a_missing_input() {
    let dir = Dir::new();
    fails_in_one_line(dir.penfuzz("replay").arg(fixture("segv.c")).arg("missing"), "missing cannot be read");
}

#[test]
fn replay_without_input() {
    let dir = Dir::new();
    dir.penfuzz("replay").arg(fixture("segv.c")).exits(2).says("INPUT");
}
