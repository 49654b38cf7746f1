//! Which function to test: by name, or the only one that offers itself.

use super::{Function, Target};
use crate::error::{Error, at};

/// Finds the function under test and checks that it can be called.
///
/// # Errors
/// When there is no such function (the nearest names are offered), when several match (they are listed with their
/// signatures), or when a parameter is of a type that cannot be generated.
pub fn select(target: &Target, name: Option<&str>) -> Result<usize, Error> {
    let index = match name {
        Some(name) => by_name(target, name)?,
        None => only_one(target)?,
    };
    check_parameters(&target.functions[index])?;
    Ok(index)
}

fn by_name(target: &Target, name: &str) -> Result<usize, Error> {
    let found = matching(target, |f| f.name == name || f.symbol == name || f.signature() == name);
    match found[..] {
        [one] => Ok(one),
        [] => Err(unknown(target, name)),
        _ => Err(at(
            &target.name,
            format!("has several functions `{name}`; give one by its symbol:{}", listing(target, &found, true)),
        )),
    }
}

fn only_one(target: &Target) -> Result<usize, Error> {
    if let Some(harness) = target.functions.iter().position(Function::is_harness) {
        return Ok(harness);
    }
    let public = matching(target, |f| !f.is_static && f.name != "main");
    let testable: Vec<usize> = public.iter().copied().filter(|i| target.functions[*i].entry().is_some()).collect();
    match (&testable[..], &public[..]) {
        ([one], _) | ([], [one]) => Ok(*one),
        ([], []) => Err(at(
            &target.name,
            "defines no function that could be tested (main and static functions are not chosen by themselves; name one with --function)",
        )),
        ([], several) | (several, _) => Err(at(
            &target.name,
            format!("has several functions; choose one with --function:{}", listing(target, several, false)),
        )),
    }
}

fn matching(target: &Target, wanted: impl Fn(&Function) -> bool) -> Vec<usize> {
    target.functions.iter().enumerate().filter(|(_, f)| wanted(f)).map(|(i, _)| i).collect()
}

/// How many functions a message lists.
const LISTED: usize = 20;

fn listing(target: &Target, which: &[usize], symbols: bool) -> String {
    let mut lines: Vec<String> = which
        .iter()
        .take(LISTED)
        .map(|i| {
            let f = &target.functions[*i];
            if symbols {
                format!("\n  {}   {} at {}:{}", f.symbol, f.signature(), f.file, f.line)
            } else {
                format!("\n  {}", f.signature())
            }
        })
        .collect();
    if which.len() > LISTED {
        lines.push(format!("\n  … and {} more", which.len() - LISTED));
    }
    lines.concat()
}

fn unknown(target: &Target, name: &str) -> Error {
    let mut near: Vec<(f64, &str)> =
        target.functions.iter().map(|f| (strsim::jaro_winkler(&f.name, name), f.name.as_str())).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.dedup_by(|a, b| a.1 == b.1);
    let names: Vec<&str> = near.iter().filter(|(score, _)| *score > 0.6).take(3).map(|(_, n)| *n).collect();
    let offer = if names.is_empty() {
        let all: Vec<&str> = near.iter().take(5).map(|(_, n)| *n).collect();
        if all.is_empty() { "it defines none".to_owned() } else { format!("it has {}", all.join(", ")) }
    } else {
        format!("did you mean {}?", names.join(", "))
    };
    at(&target.name, format!("has no function `{name}`; {offer}"))
}

fn check_parameters(f: &Function) -> Result<(), Error> {
    match obstacle(f) {
        None => Ok(()),
        Some(Obstacle::NothingToSearch) => {
            Err(Error::new(format!("`{}` takes no arguments: there is nothing to search", f.signature())))
        }
        Some(Obstacle::Unsupported(reason)) => Err(Error::new(format!(
            "`{}` cannot be called without a harness: {reason}; supported are double, float, integers of 8 to 64 bits, pointers to one of them, and pointers to a structure that the function fills in (or write LLVMFuzzerTestOneInput)",
            f.signature()
        ))),
    }
}

/// Why a function cannot be under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// Nothing of its parameters is in an input.
    NothingToSearch,
    /// A parameter is of a type that cannot be generated; which and what.
    Unsupported(String),
}

/// Why `f` cannot be under test; `None` when it can.
#[must_use]
pub fn obstacle(f: &Function) -> Option<Obstacle> {
    if f.entry().is_some() {
        return (f.inputs().next().is_none()).then_some(Obstacle::NothingToSearch);
    }
    let reason = f.inputs().find(|p| p.kind.is_none()).map_or_else(
        || "its signature is not supported".to_owned(),
        |p| format!("parameter `{}` has type `{}`", p.name, p.type_name),
    );
    Some(Obstacle::Unsupported(reason))
}
