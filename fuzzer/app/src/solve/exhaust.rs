//! Tries all inputs, where they are few: one `Float32`, or vectors of 32 bits together. Finds a model, or shows that there is none.
//!
//! The C function is what is run, so `unsat` by exhaustion rests on the compiler and on [`super::emit`].

use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use penfuzz_engine::{
    error::Error,
    executor::Evaluator,
    goals::{Goal, Path},
    saturation::{BranchGraph, Saturation},
};
use serde::{Deserialize, Serialize};

use crate::{
    process::{
        child::{self, Ending, Limit},
        interrupts,
    },
    reach::Query,
    replay::session::silence,
};

/// Bits of all inputs together, at most.
pub const MOST_BITS: u32 = 32;
/// Time for the search before.
pub const SEARCH_FIRST: Duration = Duration::from_secs(1);
/// Inputs between two messages.
const PART: u64 = 1 << 20;
/// Models that are returned: the evaluator may reject some.
const MOST_MODELS: usize = 64;

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Inputs.
    pub evaluations: u64,
    /// Were these all?
    pub is_complete: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Part {
    done: u64,
    models: Vec<Vec<u8>>,
}

/// Evaluates every input until some are models. `widths` are the bits of each number of the layout.
///
/// # Errors
/// When the query has no conditional.
pub fn all(
    evaluator: &mut Evaluator,
    query: &Query,
    widths: &[u32],
    time: Duration,
    mut found: impl FnMut(Vec<u8>),
) -> Result<Tried, Error> {
    let path = query.paths.first().and_then(|steps| Path::new(steps, query.counts.clone()));
    let path = path.ok_or_else(|| Error::new("the formula has no condition"))?;
    let _watch = interrupts::Watch::begin();
    let bits: u32 = widths.iter().sum();
    let total = 1u64 << bits;
    let bar = progress(total);
    let until = Instant::now() + time;
    let (mut tried, mut n) = (0, 0);
    let work = |send: &mut dyn FnMut(&Part)| {
        silence();
        if evaluator.on_its_own(Duration::from_secs(1)).is_err() {
            return;
        }
        let saturation = Saturation::new(BranchGraph::new(evaluator.target(), &query.scope));
        path.arm(evaluator, &saturation);
        evaluator.set_fuel_cap(evaluator.fuel());
        let layout = evaluator.function().layout();
        let mut x = vec![0; layout.size()];
        for from in (0..total).step_by(PART as usize) {
            let end = (from + PART).min(total);
            let mut models = Vec::new();
            for number in from..end {
                let mut rest = number;
                for (slot, width) in layout.slots().iter().zip(widths) {
                    slot.set(&mut x, rest & ((1 << width) - 1));
                    rest >>= width;
                }
                let _ = evaluator.run(&x);
                if evaluator.r() == 0 && models.len() < MOST_MODELS {
                    models.push(x.clone());
                }
            }
            let is_found = !models.is_empty();
            send(&Part { done: end, models });
            if is_found || interrupts::requested() {
                return;
            }
        }
    };
    let receive = |part: Part| {
        tried = part.done;
        if let Some(bar) = &bar {
            bar.set_position(part.done);
        }
        n += part.models.len();
        part.models.into_iter().for_each(&mut found);
    };
    let ending = child::run(work, receive, Limit::Interruptible(until));
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    Ok(Tried { evaluations: tried, is_complete: ending == Ending::Done && tried == total })
}

fn progress(total: u64) -> Option<ProgressBar> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::new(total);
    let style = ProgressStyle::with_template("{elapsed_precise} {bar:30} {percent} % of all inputs, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    Some(bar)
}
