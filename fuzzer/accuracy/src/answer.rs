//! The report, as text and as JSON.

use std::fmt::Write;

use penfuzz_directory::rendering::arguments::arguments;
use penfuzz_mutators::{extremes::Peak, line};
use penfuzz_report::{Arg, literal};
use serde::Serialize;

use super::{
    Answer, Bound, Class, Compared, Found, comparator, errno, exhaustive, pair::Pair, sources::Source, value::Measure,
};

/// At most this number of regions and of operations appears in the text; operations only if they contribute at least
/// the share [`ADDS`] of the error. JSON has all of them.
const SHOWN: usize = 12;
const ADDS: f64 = 1e-3;

/// The output of `--json`.
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
    /// The contributions of roundings to the worst error.
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<JsonSources>,
    wrong: Vec<Item>,
    regions: Vec<Item>,
    parts: Vec<JsonPart>,
    progress: Vec<Step>,
    faults: u64,
    reference_faults: u64,
    deaths: u64,
    /// For an output directory: the seeds whose runs are merged here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seeds: Vec<u64>,
    /// Number of inputs that were tried by exhaustive search, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    tried: Option<u64>,
    /// Number of inputs of the box, if every one was tried: then no error is larger than the worst one.
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
    /// The error in ulps; absent for a difference without a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    ulp: Option<f64>,
    /// The function's own estimate of its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<f64>,
    /// The error as a multiple of the estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_estimate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<Class>,
    /// The value in `errno`, and the expected one.
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

/// Values of `errno`: `EDOM`, `ERANGE`, or a number.
#[derive(Debug, Serialize)]
struct JsonErrno {
    left: String,
    expected: String,
}

/// The value of the reference.
#[derive(Debug, Serialize)]
struct Value {
    /// In decimal with more digits than the type has, if MPFR has computed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<String>,
    /// Rounded to the type of the result.
    rounded: Arg,
}

/// The parts of an error, in ulps.
#[derive(Debug, Serialize)]
struct JsonSources {
    /// The error with its sign: result minus exact value.
    error: f64,
    operations: Vec<JsonSource>,
    /// The part of the error that no recorded operation contributes.
    rest: f64,
}

/// The contribution of the roundings of one operation.
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

/// One entry of [`Answer::found`]: an error larger than all before it.
#[derive(Debug, Serialize)]
struct Step {
    evaluations: u64,
    cpu_seconds: f64,
    ulp: f64,
}

/// Returns the report as JSON.
#[must_use]
pub fn json(pair: &Pair, answer: &Answer, target: &str, seed: u64) -> String {
    let function = pair.function();
    let json = Json {
        schema: 1,
        target: target.to_owned(),
        function: &function.name,
        reference: pair.reference().text(),
        seed,
        evaluations: answer.counts.evaluations,
        seconds: answer.counts.seconds,
        cpu_seconds: answer.counts.cpu,
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
        faults: answer.counts.faults,
        reference_faults: answer.counts.reference_faults,
        deaths: answer.counts.deaths,
        seeds: answer.seeds.clone(),
        tried: Some(answer.tried).filter(|n| *n > 0),
        exhausted: exhausted(pair, answer),
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

/// Returns the inputs sorted by class.
pub(super) fn sorted(found: &[Found]) -> Vec<&Found> {
    let mut all: Vec<&Found> = found.iter().collect();
    all.sort_by_key(|f| if let Compared::Wrong(class) = f.compared { Some(class) } else { None });
    all
}

fn parts(pair: &Pair, answer: &Answer) -> Vec<JsonPart> {
    let [slot] = pair.layout().slots() else { return Vec::new() };
    let of = |position| literal::decimal(slot.kind, line::raw(slot.kind, position));
    let part = |p: &Peak| JsonPart { from: of(p.ends[0].0), to: of(p.ends[0].1), ulp: p.value };
    answer.peaks.iter().map(part).collect()
}

fn step(found: &Found) -> Step {
    Step { evaluations: found.evaluations, cpu_seconds: found.cpu, ulp: found.size().unwrap_or(0.0) }
}

fn item(pair: &Pair, found: &Found) -> Item {
    let function = pair.function();
    let type_name = comparator::c_type(pair.result());
    let value = |name: &str, bits| literal::arg(name, type_name, pair.result(), bits);
    let of_exact = found.exact.as_ref().map(|e| e.compared);
    let measure = pair.value().measure();
    let itself = |wanted| found.size().filter(|_| measure == wanted);
    let in_ulps = if pair.value().is_in_ulps() { found.size() } else { of_exact.and_then(Compared::size) };
    Item {
        ulp: in_ulps,
        estimate: found.estimate,
        times_estimate: found.estimate.and_then(|_| found.size()),
        class: if let Compared::Wrong(class) = found.compared { Some(class) } else { None },
        errno: found.errno.map(|e| JsonErrno { left: errno::text(e.left), expected: errno::text(e.expected) }),
        absolute: found.exact.as_ref().and_then(|e| e.absolute).or(itself(Measure::Absolute)),
        relative: found.exact.as_ref().and_then(|e| e.relative).or(itself(Measure::Relative)),
        args: arguments(function, &found.bytes),
        input: literal::hex(&found.bytes),
        result: value(pair.value().name(), found.result),
        reference: found.expected().map(|bits| Value {
            exact: found.exact.as_ref().map(|exact| exact.text.clone()),
            rounded: value("reference", bits),
        }),
        branches: found.covers.iter().map(|b| branch(pair, *b)).collect(),
    }
}

/// Returns the name of a branch in the syntax of `penfuzz reach`: `FILE:LINE:OUTCOME`.
pub(super) fn branch(pair: &Pair, branch: u32) -> String {
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

/// Returns the report as text.
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
            for (name, value) in details(pair, worst) {
                let _ = writeln!(out, "    {name:<8} = {value}");
            }
        }
        None if answer.wrong.is_empty() => out.push_str("  no difference was found\n"),
        None => {}
    }
    out.push_str(&parts_of_error(pair, answer));
    if let Some(n) = exhausted(pair, answer) {
        let _ = writeln!(out, "  no error is larger: all {n} inputs were tried");
    } else if answer.tried > 0 {
        let _ = writeln!(out, "  the first {} inputs were tried", answer.tried);
    }
    if let Some(bound) = &answer.bound {
        let _ = writeln!(out, "  {}", bounded(pair, bound, answer));
    }
    if answer.regions.len() > 1 {
        let _ = writeln!(out, "  worst input of each of {} sets of branches:", answer.regions.len());
        for found in answer.regions.iter().take(SHOWN) {
            let _ = writeln!(out, "    {:<12}  {}", size(pair, found), call(pair, found));
        }
    } else if answer.regions.len() == 1 && pair.calls_have_branches() {
        out.push_str("  one set of branches; --scope calls also counts those of called functions\n");
    }
    let _ = writeln!(
        out,
        "  {} evaluations, {:.1} s ({:.1} s of CPU time)",
        answer.counts.evaluations, answer.counts.seconds, answer.counts.cpu
    );
    if answer.seeds.len() > 1 {
        let seeds: Vec<String> = answer.seeds.iter().map(u64::to_string).collect();
        let _ = writeln!(out, "  merged from runs with {} seeds: {}", seeds.len(), seeds.join(", "));
    }
    for (n, what) in [
        (answer.counts.faults, "evaluations in which the function faulted"),
        (answer.counts.reference_faults, "evaluations in which the reference faulted"),
        (answer.counts.deaths, "processes ended by function or reference"),
    ] {
        if n > 0 {
            let _ = writeln!(out, "  {n} {what}");
        }
    }
    out
}

/// Returns the details of the worst input as pairs of names and values.
pub(super) fn details(pair: &Pair, worst: &Found) -> Vec<(String, String)> {
    let returned = |bits| {
        let kind = pair.result();
        format!("{}   ({})", literal::c_literal(kind, bits), literal::decimal(kind, bits))
    };
    let args = arguments(pair.function(), &worst.bytes).into_iter();
    let mut all: Vec<_> = args.map(|arg| (arg.name, format!("{}   ({})", arg.hex, arg.decimal))).collect();
    all.push((pair.value().name().to_owned(), returned(worst.result)));
    if let Some(estimate) = worst.estimate {
        all.push(("estimate".to_owned(), format!("{estimate:e}{}", of_error(worst))));
    }
    if let Some(exact) = &worst.exact {
        all.push(("exact".to_owned(), format!("{}   (rounded {})", exact.text, returned(exact.rounded))));
    } else if let Some(bits) = worst.of_reference {
        all.push(("expected".to_owned(), returned(bits)));
    }
    all
}

/// Returns the text about the contributions of roundings to the worst error; empty if they are not known.
fn parts_of_error(pair: &Pair, answer: &Answer) -> String {
    let mut out = String::new();
    let Some(sources) = &answer.sources else { return out };
    let _ = writeln!(out, "  result - exact = {:+.4} ulp; contributions of roundings:", sources.error);
    for (ulp, what) in source_lines(pair, answer) {
        let _ = writeln!(out, "    {ulp:>12}  {what}");
    }
    out
}

/// Returns the parts of the worst error, in ulps, each with its operation; empty if they are not known.
pub(super) fn source_lines(pair: &Pair, answer: &Answer) -> Vec<(String, String)> {
    let Some(sources) = &answer.sources else { return Vec::new() };
    let all: Vec<JsonSource> = sources.operations.iter().filter_map(|source| operation(pair, source)).collect();
    let heavy = all.iter().take(SHOWN).take_while(|source| source.ulp.abs() >= ADDS * sources.error.abs()).count();
    let (shown, others) = all.split_at(heavy);
    let ulp = |ulp: f64| format!("{ulp:+.4}");
    let line = |source: &JsonSource| {
        let file = source.file.rsplit('/').next().unwrap_or(&source.file);
        (ulp(source.ulp), format!("{:<6}  {file}:{}:{}", source.operation, source.line, source.column))
    };
    let mut lines: Vec<_> = shown.iter().map(line).collect();
    if !others.is_empty() {
        let sum = others.iter().map(|source| source.ulp).sum();
        lines.push((ulp(sum), format!("{} other operations", others.len())));
    }
    let rest = "not from rounding: approximation, constants, unknown functions";
    lines.push((ulp(sources.rest), rest.to_owned()));
    lines
}

/// Returns the text about the upper bound of the error.
pub(super) fn bounded(pair: &Pair, bound: &Result<Bound, String>, answer: &Answer) -> String {
    let bound = match bound {
        Ok(bound) => bound,
        Err(why) => return format!("no upper bound: {why}"),
    };
    let found = answer.found.last().and_then(Found::size);
    let share = |measure, bound: f64| match found.filter(|_| pair.value().measure() == measure && bound > 0.0) {
        Some(found) => format!(" (found: {:.1} % of it)", 100.0 * found / bound),
        None => String::new(),
    };
    let ulp = bound.ulp.map_or_else(|| "none in ulps".to_owned(), |ulp| in_ulps(ulp) + &share(Measure::Ulp, ulp));
    let of_absolute = share(Measure::Absolute, bound.absolute);
    format!("no error is above      {ulp}, {:.3e} absolute{of_absolute}", bound.absolute)
}

fn in_ulps(ulps: f64) -> String {
    if ulps >= 1e6 { format!("{ulps:.3e} ulp") } else { format!("{ulps:.4} ulp") }
}

pub(super) fn size(pair: &Pair, found: &Found) -> String {
    match found.compared {
        Compared::Ulps(times) if pair.value().has_estimate() => format!("{times:.4} {}", pair.value().unit()),
        Compared::Ulps(f64::MAX) if !pair.value().is_in_ulps() => format!("infinite {}", pair.value().unit()),
        Compared::Ulps(error) if is_count(pair, error) => format!("{error} {}", pair.value().unit()),
        Compared::Ulps(error) if !pair.value().is_in_ulps() => format!("{error:.6e} {}", pair.value().unit()),
        Compared::Ulps(ulps) => in_ulps(ulps),
        Compared::Wrong(class) => class.text().to_owned(),
    }
}

/// Returns the number of inputs of the box if every one was tried.
pub(super) fn exhausted(pair: &Pair, answer: &Answer) -> Option<u64> {
    exhaustive::inputs(pair.layout()).ok().filter(|all| *all == answer.tried)
}

/// Returns whether the error is a difference of integers, which is printed with all its digits.
fn is_count(pair: &Pair, error: f64) -> bool {
    !pair.result().is_float() && pair.value().measure() == Measure::Absolute && error < 1e15
}

/// Returns the text about the actual error, printed next to the function's estimate.
fn of_error(found: &Found) -> String {
    let Some(exact) = &found.exact else { return String::new() };
    let ulps = exact.compared.size().map_or_else(String::new, |ulps| format!(", {}", in_ulps(ulps)));
    exact.absolute.map_or_else(String::new, |error| format!("   (the error is {error:.6e}{ulps})"))
}

/// Returns the call and its result as text.
pub(super) fn call(pair: &Pair, found: &Found) -> String {
    let function = pair.function();
    let args: Vec<String> = arguments(function, &found.bytes).into_iter().map(|a| a.hex).collect();
    let of = |bits| literal::decimal(pair.result(), bits);
    let exact = found.expected().map_or_else(String::new, |bits| format!(", not {}", of(bits)));
    let exact = if of(found.result) == exact.trim_start_matches(", not ") { String::new() } else { exact };
    let errno = found
        .errno
        .filter(|_| found.compared == Compared::Wrong(Class::Errno))
        .map_or_else(String::new, |e| format!(", errno {}, not {}", errno::text(e.left), errno::text(e.expected)));
    format!("{}({}) = {}{exact}{errno}", function.name, args.join(", "), of(found.result))
}
