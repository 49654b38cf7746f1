//! Emits tests: a program that calls the function with the worst inputs, and expects the values of the reference.

use std::path::{Path, PathBuf};

use penfuzz_directory::{
    output::reports::write_tests,
    rendering::{
        arguments::arguments,
        header,
        single::{self, BuildInputs},
    },
};
use penfuzz_error::{Error, failed};
use penfuzz_mutators::line;
use penfuzz_report::{Arg, Report, TESTS, Test, c_text::identifier, literal, test_format::TestFormat};
use penfuzz_system::files::{atomic, own};

use super::{Answer, Class, Compared, Found, answer::size, pair::Pair, value::Member};

/// Format and tolerance of the tests.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Format of the tests.
    pub format: TestFormat,
    /// Tolerance: maximum distance from the value of the reference, in floats. By default the distance of the worst
    /// result, so that a test fails when the function becomes less accurate.
    pub ulp: Option<u64>,
}

/// Writes the program, if there is an input to test. If `is_generated`, penfuzz has generated the source of the
/// function, and a copy of it is written next to the program.
///
/// # Errors
/// Those of the file system, with the path.
pub fn write(
    dir: &Path,
    pair: &Pair,
    answer: &Answer,
    made: &BuildInputs,
    is_generated: bool,
    style: Style,
) -> Result<(), Error> {
    let inputs = answer.inputs();
    let tests: Vec<Test> = inputs.iter().filter_map(|found| test(pair, found)).collect();
    if tests.is_empty() {
        return Ok(());
    }
    let dir = dir.join(TESTS);
    own::make_directory(&dir).map_err(|e| failed(&dir, "cannot be created", e))?;
    let largest = || inputs.iter().filter_map(|found| floats_between(pair, found)).max().unwrap_or(0);
    let mut report = Report {
        expects: Some(pair.reference().text()),
        ulp: style.ulp.unwrap_or_else(largest),
        test_format: style.format,
        tests,
        ..single::report(pair.session(), made)
    };
    if is_generated {
        let copy = copy(&dir, &report)?;
        report.sources = vec![copy.display().to_string()];
        report.signature.set_source(&copy);
    }
    report.header = header::find(&report);
    report.test_program = Some(penfuzz_testgen::commands(&report));
    write_tests(&dir, &report).map_err(|e| failed(&dir, "cannot be written", e))
}

/// Copies the generated source of the function out of the cache. Returns the path of the copy.
fn copy(dir: &Path, report: &Report) -> Result<PathBuf, Error> {
    let source = Path::new(report.signature.source());
    let text = std::fs::read(source).map_err(|e| failed(source, "cannot be read", e))?;
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let copy = dir.join(format!("tested_{}.c", identifier(&report.function)));
    atomic::write(&copy, &text).map_err(|e| failed(&copy, "cannot be written", e))?;
    Ok(copy)
}

fn test(pair: &Pair, found: &Found) -> Option<Test> {
    let (function, value, expected) = (pair.function(), pair.value(), found.expected()?);
    let is_errno = found.compared == Compared::Wrong(Class::Errno);
    let returned = |kind, bits| literal::arg("result", &function.result_type, kind, bits);
    let member = |member: &Member| {
        let place = member.for_tests();
        Arg { place: Some(place), ..literal::arg(value.name(), "", value.kind(), expected) }
    };
    let result = match value.member() {
        None => Some(returned(value.kind(), expected)),
        Some(_) => function.result_kind.filter(|_| value.has_status()).map(|kind| returned(kind, 0)),
    };
    Some(Test {
        file: size(pair, found),
        args: arguments(function, &found.bytes),
        result,
        outputs: value.member().map(member).into_iter().collect(),
        errno: found.errno.filter(|_| is_errno).map(|errno| errno.expected),
        ..Test::default()
    })
}

/// Returns the distance of the result from that of the reference, in floats; `None` unless both are finite.
fn floats_between(pair: &Pair, found: &Found) -> Option<u64> {
    let (kind, expected) = (pair.result(), found.expected()?);
    let is_number = |bits| kind.to_real(bits).is_finite();
    let both = found.size().is_some() && is_number(found.result) && is_number(expected);
    both.then(|| line::between(kind, found.result, expected))
}
