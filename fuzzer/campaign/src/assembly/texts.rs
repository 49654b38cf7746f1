//! Names of sites, outcomes and units in a report, in terms of the source.

use penfuzz_abi::{exception, site_kind};
use penfuzz_target::program::Site;

pub(super) fn kind_text(kind: u8) -> &'static str {
    match kind {
        site_kind::SWITCH => "switch",
        site_kind::SELECT => "select",
        site_kind::COMPARISON => "comparison",
        site_kind::OPERATION => "operation",
        site_kind::MUTATION => "mutation",
        _ => "branch",
    }
}

/// The name of the outcome `k` of a site, in terms of the source.
#[must_use]
pub fn outcome_text(site: &Site, k: usize) -> String {
    match site.kind {
        site_kind::SWITCH => {}
        site_kind::COMPARISON => return ["below", "equal", "above"][k].to_owned(),
        site_kind::OPERATION if k == exception::UNDERFLOW && site.is_sum() => return "subnormal".to_owned(),
        site_kind::OPERATION => {
            return ["overflow", "underflow", "divide-by-zero", "invalid", "inexact"][k].to_owned();
        }
        site_kind::MUTATION => return site.name.lines().nth(k).unwrap_or_default().replace('\t', ": "),
        _ => return if k == 0 { "true" } else { "false" }.to_owned(),
    }
    if k == 0 {
        return "default".to_owned();
    }
    case_text(site.cases.iter().filter(|(_, b)| *b == k).map(|(v, _)| *v))
}

/// The names of all outcomes of a site, in time linear in the number of its cases.
pub(super) fn outcome_texts(site: &Site) -> Vec<String> {
    if site.kind != site_kind::SWITCH {
        return (0..site.n_branches).map(|k| outcome_text(site, k)).collect();
    }
    let mut values = vec![Vec::new(); site.n_branches];
    for (value, k) in &site.cases {
        values[*k].push(*value);
    }
    let text = |(k, values)| if k == 0 { "default".to_owned() } else { case_text(values) };
    values.into_iter().enumerate().map(text).collect()
}

fn case_text(values: impl IntoIterator<Item = i64>) -> String {
    let values: Vec<String> = values.into_iter().map(|v| v.to_string()).collect();
    format!("case {}", values.join(", "))
}

/// The unit of the distance between the operands of a comparison; empty for a site that has several comparisons or
/// none.
pub(super) fn unit_text(predicate: u8) -> &'static str {
    match predicate {
        1..=14 => "floats",
        32..=41 => "integers",
        _ => "",
    }
}

/// The C notation of an `llvm::CmpInst::Predicate`; `!>=` and the like also hold for NaN.
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
