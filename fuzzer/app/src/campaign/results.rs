//! What the function does for an emitted test: the values that the test program expects.
//!
//! The function is called twice. What differs between the two calls depends on more than the arguments (on earlier calls, or on
//! memory that was never written), and no test can expect it.

use penfuzz_engine::{
    executor::{Evaluator, evaluator::RunStatus},
    program::Function,
};

use crate::report::{Arg, End, Test, literal};

/// Numbers that may be addresses of a program or of its libraries and stack on 64-bit Linux: they differ at every start.
const ADDRESSES: core::ops::Range<u64> = 0x5500_0000_0000..0x8000_0000_0000;

/// What one call did.
struct Seen {
    returned: bool,
    exit: Option<u8>,
    errno: i32,
    result: Option<Arg>,
    outputs: Vec<Arg>,
}

/// A test without file, arguments and branches: how the function ends, its result, what it leaves behind its pointers, and
/// `errno`.
#[must_use]
pub fn of(evaluator: &mut Evaluator, bytes: &[u8]) -> Test {
    let (first, second) = (call(evaluator, bytes), call(evaluator, bytes));
    if !second.returned || second.exit.is_some() {
        return Test { ends: second.exit.map(End::Exit), ..Test::default() };
    }
    let result = second.result.filter(|r| first.result.as_ref() == Some(r));
    let outputs = second.outputs.into_iter().filter(|o| first.outputs.contains(o)).collect();
    let errno = Some(second.errno).filter(|e| *e != 0 && *e == first.errno);
    Test { result, outputs, errno, ..Test::default() }
}

fn call(evaluator: &mut Evaluator, bytes: &[u8]) -> Seen {
    // SAFETY: the address of this thread's errno is always good.
    unsafe { libc::__errno_location().write(0) };
    let (ran, _) = evaluator.run_recorded(bytes);
    // SAFETY: as above.
    let errno = unsafe { libc::__errno_location().read() };
    let (returned, exit) = (ran == RunStatus::Returned, evaluator.exit_status());
    let function = evaluator.function();
    let output = evaluator.output();
    let (result, outputs) = (result(function, &output), outputs(function, &output));
    Seen { returned, exit, errno, result, outputs }
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
