//! Which function to test: by name, or the only one that offers itself.

use penfuzz_error::{Error, at};

use super::{
    Function, Target,
    names::{is_name_of, is_of_library, offer},
};
use crate::inputs::{self, Sizes};

/// Finds the function under test and checks that it can be called.
///
/// # Errors
/// When there is no such function (the nearest names are offered), when several match (they are listed with their
/// signatures), or when a parameter is of a type that cannot be generated.
pub fn select(target: &Target, name: Option<&str>) -> Result<usize, Error> {
    let index = find(target, name)?;
    check(target, index)?;
    Ok(index)
}

/// Finds the function under test.
///
/// # Errors
/// As [`select`], but for parameters.
pub fn find(target: &Target, name: Option<&str>) -> Result<usize, Error> {
    match name {
        Some(name) => by_name(target, name),
        None => only_one(target),
    }
}

/// Checks that a function can be called.
///
/// # Errors
/// When it cannot, or when nothing of its parameters is in an input.
pub fn check(target: &Target, function: usize) -> Result<(), Error> {
    check_parameters(target, &target.functions[function])
}

fn by_name(target: &Target, name: &str) -> Result<usize, Error> {
    let mut found = matching(target, |f| is_name_of(name, &f.name) || f.symbol == name || f.signature() == name);
    let whole: Vec<usize> = found.iter().copied().filter(|f| target.functions[*f].name == name).collect();
    if whole.len() == 1 {
        // Others have the name within a scope.
        found = whole;
    }
    if found.is_empty() {
        found = matching(target, |f| is_in_file(f, name));
    }
    match found[..] {
        [one] => Ok(one),
        [] => Err(unknown(target, name)),
        // A static function of a header is in each file that includes it; all are the same.
        [first, ..] if found.iter().all(|f| is_copy(&target.functions[*f], &target.functions[first])) => Ok(first),
        _ => {
            let how = if found.iter().all(|f| target.functions[*f].is_static) { "FILE:NAME" } else { "its symbol" };
            let message =
                format!("has several functions `{name}`; give one by {how}:{}", listing(target, &found, true));
            Err(at(&target.name, message))
        }
    }
}

/// Does `name` have the form `file.c:function` and mean this function? The file may have directories, as many as are needed.
fn is_in_file(f: &Function, name: &str) -> bool {
    let Some(colon) = penfuzz_abi::names::single_colons(name).next_back() else { return false };
    let (file, function) = (&name[..colon], &name[colon + 1..]);
    let is_end = |rest: &str| rest.is_empty() || rest.ends_with('/');
    !file.is_empty()
        && (is_name_of(function, &f.name) || f.symbol == function)
        && f.file.strip_suffix(file).is_some_and(is_end)
}

/// A name by which [`select`] finds this function again: its symbol, with its file where others have the same symbol.
#[must_use]
pub fn identity(target: &Target, function: usize) -> String {
    let f = &target.functions[function];
    let is_only = matching(target, |other| other.symbol == f.symbol).len() == 1;
    if is_only { f.symbol.clone() } else { format!("{}:{}", f.file, f.symbol) }
}

fn is_copy(f: &Function, other: &Function) -> bool {
    let place = |f: &Function| (f.file.clone(), f.line, f.signature());
    f.is_static && other.is_static && place(f) == place(other)
}

fn only_one(target: &Target) -> Result<usize, Error> {
    if let Some(harness) = target.functions.iter().position(Function::is_harness) {
        return Ok(harness);
    }
    let public = matching(target, |f| !f.is_static && f.name != "main" && !is_of_library(&f.name, &f.file));
    let testable: Vec<usize> =
        public.iter().copied().filter(|i| obstacle(target, &target.functions[*i]).is_none()).collect();
    // One with arguments first: the others may be there to prepare its state.
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
                // Static functions of several files may have one symbol.
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
    let offer = offer(own.map(|f| f.name.as_str()), name);
    at(&target.name, format!("has no function `{name}`; {offer}"))
}

fn check_parameters(target: &Target, f: &Function) -> Result<(), Error> {
    match obstacle(target, f) {
        None => Ok(()),
        Some(Obstacle::NothingToSearch(reason)) => {
            Err(Error::new(format!("`{}` {reason}: there is nothing to search", f.signature())))
        }
        Some(Obstacle::Unsupported(reason)) => Err(Error::new(format!(
            "`{}` cannot be called without a harness: {reason}; supported are numbers, structures, arrays, strings, pointers to them, and callbacks (or write LLVMFuzzerTestOneInput)",
            f.signature()
        ))),
    }
}

/// Why a function cannot be under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// Nothing of its parameters is in an input; why, as the end of a sentence about the function.
    NothingToSearch(String),
    /// A parameter is of a type that cannot be generated; which one, of which type, and why.
    Unsupported(String),
}

/// Why `f` cannot be under test; `None` when it can.
#[must_use]
pub fn obstacle(target: &Target, f: &Function) -> Option<Obstacle> {
    if f.is_harness() || f.inputs().next().is_some() && f.entry().is_some() {
        return None;
    }
    let is_called = f.entry().is_some() || f.frame_call().is_some();
    match inputs::build(target, f, &Sizes::new()) {
        // Without the frame, there is no way for what a model has besides numbers.
        Ok(model) if model.can_be_given(f) && !model.layout.is_empty() => None,
        Ok(_) if is_called => Some(Obstacle::NothingToSearch(only_outputs(f))),
        Err(_) if f.entry().is_some() => Some(Obstacle::NothingToSearch(only_outputs(f))),
        Err(why) => Some(Obstacle::Unsupported(why)),
        Ok(_) => Some(Obstacle::Unsupported("its arguments are passed in a way that is not known".to_owned())),
    }
}

/// What a function takes that has no inputs.
fn only_outputs(f: &Function) -> String {
    let outputs: Vec<String> = f.parameters.iter().map(|p| format!("`{}` of type `{}`", p.name, p.type_name)).collect();
    if outputs.is_empty() {
        return "takes no arguments".to_owned();
    }
    format!("takes only {}, which counts as a result to fill in", outputs.join(", "))
}
