//! The emitted tests: a program that calls the function with the worst inputs, and expects the values of the reference.

use std::path::Path;

use penfuzz_engine::error::{Error, failed};
use penfuzz_mutators::line;

use super::{Answer, Class, Compared, Found, answer::size, pair::Pair};
use crate::{
    campaign::{
        header,
        outcome::arguments,
        single::{self, Made},
    },
    files::own,
    report::{Report, TESTS, Test, literal, unit_test, unit_test::formats::TestFormat, write_tests},
};

/// How tests are written.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Their format.
    pub format: TestFormat,
    /// Floats that a result may be away from the reference's; by default what the largest error comes to, so that a test fails where the function
    /// becomes more wrong.
    pub ulp: Option<u64>,
}

/// Writes the program, if there is an input to test, and the result is what the function returns.
///
/// # Errors
/// Those of the file system, with the path.
pub fn write(dir: &Path, pair: &Pair, answer: &Answer, made: &Made, style: Style) -> Result<(), Error> {
    let inputs = answer.inputs();
    let tests: Vec<Test> = inputs.iter().filter_map(|found| test(pair, found)).collect();
    if tests.is_empty() || !pair.value().is_returned() {
        return Ok(());
    }
    let largest = || inputs.iter().filter_map(|found| floats_between(pair, found)).max().unwrap_or(0);
    let mut report = Report {
        expects: Some(pair.reference().text()),
        ulp: style.ulp.unwrap_or_else(largest),
        test_format: style.format,
        tests,
        ..single::report(pair.session(), made)
    };
    report.header = header::find(&report);
    report.test_program = Some(unit_test::commands(&report));
    let tests = dir.join(TESTS);
    own::make_directory(&tests).map_err(|e| failed(&tests, "cannot be created", e))?;
    write_tests(&tests, &report).map_err(|e| failed(&tests, "cannot be written", e))
}

fn test(pair: &Pair, found: &Found) -> Option<Test> {
    let (kind, expected) = (pair.result(), found.expected()?);
    let is_errno = found.compared == Compared::Wrong(Class::Errno);
    Some(Test {
        file: size(pair, found),
        args: arguments(pair.function(), &found.bytes),
        result: Some(literal::arg("result", &pair.function().result_type, kind, expected)),
        errno: found.errno.filter(|_| is_errno).map(|errno| errno.expected),
        ..Test::default()
    })
}

/// Floats from the result to that of the reference, where both are numbers.
fn floats_between(pair: &Pair, found: &Found) -> Option<u64> {
    let (kind, expected) = (pair.result(), found.expected()?);
    let is_number = |bits| kind.to_real(bits).is_finite();
    let both = found.size().is_some() && is_number(found.result) && is_number(expected);
    both.then(|| line::between(kind, found.result, expected))
}
