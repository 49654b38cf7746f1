//! Evaluates all inputs of a function if there are few: one `Float32`, or numbers of 32 bits together. Finds wanted
//! inputs, or shows that there are none. The result is about the code that the compiler has made.

use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use penfuzz_executor::{Evaluator, evaluator::RunStatus};
use serde::{Deserialize, Serialize};

use crate::replay::session::silence;
use penfuzz_system::process::{
    child::{self, Ending, Limit},
    interrupts,
};

/// Maximum number of bits of all numbers of an input together.
pub const MAX_BITS: u32 = 32;
/// Number of inputs between two messages.
const PART: u64 = 1 << 20;
/// Maximum number of found inputs that are returned per part.
const MOST_FOUND: usize = 64;
/// Time after which the speed is known well enough to predict the total time.
const MEASURED: Duration = Duration::from_secs(2);

/// The inputs to evaluate, and a time limit.
#[derive(Debug, Clone, Copy)]
pub struct Space<'a> {
    /// The number of bits of each number of the layout.
    pub widths: &'a [u32],
    /// Time limit for all inputs.
    pub time: Duration,
    /// If set, evaluation stops as soon as the speed shows that the time is too short for all inputs.
    pub only_if_complete: bool,
}

impl Space<'_> {
    fn cannot_finish_in_time(&self, begun: Instant, done: u64, total: u64) -> bool {
        let elapsed = begun.elapsed();
        self.only_if_complete && elapsed > MEASURED && elapsed.mul_f64(total as f64 / done as f64) > self.time
    }
}

/// What was evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Number of evaluated inputs.
    pub evaluations: u64,
    /// True if all inputs were evaluated.
    pub is_complete: bool,
    /// Number of evaluations that ended in a fault.
    pub faults: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Part {
    done: u64,
    found: Vec<Vec<u8>>,
    faults: u64,
}

/// Evaluates all inputs in order in a child process, which first calls `arm`. Stops after the part with the first input
/// for which `is_found` is true. Passes such inputs to `found`.
pub fn all(
    evaluator: &mut Evaluator,
    space: &Space,
    arm: impl FnOnce(&mut Evaluator),
    mut is_found: impl FnMut(&Evaluator) -> bool,
    mut found: impl FnMut(Vec<u8>),
) -> Tried {
    let _watch = interrupts::SignalGuard::begin();
    let total = 1u64 << space.widths.iter().sum::<u32>();
    let bar = progress(total);
    let begun = Instant::now();
    let mut tried = Tried { evaluations: 0, is_complete: false, faults: 0 };
    let work = |send: &mut dyn FnMut(&Part)| {
        silence();
        if evaluator.detach_from_supervisor(Duration::from_secs(1)).is_err() {
            return;
        }
        arm(evaluator);
        evaluator.set_fuel_cap(evaluator.fuel());
        let layout = evaluator.function().layout();
        let mut x = vec![0; layout.size()];
        for from in (0..total).step_by(PART as usize) {
            let end = (from + PART).min(total);
            let mut part = Part { done: end, found: Vec::new(), faults: 0 };
            for number in from..end {
                let mut rest = number;
                for (slot, width) in layout.slots().iter().zip(space.widths) {
                    slot.set(&mut x, rest & ((1 << width) - 1));
                    rest >>= width;
                }
                part.faults += u64::from(evaluator.run(&x) == RunStatus::Faulted);
                if is_found(evaluator) && part.found.len() < MOST_FOUND {
                    part.found.push(x.clone());
                }
            }
            let is_last = !part.found.is_empty() || space.cannot_finish_in_time(begun, end, total);
            send(&part);
            if is_last || interrupts::requested() {
                return;
            }
        }
    };
    let receive = |part: Part| {
        tried.evaluations = part.done;
        tried.faults += part.faults;
        if let Some(bar) = &bar {
            bar.set_position(part.done);
        }
        part.found.into_iter().for_each(&mut found);
    };
    let ending = child::run(work, receive, Limit::Interruptible(begun + space.time));
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    tried.is_complete = ending == Ending::Done && tried.evaluations == total;
    tried
}

/// A progress bar, if standard error is a terminal.
#[must_use]
pub fn progress(total: u64) -> Option<ProgressBar> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::new(total);
    let style = ProgressStyle::with_template("{elapsed_precise} {bar:30} {percent} % of all inputs, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    Some(bar)
}
