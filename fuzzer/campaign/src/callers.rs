//! Searches for crashes through callers.
//!
//! A static function gets what its callers pass, and an object is what its constructor and later calls leave. A crash
//! with other values needs a caller that does not exist. So short campaigns start where a program would: at the public
//! functions that lead to the static function, or at the function under test with objects that constructors make. A
//! crash that occurs there as well is confirmed (BASILISK, arXiv 1812.07932: ask the callers).

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use penfuzz_engine::saturation::ScopeKind;
use penfuzz_error::Error;
use penfuzz_report::{
    Report,
    finding::{Caller, Finding, Grade},
    sources::place,
};
use penfuzz_system::process::{deadline, interrupts};
use penfuzz_target::{inputs::Calls, recorded};

use super::{CallerSearch, Options, Proofs, RunOptions, run};

/// Time for all searches together.
const TIME: Duration = Duration::from_millis(1500);
/// The least time of a search; with less time left, there is none.
const LEAST: Duration = Duration::from_millis(100);
/// Time that is left for the check of the emitted tests.
const FOR_TESTS: Duration = Duration::from_millis(400);

/// How much earlier a campaign with this limit stops to search if it has found crashes, so that there is time to search
/// for them through callers.
#[must_use]
pub fn reserved(limit: Duration) -> Duration {
    (limit / 8).min(TIME)
}

/// Searches for those crashes of a report that are not known to occur through a caller.
///
/// # Errors
/// When no directory for the searches can be made. A search that fails confirms nothing.
pub fn search(options: &Options, symbol: &str, report: &mut Report) -> Result<(), Error> {
    let mut ways: Vec<Caller> = Vec::new();
    for caller in report.crashes.iter().filter(|crash| crash.needs_caller()).flat_map(|crash| &crash.callers) {
        if !ways.iter().any(|way| way.symbol == caller.symbol) {
            ways.push(caller.clone());
        }
    }
    let until = Instant::now() + deadline::left().map_or(TIME, |left| left.saturating_sub(FOR_TESTS).min(TIME));
    let n = ways.len();
    for (i, way) in ways.iter().enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        if left < LEAST || interrupts::requested() {
            break;
        }
        // Half of its share is for its start and its report.
        let share = left / (n - i) as u32 / 2;
        let found = crashes_from(options, symbol, way, share.max(LEAST))?;
        for crash in report.crashes.iter_mut().filter(|crash| crash.needs_caller()) {
            note(crash, way, &found);
        }
    }
    Ok(())
}

/// The crashes that count of a campaign that starts at a caller.
fn crashes_from(options: &Options, symbol: &str, way: &Caller, time: Duration) -> Result<Vec<Finding>, Error> {
    let out = tempfile::tempdir().map_err(|e| Error::new(format!("no directory for a search through callers: {e}")))?;
    let mut settings = options.settings.clone();
    let function = if way.constructs.is_some() {
        settings.calls.init = Some(way.symbol.clone());
        symbol
    } else {
        settings.args.clear();
        settings.calls = Calls::default();
        &way.symbol
    };
    let is_recorded = |dir: &PathBuf| recorded::of_symbol(dir, function).exists();
    let run_options = RunOptions {
        out: Some(out.path().join("campaign")),
        seeds: options.run.seeds.clone().filter(is_recorded),
        seed: options.run.seed,
        max_time: Some(time),
        search: options.run.search,
        proofs: Proofs::Off,
        caller_search: CallerSearch::ThisOne,
        ..RunOptions::default()
    };
    let nested = Options {
        settings,
        function: Some(function.to_owned()),
        scope: Some(ScopeKind::Calls),
        compilations: options.compilations.clone(),
        run: run_options,
    };
    let crashes = run(&nested).map_or_else(|_| Vec::new(), |finished| finished.report.crashes);
    Ok(crashes.into_iter().filter(Finding::counts).collect())
}

/// Notes whether a crash is among those of a caller.
fn note(crash: &mut Finding, way: &Caller, found: &[Finding]) {
    let same = found.iter().find(|other| is_same_place(crash.innermost(), other.innermost()));
    let Some(caller) = crash.callers.iter_mut().find(|caller| caller.symbol == way.symbol) else { return };
    caller.reproduces = Some(same.is_some());
    if let Some(same) = same {
        caller.args.clone_from(&same.args);
        crash.violates.clear();
        crash.grade = Some(Grade::Confirmed);
    }
}

/// Whether two crashes occur at the same line. The functions may differ: the compiler may have inlined one.
fn is_same_place(a: &str, b: &str) -> bool {
    place(a).map_or(a == b, |line| place(b) == Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_compared_by_their_line() {
        assert!(is_same_place("f (a.c:4)", "outer (a.c:4)"));
        assert!(!is_same_place("f (a.c:4)", "f (a.c:5)"));
        assert!(is_same_place("libm.so.6+0x10", "libm.so.6+0x10"));
        assert!(!is_same_place("libm.so.6+0x10", "libm.so.6+0x18"));
    }
}
