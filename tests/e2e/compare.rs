//! Experiments: from the same bytes, every tool's harness makes the same arguments as penfuzz.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use penfuzz_experiments::harness;

use super::support::{Dir, Penfuzz, fixture};

/// A program that calls the harness with each file.
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

/// Returns pseudo-random bytes.
fn noise(count: usize, state: &mut u64) -> Vec<u8> {
    let mut next = || {
        *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (*state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// penfuzz and the harness call the function of a source; what the function prints about its arguments must be the
/// same.
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
    // In the first calls, penfuzz determines the size of the memory behind each pointer.
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

    // A replay calls the function more than once, to detect accesses to memory next to its arguments.
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

/// Writes inputs whose first eight bytes differ: half of them random, the others with small numbers, zeros and
/// characters.
fn varied(dir: &Dir, size: usize, count: usize) -> Vec<PathBuf> {
    let mut state = 7;
    let mask = |n: usize, byte: u8| match n % 4 {
        0 | 1 => byte,
        2 => byte & 3,
        _ if byte.is_multiple_of(4) => 0,
        _ => byte & 0x47,
    };
    let one = |n: usize| {
        let mut x: Vec<u8> = noise(size, &mut state).into_iter().map(|byte| mask(n, byte)).collect();
        let id = (0x5000_0000_0000_0000 + n as u64).to_le_bytes();
        x[..8].copy_from_slice(&id);
        dir.file(&format!("in/{n:04}"), x)
    };
    (0..count).map(one).collect()
}

/// Returns the lines of `bits.txt` by their first number, which is the first argument; removes the file.
fn by_number(dir: &Dir) -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(dir.path("bits.txt")).unwrap_or_default();
    let _ = fs::remove_file(dir.path("bits.txt"));
    let mut all = BTreeMap::<_, BTreeSet<_>>::new();
    for line in text.lines().filter(|line| line.starts_with("5000000")) {
        let (number, rest) = line.split_once(' ').expect("a number and bytes");
        all.entry(number.to_owned()).or_default().insert(rest.to_owned());
    }
    all
}

/// Returns the names of the inputs for which a replay prints branches.
fn with_branches(printed: &str) -> BTreeSet<String> {
    let mut input = String::new();
    let mut found = BTreeSet::new();
    for line in printed.lines() {
        match line.rsplit_once("/in/") {
            Some((_, name)) => name.clone_into(&mut input),
            None if line.ends_with("  true") || line.ends_with("  false") => drop(found.insert(input.clone())),
            None => {}
        }
    }
    found
}

/// penfuzz and the harness call the function of a source with arguments made of blocks. What the function prints about
/// them must be the same for each input, and the harness must reject the inputs that penfuzz rejects, which are
/// evaluations without any branch. Returns the number of inputs, and the number of inputs that are not rejected.
fn blocks_agree(source: &Path, options: &str) -> (usize, usize) {
    let dir = Dir::new();
    dir.fuzz(source, "--function arguments --max-evals 1").args(options).run();
    let mut report = dir.report("out");
    report.signature.file = source.to_string_lossy().into_owned();
    harness::check(&report).expect("a harness can be written");
    let size = harness::input_size(&report).expect("it takes numbers");
    let inputs = varied(&dir, size, 200);
    by_number(&dir);

    let replay = dir.penfuzz("replay").arg(source).args("--function arguments").args(options);
    let printed = inputs.iter().fold(replay, Penfuzz::arg).run();
    let returned = with_branches(&printed.stdout);
    let own = by_number(&dir);

    let mut gcc = Command::new("gcc");
    gcc.args(["-w", "-frounding-math", "-o"]).arg(dir.path("program"));
    gcc.arg(dir.file(harness::file_name(&report), harness::text(&report).expect("it is no harness itself")));
    gcc.arg(dir.file(harness::DECODER, harness::decoder(&report).expect("it takes blocks")));
    gcc.arg(dir.file("main.c", MAIN));
    if !harness::includes_source(&report) {
        gcc.arg(source);
    }
    dir.other(gcc.arg("-lm"));
    dir.other(Command::new(dir.path("program")).args(&inputs));
    let theirs = by_number(&dir);
    assert_eq!(theirs.len(), returned.len(), "the same inputs are rejected");
    for (n, input) in inputs.iter().enumerate() {
        let number = format!("{:016x}", 0x5000_0000_0000_0000 + n as u64);
        let name = input.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if returned.contains(&name) {
            assert_eq!(own[&number], theirs[&number], "input {number}: penfuzz, harness");
            assert_eq!(own[&number].len(), 1, "all calls of input {number} are alike");
        } else {
            assert!(!theirs.contains_key(&number), "input {number} is rejected");
        }
    }
    (inputs.len(), returned.len())
}

#[test]
fn the_harness_makes_the_blocks_of_memory_that_penfuzz_makes() {
    let options = "--arg=n:-1..6 --arg=m:0..5 --arg=at:0..9 --arg=s->either.large[0]:-1..1";
    let (all, returned) = blocks_agree(&fixture("blocks.c"), options);
    assert_eq!(returned, all);
}

#[test]
fn the_harness_rejects_what_touches_memory_of_unknown_size() {
    let (all, returned) = blocks_agree(&fixture("blocks.c"), "");
    assert!(returned > all / 2 && returned < all, "some indices are beyond all that is known: {returned}");
    // Some sizes ask for more elements than the memory holds, although the size is declared.
    let (all, returned) = blocks_agree(&fixture("blocks.c"), "--arg=a:array[n] --arg=at:0..9");
    assert!(returned > all / 8 && returned < all, "some integers ask for too many elements: {returned}");
}

#[test]
fn the_harness_makes_blocks_for_a_static_function_and_in_rounding_modes() {
    let dir = Dir::new();
    let text = fs::read_to_string(fixture("blocks.c")).expect("the fixture is there");
    let text = text.replace("\nint arguments(", "\nstatic __attribute__((used)) int arguments(");
    let options = "--arg=n:0..6 --arg=m:0..5 --arg=at:0..9 --rounding=all";
    let (all, returned) = blocks_agree(&dir.file("static.c", text), options);
    assert_eq!(returned, all);
}

#[test]
fn the_harness_makes_standard_input() {
    let (all, returned) = blocks_agree(&fixture("reads.c"), "--arg=length:0..5");
    assert_eq!(returned, all);
}
