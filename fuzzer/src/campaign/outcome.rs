//! From the state of a campaign to its [`Report`].

use std::collections::BTreeMap;

use penfuzz_cc::abi::{action, metric, site_kind};

use super::{Options, board::StopReason, store::Store};
use crate::{
    executor::{Evaluator, FaultKind, evaluator::Ran},
    report::{self, Arg, Branches, Finding, Report, Signature, Status, Test, literal},
    saturation::{Saturation, Scope},
    stage::budget::Spent,
    target::{Function, Site},
};

/// Everything a report is made of.
pub struct Sources<'a> {
    /// Options of the campaign.
    pub options: &'a Options,
    /// Its files.
    pub store: &'a Store,
    /// State of the branches.
    pub saturation: &'a Saturation,
    /// What was spent on them.
    pub spent: Option<&'a Spent>,
    /// The goals.
    pub scope: &'a Scope,
    /// Why it ended.
    pub stop: StopReason,
}

/// Arguments of `function` from the bytes of an input, the rounding mode last if it is one.
#[must_use]
pub fn arguments(function: &Function, bytes: &[u8]) -> Vec<Arg> {
    if function.is_harness() {
        return vec![literal::bytes("data", bytes)];
    }
    let layout = function.layout();
    let mut x = bytes.to_vec();
    x.resize(layout.size(), 0);
    let mut args: Vec<Arg> = function
        .inputs()
        .zip(layout.slots())
        .map(|(p, slot)| literal::arg(&p.name, p.value_type(), slot.kind, slot.get(&x)))
        .collect();
    if let Some(mode) = layout.slots().last().filter(|_| function.has_rounding) {
        args.push(literal::rounding(mode.get(&x)));
    }
    args
}

/// Makes the report. Kept inputs run once more, to see which branches each covers.
#[must_use]
pub fn report(evaluator: &mut Evaluator, from: &Sources) -> Report {
    let function = evaluator.function().clone();
    let evaluations = from.store.remembered.evaluations;
    let runs = rerun(evaluator, from);
    let order = source_order(evaluator, from.scope);
    let tests = choose_tests(&runs, &function, &order);
    let (total, covered, saturated, given_up) = from.saturation.counts();
    let seconds = rounded(from.store.remembered.seconds, 1e6);
    Report {
        schema: report::SCHEMA,
        target: from.options.target.display().to_string(),
        sources: from.options.sources.iter().map(|p| p.display().to_string()).collect(),
        flags: from.options.flags.clone(),
        libs: from.options.libs.clone(),
        function: function.name.clone(),
        signature: signature(&function),
        seed: from.options.seed,
        search: from.options.search.name().to_owned(),
        rounding: from.options.rounding,
        branches: Branches { total, covered, saturated, given_up, proved_unreachable: 0 },
        evaluations,
        seconds,
        evaluations_per_second: if seconds > 0.0 { rounded(evaluations as f64 / seconds, 10.0) } else { 0.0 },
        stop_reason: from.stop.name().to_owned(),
        sites: sites(evaluator, from, &order, &tests),
        tests: tests.into_iter().map(|t| t.test).collect(),
        crashes: findings(from.store, &function, FaultKind::Crash),
        hangs: findings(from.store, &function, FaultKind::Hang),
    }
}

/// To a fraction of a unit: digits that mean nothing are noise, and JSON readers differ in the last one.
fn rounded(x: f64, per_unit: f64) -> f64 {
    (x * per_unit).round() / per_unit
}

/// One kept input and the goals it covers.
struct Rerun {
    file: String,
    bytes: Vec<u8>,
    covers: Vec<u32>,
}

fn rerun(evaluator: &mut Evaluator, from: &Sources) -> Vec<Rerun> {
    let folders = [("queue", from.store.queue()), ("pending", from.store.pending())];
    let mut runs = Vec::new();
    let count = evaluator.evaluations();
    for (folder, inputs) in folders {
        for (name, bytes) in inputs {
            evaluator.set_objective(metric::ULP, u64::MAX);
            evaluator.arm(|b| if from.scope.branches[b] { action::RECORD } else { 0 });
            let ran = evaluator.run(bytes);
            let mut covers = Vec::new();
            evaluator.take_hits(&mut covers);
            if ran == Ran::Returned {
                runs.push(Rerun { file: format!("{folder}/{name}"), bytes: bytes.clone(), covers });
            }
        }
    }
    evaluator.set_evaluations(count);
    runs
}

/// Sites in scope as the reader of the source meets them, and the place of each branch in the report.
struct Order {
    sites: Vec<usize>,
    place: BTreeMap<u32, (usize, usize)>,
}

fn source_order(evaluator: &Evaluator, scope: &Scope) -> Order {
    let all = &evaluator.target().sites;
    let mut sites = scope.sites.clone();
    sites.sort_by_key(|s| (&all[*s].file, all[*s].line, all[*s].column, *s));
    let mut place = BTreeMap::new();
    for (i, s) in sites.iter().enumerate() {
        for k in 0..all[*s].n_branches {
            place.insert((all[*s].first_branch + k) as u32, (i, k));
        }
    }
    Order { sites, place }
}

struct Chosen {
    test: Test,
    bytes: Vec<u8>,
}

/// A small set of inputs that covers what all of them cover: greedily the one that adds most, then without those that the
/// later ones made superfluous.
fn choose_tests(runs: &[Rerun], function: &Function, order: &Order) -> Vec<Chosen> {
    let mut open: std::collections::BTreeSet<u32> = runs.iter().flat_map(|r| r.covers.iter().copied()).collect();
    let mut chosen: Vec<usize> = Vec::new();
    while !open.is_empty() {
        let gain = |r: &Rerun| r.covers.iter().filter(|b| open.contains(b)).count();
        let Some((best, _)) =
            runs.iter().enumerate().map(|(i, r)| (i, gain(r))).max_by_key(|(i, g)| (*g, core::cmp::Reverse(*i)))
        else {
            break;
        };
        for b in &runs[best].covers {
            open.remove(b);
        }
        chosen.push(best);
    }
    drop_superfluous(&mut chosen, runs);
    chosen.sort_unstable();
    chosen
        .into_iter()
        .map(|i| {
            let covers = runs[i].covers.iter().filter_map(|b| order.place.get(b).copied()).collect();
            let test = Test { file: runs[i].file.clone(), args: arguments(function, &runs[i].bytes), covers };
            Chosen { test, bytes: runs[i].bytes.clone() }
        })
        .collect()
}

fn drop_superfluous(chosen: &mut Vec<usize>, runs: &[Rerun]) {
    let mut i = 0;
    while i < chosen.len() {
        let needed = runs[chosen[i]]
            .covers
            .iter()
            .any(|b| !chosen.iter().enumerate().any(|(j, c)| j != i && runs[*c].covers.contains(b)));
        if needed {
            i += 1;
        } else {
            chosen.remove(i);
        }
    }
}

fn signature(function: &Function) -> Signature {
    let kind_name = |k: Option<_>| k.map_or_else(String::new, |k| literal::kind_name(k).to_owned());
    Signature {
        symbol: function.symbol.clone(),
        result: function.result_type.clone(),
        result_kind: if function.result_type == "void" { "void".to_owned() } else { kind_name(function.result_kind) },
        parameters: function
            .parameters
            .iter()
            .map(|p| report::Parameter {
                name: p.name.clone(),
                type_name: p.type_name.clone(),
                kind: if p.is_output() { report::OUTPUT_KIND.to_owned() } else { kind_name(p.kind) },
                pointer: p.pointer,
                size: p.output_size,
            })
            .collect(),
        file: function.file.clone(),
        line: function.line,
        is_static: function.is_static,
    }
}

fn sites(evaluator: &Evaluator, from: &Sources, order: &Order, tests: &[Chosen]) -> Vec<report::Site> {
    let target = evaluator.target();
    order
        .sites
        .iter()
        .enumerate()
        .map(|(i, s)| {
            let site = &target.sites[*s];
            report::Site {
                function: target.functions[site.function].name.clone(),
                file: site.file.clone(),
                line: site.line,
                column: site.column,
                kind: kind_text(site.kind).to_owned(),
                predicate: predicate_text(site.predicate).to_owned(),
                branches: (0..site.n_branches)
                    .map(|k| branch(evaluator, from, site.first_branch + k, outcome_text(site, k), tests, (i, k)))
                    .collect(),
            }
        })
        .collect()
}

fn branch(
    evaluator: &Evaluator,
    from: &Sources,
    branch: usize,
    outcome: String,
    tests: &[Chosen],
    place: (usize, usize),
) -> report::Branch {
    let set = from.saturation;
    let function = evaluator.function();
    let status = if !set.is_covered(branch) {
        if set.is_given_up(branch) { Status::GivenUp } else { Status::Uncovered }
    } else if set.is_covered_by_crash(branch) {
        Status::CoveredByCrash
    } else if set.is_saturated(branch) {
        Status::Saturated
    } else {
        Status::Covered
    };
    let closest = evaluator.closest(branch);
    let input = if set.is_covered(branch) {
        tests.iter().find(|t| t.test.covers.contains(&place)).map(|t| arguments(function, &t.bytes))
    } else {
        closest.map(|(_, bytes)| arguments(function, bytes))
    };
    report::Branch {
        outcome,
        status,
        evaluations: from.spent.and_then(|s| s.evaluations.get(branch).copied()).unwrap_or(0),
        best_distance: if set.is_covered(branch) { Some(0) } else { closest.map(|(d, _)| d) },
        input,
    }
}

fn findings(store: &Store, function: &Function, kind: FaultKind) -> Vec<Finding> {
    store
        .remembered
        .faults
        .iter()
        .filter(|(_, f)| f.kind == kind)
        .map(|(file, fault)| Finding {
            file: file.clone(),
            reason: fault.reason.clone(),
            place: fault.place.clone(),
            args: std::fs::read(store.dir().join(file)).map_or_else(|_| Vec::new(), |b| arguments(function, &b)),
        })
        .collect()
}

fn kind_text(kind: u8) -> &'static str {
    match kind {
        site_kind::SWITCH => "switch",
        site_kind::SELECT => "select",
        _ => "branch",
    }
}

/// What the reader of the source calls a branch.
#[must_use]
pub fn outcome_text(site: &Site, k: usize) -> String {
    if site.kind != site_kind::SWITCH {
        return if k == 0 { "true" } else { "false" }.to_owned();
    }
    if k == 0 {
        return "default".to_owned();
    }
    let values: Vec<String> = site.cases.iter().filter(|(_, b)| *b == k).map(|(v, _)| v.to_string()).collect();
    format!("case {}", values.join(", "))
}

/// `llvm::CmpInst::Predicate` as C writes it; `!>=` and the like hold for NaN too.
#[must_use]
pub fn predicate_text(predicate: u8) -> &'static str {
    match predicate {
        1 | 32 => "==",
        2 | 34 | 38 => ">",
        3 | 35 | 39 => ">=",
        4 | 36 | 40 => "<",
        5 | 37 | 41 => "<=",
        6 => "<>",
        7 => "ordered",
        8 => "unordered",
        9 => "!<>",
        10 => "!<=",
        11 => "!<",
        12 => "!>=",
        13 => "!>",
        14 | 33 => "!=",
        _ => "",
    }
}
