//! The heap of the fuzzer survives ten thousand interruptions of a target that calls only malloc and free.
//!
//! The alarm leaves the target by a jump, most of the time in the middle of malloc, so the heap of the C library breaks
//! early. Rust must not share that heap: with the allocator of the system, this test ends in `malloc(): …` or a fault.

use std::{rc::Rc, time::Duration};

use penfuzz_compile::{Recipe, build};
use penfuzz_executor::{
    Evaluator,
    evaluator::{EvaluationLimits, RunStatus},
};
use penfuzz_target::program::{Target, select::select};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CHURN: &str = "
#include <stdlib.h>
int churn(double x) {
  void *blocks[64] = {0};
  unsigned random = (unsigned)x;
  for (;;) {
    random = random * 1664525u + 1013904223u;
    void **block = &blocks[random >> 8 & 63];
    free(*block);
    *block = malloc(random >> 16 & 511);
  }
}
";

/// Number of interruptions in all, and (`PER_PROCESS`) in each process. There are few per process, because the heap of
/// the target soon is no more than a lock that nobody releases. For the same reason a worker is replaced after an
/// alarm.
const INTERRUPTIONS: usize = 10_000;
const PER_PROCESS: usize = 5;
/// Number of parallel processes.
const CORES: usize = 2;

#[test]
fn ten_thousand_interruptions_inside_malloc_leave_the_heap_of_the_fuzzer_whole() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = directory.path().join("churn.c");
    std::fs::write(&source, CHURN).expect("the source is written");
    let file = build(&Recipe { sources: vec![source], ..Recipe::default() }).expect("the target compiles");
    let target = Rc::new(Target::load(&file).expect("the target loads"));
    let mut running = 0;
    for seed in 0..INTERRUPTIONS / PER_PROCESS {
        if running == CORES {
            wait_for_one();
            running -= 1;
        }
        start(&target, seed);
        running += 1;
    }
    (0..running).for_each(|_| wait_for_one());
}

fn start(target: &Rc<Target>, seed: usize) {
    // SAFETY: the child uses Rust's heap, which no other thread of this test holds locked, and ends by _exit.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "the system has room for another process");
    if pid == 0 {
        let worked = std::panic::catch_unwind(|| interrupt(target, seed)).is_ok();
        // SAFETY: ends the process; handlers at exit would use the broken heap.
        unsafe { libc::_exit(i32::from(!worked)) }
    }
}

fn wait_for_one() {
    let mut status = 0;
    // SAFETY: one of our own children.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, 0) };
    assert!(pid > 0 && status == 0, "process {pid} ended with the status {status:#x} of waitpid");
}

/// Interrupts the target repeatedly, and uses the heap in between as a search does.
fn interrupt(target: &Rc<Target>, seed: usize) {
    let function = select(target, Some("churn")).expect("the function is there");
    let limits = EvaluationLimits { timeout: Duration::from_millis(1), fuel: i64::MAX, ..EvaluationLimits::default() };
    let mut evaluator = Evaluator::new(Rc::clone(target), function, limits).expect("the function can be called");
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for i in 0..PER_PROCESS {
        let x = (seed * PER_PROCESS + i) as f64;
        assert_eq!(evaluator.run(&x.to_le_bytes()), RunStatus::Faulted, "it never returns");
        // The first fault is the alarm. Later runs may also fault otherwise, because the heap of the target is broken.
        assert!(evaluator.needs_restart(), "another process must take over");
        kept.extend((0..100).map(|k| vec![k as u8; 1 + (seed + k) % 777]));
        kept.retain(|block| block.len() % 3 != 0);
    }
    assert!(kept.iter().all(|block| block.iter().all(|byte| *byte == block[0])), "the fuzzer's heap is intact");
}
