//! What the function does for an emitted test: the values that the test program expects.
//!
//! The function is called three times: twice here, and once in a fresh process. What differs between these calls depends on more than
//! the arguments (on earlier calls, or on memory that was never written), and no test can expect it. How the test ends is what the
//! fresh process did.

use penfuzz_engine::{
    executor::{Evaluator, blocks::Blocks, evaluator::RunStatus},
    program::Function,
};

use serde::{Deserialize, Serialize};

use super::{memory, outcome::arguments};
use crate::report::{Arg, End, Test, literal};

/// Numbers that may be addresses of a program or of its libraries and stack on 64-bit Linux: they differ at every start.
const ADDRESSES: core::ops::Range<u64> = 0x5500_0000_0000..0x8000_0000_0000;

/// What one call did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub(crate) returned: bool,
    pub(crate) exit: Option<u8>,
    #[serde(default)]
    pub(crate) throws: Option<String>,
    pub(crate) errno: i32,
    pub(crate) result: Option<Arg>,
    /// Of the calls of a sequence.
    #[serde(default)]
    pub(crate) results: Vec<Option<Arg>>,
    /// `errno` behind each of them.
    #[serde(default)]
    pub(crate) errnos: Vec<i32>,
    /// Calls of a sequence.
    #[serde(default)]
    pub(crate) begun: usize,
    pub(crate) outputs: Vec<Arg>,
}

impl Seen {
    /// Did the function return, or end its process by `exit`?
    #[must_use]
    pub const fn is_normal(&self) -> bool {
        self.returned
    }

    /// Did it end its process?
    #[must_use]
    pub const fn is_exit(&self) -> bool {
        self.exit.is_some()
    }
}

/// A test without file and branches: its arguments, how the function ends, its result, what it leaves behind its pointers, and
/// `errno`. `fresh` is what it did in a fresh process, if that is known.
#[must_use]
pub fn of(evaluator: &mut Evaluator, bytes: &[u8], fresh: Option<Seen>) -> Test {
    let others = [call(evaluator, bytes).1, call(evaluator, bytes).1];
    let seen = fresh.unwrap_or_else(|| others[1].clone());
    let agrees = |is_same: &dyn Fn(&Seen) -> bool| others.iter().all(is_same);
    let known =
        |(i, r): (usize, Option<Arg>)| r.filter(|r| agrees(&|s| s.results.get(i).and_then(Option::as_ref) == Some(r)));
    let results: Vec<_> = seen.results.into_iter().enumerate().map(known).collect();
    let args = memory::truncated(arguments(evaluator.function(), bytes), seen.begun);
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

/// Calls the function with its armed branches, of which those are returned that it takes.
pub fn call(evaluator: &mut Evaluator, bytes: &[u8]) -> (Vec<u32>, Seen) {
    // SAFETY: the address of this thread's errno is always good.
    unsafe { libc::__errno_location().write(0) };
    let (ran, covers) = evaluator.run_once(bytes);
    // SAFETY: as above.
    let errno = unsafe { libc::__errno_location().read() };
    let (returned, exit, throws) = (ran == RunStatus::Returned, evaluator.exit_status(), evaluator.thrown());
    let function = evaluator.function();
    let output = evaluator.output();
    let (results, begun) = evaluator.blocks().map_or((Vec::new(), 1), |blocks| (of_calls(blocks), blocks.begun()));
    let errnos = evaluator.blocks().map_or_else(Vec::new, |blocks| {
        let n = blocks.errnos().len().min(begun);
        blocks.errnos()[..n].to_vec()
    });
    let result = if results.is_empty() { result(function, &output) } else { results.last().cloned().flatten() };
    let outputs = match evaluator.blocks() {
        Some(blocks) => {
            let mut x = bytes.to_vec();
            x.resize(evaluator.input_size(), 0);
            memory::left(function, blocks, &x)
        }
        None => outputs(function, &output),
    };
    (covers, Seen { returned, exit, throws, errno, result, results, errnos, begun, outputs })
}

/// The results of the calls of a sequence that were begun.
fn of_calls(blocks: &Blocks) -> Vec<Option<Arg>> {
    let Some(sequence) = &blocks.model().sequence else { return Vec::new() };
    let calls = sequence.makers.iter().chain(&sequence.steps).zip(blocks.results());
    calls.take(blocks.begun()).map(|(call, cell)| result(&call.f, &[*cell])).collect()
}

fn result(function: &Function, cells: &[u128]) -> Option<Arg> {
    let (type_name, kind) = if function.is_harness() {
        ("int", penfuzz_mutators::view::Kind::I32)
    } else {
        (function.result_type.as_str(), function.result_kind?)
    };
    Some(literal::arg("result", type_name, kind, cells[0] as u64))
}

fn outputs(function: &Function, cells: &[u128]) -> Vec<Arg> {
    if function.is_harness() {
        return Vec::new();
    }
    let output = |p: &penfuzz_engine::program::Parameter| {
        let cells = cells.get(p.cell / size_of::<u128>()..)?;
        match p.kind {
            Some(kind) => Some(literal::arg(&p.name, p.value_type(), kind, *cells.first()? as u64)),
            None if p.is_output() => structure(&p.name, p.value_type(), cells, p.output_size / size_of::<u64>()),
            None => None,
        }
    };
    function.parameters.iter().filter(|p| p.pointer).filter_map(output).collect()
}

/// The first `n` words of a structure; `None` when one may be an address.
fn structure(name: &str, type_name: &str, cells: &[u128], n: usize) -> Option<Arg> {
    let words: Vec<u64> = cells.iter().flat_map(|c| [*c as u64, (*c >> 64) as u64]).take(n).collect();
    let is_known = !words.is_empty() && !words.iter().any(|w| ADDRESSES.contains(w));
    is_known.then(|| literal::words(name, type_name, &words))
}
