//! The pen ABI: the tables and the state of a target file, which the fuzzer reads and writes.
//!
//! A mirror of `runtime/pen.h`, which is the definition; a test compares every number and every layout. Pointers are to
//! memory of the loaded target file. A field `n_…` is the length of the array behind the pointer of the same name.
//! `dlsym(handle, TABLES_SYMBOL)` returns a pointer to [`Tables`]; compare [`Tables::version`] with [`VERSION`] before
//! reading anything else.

pub mod action;
mod compared;
mod decision;
pub mod heap;
mod memory;
pub mod movement;
pub mod names;
pub mod operation;
pub mod predicate;
pub mod site_kind;
mod stream;
mod switch;
#[cfg(test)]
mod tests;
mod token;
mod types;
mod variable;

use std::ffi::{c_char, c_void};

pub use compared::Compared;
pub use decision::{Decision, Node, Walk, decided};
pub use memory::{Block, FILL_VALUES, Fill, block_use};
pub use stream::Stream;
pub use switch::{Case, Near, Switch};
pub use token::Token;
pub use types::{BufferPair, Cast, Member, Param, Passed, Type, buffer_flag, type_flag, type_kind};
pub use variable::{References, Variable, variable_flag, variable_use};

/// The version of the ABI that this module describes.
pub const VERSION: u32 = 16;

/// The symbol that a target file exports for the fuzzer. It names the [`Tables`].
pub const TABLES_SYMBOL: &std::ffi::CStr = c"__pen_tables";

/// Bits of `r` below the level of a branch with [`action::LEAD`]. Levels are 2^63 and above, distances to a branch with
/// [`action::WANT`] and [`action::MIN`] are below 2^63.
pub const LEAD_BITS: u32 = 54;

/// The measure of branch distances. In each metric they are compared as unsigned 64-bit integers.
pub mod metric {
    /// Exact: the difference of integers; of floats the number of floats between them.
    pub const ULP: u32 = 0;
    /// CoverMe, Def. 4.1: `(a - b)^2` and epsilon in double precision, as the bits of a double >= 0.
    pub const SQUARED: u32 = 1;
    /// As [`ULP`], and an armed two-way site evaluates its comparison site, too (boundary values: ME, Sect. 4.4.2).
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
    /// 8 bits, signed.
    pub const I8: u32 = 3;
    /// 16 bits, signed.
    pub const I16: u32 = 4;
    /// 32 bits, signed.
    pub const I32: u32 = 5;
    /// 64 bits, signed.
    pub const I64: u32 = 6;
    /// 8 bits, unsigned.
    pub const U8: u32 = 7;
    /// 16 bits, unsigned.
    pub const U16: u32 = 8;
    /// 32 bits, unsigned.
    pub const U32: u32 = 9;
    /// 64 bits, unsigned.
    pub const U64: u32 = 10;
    /// One byte in the input, whose lowest bit is the value.
    pub const BOOL: u32 = 11;
    /// No value; results only.
    pub const VOID: u32 = 12;
    /// A pointer to a structure without pointers, which the callee writes; it takes no input bytes. Parameters only.
    pub const OUTPUT: u32 = 13;
    /// `_Float16`; this and the following in a frame and behind pointers only.
    pub const F16: u32 = 14;
    /// `long double`: 80 bits in 16 bytes.
    pub const F80: u32 = 15;
    /// `__float128`
    pub const F128: u32 = 16;
    /// 128 bits, signed.
    pub const I128: u32 = 17;
    /// 128 bits, unsigned.
    pub const U128: u32 = 18;
}

/// Alignment of a call's output area, and size of its first cell, which holds the result, in bytes. Also size and
/// alignment of the block behind a pointer to a number: see [`Function::call`].
pub const CELL_BYTES: usize = 16;

/// Distance of the blocks of pointers, in bytes: the block of the nth pointer (from 1) ends `n * STRIDE_BYTES` after
/// the start of the output area.
pub const STRIDE_BYTES: usize = 0x10_0000;

/// The branches of a comparison: the position of `a` relative to `b` among the numbers of their type.
pub mod side {
    /// `a` is the number next below `b`.
    pub const BELOW: usize = 0;
    /// `a == b`
    pub const EQUAL: usize = 1;
    /// `a` is the number next above `b`.
    pub const ABOVE: usize = 2;
    /// Added to the distance to `BELOW` or `ABOVE` while `a` is not on that side of `b`.
    pub const OTHER: u64 = 1 << 62;
}

/// The branches of an operation: the exceptions that it raises for finite operands.
pub mod exception {
    /// The result is too large.
    pub const OVERFLOW: usize = 0;
    /// The result is subnormal or zero, and inexact. Of a sum or a difference: the result is subnormal. It is always
    /// exact then, and raises no flag.
    pub const UNDERFLOW: usize = 1;
    /// A pole: a nonzero number divided by 0.
    pub const DIVIDE_BY_ZERO: usize = 2;
    /// The operation has no defined result.
    pub const INVALID: usize = 3;
    /// The result is rounded.
    pub const INEXACT: usize = 4;
}

/// Flags and fields of [`Traced::what`], above the lowest 8 bits, which hold the number of the operation.
pub mod operation_flag {
    /// Operands and result are `float`. For `TO_…` this describes the operand, for `FROM_…` the result.
    pub const SINGLE: u32 = 0x100;
    /// The first operand is a constant. The bit shifted left by 1 says the same of the second operand, by 2 of the
    /// third.
    pub const CONSTANT: u32 = 0x200;
    /// 8 bits from this bit on: the width of the integer in a conversion; 0 for other operations.
    pub const INTEGER_SHIFT: u32 = 16;
    /// From this bit on: the site's [`possible`](super::Site::possible).
    pub const POSSIBLE_SHIFT: u32 = 24;
}

/// The operands of the comparison that is the condition of a site.
pub mod operand {
    /// There is no comparison: the site has outcomes, but no distances.
    pub const NONE: u8 = 0;
    /// A comparison of `float`s.
    pub const F32: u8 = 1;
    /// A comparison of `double`s.
    pub const F64: u8 = 2;
    /// A comparison of integers.
    pub const INT: u8 = 3;
    /// A comparison of pointers.
    pub const POINTER: u8 = 4;
    /// The condition is an and, or, or phi of several comparisons.
    pub const MANY: u8 = 5;
}

/// Why the target called [`State::stop`].
pub mod stop {
    /// The fuel is used up.
    pub const FUEL: u32 = 1;
    /// The target ends the process; [`exit_status`](super::State::exit_status) holds its status.
    pub const EXIT: u32 = 2;
    /// The run has left the wanted path for good.
    pub const STRAYED: u32 = 3;
    /// A C++ exception has left the function under test. [`exit_status`](super::State::exit_status) is the address of
    /// the name of its type, or 0.
    pub const THROW: u32 = 4;
    /// An assumption (`PEN_ASSUME`) is false.
    pub const REJECTED: u32 = 5;
    /// A check (`PEN_CHECK`) is false; [`exit_status`](super::State::exit_status) is the address of its text.
    pub const CHECK: u32 = 6;
}

/// Flag of [`Site::assumption`]: the site is a conditional of an assumption.
pub const ASSUMED: u32 = 1 << 30;

/// Value of [`Site::predicate`] if the condition is not a single comparison.
pub const NO_PREDICATE: u8 = 255;

/// What control can reach from a branch, or from the entry of a function, before it passes another conditional.
#[repr(C)]
#[derive(Debug)]
pub struct Edges {
    /// Sites, by their indices within the function: the conditionals reached, and the sites on the way to them.
    pub next: *const u32,
    /// Functions called; null for one that is not instrumented.
    pub calls: *const *const Function,
    /// Lines with code, of the function's own file, ascending.
    pub lines: *const u32,
    /// Pairs of line and column where basic blocks begin, in that file, ascending.
    pub starts: *const u32,
    /// Length of `next`.
    pub n_next: u32,
    /// Length of `calls`.
    pub n_calls: u32,
    /// Length of `lines`.
    pub n_lines: u32,
    /// Number of pairs in `starts`.
    pub n_starts: u32,
}

/// One conditional, comparison or operation. The sites of one function are consecutive, in the order of the code.
#[repr(C)]
#[derive(Debug)]
pub struct Site {
    /// The function that contains the site.
    pub function: *const Function,
    /// Source file: directory and name joined unless the name is absolute.
    pub file: *const c_char,
    /// `n_branches` action bytes: `[0]` true, `[1]` false; or one per destination of a `switch`.
    pub actions: *mut u8,
    /// `n_branches` entries.
    pub edges: *const Edges,
    /// `n_cases` entries by rising value, `switch` only.
    pub cases: *const Case,
    /// For an operation: its C notation, such as `*`, `log`, `(int)`. For a mutation point: one line per mutant with
    /// operator, tab, change. Otherwise empty.
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
    /// Width of an integer operand in bits; for an operation, the width of its floats.
    pub width: u8,
    /// One bit per branch: 0 if the compiler can exclude the branch, or only the compiler made it.
    pub possible: u32,
    /// One of [`operation`].
    pub operation: u32,
    /// For a conditional of an assumption: [`ASSUMED`], and one bit for each branch that leads to the rejection.
    /// Otherwise 0.
    pub assumption: u32,
    /// The decision, if the site is one; else null.
    pub decision: *const Decision,
}

/// One executed floating-point operation, or one [`movement`]. The fuzzer repeats the computation in higher precision.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Traced {
    /// Action bytes of its site; null for a movement.
    pub actions: *const u8,
    /// For `double` and `float`: the bits of a double. For an integer: its value. For a movement: see [`movement`].
    pub operands: [u64; 3],
    /// The result, in the representation of the operands.
    pub result: u64,
    /// One of [`operation`] or [`movement`] in the lowest 8 bits, and bits of [`operation_flag`].
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
    /// Name in the object file.
    pub symbol: *const c_char,
    /// Source file.
    pub file: *const c_char,
    /// The source of its translation unit; differs from `file` if `file` is a header.
    pub unit: *const c_char,
    /// Address of its code.
    pub address: *mut c_void,
    /// Calls the function. The first pointer is to the arguments (`input_size` bytes), the second to the output area
    /// (`output_size` bytes, aligned to [`CELL_BYTES`], of which only the first cell and the blocks are used). After
    /// the call the result is in the first 8 bytes. A pointer parameter points to the block at its `cell`, whose size
    /// is [`CELL_BYTES`] or that of the structure. At the start of the call, the block holds the value from the input,
    /// followed by zeros. `None` if a parameter is not supported.
    pub call: Option<unsafe extern "C-unwind" fn(*const u8, *mut u8)>,
    /// Calls the function with the arguments as they lie in memory at the first pointer (`frame_size` bytes, aligned to
    /// [`CELL_BYTES`]), each at its [`Param::frame`]: numbers, structures, and addresses. A result that is a structure
    /// is written to `result_frame`, any other result to the first 8 bytes at the second pointer. `None` if a parameter
    /// cannot be passed this way, or if all parameters are numbers.
    pub call_frame: Option<unsafe extern "C-unwind" fn(*mut u8, *mut u8)>,
    /// `n_params` entries.
    pub params: *const Param,
    /// `n_sites` entries.
    pub sites: *const Site,
    /// One entry: what follows the function's entry.
    pub entry: *const Edges,
    /// Floating-point constants in the body, as bits of doubles, each once.
    pub floats: *const u64,
    /// Integer constants in comparisons, switches and arithmetic, sign-extended, each once.
    pub integers: *const i64,
    /// Constant strings and characters with which the body compares, each once.
    pub tokens: *const Token,
    /// Result type as C writes it.
    pub result_type: *const c_char,
    /// One entry: the references of its body.
    pub references: *const References,
    /// The type of the result if it is a structure or a pointer; else null.
    pub result_shape: *const Type,
    /// `n_casts` entries.
    pub casts: *const Cast,
    /// `n_buffers` entries.
    pub buffers: *const BufferPair,
    /// Length of `params`.
    pub n_params: u32,
    /// Length of `sites`.
    pub n_sites: u32,
    /// Length of `floats`.
    pub n_floats: u32,
    /// Length of `integers`.
    pub n_integers: u32,
    /// Length of `tokens`.
    pub n_tokens: u32,
    /// One of [`kind`]; [`kind::UNSUPPORTED`] if the result is not a scalar.
    pub result_kind: u32,
    /// Bytes of all parameters.
    pub input_size: u32,
    /// Source line, from 1.
    pub line: u32,
    /// 1: not visible to other translation units.
    pub is_static: u32,
    /// Bytes of the output area, a multiple of [`CELL_BYTES`].
    pub output_size: u32,
    /// 1: runs when the file is loaded.
    pub is_constructor: u32,
    /// Bytes of the frame, including the result; a multiple of [`CELL_BYTES`].
    pub frame_size: u32,
    /// Offset of a result that is a structure, in bytes from the start of the frame; else 0.
    pub result_frame: u32,
    /// Length of `casts`.
    pub n_casts: u32,
    /// Length of `buffers`.
    pub n_buffers: u32,
    /// Padding.
    pub unused: u32,
}

/// The mutable state, one per target file.
#[repr(C)]
#[derive(Debug)]
pub struct State {
    /// Value of the representing function, in the metric's representation.
    pub r: u64,
    /// Remaining back edges and entries of non-leaf functions; at zero `stop` is called.
    pub fuel: i64,
    /// One of [`metric`].
    pub metric: u32,
    /// Entries in `taken` since the fuzzer last cleared it.
    pub hits: u32,
    /// Entries in `improved` since the fuzzer last cleared it.
    pub n_improved: u32,
    /// The branch that last changed `r`.
    pub last_branch: u32,
    /// One byte per branch; null disables recording.
    pub outcomes: *mut u8,
    /// One distance per branch; null disables tracking.
    pub best: *mut u64,
    /// Branches whose `best` became smaller, and cases whose `near` became smaller (as case number plus number of
    /// branches), each once. The array needs room for every branch and every case.
    pub improved: *mut u32,
    /// SanCov map, one saturating counter per guard, guard 0 unused; null: off.
    pub coverage: *mut u8,
    /// Ends the evaluation and does not return. `None` outside the fuzzer. The arguments are one of [`stop`] and a code
    /// address.
    pub stop: Option<unsafe extern "C-unwind" fn(u32, *mut c_void)>,
    /// The argument of `exit`, set before `stop` is called with [`stop::EXIT`].
    pub exit_status: i64,
    /// One per branch: the value of `r` at distance 0 from a branch with [`action::LEAD`]; null if no branch has it.
    pub lead: *const u64,
    /// The path: branches of sites with [`action::STEP`], in the order of their passes. Within a segment the passes are
    /// contiguous; any other passes may precede a segment. The last step may be [`END`].
    pub path: *const u32,
    /// For each step: the number of steps that still match when this one does not (the failure function of Knuth,
    /// Morris and Pratt within the segment), or [`STRAYED`].
    pub back: *const u32,
    /// Length of `path` and `back`.
    pub n_path: u32,
    /// Steps matched so far, or [`STRAYED`] and above; the fuzzer clears it before a run.
    pub path_at: u32,
    /// Bits of `r` below the number of missing steps, 16 to 54.
    pub path_bits: u32,
    /// A branch of a comparison or an operation; `seen` keeps the operands of the first pass that takes it.
    pub watch: u32,
    /// Operands and result, floats as bits of doubles. For a comparison, `seen[2]` is the value of the condition.
    pub seen: [u64; 4],
    /// Times that `watch` was taken since the fuzzer last cleared it.
    pub n_seen: u64,
    /// Buffer for armed operations and armed mutation points, in execution order. Of a mutation point, `result` is set,
    /// and `what` holds the width of a float in bits, 0 for an integer. Null disables the trace.
    pub trace: *mut Traced,
    /// Operations since the fuzzer last cleared it, including those that did not fit in `trace`.
    pub n_trace: u32,
    /// Entries that fit in `trace`.
    pub trace_room: u32,
    /// The branches taken by the passes of sites with [`action::STEP`], in order; null disables the list.
    pub passes: *mut u32,
    /// Such passes since the fuzzer last cleared it, including those that did not fit in `passes`.
    pub n_passes: u32,
    /// Entries that fit in `passes`.
    pub passes_room: u32,
    /// Branches with [`action::RECORD`] whose outcome byte was set since the fuzzer cleared `hits` and that byte. The
    /// array needs room for one entry per branch; null disables the list.
    pub taken: *mut u32,
    /// One per branch and one per case: whether it is in `improved`; the fuzzer clears it with the list.
    pub is_improved: *mut u8,
    /// One per case; null disables tracking at switches.
    pub near: *mut Near,
    /// The branches of switches with [`action::WANT`] or [`action::LEAD`], ascending; if null, the hook searches for
    /// them.
    pub measured: *const u32,
    /// Length of `measured`.
    pub n_measured: u32,
    /// Nonzero if code of the target has allocated memory since the last [`Tables::release`].
    pub n_allocated: u32,
    /// In the metric [`metric::BOUNDARY`]: a ring buffer of the latest passes of armed two-way sites; null disables it.
    pub compared: *mut Compared,
    /// Such passes since the fuzzer last cleared it, including those that were overwritten.
    pub n_compared: u32,
    /// Entries of the ring, a power of two.
    pub compared_room: u32,
    /// One per branch; each decision uses the entry of its first vector. If null, decisions are skipped.
    pub walks: *mut Walk,
    /// Number of evaluations of decisions that a recursive evaluation has interrupted; the fuzzer clears it before a
    /// run.
    pub n_walks: u32,
    /// Nonzero: a run that passes a mutation point takes the branches of all its mutants.
    pub reach_infects: u32,
    /// The action byte of the enabled mutant, whose site must be armed; if null, the original runs.
    pub mutant: *const u8,
    /// In the metric [`metric::SQUARED`], the distance of a strict comparison whose operands are equal; finite and at
    /// least 0.
    pub epsilon: f64,
    /// The memory of the current run.
    pub blocks: *mut Block,
    /// Number of entries of `blocks`.
    pub n_blocks: u64,
}

/// Last step of a path: from here on, no site with [`action::STEP`] may be passed.
pub const END: u32 = u32::MAX;

/// In [`State::back`]: the run has left the path. [`State::path_at`] counts passes from here, up to [`stop::STRAYED`].
pub const STRAYED: u32 = u32::MAX - 32;

/// The tables of a target file. [`TABLES_SYMBOL`] is the symbol of this structure.
#[repr(C)]
#[derive(Debug)]
pub struct Tables {
    /// The version of the ABI. Compare it with [`VERSION`] first.
    pub version: u32,
    /// SanCov guards; the map needs one byte more.
    pub n_guards: u32,
    /// The mutable state.
    pub state: *mut State,
    /// First site.
    pub sites: *const Site,
    /// One past the last site.
    pub sites_end: *const Site,
    /// First function.
    pub functions: *const Function,
    /// One past the last function.
    pub functions_end: *const Function,
    /// First action byte. The number of a branch is the offset of its byte from here.
    pub actions: *mut u8,
    /// One past the last action byte.
    pub actions_end: *mut u8,
    /// First case. The number of a case is its offset from here.
    pub cases: *const Case,
    /// One past the last case.
    pub cases_end: *const Case,
    /// First variable.
    pub variables: *const Variable,
    /// One past the last variable.
    pub variables_end: *const Variable,
    /// If 0, SanCov callbacks are skipped. Has no effect if the clang that compiled the target cannot gate them.
    pub sancov_gate: *mut u64,
    /// First stream.
    pub streams: *mut Stream,
    /// One past the last stream.
    pub streams_end: *mut Stream,
    /// Sets how memory that evaluations allocate is treated: one of [`heap`].
    pub release: unsafe extern "C" fn(u32),
    /// The value of uninitialized memory.
    pub fill: *mut Fill,
    /// First of the bytes of modules, one for each module whose code reads `fill`.
    pub fills: *const u8,
    /// One past the last of these bytes.
    pub fills_end: *const u8,
}
