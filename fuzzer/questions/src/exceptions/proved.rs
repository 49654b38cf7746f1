//! Counts the goals that solvers have proved impossible (`penfuzz_prove`): exceptions that an operation cannot raise in
//! any execution of the function under test.

use penfuzz_report::{Exception, Report, Site, Status};

/// The kind of the sites of operations in a report.
const OPERATION: &str = "operation";

fn operations(report: &Report) -> impl Iterator<Item = &Site> {
    report.sites.iter().filter(|site| site.kind == OPERATION && !site.branches.is_empty())
}

/// The number of operations that can raise no exception that was searched for.
pub fn free(report: &Report) -> usize {
    let is_free = |site: &&Site| site.branches.iter().all(|b| b.status == Status::ProvedUnreachable);
    operations(report).filter(is_free).count()
}

/// The number of operations that cannot raise this exception.
pub fn of(report: &Report, exception: Exception) -> usize {
    let is_proved = |site: &&Site| {
        let mut branches = site.branches.iter().filter(|b| b.status == Status::ProvedUnreachable);
        branches.any(|b| class(site, &b.outcome) == exception.name())
    };
    operations(report).filter(is_proved).count()
}

/// The name of the exception of an outcome. An operation that converts to an integer is written as a cast, or is a
/// function that returns a `long`; its only outcome is `invalid`.
fn class<'a>(site: &Site, outcome: &'a str) -> &'a str {
    let is_conversion =
        ["(", "lround", "llround", "lrint", "llrint"].iter().any(|name| site.operation.starts_with(name));
    if is_conversion && outcome == Exception::Invalid.name() { Exception::Conversion.name() } else { outcome }
}
