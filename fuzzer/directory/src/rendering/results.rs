//! Determines the behaviour of the function for an emitted test: the values that the test program expects.
//!
//! The function is called three times: twice here, and once in a fresh process. A value that differs between these
//! calls depends on more than the arguments (on earlier calls, or on uninitialized memory), so no test can expect it.
//! How the test ends is taken from the fresh process.

use std::collections::HashSet;

use penfuzz_executor::{Evaluator, blocks::Blocks, evaluator::RunStatus};
use penfuzz_report::{Arg, End, Test, literal};
use penfuzz_system::process::errno;
use penfuzz_target::program::Function;
use serde::{Deserialize, Serialize};

use super::memory::{self, allocated};
use crate::rendering::arguments::arguments;

/// Numbers that may be addresses of a program, its libraries or its stack on 64-bit Linux. Addresses differ at every
/// start.
const ADDRESSES: core::ops::Range<u64> = 0x5500_0000_0000..0x8000_0000_0000;

/// The observed behaviour of one run: how it ended, its results and its outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunObservation {
    /// The function returned, or ended its process by `exit`.
    pub returned: bool,
    /// The exit status, if it ended its process.
    pub exit: Option<u8>,
    /// The type of the C++ exception that it threw.
    #[serde(default)]
    pub throws: Option<String>,
    /// `errno` after the call.
    pub errno: i32,
    /// The value that it returned.
    pub result: Option<Arg>,
    /// The results of the calls of a sequence.
    #[serde(default)]
    pub results: Vec<Option<Arg>>,
    /// `errno` after each call of a sequence.
    #[serde(default)]
    pub errnos: Vec<i32>,
    /// The number of calls of a sequence that were begun.
    #[serde(default)]
    pub begun: usize,
    /// What it wrote to the memory behind its pointers.
    pub outputs: Vec<Arg>,
    /// The variables that it freed or reallocated, or tried to.
    #[serde(default)]
    pub from_malloc: Vec<String>,
}

impl RunObservation {
    /// Whether the function returned, or ended its process by `exit`.
    #[must_use]
    pub const fn is_normal(&self) -> bool {
        self.returned
    }

    /// Whether the function ended its process.
    #[must_use]
    pub const fn is_exit(&self) -> bool {
        self.exit.is_some()
    }
}

/// A test without file and branches: its arguments, how the function ends, its result, what it writes through its
/// pointers, and `errno`. `fresh` is the behaviour in a fresh process, if that is known.
#[must_use]
pub fn of(evaluator: &mut Evaluator, bytes: &[u8], fresh: Option<RunObservation>) -> Test {
    let others = [call_scattered(evaluator, bytes), call(evaluator, bytes).1];
    let seen = fresh.unwrap_or_else(|| others[1].clone());
    agreed(evaluator.function(), bytes, seen, &others)
}

/// The same test, from an observation of a run and others of the same input: a value that differs between them is not
/// expected.
#[must_use]
pub fn agreed(function: &Function, bytes: &[u8], seen: RunObservation, others: &[RunObservation]) -> Test {
    let agrees = |is_same: &dyn Fn(&RunObservation) -> bool| others.iter().all(is_same);
    let known =
        |(i, r): (usize, Option<Arg>)| r.filter(|r| agrees(&|s| s.results.get(i).and_then(Option::as_ref) == Some(r)));
    let results: Vec<_> = seen.results.into_iter().enumerate().map(known).collect();
    let mut args = memory::truncated(arguments(function, bytes), seen.begun);
    allocated::allocate(&mut args, &seen.from_malloc);
    if !seen.returned || seen.exit.is_some() || seen.throws.is_some() {
        return Test { args, results, ends: seen.exit.map(End::Exit), throws: seen.throws, ..Test::default() };
    }
    let result = seen.result.filter(|r| agrees(&|s| s.result.as_ref() == Some(r)));
    let outputs = seen.outputs.into_iter().filter(|o| agrees(&|s| s.outputs.contains(o))).collect();
    let set = |(i, e): (usize, &i32)| Some(*e).filter(|e| *e != 0 && agrees(&|s| s.errnos.get(i) == Some(e)));
    let mut errnos: Vec<_> = seen.errnos.iter().enumerate().map(set).collect();
    if errnos.iter().all(Option::is_none) {
        errnos.clear();
    }
    let errno = Some(seen.errno).filter(|e| *e != 0 && results.is_empty() && agrees(&|s| s.errno == *e));
    Test { args, result, results, errnos, outputs, errno, ..Test::default() }
}

/// Removes the unchanged values that no test needs: those of which there are many, and that no test changes.
pub fn expect_changed<'a>(tests: impl Iterator<Item = &'a mut Test>) {
    let mut tests: Vec<_> = tests.collect();
    let is_changed = |output: &&Arg| output.place.as_ref().is_none_or(|place| !place.only_if_changed);
    let changed: HashSet<String> =
        tests.iter().flat_map(|t| &t.outputs).filter(is_changed).map(|output| output.name.clone()).collect();
    for test in &mut tests {
        test.outputs.retain(|output| is_changed(&output) || changed.contains(&output.name));
    }
}

/// The observation of a run without what differs in another run of the same input.
#[must_use]
pub fn in_common(seen: RunObservation, other: &RunObservation) -> RunObservation {
    let same = |(i, r): (usize, Option<Arg>)| r.filter(|r| other.results.get(i).and_then(Option::as_ref) == Some(r));
    let errnos = seen.errnos.iter().enumerate().map(|(i, e)| if other.errnos.get(i) == Some(e) { *e } else { 0 });
    RunObservation {
        returned: seen.returned && other.returned,
        exit: seen.exit.filter(|exit| other.exit == Some(*exit)),
        throws: seen.throws.filter(|throws| other.throws.as_ref() == Some(throws)),
        errno: if other.errno == seen.errno { seen.errno } else { 0 },
        result: seen.result.filter(|r| other.result.as_ref() == Some(r)),
        errnos: errnos.collect(),
        results: seen.results.into_iter().enumerate().map(same).collect(),
        begun: seen.begun.min(other.begun),
        outputs: seen.outputs.into_iter().filter(|output| other.outputs.contains(output)).collect(),
        from_malloc: seen.from_malloc,
    }
}

/// The result of a run as raw bits. Two runs with equal bits behaved the same. It is cheaper than [`RunObservation`],
/// which is formatted as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunBits {
    errno: i32,
    /// The output cells, each as its low and high half.
    halves: Vec<[u64; 2]>,
}

impl RunBits {
    /// The bits of the last run of `evaluator`, which set `errno`. `None` if the run did not return, or if its output
    /// cells are not its whole result.
    fn of(evaluator: &Evaluator, ran: RunStatus, errno: i32) -> Option<Self> {
        let halves = || evaluator.output().iter().map(|c| [*c as u64, (*c >> 64) as u64]).collect();
        has_plainly_returned(evaluator, ran).then(|| Self { errno, halves: halves() })
    }

    fn cells(&self) -> impl Iterator<Item = u128> + '_ {
        self.halves.iter().map(|[low, high]| u128::from(*low) | u128::from(*high) << 64)
    }

    fn is_of(&self, evaluator: &Evaluator, ran: RunStatus, errno: i32) -> bool {
        errno == self.errno && has_plainly_returned(evaluator, ran) && evaluator.output_equals(self.cells())
    }
}

fn has_plainly_returned(evaluator: &Evaluator, ran: RunStatus) -> bool {
    let ends = || evaluator.exit_status().is_some() || evaluator.thrown().is_some();
    ran == RunStatus::Returned && !evaluator.has_composed_output() && !ends()
}

/// Calls the function. Returns the armed branches that it takes, and its behaviour.
pub fn call(evaluator: &mut Evaluator, bytes: &[u8]) -> (Vec<u32>, RunObservation) {
    let (ran, covers, errno) = run(evaluator, bytes);
    (covers, seen(evaluator, bytes, ran, errno))
}

/// Calls the function with other distances between the blocks of its memory. Returns its behaviour.
fn call_scattered(evaluator: &mut Evaluator, bytes: &[u8]) -> RunObservation {
    let ((ran, _), errno) = errno::errno_after(|| evaluator.run_scattered(bytes));
    seen(evaluator, bytes, ran, errno)
}

/// The result of a run: as bits if they are the whole result, otherwise as the full observation.
pub type RunResult = Result<RunBits, Box<RunObservation>>;

/// Like [`call`], but returns the behaviour as bits if they are the whole result.
pub fn call_in_bits(evaluator: &mut Evaluator, bytes: &[u8]) -> (Vec<u32>, RunResult) {
    let (ran, covers, errno) = run(evaluator, bytes);
    (covers, did(evaluator, bytes, ran, errno))
}

/// Performs a run by calling `work`. Returns the result of the run, and the second value that `work` returns.
pub fn run_by<T>(
    evaluator: &mut Evaluator,
    bytes: &[u8],
    work: impl FnOnce(&mut Evaluator) -> (RunStatus, T),
) -> (RunResult, T) {
    let ((ran, more), errno) = errno::errno_after(|| work(evaluator));
    (did(evaluator, bytes, ran, errno), more)
}

fn did(evaluator: &Evaluator, bytes: &[u8], ran: RunStatus, errno: i32) -> RunResult {
    RunBits::of(evaluator, ran, errno).ok_or_else(|| Box::new(seen(evaluator, bytes, ran, errno)))
}

/// The bits of the last run, whose behaviour is `seen`. `None` if its output cells are not its whole result.
#[must_use]
pub fn left(evaluator: &Evaluator, seen: &RunObservation) -> Option<RunBits> {
    let ran = if seen.returned { RunStatus::Returned } else { RunStatus::Faulted };
    RunBits::of(evaluator, ran, seen.errno)
}

/// Calls the function. Returns its behaviour, or `None` if its bits equal `before`.
pub fn call_unless(evaluator: &mut Evaluator, bytes: &[u8], before: Option<&RunBits>) -> Option<RunObservation> {
    let (ran, _, errno) = run(evaluator, bytes);
    let is_same = before.is_some_and(|left| left.is_of(evaluator, ran, errno));
    (!is_same).then(|| seen(evaluator, bytes, ran, errno))
}

/// Runs the function once. Returns how the run ended, the armed branches that it takes, and `errno`.
fn run(evaluator: &mut Evaluator, bytes: &[u8]) -> (RunStatus, Vec<u32>, i32) {
    let ((ran, covers), errno) = errno::errno_after(|| evaluator.run_once(bytes));
    (ran, covers, errno)
}

/// The behaviour of the last run.
fn seen(evaluator: &Evaluator, bytes: &[u8], ran: RunStatus, errno: i32) -> RunObservation {
    let (returned, exit, throws) = (ran == RunStatus::Returned, evaluator.exit_status(), evaluator.thrown());
    let function = evaluator.function();
    let output = evaluator.output();
    let (results, begun) = evaluator.blocks().map_or((Vec::new(), 1), |blocks| (of_calls(blocks), blocks.begun()));
    let errnos = evaluator.blocks().map_or_else(Vec::new, |blocks| {
        let n = blocks.errnos().len().min(begun);
        blocks.errnos()[..n].to_vec()
    });
    let result = if results.is_empty() { result(function, &output) } else { results.last().cloned().flatten() };
    let from_malloc = evaluator.blocks().map_or_else(Vec::new, |blocks| allocated::from_malloc(function, blocks));
    let outputs = if let Some(blocks) = evaluator.blocks() {
        let mut x = bytes.to_vec();
        x.resize(evaluator.input_size(), 0);
        let mut left = memory::left(function, blocks, &x);
        if let Some(cell) = last_result(blocks, &output) {
            left.extend(memory::returned_pointer(function, Some((blocks, &x)), cell as usize));
        }
        left
    } else {
        let pointer = memory::returned_pointer(function, None, output[0] as usize);
        pointer.into_iter().chain(outputs(function, &output)).collect()
    };
    RunObservation { returned, exit, throws, errno, result, results, errnos, begun, outputs, from_malloc }
}

/// The cell of the last call's result; `None` if a sequence ended before the function under test was called.
fn last_result(blocks: &Blocks, output: &[u128]) -> Option<u128> {
    match &blocks.model().sequence {
        Some(sequence) if blocks.begun() <= sequence.constructors.len() => None,
        Some(_) => blocks.results().get(blocks.begun() - 1).copied(),
        None => output.first().copied(),
    }
}

/// The results of the calls of a sequence that were begun.
fn of_calls(blocks: &Blocks) -> Vec<Option<Arg>> {
    let Some(sequence) = &blocks.model().sequence else { return Vec::new() };
    let calls = sequence.constructors.iter().chain(&sequence.steps).zip(blocks.results());
    calls.take(blocks.begun()).map(|(call, cell)| result(&call.f, &[*cell])).collect()
}

fn result(function: &Function, cells: &[u128]) -> Option<Arg> {
    let value = cells[0] as u64;
    if function.is_harness() {
        return Some(literal::arg("result", "int", penfuzz_mutators::view::Kind::I32, value));
    }
    let kind = function.result_kind?;
    let is_address = kind.size() == 8 && !kind.is_float() && ADDRESSES.contains(&value);
    let result = literal::arg("result", &function.result_type, kind, value);
    (!is_address).then(|| Arg { enumerator: function.result_enumerator(value), ..result })
}

fn outputs(function: &Function, cells: &[u128]) -> Vec<Arg> {
    if function.is_harness() {
        return Vec::new();
    }
    let output = |p: &penfuzz_target::program::Parameter| {
        let cells = cells.get(p.cell / size_of::<u128>()..)?;
        match p.kind {
            Some(kind) => Some(literal::arg(&p.name, p.value_type(), kind, *cells.first()? as u64)),
            None if p.is_output() => structure(&p.name, p.value_type(), cells, p.output_size / size_of::<u64>()),
            None => None,
        }
    };
    function.parameters.iter().filter(|p| p.pointer).filter_map(output).collect()
}

/// The first `n` words of a structure; `None` if one of them may be an address.
fn structure(name: &str, type_name: &str, cells: &[u128], n: usize) -> Option<Arg> {
    if type_name.contains("jmp_buf") {
        return None; // scrambled addresses
    }
    let words: Vec<u64> = cells.iter().flat_map(|c| [*c as u64, (*c >> 64) as u64]).take(n).collect();
    let is_known = !words.is_empty() && !words.iter().any(|w| ADDRESSES.contains(w));
    is_known.then(|| literal::words(name, type_name, &words))
}
