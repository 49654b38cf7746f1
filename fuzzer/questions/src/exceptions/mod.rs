//! Examines the finds of a finished campaign for floating-point exceptions.
//!
//! A campaign ends with inputs that together cover all exceptions that it has found. Here each exception gets an input
//! of its own, as simple as possible ([`work`]). Its operands are recorded, and whether the function's result shows the
//! exception ([`shown`]). The run is repeated without hooks, and confirmed by the hardware's flags and traps
//! ([`confirm`]). With the feature `mpfr`, overflows and underflows are computed again precisely (`avoidable`).
//!
//! All this runs the target, so it happens in child processes. If a child dies, the remaining results for that find are
//! lost.

pub mod avoidable;
pub mod confirm;
pub mod conversion;
pub mod job;
mod precise;
mod proved;
pub mod shown;
pub mod work;

use std::path::{Component, Path};

use penfuzz_abi::site_kind;
use penfuzz_directory::{output::trust::Trusted, rendering::arguments::arguments, replay::session::ReplaySession};
use penfuzz_error::{Error, at};
use penfuzz_report::{
    Arg, Exception, Exceptions, Find, Report, ResultEvidence,
    exceptions::{Confirmation, Number, Operations},
    literal,
};
use penfuzz_system::files::foreign;
use penfuzz_target::program::{Function, Site, Target};

use self::job::{Job, Observed};

pub use self::job::class;

/// Examines the finds of `campaign` in `dir`, and adds the results to its report.
///
/// # Errors
/// As [`examine`].
pub fn complete(dir: &Path, campaign: &Trusted, report: &mut Report) -> Result<(), Error> {
    let exceptions = examine(dir, campaign, report)?;
    let operations = Operations::new(exceptions.operations, exceptions.raising, proved::free(report));
    (report.verdict, report.operations) = (Some(operations.verdict()), Some(operations));
    report.exceptions = Some(exceptions);
    Ok(())
}

/// Examines the finds of `campaign` in `dir`; `report` is its report.
///
/// # Errors
/// When the target cannot be loaded any more, or when the system has no process to spare.
pub fn examine(dir: &Path, campaign: &Trusted, report: &Report) -> Result<Exceptions, Error> {
    let mut session = ReplaySession::of(campaign)?;
    if let Some(change) = session.change_since(campaign.manifest()) {
        return Err(at(dir, format!("{change}; run it again with --fresh")));
    }
    let jobs = jobs(&mut session, dir, report)?;
    let observed = work::observe(&mut session, &jobs);
    let confirmed = confirm::confirm(&mut session, &jobs, &observed);
    let finds: Vec<Find> = jobs
        .iter()
        .zip(&observed)
        .zip(confirmed)
        .map(|((job, observed), confirmed)| find(&session, job, observed, confirmed))
        .collect();
    let target = session.evaluator.target();
    let operations =
        || session.scope.sites.iter().map(|s| &target.sites[*s]).filter(|s| session.scope.has_requested(s));
    let possible = Exception::ALL.map(|e| {
        let raises = |s: &&Site| s.branches().enumerate().any(|(k, b)| session.scope.requested[b] && class(s, k) == e);
        (e, operations().filter(raises).count())
    });
    let mut raising: Vec<usize> = jobs.iter().map(|j| target.site_of(j.branch)).collect();
    raising.dedup();
    let mut all = Exceptions::new(operations().count(), &possible, finds, raising.len(), &report.function);
    all.note_proved(|exception| proved::of(report, exception));
    Ok(all)
}

/// Returns true if the target has operation sites, that is, if it was compiled with `-fpen-exceptions`.
#[must_use]
pub fn has_operations(target: &Target) -> bool {
    target.sites.iter().any(|s| s.kind == site_kind::OPERATION)
}

/// A job with an input for each exception that was found, in the order of branches. Inputs that return are preferred.
fn jobs(session: &mut ReplaySession, dir: &Path, report: &Report) -> Result<Vec<Job>, Error> {
    let function = session.evaluator.function().clone();
    let mut inputs: Vec<Vec<u8>> = match function.model {
        // With an input model, the arguments of tests do not determine the input.
        Some(_) => kept(dir),
        None => report.tests.iter().map(|t| bytes_of(&function, &t.args)).collect(),
    };
    let faults = report.crashes.iter().chain(&report.hangs);
    inputs.extend(faults.filter_map(|f| input_of(dir, &f.file)));
    let runs = session.evaluate(&inputs.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    let mut jobs: Vec<Job> = Vec::new();
    for b in (0..session.scope.requested.len()).filter(|b| session.scope.requested[*b]) {
        let covers = |r: &&(usize, &penfuzz_directory::replay::session::Run)| r.1.covers.contains(&(b as u32));
        let all = || runs.iter().enumerate();
        let best = all().filter(|(_, r)| r.fault.is_none()).find(|r| covers(&r)).or_else(|| all().find(|r| covers(&r)));
        if let Some((i, run)) = best {
            jobs.push(Job {
                branch: b,
                exception: job::exception_of(session.evaluator.target(), b),
                bytes: inputs[i].clone(),
                fault: run.fault.as_ref().map(|f| f.reason.clone()),
            });
        }
    }
    Ok(jobs)
}

/// The directory of the kept inputs, within the output directory.
const QUEUE: &str = "queue";

/// Maximum size of an input in bytes.
const LARGEST_INPUT: u64 = 1 << 24;

/// The inputs that the campaign has kept, ordered by file name. Together they raise all exceptions that it has found.
/// The simplified tests need not: they may raise other exceptions than the inputs that they were made from.
pub(crate) fn kept(dir: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(dir.join(QUEUE)).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|e| e.file_name().to_string_lossy().into_owned()).filter(|name| name.starts_with("id:")).collect();
    names.sort_unstable();
    names.iter().filter_map(|name| input_of(dir, &format!("{QUEUE}/{name}"))).collect()
}

/// Reads an input that the report names. The report may come from an untrusted source, and the bytes are shown as
/// arguments, so only files in the output directory are read.
pub(crate) fn input_of(dir: &Path, file: &str) -> Option<Vec<u8>> {
    let is_below = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
    let path = dir.join(file);
    let is_inside = || Some(path.canonicalize().ok()?.starts_with(dir.canonicalize().ok()?));
    if is_below && is_inside()? { foreign::read_own(&path, LARGEST_INPUT).ok() } else { None }
}

/// Encodes arguments that are numbers as an input: the inverse of [`arguments`].
pub(crate) fn bytes_of(function: &Function, args: &[Arg]) -> Vec<u8> {
    let digits = |a: &Arg| a.bits.strip_prefix("0x").unwrap_or_default().to_owned();
    let byte = |text: &str| u8::from_str_radix(text, 16).unwrap_or(0);
    if function.is_harness() {
        let text = args.first().map(digits).unwrap_or_default();
        return (0..text.len() / 2).map(|i| byte(&text[2 * i..2 * i + 2])).collect();
    }
    let slots = function.layout();
    let mut bytes = Vec::new();
    for (arg, slot) in args.iter().zip(slots.slots()) {
        let bits = u64::from_str_radix(&digits(arg), 16).unwrap_or(0);
        bytes.extend_from_slice(&bits.to_le_bytes()[..slot.kind.size()]);
    }
    bytes
}

fn find(session: &ReplaySession, job: &Job, observed: &Observed, confirmed: Confirmation) -> Find {
    let target = session.evaluator.target();
    let function = session.evaluator.function();
    let site = &target.sites[target.site_of(job.branch)];
    let args = arguments(function, &observed.bytes);
    let mut output =
        observed.output.as_ref().map(|cells| shown::output(function, &job::cells(cells))).unwrap_or_default();
    output.extend(observed.left.iter().cloned());
    let shown = match (&job.fault, &observed.output) {
        (Some(reason), _) => ResultEvidence::Fault(reason.clone()),
        (None, None) => ResultEvidence::Fault("this input ends its process".to_owned()),
        (None, Some(_)) => shown::shown(function, &args, &output, job.exception),
    };
    let (operands, result) = numbers(site, observed);
    Find {
        exception: job.exception,
        operation: site.name.clone(),
        function: target.functions[site.function].name.clone(),
        file: site.file.clone(),
        line: site.line,
        column: site.column,
        args,
        operands,
        result,
        times: observed.seen.map_or(0, |s| s.1),
        output,
        shown,
        confirmed,
        avoidable: observed.judged.as_ref().and_then(|j| j.0),
        precise: observed.judged.as_ref().map(|j| j.1.clone()),
    }
}

/// Operands and result, as text.
fn numbers(site: &Site, observed: &Observed) -> (Vec<Number>, Option<Number>) {
    let Some((values, _)) = observed.seen else { return (Vec::new(), None) };
    let number = |kind, bits| Number { hex: literal::c_literal(kind, bits), decimal: literal::decimal(kind, bits) };
    let (operands, result) = job::kinds(site);
    let all = operands.iter().zip(values).map(|(kind, bits)| number(*kind, bits)).collect();
    (all, Some(number(result, values[job::RESULT])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_inputs_in_the_directory_are_read() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("out");
        std::fs::create_dir_all(dir.join("crashes")).unwrap();
        std::fs::write(dir.join("crashes/id:000000"), [7]).unwrap();
        let secret = top.path().join("secret");
        std::fs::write(&secret, [8]).unwrap();
        std::os::unix::fs::symlink(&secret, dir.join("crashes/link")).unwrap();
        assert_eq!(input_of(&dir, "crashes/id:000000"), Some(vec![7]));
        for file in [secret.to_str().unwrap(), "../secret", "crashes/../../secret", "crashes/link", "crashes/none"] {
            assert_eq!(input_of(&dir, file), None, "{file}");
        }
    }
}
