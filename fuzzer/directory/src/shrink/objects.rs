//! On which objects a crash depends.
//!
//! Where a library has functions that construct an object, callers do not fill it in member by member. An input that
//! does so may combine members that no call leaves: a count and an array that do not agree, a list without its head. An
//! experiment finds out whether that is why the function crashes: the objects are replaced by those of inputs with
//! which the function returns (as in Hopper, Chen et al., CCS 2023: "replace an object by a constructed one").

use std::rc::Rc;

use penfuzz_executor::{Evaluator, evaluator::RunStatus};
use penfuzz_target::{
    callers,
    inputs::{Block, Model, Owner, Target, types::Form},
};
use serde::{Deserialize, Serialize};

/// Maximum number of inputs whose objects are tried.
const INPUTS: usize = 8;

/// An object that the input fills in although the program has functions that construct it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FilledObject {
    /// The pointer to it in C notation.
    pub path: String,
    /// The name of its type.
    pub type_name: String,
}

/// The first object that callers would construct, if the crash of `x`, which `key` identifies, depends on what such
/// objects contain: with those of one of `others`, inputs with which the function returns, it does not occur. Also the
/// number of runs.
pub fn filled_in(evaluator: &mut Evaluator, x: &[u8], key: u64, others: &[&[u8]]) -> (Option<FilledObject>, u64) {
    let Some(model) = evaluator.blocks().map(|blocks| Rc::clone(blocks.model())) else { return (None, 0) };
    let first = constructed_elsewhere(evaluator, &model);
    if first.is_empty() {
        return (None, 0);
    }
    let parts = with_all_parts(&model, &first);
    let step = others.len().div_ceil(INPUTS).max(1);
    let mut runs = 0;
    let nothing = vec![0; x.len()];
    let others = others.iter().copied().step_by(step).filter(|other| other.len() == x.len());
    let mut candidates = others.chain([nothing.as_slice()]);
    let is_other = |other: &[u8]| {
        let mut mixed = x.to_vec();
        for b in &parts {
            copy_content(&model.blocks[*b], other, &mut mixed);
        }
        runs += 1;
        let crashes = evaluator.run(&mixed) == RunStatus::Faulted && evaluator.failed_at(key);
        evaluator.take_hits(&mut Vec::new());
        !crashes
    };
    let depends = candidates.any(is_other);
    let object = &model.blocks[first[0]];
    let filled = FilledObject { path: object.path.clone(), type_name: model.types[object.element].name.clone() };
    (depends.then_some(filled), runs)
}

/// The blocks with structures of types that other functions of the program construct.
fn constructed_elsewhere(evaluator: &Evaluator, model: &Model) -> Vec<usize> {
    let (target, f) = (evaluator.target(), evaluator.function());
    let is_of_call = |b: &Block| !b.path.is_empty() && !matches!(b.owner, Owner::Constructor(_));
    let has_constructor = |b: &Block| {
        let of = &model.types[b.element];
        matches!(of.form, Form::Struct(_)) && !callers::constructors(target, f, &of.name).is_empty()
    };
    let all = model.blocks.iter().enumerate().skip(1);
    all.filter(|(_, b)| is_of_call(b) && has_constructor(b)).map(|(i, _)| i).collect()
}

/// The blocks, and those that they lead to.
fn with_all_parts(model: &Model, first: &[usize]) -> Vec<usize> {
    let mut is_part = vec![false; model.blocks.len()];
    let mut waiting = first.to_vec();
    while let Some(b) = waiting.pop() {
        if !core::mem::replace(&mut is_part[b], true) {
            let leads_to = |target| if let Target::Block(inner) = target { Some(inner) } else { None };
            waiting.extend(model.blocks[b].pointers.iter().filter_map(|p| leads_to(p.target)));
        }
    }
    (0..is_part.len()).filter(|b| is_part[*b]).collect()
}

/// Copies the numbers of a block, which of its pointers exist and are null, and where in a buffer they lead, from one
/// input to another.
fn copy_content(block: &Block, from: &[u8], to: &mut [u8]) {
    for copy in &block.copies {
        let bytes = copy.from..copy.from + copy.size;
        to[bytes.clone()].copy_from_slice(&from[bytes]);
    }
    for converted in &block.converted {
        let bytes = converted.from..converted.from + converted.form.size();
        to[bytes.clone()].copy_from_slice(&from[bytes]);
    }
    let places = block.pointers.iter().filter_map(|p| if let Target::Within(to) = p.target { to.number } else { None });
    let nulls = block.pointers.iter().filter_map(|p| p.null);
    let choices = block.pointers.iter().filter_map(|p| Some(p.alternative?.choice));
    for slot in nulls.chain(choices).chain(places).chain(block.length.integers()) {
        slot.set(to, slot.get(from));
    }
}
