//! Experiments: every tool's harness makes the arguments of the same bytes that penfuzz makes of them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use penfuzz_experiments::harness;

use super::support::{Dir, Penfuzz, fixture};

/// Calls the harness with each file.
const MAIN: &str = "
#include <stdio.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int main(int argc, char **argv)
{
    unsigned char *data = malloc(4096);
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], \"rb\");
        if (!file) return 1;
        LLVMFuzzerTestOneInput(data, fread(data, 1, 4096, file));
        fclose(file);
    }
    return 0;
}
";

/// Bytes without a pattern.
fn noise(count: usize, state: &mut u64) -> Vec<u8> {
    let mut next = || {
        *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (*state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// The function of a source is called by penfuzz and by the harness; what it says about its arguments must be the same.
fn agree(source: &Path, options: &str, lines: usize) {
    let dir = Dir::new();
    dir.fuzz(source, "--function arguments --max-evals 1").args(options).exits(0);
    let mut report = dir.report("out");
    report.signature.file = source.to_string_lossy().into_owned();
    let size = harness::input_size(&report).expect("it takes numbers");
    let mut state = 1;
    let inputs: Vec<_> = (0..size + 10).map(|n| dir.file(&format!("in/{n:03}"), noise(n, &mut state))).collect();
    assert_eq!(inputs.len(), lines, "the arguments have {size} bytes");

    fs::remove_file(dir.path("bits.txt")).expect("a campaign calls the function");
    let replay = |inputs: &[PathBuf]| {
        let replay = dir.penfuzz("replay").arg(source).args("--function arguments").args(options);
        inputs.iter().fold(replay, Penfuzz::arg).exits(0);
        let own = fs::read_to_string(dir.path("bits.txt")).expect("a replay calls the function");
        fs::remove_file(dir.path("bits.txt")).expect("it is there");
        own
    };
    // The first calls are those by which penfuzz finds out how large the memory behind each pointer must be.
    let (one, two) = (replay(&inputs[..1]).lines().count(), replay(&inputs[..2]).lines().count());
    let before = 2 * one - two;
    let own = replay(&inputs);

    let text = harness::text(&report).expect("it is no harness itself");
    let mut gcc = Command::new("gcc");
    gcc.args(["-w", "-frounding-math", "-o"]).arg(dir.path("program"));
    gcc.arg(dir.file(harness::file_name(&report), text)).arg(dir.file("main.c", MAIN));
    if !harness::includes_source(&report) {
        gcc.arg(source);
    }
    dir.other(gcc.arg("-lm"));
    dir.other(Command::new(dir.path("program")).args(&inputs));
    let theirs = fs::read_to_string(dir.path("bits.txt")).expect("the harness calls the function");

    // A replay calls the function more than once, to see whether it touches what lies beside its arguments.
    let own: Vec<&str> = own.lines().skip(before).collect();
    let calls = own.len() / lines;
    assert_eq!(own.len(), calls * lines, "as many calls for each input");
    assert!(own.chunks(calls).all(|of_one| of_one.iter().all(|l| *l == of_one[0])), "all calls of an input are alike");
    for (n, (own, theirs)) in own.chunks(calls).map(|of_one| of_one[0]).zip(theirs.lines()).enumerate() {
        assert_eq!(own, theirs, "an input of {n} bytes: penfuzz, harness");
    }
    assert_eq!(theirs.lines().count(), lines, "one call for each input");
}

/// 1 + 4 + 8 + 1 + 2 + 4 + 8 + 8 + 1 + 2 + 4 + 4 + 8 + 4 + 1 + 1 bytes of arguments.
const BYTES: usize = 61;

#[test]
fn the_harness_decodes_as_penfuzz_does() {
    agree(&fixture("arguments.c"), "", BYTES + 10);
}

#[test]
fn the_harness_decodes_rounding_modes_as_penfuzz_does() {
    agree(&fixture("arguments.c"), "--rounding all", BYTES + 11);
}

#[test]
fn the_harness_decodes_for_a_static_function_as_penfuzz_does() {
    let dir = Dir::new();
    let text = fs::read_to_string(fixture("arguments.c")).expect("the fixture is there");
    let text = text.replace("int arguments(", "static __attribute__((used)) int arguments(");
    agree(&dir.file("static.c", text), "", BYTES + 10);
}
