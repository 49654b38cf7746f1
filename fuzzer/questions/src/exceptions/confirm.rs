//! Replays each find without hooks, and confirms it by the flags and traps of the hardware
//! ([`penfuzz_executor::trap`]), in a child process.

use std::{collections::HashMap, path::Path};

use penfuzz_abi::{exception, operation};
use penfuzz_directory::replay::session::{ReplaySession, silence};
use penfuzz_executor::{
    evaluator::RunStatus,
    trap::{self, Trapped},
};
use penfuzz_report::{
    Exception,
    exceptions::{Confirmation, Confirmed},
};
use penfuzz_system::process::child::{self, Limit};
use penfuzz_target::program::{
    Site,
    symbols::{SourcePosition, Symbols},
};
use serde::{Deserialize, Serialize};

use super::{
    conversion,
    job::{self, Job, Observed},
};

/// What the hardware reported for one job; a message of the child.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Witness {
    /// True if the exception's flag was set after the run.
    flag: bool,
    /// Offsets in the target of the code that raised the exception.
    places: Vec<u64>,
    returned: bool,
    is_cut_short: bool,
}

/// Replays the finds of all jobs.
#[must_use]
pub fn confirm(session: &mut ReplaySession, jobs: &[Job], observed: &[Observed]) -> Vec<Confirmation> {
    let witnesses = witnesses(session, jobs, observed);
    let target = session.evaluator.target();
    let mut map = Map { symbols: Symbols::new(&target.path, target.base()), known: HashMap::new() };
    jobs.iter()
        .zip(observed)
        .zip(witnesses)
        .map(|((job, observed), witness)| {
            let site = &target.sites[target.site_of(job.branch)];
            match witness {
                Some(witness) => judge(site, job, observed, &witness, &mut map),
                None => unconfirmed("the replay does not finish"),
            }
        })
        .collect()
}

/// The hardware flag of an exception; `None` if it has none.
fn flag_of(exception: Exception) -> Option<usize> {
    Some(match exception {
        Exception::Subnormal => return None,
        Exception::Overflow => exception::OVERFLOW,
        Exception::Underflow => exception::UNDERFLOW,
        Exception::DivideByZero => exception::DIVIDE_BY_ZERO,
        Exception::Invalid | Exception::Conversion => exception::INVALID,
        Exception::Inexact => exception::INEXACT,
    })
}

fn witnesses(session: &mut ReplaySession, jobs: &[Job], observed: &[Observed]) -> Vec<Option<Witness>> {
    let mut all: Vec<Option<Witness>> = Vec::with_capacity(jobs.len());
    let (patience, timeout) = (session.patience(), session.timeout());
    while all.len() < jobs.len() {
        let first = all.len();
        let work = |send: &mut dyn FnMut(&Witness)| {
            silence();
            if session.evaluator.detach_from_supervisor(timeout).is_err() {
                return;
            }
            for (job, observed) in jobs.iter().zip(observed).skip(first) {
                send(&replay(session, job, &observed.bytes));
                if session.evaluator.needs_restart() {
                    return;
                }
            }
        };
        let _ = child::run(work, |witness| all.push(Some(witness)), Limit::Silence(patience * 2));
        // The next job ended the child.
        if all.len() == first {
            all.push(None);
        }
    }
    all
}

/// Replays one job, in the child.
fn replay(session: &mut ReplaySession, job: &Job, bytes: &[u8]) -> Witness {
    let Some(flag) = flag_of(job.exception) else { return Witness { returned: true, ..Witness::default() } };
    let (ran, Trapped { raised, .. }) = session.evaluator.run_trapped(bytes, None);
    let (_, traps) = session.evaluator.run_trapped(bytes, Some(flag));
    Witness {
        flag: raised >> flag & 1 == 1,
        places: traps.places,
        returned: ran == RunStatus::Returned,
        is_cut_short: traps.is_cut_short,
    }
}

/// Source positions of code. Each address is looked up once.
struct Map {
    symbols: Symbols,
    known: HashMap<u64, Vec<SourcePosition>>,
}

impl Map {
    fn positions(&mut self, offset: u64) -> &[SourcePosition] {
        let symbols = &self.symbols;
        self.known.entry(offset).or_insert_with(|| symbols.positions(offset))
    }
}

fn judge(site: &Site, job: &Job, observed: &Observed, witness: &Witness, map: &mut Map) -> Confirmation {
    let by = |by| Confirmation { by, reason: String::new() };
    let places: Vec<_> = witness.places.iter().flat_map(|p| map.positions(*p).to_vec()).collect();
    let same_file = |file: &str| Path::new(file).file_name() == Path::new(&site.file).file_name();
    let mut same_line = places.iter().filter(|at| same_file(&at.file) && at.line == site.line).peekable();
    if same_line.peek().is_some() {
        let exact = same_line.any(|at| at.column == site.column);
        return by(if exact { Confirmed::Site } else { Confirmed::Line });
    }
    let by_value = by_operand(site, job, observed).or_else(|| by_sum(site, job, observed));
    if let Some(reason) = by_value {
        return Confirmation { by: Confirmed::Value, reason };
    }
    if witness.flag || !witness.places.is_empty() {
        return Confirmation { by: Confirmed::Flag, reason: elsewhere(&places, witness) };
    }
    if !witness.returned {
        return unconfirmed("the function never returned normally, and no exception was raised before");
    }
    unconfirmed(
        "without hooks no flag is raised: \
         the compiler omits the operation if its result is unused, or computes in long double",
    )
}

/// A reason, if the operand is outside the range of the integer type that it is converted to.
fn by_operand(site: &Site, job: &Job, observed: &Observed) -> Option<String> {
    let (bits, signed) = conversion::integer_type(site)?;
    let x = f64::from_bits(observed.seen?.0[0]);
    (job.exception == Exception::Conversion && conversion::is_out_of_range(x, bits, signed)).then(|| {
        "the operand lies outside the range; the machine converts by way of a wider type, which raises no flag"
            .to_owned()
    })
}

/// A reason, if the sum or difference of the operands is subnormal, and is the recorded result.
fn by_sum(site: &Site, job: &Job, observed: &Observed) -> Option<String> {
    let (values, _) = observed.seen.filter(|_| job.exception == Exception::Subnormal)?;
    let [a, b] = [values[0], values[1]].map(f64::from_bits);
    let b = if site.operation == operation::SUBTRACT { -b } else { b };
    // The operands of a float operation are floats, so these conversions are exact.
    let single = a as f32 + b as f32;
    let (sum, is_subnormal) = match site.width {
        32 => (f64::from(single), single.is_subnormal()),
        _ => (a + b, (a + b).is_subnormal()),
    };
    let reason = "the result of its operands is subnormal; it is exact, so the machine raises no flag";
    (is_subnormal && sum.to_bits() == values[job::RESULT]).then(|| reason.to_owned())
}

fn elsewhere(places: &[SourcePosition], witness: &Witness) -> String {
    if !trap::KNOWS_PLACES {
        return "this processor does not report where".to_owned();
    }
    if witness.is_cut_short {
        return "it is raised too often to examine all places".to_owned();
    }
    match places.iter().find(|at| at.line > 0) {
        Some(SourcePosition { file, line, .. }) => {
            let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
            format!("the optimizer has moved it: raised at {name}:{line}")
        }
        None => "at code without a line".to_owned(),
    }
}

/// The result for a job that no replay confirms.
fn unconfirmed(reason: &str) -> Confirmation {
    Confirmation { by: Confirmed::No, reason: reason.to_owned() }
}
