//! `--sync`: inputs of other fuzzers, of any size and at any time.

use std::{fs::File, time::Duration};

use crate::support::{Dir, Penfuzz, is_covered};

/// A scrambled equality, which no search solves, and a second one, which keeps the campaign from ending.
const SOURCE: &str = "
int scrambled(unsigned a, unsigned b) {
    unsigned h = (a ^ (a >> 15)) * 0x2c1b3c6du;
    h = (h ^ (h >> 12)) * 0x297a2d39u;
    h ^= (b ^ (b >> 13)) * 0x85ebca6bu;
    if (h == 0) return 1;
    if ((a ^ (a >> 1)) == 12345 && (b | 1) == 0) return 2;
    return 0;
}
";

/// An input of zeros, which takes the first branch.
const ZEROS: [u8; 8] = [0; 8];

fn random<'a>(dir: &'a Dir, arguments: &str) -> Penfuzz<'a> {
    dir.file("scrambled.c", SOURCE);
    dir.fuzz("scrambled.c", "--search random -q").args(arguments)
}

/// Writes an input and sets its time a minute back, so that it counts as completely written.
fn settled(dir: &Dir, name: &str, bytes: &[u8]) {
    let path = dir.file(name, bytes);
    let old = std::time::SystemTime::now() - Duration::from_mins(1);
    let file = File::options().write(true).open(path).expect("it was just written");
    file.set_modified(old).expect("its time can be set");
}

fn took_the_branch(dir: &Dir) -> bool {
    dir.report("out").sites.iter().any(|s| s.branches.iter().any(|b| b.outcome == "true" && is_covered(b)))
}

#[test]
fn random_values_alone_do_not_take_the_branch() {
    let dir = Dir::new();
    random(&dir, "--max-evals 100000").exits(0);
    assert!(!took_the_branch(&dir), "the other tests would show nothing");
}

#[test]
fn inputs_of_a_flat_corpus_are_imported() {
    let dir = Dir::new();
    settled(&dir, "corpus/da39a3ee", &ZEROS);
    let run = random(&dir, "--max-evals 100000 --sync corpus").exits(0);
    run.expect(took_the_branch(&dir), "the branch of the imported input");
    let name = dir.files("out/queue").into_iter().find(|(_, bytes)| bytes == &ZEROS).map(|(name, _)| name);
    let name = name.unwrap_or_default();
    run.expect(name.ends_with(",op:sync,sync:corpus,src:da39a3ee"), &format!("its origin in its name, {name}"));
}

#[test]
fn inputs_are_kept_in_the_size_of_the_arguments() {
    for size in [1, 8, 1000] {
        let dir = Dir::new();
        settled(&dir, "corpus/a", &vec![0; size]);
        let run = random(&dir, "--max-evals 100000 --sync corpus").exits(0);
        let kept = dir.files("out/queue").into_values().any(|bytes| bytes == ZEROS);
        run.expect(kept, &format!("{size} bytes cut or continued to 8"));
    }
}

#[test]
fn a_corpus_may_come_later() {
    let dir = Dir::new();
    let mut running = random(&dir, "--max-time 50s --sync corpus").start();
    running.until("the campaign", || dir.path("out/fuzzer_setup").exists());
    settled(&dir, "corpus/a", &ZEROS);
    running.until("the import", || dir.files("out/queue").values().any(|bytes| bytes == &ZEROS));
    running.signal(libc::SIGINT);
    running.wait().says("cannot import from corpus yet");
}

#[test]
fn a_file_is_no_corpus() {
    let dir = Dir::new();
    dir.file("a", "x");
    random(&dir, "--sync a").exits(1).says("a is not a directory; give the corpus of another fuzzer as --sync");
}

/// Otherwise each worker would import the input again and be killed.
#[test]
fn an_input_that_kills_workers_is_not_imported_for_ever() {
    let dir = Dir::new();
    dir.file(
        "deadly.c",
        "#include <signal.h>
         #include <unistd.h>
         int deadly(unsigned a, unsigned b) {
             if (a * 2654435761u == 12345u && b == 77777) kill(getpid(), SIGKILL);
             return a == b + 1;
         }",
    );
    let a = 12345_u32.wrapping_mul(244_002_641).to_le_bytes();
    settled(&dir, "corpus/a", &[a, 77777_u32.to_le_bytes()].concat());
    let run = dir.fuzz("deadly.c", "--search random --max-time 4s --sync corpus -q").exits(3);
    run.expect(dir.report("out").stop_reason == "max-time", "a campaign that lives on");
}
