//! The pen ABI: what a target file holds and what the fuzzer reads and writes there.
//!
//! A mirror of `runtime/pen.h`, which is the definition. Pointers are to memory of the loaded target file; every `n_…`
//! is the length of the array behind the pointer of the same name. `dlsym(handle, TABLES_SYMBOL)` gives the [`Tables`];
//! compare [`Tables::version`] with [`VERSION`] before reading anything else.

pub mod operation;
#[cfg(test)]
mod tests;

use std::ffi::{c_char, c_void};

/// The version that this mirror describes.
pub const VERSION: u32 = 3;

/// The one symbol that a target file exports for the fuzzer.
pub const TABLES_SYMBOL: &std::ffi::CStr = c"__pen_tables";

/// Bits of the action byte of a branch, written by the fuzzer (the objective), read by the hook at the site.
pub mod action {
    /// Taking this branch sets its outcome byte and raises `hits`.
    pub const RECORD: u8 = 0x01;
    /// This branch is wanted: `r` becomes its branch distance, which is 0 when it is taken.
    pub const WANT: u8 = 0x02;
    /// `best[]` of this branch keeps the smallest branch distance seen.
    pub const TRACK: u8 = 0x04;
    /// A sibling of this branch is wanted or tracked: taking this branch computes the sibling's distance.
    pub const NEAR: u8 = 0x08;
    /// On every branch of a site: its passes are compared with [`State::path`](super::State::path), and `r` says how far the
    /// run is from taking it (path reachability: ME, Sect. 4.4.1).
    pub const STEP: u8 = 0x10;
    /// With [`WANT`]: `r = min(r, d)`, the closest of all passes of the site in one evaluation.
    pub const MIN: u8 = 0x20;
    /// This branch leads to the wanted one: missing it makes `r = min(r, lead[branch] + d)`, with the distance squeezed into
    /// [`LEAD_BITS`](super::LEAD_BITS).
    pub const LEAD: u8 = 0x40;
    /// First byte of a site: some byte of the site is not zero.
    pub const ARMED: u8 = 0x80;
}

/// Bits of `r` below the level of a branch with [`action::LEAD`]; the levels are at 2^63 and above.
pub const LEAD_BITS: u32 = 54;

/// How branch distances are measured. Both are compared as unsigned 64-bit integers.
pub mod metric {
    /// Exact: integer difference; for floats the number of floats between.
    pub const ULP: u32 = 0;
    /// `CoverMe`, Def. 4.1: (a - b)² and epsilon in double precision; a value is the bits of a double >= 0.
    pub const SQUARED: u32 = 1;
    /// As [`ULP`]; armed sites look at the comparison sites behind them too (boundary values: ME, Sect. 4.4.2).
    pub const BOUNDARY: u32 = 2;
}

/// The type of a parameter, of what it points to, or of a result.
pub mod kind {
    /// Not a supported scalar.
    pub const UNSUPPORTED: u32 = 0;
    /// `float`
    pub const F32: u32 = 1;
    /// `double`
    pub const F64: u32 = 2;
    /// Signed integers by width.
    pub const I8: u32 = 3;
    /// 16 bits, signed.
    pub const I16: u32 = 4;
    /// 32 bits, signed.
    pub const I32: u32 = 5;
    /// 64 bits, signed.
    pub const I64: u32 = 6;
    /// Unsigned integers by width.
    pub const U8: u32 = 7;
    /// 16 bits, unsigned.
    pub const U16: u32 = 8;
    /// 32 bits, unsigned.
    pub const U32: u32 = 9;
    /// 64 bits, unsigned.
    pub const U64: u32 = 10;
    /// One byte in the input; its lowest bit is the value.
    pub const BOOL: u32 = 11;
    /// No value; results only.
    pub const VOID: u32 = 12;
    /// A pointer to a structure without pointers, which the callee fills in; nothing of it is in the input. Parameters
    /// only.
    pub const OUTPUT: u32 = 13;
}

/// Size and alignment of the cells of a call's output area, in bytes: see [`Function::call`].
pub const CELL_BYTES: usize = 16;

/// The comparison behind a site: `llvm::CmpInst::Predicate`.
pub mod predicate {
    /// Floats: never.
    pub const FCMP_FALSE: u8 = 0;
    /// Floats: `a == b`, and neither is NaN.
    pub const FCMP_OEQ: u8 = 1;
    /// Floats: `a > b`, and neither is NaN.
    pub const FCMP_OGT: u8 = 2;
    /// Floats: `a >= b`, and neither is NaN.
    pub const FCMP_OGE: u8 = 3;
    /// Floats: `a < b`, and neither is NaN.
    pub const FCMP_OLT: u8 = 4;
    /// Floats: `a <= b`, and neither is NaN.
    pub const FCMP_OLE: u8 = 5;
    /// Floats: `a != b`, and neither is NaN.
    pub const FCMP_ONE: u8 = 6;
    /// Floats: neither is NaN.
    pub const FCMP_ORD: u8 = 7;
    /// Floats: one is NaN, or both are.
    pub const FCMP_UNO: u8 = 8;
    /// Floats: `a == b`, or one is NaN.
    pub const FCMP_UEQ: u8 = 9;
    /// Floats: `a > b`, or one is NaN.
    pub const FCMP_UGT: u8 = 10;
    /// Floats: `a >= b`, or one is NaN.
    pub const FCMP_UGE: u8 = 11;
    /// Floats: `a < b`, or one is NaN.
    pub const FCMP_ULT: u8 = 12;
    /// Floats: `a <= b`, or one is NaN.
    pub const FCMP_ULE: u8 = 13;
    /// Floats: `a != b`, or one is NaN.
    pub const FCMP_UNE: u8 = 14;
    /// Floats: always.
    pub const FCMP_TRUE: u8 = 15;
    /// Integers and pointers: `a == b`.
    pub const ICMP_EQ: u8 = 32;
    /// Integers and pointers: `a != b`.
    pub const ICMP_NE: u8 = 33;
    /// Unsigned: `a > b`.
    pub const ICMP_UGT: u8 = 34;
    /// Unsigned: `a >= b`.
    pub const ICMP_UGE: u8 = 35;
    /// Unsigned: `a < b`.
    pub const ICMP_ULT: u8 = 36;
    /// Unsigned: `a <= b`.
    pub const ICMP_ULE: u8 = 37;
    /// Signed: `a > b`.
    pub const ICMP_SGT: u8 = 38;
    /// Signed: `a >= b`.
    pub const ICMP_SGE: u8 = 39;
    /// Signed: `a < b`.
    pub const ICMP_SLT: u8 = 40;
    /// Signed: `a <= b`.
    pub const ICMP_SLE: u8 = 41;
}

/// What a site is in the source.
pub mod site_kind {
    /// A two-way branch.
    pub const BRANCH: u8 = 0;
    /// A `switch`.
    pub const SWITCH: u8 = 1;
    /// A `select` (a branch-free conditional).
    pub const SELECT: u8 = 2;
    /// The comparison `a op b` of the two-way site directly before it; branches as in [`side`](super::side).
    pub const COMPARISON: u8 = 3;
    /// A floating-point operation; branches as in [`exception`](super::exception). Only with `-fpen-exceptions`.
    pub const OPERATION: u8 = 4;
}

/// Branches of a comparison: where `a` lies beside `b`, on the line of its type.
pub mod side {
    /// `a` is the number next below `b`.
    pub const BELOW: usize = 0;
    /// `a == b`
    pub const EQUAL: usize = 1;
    /// `a` is the number next above `b`.
    pub const ABOVE: usize = 2;
    /// What is added to the distance to `BELOW` or `ABOVE` where `a` does not lie on that side.
    pub const OTHER: u64 = 1 << 62;
}

/// Branches of an operation: the exceptions that it raises for operands which are finite.
pub mod exception {
    /// The result is too large.
    pub const OVERFLOW: usize = 0;
    /// The result is subnormal or zero, and inexact.
    pub const UNDERFLOW: usize = 1;
    /// A pole: a number that is not 0, by 0.
    pub const DIVIDE_BY_ZERO: usize = 2;
    /// There is no result.
    pub const INVALID: usize = 3;
    /// The result is rounded.
    pub const INEXACT: usize = 4;
}

/// Beside the operation in [`Traced::what`].
pub mod operation_flag {
    /// Operands and result are `float`; the operand of `TO_…`, the result of `FROM_…`.
    pub const SINGLE: u32 = 0x100;
    /// The first operand is a constant; shifted by 1 the second, by 2 the third.
    pub const CONSTANT: u32 = 0x200;
    /// From this bit on, in 8 bits: the width of the integer that is converted to or from.
    pub const INTEGER_SHIFT: u32 = 16;
    /// From this bit on: the site's [`possible`](super::Site::possible).
    pub const POSSIBLE_SHIFT: u32 = 24;
}

/// What stands behind the condition of a site.
pub mod operand {
    /// No comparison found: outcomes, but no distance.
    pub const NONE: u8 = 0;
    /// A comparison of `float`s.
    pub const F32: u8 = 1;
    /// A comparison of `double`s.
    pub const F64: u8 = 2;
    /// A comparison of integers.
    pub const INT: u8 = 3;
    /// A comparison of pointers.
    pub const POINTER: u8 = 4;
    /// And, or, phi of several comparisons.
    pub const MANY: u8 = 5;
}

/// Why the target called [`State::stop`].
pub mod stop {
    /// The fuel is used up.
    pub const FUEL: u32 = 1;
    /// The target ends the process; [`exit_status`](super::State::exit_status) holds its status.
    pub const EXIT: u32 = 2;
    /// The run is off the path that is wanted.
    pub const STRAYED: u32 = 3;
}

/// [`Site::predicate`] when there is not just one comparison.
pub const NO_PREDICATE: u8 = 255;

/// A parameter. Values lie in the input at `offset`, little-endian, without padding, in parameter order.
#[repr(C)]
#[derive(Debug)]
pub struct Param {
    /// Name; empty when the source gives none.
    pub name: *const c_char,
    /// Type as C writes it, for example `const double *`.
    pub type_name: *const c_char,
    /// One of [`kind`], of the value or of what is pointed to.
    pub kind: u32,
    /// 1: the callee gets the address of one such value and may write to it.
    pub pointer: u32,
    /// Bytes from the start of the input.
    pub offset: u32,
    /// Bytes; of an output those of the structure.
    pub size: u32,
    /// Bytes from the start of the output area to what the pointer points to, a multiple of 16; 0 if it is none.
    pub cell: u32,
    /// Padding.
    pub unused: u32,
}

/// What follows a branch (or a function's entry) before any other site is passed.
#[repr(C)]
#[derive(Debug)]
pub struct Edges {
    /// Sites reached, as indices into the function's own sites. Comparisons and operations are passed, and stand here beside
    /// the sites that end the way.
    pub next: *const u32,
    /// Functions called on the way; null for one that is not instrumented.
    pub calls: *const *const Function,
    /// Lines of the function's own file with code on the way, ascending.
    pub lines: *const u32,
    /// Length of `next`.
    pub n_next: u32,
    /// Length of `calls`.
    pub n_calls: u32,
    /// Length of `lines`.
    pub n_lines: u32,
    /// Padding.
    pub unused: u32,
}

/// One `case` of a `switch`.
#[repr(C)]
#[derive(Debug)]
pub struct Case {
    /// The value, sign-extended.
    pub value: i64,
    /// Index among the branches of the site; 0 is the default destination.
    pub branch: u32,
    /// Padding.
    pub unused: u32,
}

/// One conditional. The sites of one function are consecutive.
#[repr(C)]
#[derive(Debug)]
pub struct Site {
    /// The function it stands in.
    pub function: *const Function,
    /// Source file: directory and name joined unless absolute.
    pub file: *const c_char,
    /// `n_branches` action bytes: `[0]` true, `[1]` false; or one per destination of a `switch`.
    pub actions: *mut u8,
    /// `n_branches` entries.
    pub edges: *const Edges,
    /// `n_cases` entries, `switch` only.
    pub cases: *const Case,
    /// Of an operation, as C writes it: `*`, `log`, `(int)`; else empty.
    pub name: *const c_char,
    /// Source line, from 1.
    pub line: u32,
    /// Source column, from 1.
    pub column: u32,
    /// Number of branches.
    pub n_branches: u32,
    /// Length of `cases`.
    pub n_cases: u32,
    /// One of [`site_kind`].
    pub kind: u8,
    /// One of [`predicate`], or [`NO_PREDICATE`].
    pub predicate: u8,
    /// One of [`operand`].
    pub operand: u8,
    /// Bits of an integer operand; of an operation those of its floats.
    pub width: u8,
    /// Bit per branch: 0 when it is known at compile time that it cannot be taken.
    pub possible: u32,
    /// One of [`operation`].
    pub operation: u32,
    /// Padding.
    pub unused: u32,
}

/// One floating-point operation of a run, for those who compute it again.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Traced {
    /// Action bytes of its site.
    pub actions: *const u8,
    /// Bits of doubles, also of floats; of an integer its value.
    pub operands: [u64; 3],
    /// The same.
    pub result: u64,
    /// One of [`operation`] in the lowest 8 bits, and bits of [`operation_flag`].
    pub what: u32,
    /// Padding.
    pub unused: u32,
}

/// One defined function.
#[repr(C)]
#[derive(Debug)]
pub struct Function {
    /// Name as in the source.
    pub name: *const c_char,
    /// Name as the linker sees it.
    pub symbol: *const c_char,
    /// Source file.
    pub file: *const c_char,
    /// Where its code is.
    pub address: *mut c_void,
    /// Calls the function with the arguments at the first pointer (`input_size` bytes). The second points to
    /// `output_size` bytes, aligned to 16: the result goes to the first 8, what a parameter points to lives at its `cell`
    /// during and after the call, in a whole number of cells of [`CELL_BYTES`]. Before the call a cell is zero but for the value
    /// from the input. `None` when a parameter is not supported.
    pub call: Option<unsafe extern "C-unwind" fn(*const u8, *mut u8)>,
    /// `n_params` entries.
    pub params: *const Param,
    /// `n_sites` entries.
    pub sites: *const Site,
    /// One entry: what follows the function's entry.
    pub entry: *const Edges,
    /// Floating-point constants in the body, as bits of doubles, without repetition.
    pub floats: *const u64,
    /// Integer constants in comparisons, switches and arithmetic, sign-extended, without repetition.
    pub integers: *const i64,
    /// Result type as C writes it.
    pub result_type: *const c_char,
    /// Length of `params`.
    pub n_params: u32,
    /// Length of `sites`.
    pub n_sites: u32,
    /// Length of `floats`.
    pub n_floats: u32,
    /// Length of `integers`.
    pub n_integers: u32,
    /// One of [`kind`]; `UNSUPPORTED` when the result is not a scalar.
    pub result_kind: u32,
    /// Bytes of all parameters.
    pub input_size: u32,
    /// Source line, from 1.
    pub line: u32,
    /// 1: not visible to other translation units.
    pub is_static: u32,
    /// Bytes of the result and of all that parameters point to, a multiple of 16.
    pub output_size: u32,
    /// Padding.
    pub unused: u32,
}

/// Mutable state, one per target file.
#[repr(C)]
#[derive(Debug)]
pub struct State {
    /// Value of the representing function, in the metric's representation.
    pub r: u64,
    /// Back edges and non-leaf calls left; at zero `stop` is called.
    pub fuel: i64,
    /// One of [`metric`].
    pub metric: u32,
    /// Recorded branches taken since the fuzzer last cleared it.
    pub hits: u32,
    /// Entries in `improved` since the fuzzer last cleared it.
    pub n_improved: u32,
    /// The branch that last changed `r`.
    pub last_branch: u32,
    /// One byte per branch; null: nothing is recorded.
    pub outcomes: *mut u8,
    /// One per branch; null: nothing is tracked.
    pub best: *mut u64,
    /// Branches whose `best` shrank; needs room for one per branch.
    pub improved: *mut u32,
    /// `SanCov` map, one saturating counter per guard, guard 0 unused; null: off.
    pub coverage: *mut u8,
    /// Ends the evaluation and does not return; `None` outside the fuzzer. Gets one of [`stop`] and a code address.
    pub stop: Option<unsafe extern "C-unwind" fn(u32, *mut c_void)>,
    /// What the target gave to `exit`, set before `stop` is called with [`stop::EXIT`].
    pub exit_status: i64,
    /// One per branch: the value of `r` where a branch with [`action::LEAD`] is missed by nothing; null: no LEAD.
    pub lead: *const u64,
    /// `n_path` branches of sites with [`action::STEP`] in the order of their passes; the last may be [`END`].
    pub path: *const u32,
    /// How many steps still match when the step at this place does not; [`STRAYED`] when none ever will.
    pub back: *const u32,
    /// Length of `path` and `back`.
    pub n_path: u32,
    /// Steps matched so far, or [`STRAYED`]; to be cleared before a run.
    pub path_at: u32,
    /// Bits of `r` below the number of steps that are missing, 16 to 54.
    pub path_bits: u32,
    /// A branch of a comparison or an operation whose operands go to `seen` when it is first taken.
    pub watch: u32,
    /// Operands and result; of floats as bits of doubles.
    pub seen: [u64; 4],
    /// Times that `watch` was taken since the fuzzer last cleared it.
    pub n_seen: u64,
    /// Where armed operations are written; null: nowhere.
    pub trace: *mut Traced,
    /// Entries in `trace`.
    pub n_trace: u32,
    /// Entries that fit in `trace`.
    pub trace_room: u32,
    /// Branches that passes of sites with [`action::STEP`] took, in order, as far as there is room; null: not noted.
    pub passes: *mut u32,
    /// Such passes; to be cleared before a run.
    pub n_passes: u32,
    /// Entries that fit in `passes`.
    pub passes_room: u32,
}

/// The last step of a path after which no pass of a site with [`action::STEP`] may follow.
pub const END: u32 = u32::MAX;

/// In [`State::back`]: the run is off the path for good. [`State::path_at`] counts on from here; at the largest number the run
/// is ended.
pub const STRAYED: u32 = u32::MAX - 32;

/// What [`TABLES_SYMBOL`] names.
#[repr(C)]
#[derive(Debug)]
pub struct Tables {
    /// Compare with [`VERSION`] first.
    pub version: u32,
    /// `SanCov` guards; the map needs one more byte.
    pub n_guards: u32,
    /// The mutable state.
    pub state: *mut State,
    /// First site.
    pub sites: *const Site,
    /// Behind the last site.
    pub sites_end: *const Site,
    /// First function.
    pub functions: *const Function,
    /// Behind the last function.
    pub functions_end: *const Function,
    /// First action byte; a branch's number is the offset of its byte from here.
    pub actions: *mut u8,
    /// Behind the last action byte.
    pub actions_end: *mut u8,
    /// 0: SanCov callbacks are skipped; without effect if the clang that compiled the target cannot gate them.
    pub sancov_gate: *mut u64,
}
