//! Functions that a verification task expects from its environment, by the names of the Competition on Software
//! Verification.
//!
//! The runtime of a target defines these functions (`compiler-wrapper/runtime/streams.c`), unless the program does. The
//! results of `__VERIFIER_nondet_int()` and similar functions are numbers of the input: an array for each function.

use core::ffi::CStr;
use std::collections::BTreeSet;

use penfuzz_abi as abi;
use penfuzz_mutators::view::Kind;

use super::{Function, Target, function::kind_of, state::uninstrumented_symbols};

/// A function whose results are numbers of the input.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name of the function.
    pub function: String,
    /// The kind of its results.
    pub kind: Kind,
    /// The record through which its results are passed during a call.
    pub stream: *mut abi::Stream,
}

/// Does the runtime define a function of this name if the program does not?
#[must_use]
pub fn is_provided(name: &str) -> bool {
    matches!(name, "__VERIFIER_assume" | "__VERIFIER_error" | "reach_error") || name.starts_with("__VERIFIER_nondet_")
}

/// The sources that a `function` can call, in the order of the target's table.
#[must_use]
pub fn sources(target: &Target, function: &Function) -> Vec<Source> {
    let names = uninstrumented_symbols(function);
    let all = target.streams().into_iter().filter_map(|stream| {
        // SAFETY: a record of the loaded file, with a constant name.
        let (name, kind) = unsafe { (CStr::from_ptr((*stream).name), (*stream).kind) };
        let function = names.contains(name.to_bytes()).then(|| name.to_string_lossy().into_owned())?;
        Some(Source { function, kind: kind_of(kind)?, stream })
    });
    all.collect()
}

/// The functions that code of the target refers to and that only the runtime defines, in alphabetical order. A program
/// with the same code must define them.
#[must_use]
pub fn provided(target: &Target) -> BTreeSet<String> {
    let lists = target.records().filter_map(|f| {
        // SAFETY: null or a constant of the loaded file.
        unsafe { f.references.as_ref() }
    });
    let names = lists.flat_map(|r| {
        (0..r.n_functions as usize).filter_map(|i| {
            // SAFETY: two arrays of this length, of records and strings of the loaded file.
            let (record, name) = unsafe { (*r.functions.add(i), CStr::from_ptr(*r.function_names.add(i))) };
            record.is_null().then(|| name.to_string_lossy().into_owned())
        })
    });
    names.filter(|name| is_provided(name)).collect()
}
