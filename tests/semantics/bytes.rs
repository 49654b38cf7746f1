//! `strcmp`, `memcmp` and similar functions: the same results as without instrumentation, and a distance that decreases
//! with each byte that becomes right. Constants among their arguments are tokens.

use std::{fs, path::Path};

use libafl_bolts::rands::{Rand, StdRand};
use penfuzz_abi::{action, metric};
use penfuzz_executor::{Evaluator, evaluator::RunStatus};

use crate::{
    conditions::{FALSE, Far, TRUE, branch_number, check_distances, check_untaken, far},
    twin::{Arming, Recipe, Twin, on_target_thread},
};

const C: &str = include_str!("bytes.c");
const APART: &str = include_str!("bytes_apart.c");
const CXX: &str = include_str!("bytes.cc");
const TOKENS: &str = include_str!("tokens.c");

fn build(directory: &Path, level: &str) -> Twin {
    let texts = [("bytes.c", C), ("bytes_apart.c", APART)];
    let sources = texts.map(|(name, text)| {
        let path = directory.join(name);
        fs::write(&path, text).expect("the source is written");
        path
    });
    let flags = vec![level.to_owned(), "-w".to_owned(), "-g".to_owned()];
    Twin::build(directory, &Recipe { sources: sources.into(), flags, libraries: Vec::new(), san_cov: true })
}

/// The distance of a position that one operand lacks.
const MISSING: u64 = 256;
/// The distance of a null pointer to a string.
const NO_STRING: u64 = 1 << 16;

fn distances() -> Vec<Far> {
    let w = |s: &'static [u8]| s;
    vec![
        far("word", &[w(b"GPGGB\0")], 0, TRUE, 1),
        far("word", &[w(b"HPGDA\0")], 0, TRUE, 1 + 3),
        far("word", &[w(b"GPGGA\0")], 0, FALSE, 1),
        // The 0 byte is at the position of a letter; the letters and the 0 byte after it are missing.
        far("word", &[w(b"GPG\0A\0")], 0, TRUE, u64::from(b'G') + 2 * MISSING),
        far("word", &[w(b"\0PGGA\0")], 0, TRUE, u64::from(b'G') + 5 * MISSING),
        // A letter is at the position of the 0 byte.
        far("word", &[w(b"GPGGAx")], 0, TRUE, u64::from(b'x')),
        far("word", &[w(b"GQGGAx")], 0, TRUE, 1 + u64::from(b'x')),
        far("other_word", &[w(b"GPGGB\0")], 0, FALSE, 1),
        far("other_word", &[w(b"GPGGA\0")], 0, TRUE, 1),
        far("negated", &[w(b"GPG\0A\0")], 0, TRUE, u64::from(b'G') + 2 * MISSING),
        far("negated", &[w(b"GPGGA\0")], 0, FALSE, 1),
        far("constant_first", &[w(b"AD\0\0\0\0")], 0, TRUE, 2),
        // The distance between the operands as they were at the comparison.
        far("in_variable", &[w(b"CB\0\0\0\0")], 1, TRUE, 2),
        far("freed", &[w(b"AC\0")], 1, TRUE, 1),
        far("prefix", &[w(b"GXYZ\0\0")], 0, TRUE, u64::from(b'X' - b'P')),
        far("prefix", &[w(b"\0P\0\0\0\0")], 0, TRUE, u64::from(b'G') + MISSING),
        far("prefix", &[w(b"GP\0\0\0\0")], 0, FALSE, 1),
        far("any_case", &[w(b"Gp[\0")], 0, TRUE, 1),
        far("any_case", &[w(b"GO{\0")], 0, TRUE, u64::from(b'{' - b'[')),
        far("any_case", &[w(b"sXop")], 1, TRUE, u64::from(b'x' - b't')),
        // All bytes count, including 0 and 255.
        far("block", &[w(b"\x01AB\xfd\0\0")], 0, TRUE, 1 + 2),
        far("block", &[w(b"abcabd\0")], 1, FALSE, 1),
        far("block", &[w(b"abcad\x03")], 1, TRUE, u64::from(b'd' - b'b') + u64::from(b'c' - 3)),
        far("two_words", &[w(b"abcabc")], 0, FALSE, 1),
        far("two_words", &[w(b"abbabc")], 0, TRUE, 1),
        far("two_words", &[w(b"a\0ca\0c")], 0, FALSE, 1),
        // No operand is a constant: the shorter one lacks positions.
        far("two_words", &[w(b"a\0cabc")], 0, TRUE, u64::from(b'b') + 2 * MISSING),
        far("two_words", &[w(b"abca\0c")], 0, TRUE, u64::from(b'b') + 2 * MISSING),
        far("several", &[w(b"B\0\0\x09")], 0, TRUE, 1),
        far("several", &[w(b"BD\0\0")], 2, TRUE, 1),
        far("chosen", &[w(b"AC\0")], 0, TRUE, 1),
        far("chosen", &[w(b"AB\0")], 0, FALSE, 1),
        far("wrapped", &[w(b"AC\0\0\0\0")], 0, TRUE, 1),
        far("wrapped", &[w(b"AB\0\0\0\0")], 0, FALSE, 1),
        far("wrapped", &[w(b"DDHJ\0\0")], 1, TRUE, 1 + u64::from(b'H' - b'E')),
        far("wrapped", &[w(b"CDE\0\0\0")], 1, FALSE, 1),
        // The page ends after the third byte.
        far("at_end_of_memory", &[w(b"AC")], 0, TRUE, 1 + u64::from(b'C' - b'!') + 4 * MISSING),
        far("no_string", &[w(b"AA")], 2, TRUE, 1),
        far("no_string", &[w(b"AB")], 2, TRUE, NO_STRING),
        far("no_string", &[w(b"BB")], 2, FALSE, 1),
    ]
}

fn check(level: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = build(directory.path(), level);
    let (mut functions, mut measured) = (0, 0);
    for (i, f) in twin.target.functions.iter().enumerate() {
        if f.parameters.is_empty() || f.parameters.iter().any(|p| p.pointer) {
            continue;
        }
        let compared = twin.compare(i, &Arming::ALL, 10_000, 7);
        assert_eq!(compared.equal, 10_000, "{} {level}: every input returns", f.name);
        check_untaken(&twin, i, level);
        functions += 1;
        measured += f.sites.len();
    }
    assert!(functions > 15 && measured > 30, "{functions} functions, {measured} sites");
    check_distances(&twin, level, &distances());
}

fn check_cxx(level: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = Twin::of_text(directory.path(), "bytes.cc", CXX, level);
    for name in ["by_traits", "of_library"] {
        let function = twin.index_of(name);
        let compared = twin.compare(function, &Arming::ALL, 10_000, 7);
        assert_eq!(compared.equal, 10_000, "{name} {level}: every input returns");
        check_untaken(&twin, function, level);
    }
    check_distances(&twin, level, &[far("by_traits", &[b"A\0D"], 0, TRUE, u64::from(b'B') + 1)]);
}

/// Returns the distance to a branch.
fn distance(evaluator: &mut Evaluator, x: &[u8]) -> u64 {
    assert_eq!(evaluator.run(x), RunStatus::Returned, "at {x:02x?}");
    evaluator.r()
}

/// Sets single bytes to their best value in turn, and must reach a wanted branch from any start: there is no plateau
/// and no local minimum. Returns the largest number of rounds over all bytes.
fn descend(twin: &Twin, name: &str, site: usize, branch: usize) -> usize {
    let function = twin.index_of(name);
    let wanted = branch_number(twin, function, site, branch);
    let mut evaluator = twin.evaluator(function);
    evaluator.set_metric(metric::ULP, u64::MAX);
    evaluator.arm(|b| if b == wanted { action::WANT } else { 0 });
    let mut rng = StdRand::with_seed(3);
    let mut rounds = 0;
    for start in 0..50 {
        let mut x: Vec<u8> = (0..twin.target.functions[function].input_size).map(|_| rng.next() as u8).collect();
        if start % 2 == 0 {
            // The 0 byte in front hides the bytes after it.
            x[start % 3] = 0;
        }
        let mut r = distance(&mut evaluator, &x);
        for round in 1.. {
            let before = r;
            for i in 0..x.len() {
                for value in 0..=255 {
                    let old = core::mem::replace(&mut x[i], value);
                    match distance(&mut evaluator, &x) {
                        better if better < r => r = better,
                        _ => x[i] = old,
                    }
                }
            }
            rounds = rounds.max(round);
            if r == 0 {
                break;
            }
            assert!(r < before, "{name}: stuck at {x:02x?}, distance {r}");
        }
    }
    rounds
}

fn check_tokens(level: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = Twin::of_text(directory.path(), "tokens.c", TOKENS, level);
    let expected: [(&str, &[&[u8]]); 8] = [
        ("strings", &[b"GPGGA", b"on"]),
        ("parts", &[b"GPS", b"\0\x01\xff", b"://"]),
        ("characters", &[b",", b"+", b"-", b"$", b"\n", b"a", b"b"]),
        ("order", &[]),
        ("format", &[b"$GP", b",", b".", b";"]),
        ("table", &[b"if", b"else", b"mm", b"inch"]),
        ("passed_on", &[b"yes", b"no"]),
        ("printed", &[]),
    ];
    for (name, tokens) in expected {
        assert_eq!(twin.target.functions[twin.index_of(name)].tokens, tokens, "{name} {level}");
    }
}

#[test]
fn tokens_are_what_is_compared_with() {
    on_target_thread(|| ["-O0", "-O2"].into_iter().for_each(check_tokens));
}

#[test]
fn bytes_are_compared_as_written_without_optimization() {
    on_target_thread(|| check("-O0"));
}

#[test]
fn bytes_are_compared_as_written_with_optimization() {
    on_target_thread(|| check("-O2"));
}

#[test]
fn bytes_are_compared_as_written_in_cxx() {
    on_target_thread(|| ["-O0", "-O2"].into_iter().for_each(check_cxx));
}

#[test]
fn single_bytes_lead_to_equality() {
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let twin = build(directory.path(), "-O1");
        for (name, site, branch) in [
            ("word", 0, TRUE),
            ("other_word", 0, FALSE),
            ("freed", 1, TRUE),
            ("prefix", 0, TRUE),
            ("any_case", 0, TRUE),
            ("any_case", 1, TRUE),
            ("block", 0, TRUE),
            ("keyword", 1, TRUE),
            ("chosen", 0, TRUE),
            ("wrapped", 0, TRUE),
            ("wrapped", 1, TRUE),
        ] {
            let rounds = descend(&twin, name, site, branch);
            assert!(rounds <= 2, "{name}: {rounds} rounds over all bytes");
        }
    });
}
