//! Builds reports without a campaign, from which the test programs of single inputs are made.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use penfuzz_engine::saturation::Goals;
use penfuzz_report::{
    Branches, Compilation, Report, SCHEMA,
    test_format::{TestFormat, TestStyle},
};
use penfuzz_target::program::{Rounding, environment, state};

use super::{
    limits::{is_there, shared_state},
    prototypes::signature,
};
use crate::{
    rendering::{linked::BuildRecord, needed::NeededSources},
    replay::session::ReplaySession,
};

/// The files and options that the target is built from.
#[derive(Debug, Clone, Copy)]
pub struct BuildInputs<'a> {
    /// The target as given on the command line.
    pub target: &'a Path,
    /// Its sources, if penfuzz compiled them.
    pub sources: &'a [PathBuf],
    /// Compiler flags of the sources.
    pub flags: &'a [String],
    /// The compilations of a file that pen-cc linked.
    pub compilations: &'a [Compilation],
    /// Linked libraries.
    pub libs: &'a [String],
    /// Rounding modes in which the function is called.
    pub rounding: Rounding,
}

/// A report on the function of a session that has a prototype, but no branches, figures or tests.
#[must_use]
pub fn report(session: &ReplaySession, made: &BuildInputs) -> Report {
    let function = session.evaluator.function();
    let needed = NeededSources::by(&session.evaluator);
    let recorded = BuildRecord { compilations: made.compilations.to_vec(), libs: made.libs.to_vec() };
    let recorded = recorded.for_tests(&session.linked, made.sources);
    let signature = signature(function);
    Report {
        schema: SCHEMA,
        origin: None,
        target: made.target.display().to_string(),
        sources: needed.sources(made.sources),
        compilations: needed.compilations(&recorded.compilations),
        flags: penfuzz_cc::for_other_compilers(made.flags),
        libs: recorded.libs,
        function: function.name.clone(),
        without_source: !is_there(signature.source()),
        signature,
        seed: 0,
        search: String::new(),
        rounding: made.rounding,
        goals: Goals::Branches,
        ulp: 0,
        expects: None,
        test_format: TestFormat::default(),
        test_style: TestStyle::default(),
        header: None,
        branches: Branches::default(),
        source_hashes: BTreeMap::new(),
        exceptions: None,
        verdict: None,
        operations: None,
        goal: None,
        criteria: BTreeMap::new(),
        uncovered_lines: Vec::new(),
        requirements: Vec::new(),
        decisions: Vec::new(),
        criterion_goals: Vec::new(),
        paths: None,
        mutation: None,
        shared_state: shared_state(&session.evaluator),
        tests_apart: false,
        unconfirmed_tests: 0,
        test_checks: Vec::new(),
        failed_tests: Vec::new(),
        uninitialized: Vec::new(),
        reads_environment: function.uses_environment,
        branches_of_calls: 0,
        evaluations: 0,
        seconds: 0.0,
        evaluations_per_second: 0.0,
        stop_reason: String::new(),
        sites: Vec::new(),
        test_program: None,
        tests: Vec::new(),
        crashes: Vec::new(),
        hangs: Vec::new(),
        long: Vec::new(),
        unmet_assumption: None,
        not_followed: Vec::new(),
        undefined: state::undefined(session.evaluator.target(), function),
        provided: environment::provided(session.evaluator.target()).into_iter().collect(),
    }
}
