//! The report, as text and as JSON.

use std::fmt::Write;

use serde::Serialize;

use super::{Answer, Bound, Class, Compared, Found, comparator, errno, pair::Pair, sources::Source};
use crate::{
    campaign::outcome::arguments,
    report::{Arg, literal},
};

/// Regions in the text, and operations, if they add this share of the error at least; JSON has all.
const SHOWN: usize = 12;
const ADDS: f64 = 1e-3;

/// `--json`.
#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: u32,
    target: String,
    function: &'a str,
    reference: String,
    seed: u64,
    evaluations: u64,
    seconds: f64,
    cpu_seconds: f64,
    worst: Option<Item>,
    /// Where the worst error comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<JsonSources>,
    wrong: Vec<Item>,
    regions: Vec<Item>,
    parts: Vec<JsonPart>,
    progress: Vec<Step>,
    faults: u64,
    reference_faults: u64,
    deaths: u64,
    /// All inputs of the box, if each was tried: no error is larger.
    #[serde(skip_serializing_if = "Option::is_none")]
    exhausted: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Bound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_bound: Option<&'a str>,
}

/// One input and its error.
#[derive(Debug, Serialize)]
struct Item {
    /// In ulps; none for a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    ulp: Option<f64>,
    /// The function's own estimate of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<f64>,
    /// The error as a multiple of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_estimate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<Class>,
    /// What is left in `errno`, and what should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    errno: Option<JsonErrno>,
    #[serde(skip_serializing_if = "Option::is_none")]
    absolute: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relative: Option<f64>,
    args: Vec<Arg>,
    /// The raw bytes in hex.
    input: String,
    result: Arg,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    branches: Vec<String>,
}

/// `EDOM`, `ERANGE`, or a number.
#[derive(Debug, Serialize)]
struct JsonErrno {
    left: String,
    expected: String,
}

/// The value of the reference.
#[derive(Debug, Serialize)]
struct Value {
    /// With more digits than the type has.
    exact: String,
    /// Rounded to the type of the result.
    rounded: Arg,
}

/// The parts of an error.
#[derive(Debug, Serialize)]
struct JsonSources {
    /// The result less the exact value, in ulps.
    error: f64,
    operations: Vec<JsonSource>,
    /// What is of no operation.
    rest: f64,
}

/// What the roundings of one operation add.
#[derive(Debug, Serialize)]
struct JsonSource {
    ulp: f64,
    operation: String,
    file: String,
    line: u32,
    column: u32,
}

#[derive(Debug, Serialize)]
struct JsonPart {
    from: String,
    to: String,
    ulp: f64,
}

/// A larger error than all before.
#[derive(Debug, Serialize)]
struct Step {
    evaluations: u64,
    cpu_seconds: f64,
    ulp: f64,
}

/// The report for programs.
#[must_use]
pub fn json(pair: &Pair, answer: &Answer, target: &str, seed: u64) -> String {
    let function = pair.function();
    let json = Json {
        schema: 1,
        target: target.to_owned(),
        function: &function.name,
        reference: pair.reference().text(),
        seed,
        evaluations: answer.evaluations,
        seconds: answer.seconds,
        cpu_seconds: answer.cpu,
        worst: answer.found.last().map(|f| item(pair, f)),
        sources: answer.sources.as_ref().map(|sources| JsonSources {
            error: sources.error,
            operations: sources.operations.iter().filter_map(|source| operation(pair, source)).collect(),
            rest: sources.rest,
        }),
        wrong: sorted(&answer.wrong).into_iter().map(|f| item(pair, f)).collect(),
        regions: answer.regions.iter().map(|f| item(pair, f)).collect(),
        parts: parts(pair, answer),
        progress: answer.found.iter().map(step).collect(),
        faults: answer.faults,
        reference_faults: answer.reference_faults,
        deaths: answer.deaths,
        exhausted: answer.exhausted,
        bound: answer.bound.as_ref().and_then(|bound| bound.as_ref().ok().copied()),
        no_bound: answer.bound.as_ref().and_then(|bound| bound.as_ref().err().map(String::as_str)),
    };
    serde_json::to_string_pretty(&json).unwrap_or_default()
}

fn operation(pair: &Pair, source: &Source) -> Option<JsonSource> {
    let target = pair.twin.as_ref()?.evaluator.target();
    let site = &target.sites[target.site_of(source.branch)];
    let (operation, file) = (site.name.clone(), site.file.clone());
    Some(JsonSource { ulp: source.ulp, operation, file, line: site.line, column: site.column })
}

/// The classes one after the other.
fn sorted(found: &[Found]) -> Vec<&Found> {
    let mut all: Vec<&Found> = found.iter().collect();
    all.sort_by_key(|f| if let Compared::Wrong(class) = f.compared { Some(class) } else { None });
    all
}

fn parts(pair: &Pair, answer: &Answer) -> Vec<JsonPart> {
    let Some(slot) = pair.layout().slots().first() else { return Vec::new() };
    let of = |bits| literal::decimal(slot.kind, bits);
    answer.parts.iter().map(|p| JsonPart { from: of(p.ends.0), to: of(p.ends.1), ulp: p.ulp }).collect()
}

fn step(found: &Found) -> Step {
    Step { evaluations: found.evaluations, cpu_seconds: found.cpu, ulp: ulps(found).unwrap_or(0.0) }
}

fn ulps(found: &Found) -> Option<f64> {
    size_of(found.compared)
}

fn size_of(compared: Compared) -> Option<f64> {
    match compared {
        Compared::Ulps(ulps) => Some(ulps),
        Compared::Wrong(_) => None,
    }
}

fn item(pair: &Pair, found: &Found) -> Item {
    let function = pair.function();
    let type_name = comparator::c_type(pair.result());
    let value = |name: &str, bits| literal::arg(name, type_name, pair.result(), bits);
    let of_exact = found.exact.as_ref().map(|e| e.compared);
    let in_ulps = if found.estimate.is_some() { of_exact.and_then(size_of) } else { ulps(found) };
    Item {
        ulp: in_ulps,
        estimate: found.estimate,
        times_estimate: found.estimate.and_then(|_| ulps(found)),
        class: if let Compared::Wrong(class) = found.compared { Some(class) } else { None },
        errno: found.errno.map(|e| JsonErrno { left: errno::text(e.left), expected: errno::text(e.expected) }),
        absolute: found.exact.as_ref().and_then(|e| e.absolute),
        relative: found.exact.as_ref().and_then(|e| e.relative),
        args: arguments(function, &found.bytes),
        input: literal::hex(&found.bytes),
        result: value(pair.value().name(), found.result),
        reference: found
            .exact
            .as_ref()
            .map(|e| Value { exact: e.text.clone(), rounded: value("reference", e.rounded) }),
        branches: found.covers.iter().map(|b| branch(pair, *b)).collect(),
    }
}

/// `FILE:LINE:OUTCOME`, as `penfuzz reach` takes it.
fn branch(pair: &Pair, branch: u32) -> String {
    let target = pair.session().evaluator.target();
    let site = &target.sites[target.site_of(branch as usize)];
    let outcome = match (site.n_branches, branch as usize - site.first_branch) {
        (2, 0) => "T".to_owned(),
        (2, _) => "F".to_owned(),
        (_, k) => k.to_string(),
    };
    let file = site.file.rsplit('/').next().unwrap_or(&site.file);
    format!("{file}:{}:{outcome}", site.line)
}

/// The report for readers.
#[must_use]
pub fn text(pair: &Pair, answer: &Answer) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} against {}", pair.function().signature(), pair.reference().text());
    let mut known = Vec::new();
    for found in sorted(&answer.wrong) {
        let Compared::Wrong(class) = found.compared else { continue };
        let n = known.iter().filter(|c| **c == class).count();
        known.push(class);
        if n < 2 {
            let _ = writeln!(out, "  {:<19}  {}", class.text(), call(pair, found));
        }
    }
    match answer.found.last() {
        Some(worst) => {
            let _ = writeln!(out, "  worst {:<11}  {}", size(pair, worst), call(pair, worst));
            for arg in arguments(pair.function(), &worst.bytes) {
                let _ = writeln!(out, "    {:<8} = {}   ({})", arg.name, arg.hex, arg.decimal);
            }
            let returned = |bits| {
                let kind = pair.result();
                format!("{}   ({})", literal::c_literal(kind, bits), literal::decimal(kind, bits))
            };
            let _ = writeln!(out, "    {:<8} = {}", pair.value().name(), returned(worst.result));
            if let Some(estimate) = worst.estimate {
                let _ = writeln!(out, "    estimate = {estimate:e}{}", of_error(worst));
            }
            if let Some(exact) = &worst.exact {
                let _ = writeln!(out, "    exact    = {}   (rounded {})", exact.text, returned(exact.rounded));
            }
        }
        None if answer.wrong.is_empty() => out.push_str("  no difference was found\n"),
        None => {}
    }
    out.push_str(&parts_of_error(pair, answer));
    if let Some(n) = answer.exhausted {
        let _ = writeln!(out, "  no error is larger: each of {n} inputs was tried");
    }
    if let Some(bound) = &answer.bound {
        let _ = writeln!(out, "  {}", bounded(bound, answer));
    }
    if answer.regions.len() > 1 {
        let _ = writeln!(out, "  worst of each set of branches, of {}:", answer.regions.len());
        for found in answer.regions.iter().take(SHOWN) {
            let _ = writeln!(out, "    {:<12}  {}", size(pair, found), call(pair, found));
        }
    }
    let _ = writeln!(
        out,
        "  {} evaluations, {:.1} s ({:.1} s of CPU time)",
        answer.evaluations, answer.seconds, answer.cpu
    );
    for (n, what) in [
        (answer.faults, "evaluations in which the function faulted"),
        (answer.reference_faults, "evaluations in which the reference faulted"),
        (answer.deaths, "processes ended by function or reference"),
    ] {
        if n > 0 {
            let _ = writeln!(out, "  {n} {what}");
        }
    }
    out
}

/// What the roundings of operations add to the worst error.
fn parts_of_error(pair: &Pair, answer: &Answer) -> String {
    let mut out = String::new();
    let Some(sources) = &answer.sources else { return out };
    let _ = writeln!(out, "  result - exact = {:+.4} ulp, of it by the rounding of", sources.error);
    let all: Vec<JsonSource> = sources.operations.iter().filter_map(|source| operation(pair, source)).collect();
    let heavy = all.iter().take(SHOWN).take_while(|source| source.ulp.abs() >= ADDS * sources.error.abs()).count();
    let (shown, others) = all.split_at(heavy);
    for source in shown {
        let file = source.file.rsplit('/').next().unwrap_or(&source.file);
        let _ = writeln!(
            out,
            "    {:>+12.4}  {:<6}  {file}:{}:{}",
            source.ulp, source.operation, source.line, source.column
        );
    }
    if !others.is_empty() {
        let sum: f64 = others.iter().map(|source| source.ulp).sum();
        let _ = writeln!(out, "    {sum:>+12.4}  {} other operations", others.len());
    }
    let _ = writeln!(out, "    {:>+12.4}  none: approximation, constants, functions that are not known", sources.rest);
    out
}

/// Both ends of what the worst error can be.
fn bounded(bound: &Result<Bound, String>, answer: &Answer) -> String {
    let bound = match bound {
        Ok(bound) => bound,
        Err(why) => return format!("no upper bound: {why}"),
    };
    let found = answer.found.last().and_then(ulps);
    let ulp = bound.ulp.map_or_else(
        || "none in ulps".to_owned(),
        |ulp| match found {
            Some(found) if ulp > 0.0 => format!("{} (found: {:.1} % of it)", in_ulps(ulp), 100.0 * found / ulp),
            _ => in_ulps(ulp),
        },
    );
    format!("no error is above      {ulp}, {:.3e} absolute", bound.absolute)
}

fn in_ulps(ulps: f64) -> String {
    if ulps >= 1e6 { format!("{ulps:.3e} ulp") } else { format!("{ulps:.4} ulp") }
}

fn size(pair: &Pair, found: &Found) -> String {
    match found.compared {
        Compared::Ulps(times) if pair.value().has_estimate() => format!("{times:.4} {}", pair.value().unit()),
        Compared::Ulps(ulps) => in_ulps(ulps),
        Compared::Wrong(class) => class.text().to_owned(),
    }
}

/// What the error is that was estimated.
fn of_error(found: &Found) -> String {
    let Some(exact) = &found.exact else { return String::new() };
    let ulps = size_of(exact.compared).map_or_else(String::new, |ulps| format!(", {}", in_ulps(ulps)));
    exact.absolute.map_or_else(String::new, |error| format!("   (the error is {error:.6e}{ulps})"))
}

/// The call and what it returns.
fn call(pair: &Pair, found: &Found) -> String {
    let function = pair.function();
    let args: Vec<String> = arguments(function, &found.bytes).into_iter().map(|a| a.hex).collect();
    let of = |bits| literal::decimal(pair.result(), bits);
    let exact = found.exact.as_ref().map_or_else(String::new, |e| format!(", not {}", of(e.rounded)));
    let exact = if of(found.result) == exact.trim_start_matches(", not ") { String::new() } else { exact };
    let errno = found
        .errno
        .filter(|_| found.compared == Compared::Wrong(Class::Errno))
        .map_or_else(String::new, |e| format!(", errno {}, not {}", errno::text(e.left), errno::text(e.expected)));
    format!("{}({}) = {}{exact}{errno}", function.name, args.join(", "), of(found.result))
}
