//! The crashes, the hangs and the inputs that take long.

use penfuzz_directory::{
    output::{preconditions, store::LongRun},
    rendering::{arguments::arguments, memory::allocated},
    shrink::Shrunk,
};
use penfuzz_executor::FaultKind;
use penfuzz_report::{Finding, LongInput};
use penfuzz_target::{program::Function, recorded::Precondition};

use super::{ReportInputs, claims::Claims};

/// The crashes or the hangs, simplified where that was possible.
pub fn of_kind(
    from: &ReportInputs,
    function: &Function,
    kind: FaultKind,
    shrunk: &Shrunk,
    claims: &Claims,
) -> Vec<Finding> {
    let preconditions = preconditions::read(from.dir, &function.symbol);
    from.saved
        .faults
        .iter()
        .filter(|(_, f)| f.kind == kind)
        .map(|(file, fault)| {
            let shrunk = shrunk.faults.get(file);
            let bytes = shrunk.map(|f| &f.bytes).or_else(|| from.fault_inputs.get(file));
            let mut args = bytes.map_or_else(Vec::new, |b| arguments(function, b));
            if let Some(shrunk) = shrunk {
                allocated::allocate(&mut args, &shrunk.from_malloc);
            }
            let mut violates = shrunk.map_or_else(Vec::new, |f| f.violates.clone());
            let is_broken = |p: &&Precondition| bytes.is_some_and(|x| p.is_violated(function, x));
            let recorded = preconditions.iter().filter(is_broken).map(ToString::to_string);
            violates.extend(recorded.filter(|text| !violates.contains(text)).collect::<Vec<_>>());
            Finding {
                file: file.clone(),
                reason: shrunk.map_or(&fault.reason, |f| &f.reason).clone(),
                place: fault.place.clone(),
                stack: fault.stack.clone(),
                args,
                in_fresh_process: claims.crashes.get(file).copied(),
                in_test_program: None,
                grade: None,
                violates,
            }
        })
        .collect()
}

/// The inputs that take long, but return.
pub fn long_inputs(from: &ReportInputs, function: &Function) -> Vec<LongInput> {
    let bytes = |file: &String| from.inputs.iter().find(|(name, _)| name == file).map(|(_, bytes)| bytes);
    let shown = |(file, long): (&String, &LongRun)| {
        let args = arguments(function, bytes(file)?);
        Some(LongInput { file: file.clone(), args, milliseconds: long.milliseconds })
    };
    from.saved.long.iter().filter_map(shown).collect()
}
