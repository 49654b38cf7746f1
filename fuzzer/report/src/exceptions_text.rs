//! The text report of a search for floating-point exceptions: how many of each kind, then each find, worst first.
//! Without `--underflow`, underflows and subnormal sums take one line per function: there are many, and most of them
//! are intended.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use penfuzz_system::console;

use super::{
    c_text::{call, decimals},
    exceptions::{Confirmed, Count, Exception, ExceptionVerdict, Exceptions, Find, Number, Precise, ResultEvidence},
    files,
    format::plural,
    model::{Finding, Report},
    terminal,
};

/// The text for the campaign with output directory `dir`. `with_noise` lists underflows and inexact results one by one.
#[must_use]
pub fn text(report: &Report, dir: &Path, with_noise: bool) -> String {
    let report = &console::escape_strings(report);
    let Some(exceptions) = &report.exceptions else { return String::new() };
    let mut out = headline(report, exceptions);
    list_faults("CRASH", report, &report.crashes, &mut out);
    list_faults("HANG", report, &report.hangs, &mut out);
    for find in exceptions.finds.iter().filter(|f| with_noise || !f.exception.is_frequent()) {
        list(report, find, &mut out);
    }
    if !with_noise {
        fold(exceptions, &mut out);
    }
    list_files(report, dir, &mut out);
    out
}

fn headline(report: &Report, exceptions: &Exceptions) -> String {
    let pairs = exceptions.pairs();
    let mut out = format!(
        "{} ({}): {} at {} of {}{}\n",
        report.function,
        report.target,
        plural(pairs, "exception"),
        exceptions.raising,
        plural(exceptions.operations, "operation"),
        kinds(&exceptions.counts)
    );
    let sum = |of: fn(&Count) -> usize| exceptions.counts.iter().map(of).sum::<usize>();
    if pairs > 0 {
        let _ = writeln!(
            out,
            "{} of {pairs} confirmed without hooks, {} not shown by the function's result",
            sum(|c| c.confirmed),
            sum(|c| c.silent)
        );
    }
    judged(&exceptions.counts, &mut out);
    proved(report, &exceptions.counts, &mut out);
    out += &terminal::effort(report, false);
    out
}

/// Writes the verdicts, `avoidable: 1 of 2 overflow, 0 of 3 underflow (1 not judged)`; nothing if nothing was
/// recomputed.
fn judged(counts: &[Count], out: &mut String) {
    let of = |c: &Count| {
        let all = c.judged?;
        let rest = if all.not_judged > 0 { format!(" ({} not judged)", all.not_judged) } else { String::new() };
        Some(format!("{} of {} {}{rest}", all.avoidable, c.pairs, c.exception.name()))
    };
    let texts: Vec<_> = counts.iter().filter_map(of).collect();
    if !texts.is_empty() {
        let _ = writeln!(out, "avoidable: {}", texts.join(", "));
    }
}

/// Writes what is proved: `proved impossible: 5 of 5 overflow, 3 of 10 underflow`, and the verdict. Nothing if nothing
/// is proved and exceptions were found.
fn proved(report: &Report, counts: &[Count], out: &mut String) {
    let Some((operations, verdict)) = report.operations.zip(report.verdict) else { return };
    let proved = counts.iter().filter(|c| c.proved > 0);
    let texts: Vec<_> = proved.map(|c| format!("{} of {} {}", c.proved, c.sites, c.exception.name())).collect();
    if !texts.is_empty() {
        let free = plural(operations.proved_free, "operation");
        let _ = writeln!(out, "proved impossible: {}; {free} free of exceptions", texts.join(", "));
    }
    let _ = match verdict {
        ExceptionVerdict::FreeProved => writeln!(out, "free of exceptions: proved"),
        ExceptionVerdict::FreeSearched => {
            writeln!(out, "free of exceptions as far as searched, {} open", plural(operations.open, "operation"))
        }
        ExceptionVerdict::Exceptions => Ok(()),
    };
}

/// The counts per exception, `: 1 invalid, 2 divide-by-zero`; empty without finds.
fn kinds(counts: &[Count]) -> String {
    let found: Vec<_> =
        counts.iter().filter(|c| c.pairs > 0).map(|c| format!("{} {}", c.pairs, c.exception.name())).collect();
    if found.is_empty() { String::new() } else { format!(": {}", found.join(", ")) }
}

fn list_faults(title: &str, report: &Report, list: &[Finding], out: &mut String) {
    for finding in list {
        let _ = writeln!(out, "\n{title}  {} in {}", finding.reason, finding.place);
        let _ = writeln!(out, "  {}    {}  ({})", call(report, &finding.args), decimals(&finding.args), finding.file);
    }
}

/// One find in a few lines, after an empty line.
#[must_use]
pub fn of(report: &Report, find: &Find) -> String {
    let mut out = String::new();
    list(report, find, &mut out);
    out
}

fn list(report: &Report, find: &Find, out: &mut String) {
    let title = find.exception.name().to_uppercase();
    let _ = writeln!(out, "\n{title}  {} in {} ({})", formula(find), find.function, place(find));
    let _ = writeln!(out, "  {}    {}", call(report, &find.args), decimals(&find.args));
    let _ = writeln!(out, "  {};  {}", shown(&find.shown), confirmed(find));
    if let Some(precise) = &find.precise {
        let _ = writeln!(out, "  {}", computed(precise, find.avoidable));
    }
}

/// The verdict with the high-precision values: `avoidable: in high precision the result is 2.00000e180`
fn computed(precise: &Precise, avoidable: Option<bool>) -> String {
    let Some(avoidable) = avoidable else {
        return format!(
            "not judged: in high precision this is {}; the result comes from no operation",
            precise.operation
        );
    };
    let word = if avoidable { "avoidable" } else { "not avoidable" };
    let are = if precise.results.len() == 1 { "result is" } else { "results are" };
    format!("{word}: in high precision the {are} {}", precise.results.join(", "))
}

/// The place of a find, `laplaceinv.c:38:20`; `report.json` has the directories.
fn place(find: &Find) -> String {
    let file = Path::new(&find.file).file_name().unwrap_or_default().to_string_lossy();
    format!("{file}:{}:{}", find.line, find.column)
}

/// The operation with its values: `0.0 / 0.0 -> nan`, `log(-1.0) -> nan`, `(int)1e300 -> -2147483648`; without
/// operands, `/`.
fn formula(find: &Find) -> String {
    let operands: Vec<&str> = find.operands.iter().map(|o| o.decimal.as_str()).collect();
    let is_word = find.operation.starts_with(|c: char| c.is_ascii_alphabetic());
    let text = match operands[..] {
        [] => return format!("`{}`", find.operation),
        [a, b] if !is_word => format!("{a} {} {b}", find.operation),
        [a] if !is_word => format!("{}{a}", find.operation),
        _ => format!("{}({})", find.operation, operands.join(", ")),
    };
    find.result.as_ref().map_or(text.clone(), |Number { decimal, .. }| format!("{text} -> {decimal}"))
}

fn shown(shown: &ResultEvidence) -> String {
    match shown {
        ResultEvidence::Nowhere => "SILENT: the function's result does not show it".to_owned(),
        ResultEvidence::NoResult => "SILENT: the function has no result".to_owned(),
        ResultEvidence::Status(code) => format!("the function returns the status {code}"),
        ResultEvidence::Value { place, value } if place == "returned" => format!("the function returns {value}"),
        ResultEvidence::Value { place, value } => format!("the result shows it: {place} = {value}"),
        ResultEvidence::Fault(reason) => format!("the function does not return normally: {reason}"),
    }
}

fn confirmed(find: &Find) -> String {
    let by = &find.confirmed;
    let text = match by.by {
        Confirmed::Site => "confirmed by the hardware at this operation",
        Confirmed::Line => "confirmed by the hardware at this line",
        Confirmed::Value => "confirmed by its operand",
        Confirmed::Flag => "confirmed by the hardware's flag only",
        Confirmed::No => "not confirmed",
    };
    if by.reason.is_empty() { text.to_owned() } else { format!("{text}: {}", by.reason) }
}

/// Writes one line per function for the finds that are not listed.
fn fold(exceptions: &Exceptions, out: &mut String) {
    let mut by_function: BTreeMap<(Exception, &str), (usize, usize)> = BTreeMap::new();
    for find in exceptions.finds.iter().filter(|f| f.exception.is_frequent()) {
        let (all, silent) = by_function.entry((find.exception, &find.function)).or_default();
        *all += 1;
        *silent += usize::from(find.is_silent());
    }
    if by_function.is_empty() {
        return;
    }
    out.push('\n');
    for ((exception, function), (all, silent)) in &by_function {
        let what = match exception {
            Exception::Underflow => "underflow",
            Exception::Subnormal => "subnormal sum",
            _ => "inexact result",
        };
        let _ = writeln!(out, "{} in {function}, {silent} not shown by the result", plural(*all, what));
    }
    let _ = writeln!(out, "  --underflow lists them; {} has all", files::JSON);
}

fn list_files(report: &Report, dir: &Path, out: &mut String) {
    let tests = files::test_program(report);
    let all = [
        (files::JSON, "the complete report, for programs; key exceptions"),
        (files::HTML, "a page for a browser"),
        (&tests, "a program with inputs that raise them"),
    ];
    files::list(dir, &all, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        example,
        exceptions::{Confirmation, Operations, example::find},
    };

    fn precise(operation: &str, results: &[&str]) -> Precise {
        Precise { operation: operation.to_owned(), results: results.iter().map(|r| (*r).to_owned()).collect() }
    }

    /// One find of each class.
    fn report() -> Report {
        let returned = |value: &str| ResultEvidence::Value { place: "returned".to_owned(), value: value.to_owned() };
        let behind = ResultEvidence::Value { place: "*rest".to_owned(), value: "inf".to_owned() };
        let mut conversion =
            find(Exception::Conversion, 9, "(unsigned char)", &[300.5], f64::NAN, ResultEvidence::Nowhere);
        conversion.result = Some(Number { hex: "0x2cULL".to_owned(), decimal: "44".to_owned() });
        conversion.confirmed =
            Confirmation { by: Confirmed::Value, reason: "the operand lies outside the range".to_owned() };
        let mut lost = find(Exception::Overflow, 12, "exp", &[1e9], f64::INFINITY, ResultEvidence::Status(16));
        lost.confirmed = Confirmation { by: Confirmed::No, reason: "its result is not used".to_owned() };
        (lost.avoidable, lost.precise) = (Some(true), Some(precise("3.1e434294481", &["2.00000e180"])));
        let mut vanishing = find(Exception::Underflow, 4, "exp", &[-1e9], 0.0, returned("0.0"));
        (vanishing.avoidable, vanishing.precise) = (Some(false), Some(precise("1e-434294482", &["1e-434294482"])));
        let finds = vec![
            find(Exception::Underflow, 3, "*", &[1e-200, 1e-200], 0.0, ResultEvidence::Nowhere),
            vanishing,
            find(Exception::Overflow, 5, "*", &[1e300, 1e300], f64::INFINITY, behind),
            conversion,
            find(Exception::Invalid, 7, "/", &[0.0, 0.0], f64::NAN, returned("nan")),
            find(
                Exception::DivideByZero,
                8,
                "log",
                &[0.0],
                f64::NEG_INFINITY,
                ResultEvidence::Fault("SIGABRT".to_owned()),
            ),
            lost,
        ];
        let possible = Exception::ALL.map(|e| (e, 4));
        let mut report = example::report();
        report.goals = penfuzz_engine::saturation::Goals::Exceptions;
        report.crashes.clear();
        for find in &finds {
            assert_eq!(find.args.len(), 1, "x is the only argument shown");
        }
        report.exceptions = Some(Exceptions::new(20, &possible, finds, 7, "f"));
        report
    }

    #[test]
    fn finds_come_worst_first_and_underflows_folded() {
        insta::assert_snapshot!("exceptions", text(&report(), Path::new("out"), false));
    }

    #[test]
    fn underflows_are_listed_when_asked_for() {
        let all = text(&report(), Path::new("out"), true);
        assert_eq!(all.matches("\nUNDERFLOW  ").count(), 2, "{all}");
        assert!(!all.contains("--underflow"), "{all}");
    }

    #[test]
    fn proofs_are_listed_after_the_counts() {
        let mut report = report();
        let mut none = Exceptions::new(3, &[(Exception::Overflow, 3)], Vec::new(), 0, "f");
        none.note_proved(|_| 2);
        report.exceptions = Some(none);
        let of = |report: &mut Report, proved_free| {
            let operations = Operations::new(3, 0, proved_free);
            (report.operations, report.verdict) = (Some(operations), Some(operations.verdict()));
            text(report, Path::new("out"), false).lines().skip(1).take(2).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(
            of(&mut report, 2),
            "proved impossible: 2 of 3 overflow; 2 operations free of exceptions\n\
             free of exceptions as far as searched, 1 operation open"
        );
        assert!(of(&mut report, 3).ends_with("3 operations free of exceptions\nfree of exceptions: proved"));
    }

    #[test]
    fn nothing_found_is_one_line() {
        let mut report = report();
        report.exceptions = Some(Exceptions::new(3, &[(Exception::Overflow, 3)], Vec::new(), 0, "f"));
        let text = text(&report, Path::new("out"), false);
        assert!(text.starts_with("clamp (clamp.c): 0 exceptions at 0 of 3 operations\n123k evaluations"), "{text}");
    }

    #[test]
    fn an_exception_behind_no_result_is_not_judged() {
        let text = computed(&precise("1.00000e380", &[]), None);
        assert_eq!(text, "not judged: in high precision this is 1.00000e380; the result comes from no operation");
    }

    #[test]
    fn several_results_are_one_line() {
        let text = computed(&precise("1.00000e380", &["1.00000e380", "2.0"]), Some(false));
        assert_eq!(text, "not avoidable: in high precision the results are 1.00000e380, 2.0");
    }
}
