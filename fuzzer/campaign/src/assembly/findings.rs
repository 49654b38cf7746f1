//! The crashes, the hangs and the inputs that take long.

use penfuzz_directory::{
    output::{preconditions, store::LongRun},
    rendering::{arguments::arguments, memory::allocated},
    shrink::{Failing, FilledObject, Shrunk},
};
use penfuzz_executor::{FaultKind, fault::PLACEMENT};
use penfuzz_report::{Finding, LongInput, finding::Caller, json};
use penfuzz_target::{
    callers,
    program::{Function, Target},
    recorded::Precondition,
};

use super::{ReportInputs, claims::Claims};

/// The crashes or the hangs, simplified where that was possible.
pub fn of_kind(
    from: &ReportInputs,
    target: &Target,
    index: usize,
    kind: FaultKind,
    shrunk: &Shrunk,
    claims: &Claims,
) -> Vec<Finding> {
    let function = &target.functions[index];
    let verdicts = (kind == FaultKind::Crash).then(|| Verdicts::new(from, target, index, shrunk));
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
            let (mut violates, callers) = verdicts.as_ref().map(|verdicts| verdicts.of(file)).unwrap_or_default();
            let is_broken = |p: &&Precondition| bytes.is_some_and(|x| p.is_violated(function, x));
            let recorded = preconditions.iter().filter(is_broken).map(ToString::to_string);
            violates.extend(recorded.filter(|text| !violates.contains(text)).collect::<Vec<_>>());
            if fault.reason == PLACEMENT {
                // It compares or subtracts addresses, which means something within one array only.
                violates = vec!["its pointers lead to one array".to_owned()];
            }
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
                callers,
                existed_in: None,
            }
        })
        .collect()
}

/// What experiments have found out about the crashes.
struct Verdicts<'a> {
    target: &'a Target,
    function: usize,
    shrunk: &'a Shrunk,
    /// The crashes of an earlier report, if some crash was not examined for this one: at the end of a time limit there
    /// may be no time.
    earlier: Vec<Finding>,
}

impl<'a> Verdicts<'a> {
    fn new(from: &ReportInputs, target: &'a Target, function: usize, shrunk: &'a Shrunk) -> Self {
        let is_examined = |file: &String| shrunk.faults.get(file).is_some_and(|f| f.is_examined);
        let are_examined = from.saved.faults.iter().all(|(file, f)| f.kind != FaultKind::Crash || is_examined(file));
        let on_disk = || json::read(&from.dir.join(json::FILE)).map_or_else(|_| Vec::new(), |report| report.crashes);
        let earlier = if are_examined { Vec::new() } else { on_disk() };
        Self { target, function, shrunk, earlier }
    }

    /// The preconditions that a crash violates, and the callers that could confirm it.
    fn of(&self, file: &str) -> (Vec<String>, Vec<Caller>) {
        let shrunk = self.shrunk.faults.get(file);
        match self.earlier.iter().find(|crash| crash.file == file) {
            Some(crash) if !shrunk.is_some_and(|f| f.is_examined) => {
                let violates = if crash.needs_caller() { Vec::new() } else { crash.violates.clone() };
                (violates, crash.callers.clone())
            }
            _ => {
                let violates = shrunk.map_or_else(Vec::new, |f| f.violates.clone());
                (violates, callers(self.target, self.function, shrunk))
            }
        }
    }
}

/// Maximum number of callers of each kind that are named for a crash.
const CALLERS: usize = 4;

/// The callers that could confirm a crash: of a static function, the public functions that lead to it; otherwise those
/// that construct the object on whose content the crash depends.
fn callers(target: &Target, index: usize, crash: Option<&Failing>) -> Vec<Caller> {
    let function = &target.functions[index];
    let caller = |i: &usize, constructs: Option<&String>| {
        let Function { name, symbol, .. } = &target.functions[*i];
        let (name, symbol) = (name.clone(), symbol.clone());
        Caller { name, symbol, constructs: constructs.cloned(), reproduces: None, args: Vec::new() }
    };
    let public = if function.is_static { callers::public_callers(target, index) } else { Vec::new() };
    if !public.is_empty() {
        return public.iter().take(CALLERS).map(|i| caller(i, None)).collect();
    }
    let depends_on = crash.and_then(|crash| crash.depends_on.as_ref());
    let Some(FilledObject { path, type_name }) = depends_on else { return Vec::new() };
    let constructors = callers::constructors(target, function, type_name);
    constructors.iter().take(CALLERS).map(|i| caller(i, Some(path))).collect()
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
