//! Checks the translation against executions: if an emitted test takes a branch, the query for this branch, with the
//! arguments of the test, must be satisfiable. If a solver finds it unsatisfiable, the translation is wrong and no
//! proof can be trusted.

use std::{collections::BTreeSet, fmt::Write, path::Path, time::Duration};

use penfuzz_directory::output::manifest::Manifest;
use penfuzz_error::Error;
use penfuzz_report::{Arg, BranchIndex, Report};
use penfuzz_system::process::interrupts;
use penfuzz_target::inputs::extended;

use super::{
    Limits, Prover, Verdict, criteria,
    evidence::Query,
    models,
    slice::Slice,
    solver::{self, Answer},
    together::{self, Places},
};

/// The mask for the bits of the widest argument, a `long double` of x86.
const WIDEST: u128 = (1 << extended::BITS) - 1;

/// The results of the queries about branches that tests take.
#[derive(Debug, Default)]
pub struct Checked {
    /// Number of queries that a solver found satisfiable, as expected.
    pub possible: usize,
    /// Number of queries without an answer.
    pub unknown: usize,
    /// Number of branches without a query, or whose query cannot be given the arguments of the test.
    pub without_query: usize,
    /// The branches and paths that a test takes although a solver found them impossible.
    pub contradictions: Vec<String>,
}

/// Checks each branch of the function under test that a test takes, and each boundary value that a test has. A query
/// may take `each`.
///
/// # Errors
/// When files cannot be written.
pub fn check(dir: &Path, manifest: &Manifest, report: &Report, each: Duration) -> Result<Checked, Error> {
    let solvers = solver::find();
    let all: Vec<BranchIndex> = report.tests.iter().flat_map(|t| t.covers.iter().copied()).collect();
    let mut prover = Prover::new(
        dir,
        manifest,
        report,
        &all,
        None,
        solvers,
        Limits { each, all: Duration::MAX, closed_world: false },
    )?;
    prover.link()?;
    let mut checked = Checked::default();
    prover.check_all(report, each, &mut checked)?;
    prover.check_all(&criteria::as_sites(report), each, &mut checked)?;
    Ok(checked)
}

/// Checks the paths of tests. `paths` has for each the index of its test, and the first branches that the test takes.
///
/// # Errors
/// When files cannot be written.
pub fn check_paths(
    dir: &Path,
    manifest: &Manifest,
    report: &Report,
    places: &Places,
    paths: &[(usize, Vec<u32>)],
    each: Duration,
) -> Result<Checked, Error> {
    let known: Vec<_> = paths.iter().map(|(_, branches)| together::places_of(places, branches)).collect();
    let sites: BTreeSet<_> = known.iter().flatten().flatten().copied().collect();
    let sites: Vec<_> = sites.into_iter().collect();
    let lines = Some(together::lines_of_paths(report, &known));
    let limits = Limits { each, all: Duration::MAX, closed_world: false };
    let mut prover = Prover::new(dir, manifest, report, &sites, lines, solver::find(), limits)?;
    prover.link()?;
    let mut checked = Checked::default();
    for (number, ((test, branches), places)) in paths.iter().zip(&known).enumerate() {
        if interrupts::requested() {
            break;
        }
        let args = &report.tests[*test].args;
        let slice = places.as_ref().and_then(|places| prover.path(report, number, places));
        let verdict = match slice {
            Some(slice) => prover.is_slice_possible(report, slice, args, each)?,
            None => None,
        };
        let what = format!("a path of {} branches", branches.len());
        checked.note(verdict, &what, report, args);
    }
    Ok(checked)
}

impl Checked {
    /// Counts the verdict about a branch or a path that a test with these arguments takes.
    fn note(&mut self, verdict: Option<Verdict>, what: &str, report: &Report, args: &[Arg]) {
        match verdict {
            Some(Verdict::Satisfiable | Verdict::SatisfiableIfFree) => self.possible += 1,
            Some(Verdict::Proved | Verdict::ProvedByOne) => {
                let args: Vec<_> = args.iter().map(|a| a.hex.as_str()).collect();
                self.contradictions.push(format!("{what}: {}({}) takes it", report.function, args.join(", ")));
            }
            Some(_) => self.unknown += 1,
            None => self.without_query += 1,
        }
    }
}

impl Prover {
    /// Checks each branch that a test takes.
    fn check_all(&self, report: &Report, each: Duration, checked: &mut Checked) -> Result<(), Error> {
        for (test, place) in report.tests.iter().flat_map(|t| t.covers.iter().map(move |place| (t, *place))) {
            if interrupts::requested() {
                break;
            }
            let site = &report.sites[place.site];
            let outcome = &report.branch(place).outcome;
            let what = format!("{}:{}:{} {outcome}", site.file, site.line, site.column);
            checked.note(self.is_possible(report, place, &test.args, each)?, &what, report, &test.args);
        }
        Ok(())
    }

    /// The first solver's verdict about a branch with these arguments; `None` if there is no such query.
    fn is_possible(
        &self,
        report: &Report,
        place: BranchIndex,
        args: &[Arg],
        each: Duration,
    ) -> Result<Option<Verdict>, Error> {
        let site = &report.sites[place.site];
        let Ok((translation, slice)) = self.slice(report, place) else { return Ok(None) };
        // The arguments of the test are only those of the first call of the function under test.
        let is_first_call = site.code.as_ref().is_some_and(|c| c.symbol == report.signature.symbol);
        if !is_first_call || translation.is_recursive {
            return Ok(None);
        }
        self.is_slice_possible(report, slice, args, each)
    }

    fn is_slice_possible(
        &self,
        report: &Report,
        mut slice: Slice,
        args: &[Arg],
        each: Duration,
    ) -> Result<Option<Verdict>, Error> {
        if !models::are_numbers(&report.signature) || report.signature.calls > 0 {
            return Ok(None);
        }
        for (number, (arg, parameter)) in args.iter().zip(&report.signature.parameters).enumerate() {
            if !parameter.pointer {
                fix(&mut slice, number, arg);
            }
        }
        let file = self.proofs.join("check.smt2");
        super::write(&file, &Query { slice: &slice, rounding: report.rounding }.text())?;
        let Some(solver) = self.solvers.first() else { return Ok(None) };
        Ok(Some(match solver.ask(&file, each).0 {
            Answer::Sat => Verdict::SatisfiableIfFree,
            Answer::Unsat => Verdict::ProvedByOne,
            Answer::Unknown | Answer::TimedOut | Answer::Failed(_) => Verdict::Undecided,
        }))
    }
}

/// Replaces the declaration of an argument by a definition with its value, if the query declares it.
fn fix(slice: &mut Slice, number: usize, arg: &Arg) {
    let declared = format!("(declare-fun arg{number} () (_ BitVec ");
    let Some(at) = slice.lines.iter().position(|line| line.starts_with(&declared)) else { return };
    let width: Option<u32> = slice.lines[at][declared.len()..].split(')').next().and_then(|w| w.parse().ok());
    let bits = u128::from_str_radix(arg.bits.trim_start_matches("0x"), 16).ok();
    // The bits of a `long double` are reported as its bytes in memory, first byte first.
    let bits = if width == Some(extended::BITS) { bits.map(|b| u128::swap_bytes(b) & WIDEST) } else { bits };
    let (Some(width), Some(bits)) = (width.filter(|w| *w <= extended::BITS), bits) else { return };
    let kept = bits & ((1 << width) - 1);
    let mut text = String::new();
    let _ = write!(text, "(define-fun arg{number} () (_ BitVec {width}) (_ bv{kept} {width}))");
    slice.lines[at] = text;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_gets_its_bits() {
        let lines = vec!["(declare-fun arg0 () (_ BitVec 32))".to_owned()];
        let mut slice = Slice { lines, ..Slice::default() };
        fix(&mut slice, 0, &Arg { bits: "0xffffffff00000005".to_owned(), ..Arg::default() });
        assert_eq!(slice.lines, ["(define-fun arg0 () (_ BitVec 32) (_ bv5 32))"]);
    }

    #[test]
    fn a_long_double_gets_the_bits_of_its_memory() {
        let lines = vec!["(declare-fun arg0 () (_ BitVec 80))".to_owned()];
        let mut slice = Slice { lines, ..Slice::default() };
        let bits = "0500000000000080ff3f000000000000".to_owned();
        fix(&mut slice, 0, &Arg { bits, ..Arg::default() });
        let expected = format!("(define-fun arg0 () (_ BitVec 80) (_ bv{} 80))", 0x3fff_8000_0000_0000_0005_u128);
        assert_eq!(slice.lines, [expected]);
    }
}
