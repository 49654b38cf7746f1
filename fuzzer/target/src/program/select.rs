//! Selects the function to test: by name, or the only suitable one.

use penfuzz_abi::names::GOAL_END;
use penfuzz_error::{Error, at};

use super::{
    Function, Target,
    names::{is_name_of, is_of_library, suggest_names},
};
use crate::inputs::{self, Sizes};

/// Finds the function under test and checks that it can be called.
///
/// # Errors
/// If there is no such function (the message suggests the nearest names), if several match (the message lists their
/// signatures), or if a parameter has a type that cannot be generated.
pub fn select(target: &Target, name: Option<&str>) -> Result<usize, Error> {
    let index = find(target, name)?;
    check(target, index)?;
    Ok(index)
}

/// Finds the function under test.
///
/// # Errors
/// As [`select`], except for parameters.
pub fn find(target: &Target, name: Option<&str>) -> Result<usize, Error> {
    match name {
        Some(name) => by_name(target, name),
        None => only_one(target),
    }
}

/// Checks that a function can be called.
///
/// # Errors
/// If it cannot be called, or if none of its parameters has bytes in an input.
pub fn check(target: &Target, function: usize) -> Result<(), Error> {
    check_parameters(target, &target.functions[function])
}

fn by_name(target: &Target, name: &str) -> Result<usize, Error> {
    let mut found = matching(target, |f| is_name_of(name, &f.name) || f.symbol == name || f.signature() == name);
    let whole: Vec<usize> = found.iter().copied().filter(|f| target.functions[*f].name == name).collect();
    if whole.len() == 1 {
        // The other matches have the name within a scope.
        found = whole;
    }
    if found.is_empty() {
        found = matching(target, |f| is_in_file(f, name));
    }
    match found[..] {
        [one] => Ok(one),
        [] => Err(unknown(target, name)),
        // A static function of a header is in each file that includes the header; all copies are the same.
        [first, ..] if found.iter().all(|f| is_copy(&target.functions[*f], &target.functions[first])) => Ok(first),
        _ => {
            let how = if found.iter().all(|f| target.functions[*f].is_static) { "FILE:NAME" } else { "its symbol" };
            let message =
                format!("has several functions `{name}`; identify one by {how}:{}", listing(target, &found, true));
            Err(at(&target.name, message))
        }
    }
}

/// Does `name` have the form `file.c:function` and name this function? The file may be preceded by any number of its
/// directories.
fn is_in_file(f: &Function, name: &str) -> bool {
    let Some(colon) = penfuzz_abi::names::single_colons(name).next_back() else { return false };
    let (file, function) = (&name[..colon], &name[colon + 1..]);
    let is_end = |rest: &str| rest.is_empty() || rest.ends_with('/');
    !file.is_empty()
        && (is_name_of(function, &f.name) || f.symbol == function)
        && f.file.strip_suffix(file).is_some_and(is_end)
}

/// Returns a name by which [`select`] finds this function again: its symbol, preceded by its file if other functions
/// have the same symbol.
#[must_use]
pub fn identity(target: &Target, function: usize) -> String {
    let f = &target.functions[function];
    let is_only = matching(target, |other| other.symbol == f.symbol).len() == 1;
    if is_only { f.symbol.clone() } else { format!("{}:{}", f.file, f.symbol) }
}

/// Whether both are the same static function. Sources may include its header by different paths.
fn is_copy(f: &Function, other: &Function) -> bool {
    let real = |f: &Function| std::fs::canonicalize(&f.file).unwrap_or_else(|_| f.file.clone().into());
    let place = |f: &Function| (f.line, f.signature());
    f.is_static && other.is_static && place(f) == place(other) && (f.file == other.file || real(f) == real(other))
}

fn only_one(target: &Target) -> Result<usize, Error> {
    if let Some(harness) = target.functions.iter().position(Function::is_harness) {
        return Ok(harness);
    }
    let goal = target.functions.iter().find(|f| f.name.starts_with(GOAL_END)).map(Function::unit);
    let is_own = |f: &Function| goal.is_none_or(|unit| f.unit() != unit) && !is_of_library(&f.name, &f.file);
    let public = matching(target, |f| !f.is_static && f.name != "main" && is_own(f));
    let testable: Vec<usize> =
        public.iter().copied().filter(|i| obstacle(target, &target.functions[*i]).is_none()).collect();
    // Functions with arguments are preferred: the others may only prepare their state.
    let (with_arguments, others): (Vec<_>, Vec<_>) =
        testable.into_iter().partition(|i| !inputs::is_of_globals(target, &target.functions[*i]));
    let testable = if with_arguments.is_empty() { others } else { with_arguments };
    let has_branches = |i: &usize| !target.functions[*i].sites.is_empty();
    let main = target.functions.iter().position(Function::is_program);
    let main = main.filter(|main| has_branches(main) && obstacle(target, &target.functions[*main]).is_none());
    match (&testable[..], &public[..]) {
        (_, public) if main.is_some() && !public.iter().any(has_branches) => Ok(main.unwrap_or_default()),
        ([one], _) | ([], [one]) => Ok(*one),
        ([], []) => Err(at(
            &target.name,
            "defines no function that could be tested (main and static functions \
             are not selected by default; name one with --function)",
        )),
        ([], several) | (several, _) => Err(at(
            &target.name,
            format!("has several functions; select one with --function:{}", listing(target, several, false)),
        )),
    }
}

fn matching(target: &Target, wanted: impl Fn(&Function) -> bool) -> Vec<usize> {
    target.functions.iter().enumerate().filter(|(_, f)| wanted(f)).map(|(i, _)| i).collect()
}

/// Maximum number of functions listed in a message.
const LISTED: usize = 20;

fn listing(target: &Target, which: &[usize], symbols: bool) -> String {
    let mut lines: Vec<String> = which
        .iter()
        .take(LISTED)
        .map(|i| {
            let f = &target.functions[*i];
            if symbols {
                // Static functions of several files may have the same symbol.
                let id = if f.is_static { format!("{}:{}", f.file, f.name) } else { f.symbol.clone() };
                format!("\n  {id}   {} at {}:{}", f.signature(), f.file, f.line)
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
    let own = target.functions.iter().filter(|f| !is_of_library(&f.name, &f.file));
    let suggest_names = suggest_names(own.map(|f| f.name.as_str()), name);
    at(&target.name, format!("has no function `{name}`; {suggest_names}"))
}

fn check_parameters(target: &Target, f: &Function) -> Result<(), Error> {
    match obstacle(target, f) {
        None => Ok(()),
        Some(Obstacle::NothingToSearch(reason)) => {
            Err(Error::new(format!("`{}` {reason}: there is nothing to search", f.signature())))
        }
        Some(Obstacle::Unsupported(reason)) => Err(Error::new(format!(
            "`{}` cannot be called without a harness: {reason}; supported are numbers, structures, arrays, strings, \
             pointers to them, and callbacks (or write LLVMFuzzerTestOneInput)",
            f.signature()
        ))),
    }
}

/// The reason why a function cannot be tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// None of its parameters has bytes in an input. The text says why, as the end of a sentence about the function.
    NothingToSearch(String),
    /// A parameter has a type that cannot be generated. The text names the parameter and its type, and says why.
    Unsupported(String),
}

/// Returns why `f` cannot be tested; `None` if it can.
#[must_use]
pub fn obstacle(target: &Target, f: &Function) -> Option<Obstacle> {
    if f.is_harness() || f.inputs().next().is_some() && f.entry().is_some() {
        return None;
    }
    let is_called = f.entry().is_some() || f.frame_call().is_some();
    match inputs::build(target, f, &Sizes::new()) {
        // Without a frame thunk, arguments other than numbers cannot be passed.
        Ok(model) if model.can_be_given(f) && !model.layout.is_empty() => None,
        Ok(_) if is_called => Some(Obstacle::NothingToSearch(only_outputs(f))),
        Err(_) if f.entry().is_some() => Some(Obstacle::NothingToSearch(only_outputs(f))),
        Err(why) => Some(Obstacle::Unsupported(why)),
        Ok(_) => Some(Obstacle::Unsupported("its calling convention is not supported".to_owned())),
    }
}

/// Describes the arguments of a function that has no inputs.
fn only_outputs(f: &Function) -> String {
    let outputs: Vec<String> = f.parameters.iter().map(|p| format!("`{}` of type `{}`", p.name, p.type_name)).collect();
    if outputs.is_empty() {
        return "takes no arguments".to_owned();
    }
    format!("takes only {}, which is filled in by the function", outputs.join(", "))
}
