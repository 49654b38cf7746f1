//! A function of the target, as described by the function table.

use core::ffi::c_void;
use std::rc::Rc;

use penfuzz_abi as abi;
use penfuzz_mutators::view::{Kind, Layout};

use crate::{
    inputs::{ArgConstraints, Model, enumerator_of, enumerators_of, numbers_behind},
    program::script,
};

use super::globals::Global;

/// A parameter of a function under test.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Name in the source, or `argN` counted from 1.
    pub name: String,
    /// Type in C syntax.
    pub type_name: String,
    /// The kind of the value (for a pointer, of the pointee); `None` if it is not supported.
    pub kind: Option<Kind>,
    /// Whether the callee gets the address of a value of this kind.
    pub pointer: bool,
    /// Offset in the input, in bytes.
    pub offset: usize,
    /// Offset of the pointee in `penfuzz_executor::Evaluator::output`, in bytes, a multiple of 16.
    pub cell: usize,
    /// Offset of the pointee in the output area of the thunk, in bytes.
    pub place: usize,
    /// Size in bytes of a structure that the callee fills in and that has no bytes in the input; 0 for any other
    /// parameter.
    pub output_size: usize,
}

impl Parameter {
    /// Is this a structure that the callee fills in? Such a parameter has no bytes in the input.
    #[must_use]
    pub fn is_output(&self) -> bool {
        self.output_size > 0
    }

    /// Size in bytes of the memory whose address the callee gets; a complete cell for a number.
    #[must_use]
    pub fn block_size(&self) -> usize {
        if self.is_output() { self.output_size } else { abi::CELL_BYTES }
    }

    /// The type of the value without qualifiers; for a pointer, that of the pointee.
    #[must_use]
    pub fn value_type(&self) -> &str {
        let t = if self.pointer { pointee(&self.type_name).unwrap_or(&self.type_name) } else { &self.type_name };
        let t = t.strip_prefix("const ").unwrap_or(t);
        t.strip_prefix("volatile ").unwrap_or(t)
    }
}

/// Returns the type that a pointer or a reference refers to, derived from the text of its type.
#[must_use]
pub fn pointee(type_name: &str) -> Option<&str> {
    [" *", " &", " &&"].iter().find_map(|end| type_name.strip_suffix(end))
}

/// The type of a parameter, and how the function uses it.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Shape {
    /// Null without debug information. For a `void *`: the pointer type that the code casts it to, if any.
    pub record: *const abi::Type,
    /// The declared type.
    pub declared: *const abi::Type,
    /// Offset in the frame, in bytes.
    pub frame: usize,
    /// Whether the function compares it with null.
    pub nullable: bool,
    /// Whether the function may read the pointee before it writes it.
    pub reads: bool,
    /// Whether the pointee may be an array.
    pub indexes: bool,
    /// Whether the function converts the address to a number, as for the difference of two pointers.
    pub is_number: bool,
    /// Number of bytes guaranteed by the declaration; 0 if there is no guarantee.
    pub promised: usize,
    /// Whether a file is opened by the name that it points to.
    pub names_file: bool,
    /// The number of bytes that loops of the function access, if known.
    pub reach: Option<Reach>,
}

/// Number of bytes behind a pointer that loops access: `times * n + plus`, or `times * n * m + plus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// The indices of the parameters `n` and `m`.
    pub parameters: (usize, Option<usize>),
    /// The factor.
    pub times: i64,
    /// The summand.
    pub plus: i64,
}

impl Reach {
    fn of(p: &abi::Param) -> Option<Self> {
        let parameter = |n: u32| (n as usize).checked_sub(1);
        let (times, plus) = (i64::from(p.reach_times), i64::from(p.reach_plus));
        Some(Self { parameters: (parameter(p.reach_first)?, parameter(p.reach_second)), times, plus })
    }
}

/// A thunk of the function table: the first pointer is to the arguments, the second to the results.
pub type Call = unsafe extern "C-unwind" fn(*const u8, *mut u8);

/// libFuzzer's entry point.
pub type Harness = unsafe extern "C-unwind" fn(*const u8, usize) -> i32;

/// How the function takes its input.
#[derive(Debug, Clone, Copy)]
pub enum Entry {
    /// The thunk of the function table: fixed-size input, one value per parameter.
    Thunk(Call),
    /// As `Thunk`, in the rounding mode given by the last byte of the input ([`Kind::Rounding`]).
    Rounded(Call),
    /// As `Thunk`, with all floating-point exception flags lowered before the call: code that reads the flags must not
    /// see those of earlier calls.
    Unflagged(Call),
    /// The thunk that takes a frame ([`crate::inputs`]).
    Frame(Call),
    /// `int LLVMFuzzerTestOneInput(const uint8_t *, size_t)`: any bytes, interpreted as doubles.
    Harness(Harness),
}

/// One defined function.
#[derive(Debug, Clone)]
pub struct Function {
    /// Name in the source.
    pub name: String,
    /// Name for the linker.
    pub symbol: String,
    /// Source file of the definition.
    pub file: String,
    /// Line of the definition.
    pub line: u32,
    /// Whether it has internal linkage.
    pub is_static: bool,
    /// Result type in C syntax.
    pub result_type: String,
    /// Kind of the result; `None` for void and for a type that is not scalar.
    pub result_kind: Option<Kind>,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Size of the arguments in an input, in bytes.
    pub input_size: usize,
    /// Size of the output area of the thunk, in bytes.
    pub output_size: usize,
    /// Indices of its sites in [`super::Target::sites`].
    pub sites: core::ops::Range<usize>,
    /// What control can reach from its entry.
    pub entry_edges: super::Edges,
    /// Floating-point constants of its body, as bits of doubles.
    pub floats: Vec<u64>,
    /// Integer constants of its body.
    pub integers: Vec<i64>,
    /// Constant strings and characters that its body compares with.
    pub tokens: Vec<Vec<u8>>,
    /// Whether an input ends with the rounding mode of the call, see [`super::Target::with_rounding`].
    pub has_rounding: bool,
    /// Whether its file reads the floating-point exception flags, or changes the environment.
    pub uses_environment: bool,
    /// How inputs are decoded to structures, arrays and strings; `None` if all parameters are numbers, or pointers to
    /// one number that the callee reads or writes.
    pub model: Option<Rc<Model>>,
    /// The user's declarations about the arguments.
    pub constraints: Rc<ArgConstraints>,
    /// The maximum number of calls per input, from 1.
    pub calls: usize,
    /// The pointers of its model to memory beyond the limits of a model.
    pub deep: DeepMemory,
    /// The index of the function that creates the object of the calls (`--init`), if any.
    pub init: Option<usize>,
    /// The variables that are inputs because of `--global`.
    pub globals: Vec<Global>,
    pub(super) record: *const abi::Function,
    /// Its first instruction.
    pub address: *const c_void,
    pub(super) call: Option<Call>,
}

/// What a pointer to memory beyond the limits of a model is ([`crate::inputs`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeepMemory {
    /// Null.
    #[default]
    Null,
    /// The address of a block without elements, unless the pointer may be null. Calls show whether the code uses it.
    Required,
    /// The address of a block without elements.
    All,
}

/// Size in bytes of the input of a harness, which accepts any size: eight doubles.
pub const HARNESS_INPUT_SIZE: usize = 64;

impl Function {
    /// Is this libFuzzer's entry point?
    #[must_use]
    pub fn is_harness(&self) -> bool {
        self.symbol == "LLVMFuzzerTestOneInput" && self.parameters.len() == 2
    }

    /// Is this the `main` of a program?
    #[must_use]
    pub fn is_program(&self) -> bool {
        self.symbol == "main" && !self.is_static
    }

    /// How to call it; `None` if a parameter is not supported.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        if self.is_harness() {
            // SAFETY: the symbol has this type by libFuzzer's convention, and the address is from the target's table.
            let harness = unsafe { core::mem::transmute::<*const c_void, Harness>(self.address) };
            return Some(Entry::Harness(harness));
        }
        if let Some(model) = &self.model {
            let script = model.sequence.as_ref().map(|_| script::run as Call);
            // A function that takes only numbers needs no frame thunk: its frame consists of the packed arguments.
            return script.or_else(|| self.frame_call()).or(self.call).map(Entry::Frame);
        }
        self.call.map(match (self.has_rounding, self.uses_environment) {
            (true, _) => Entry::Rounded,
            (false, true) => Entry::Unflagged,
            (false, false) => Entry::Thunk,
        })
    }

    /// The bits of the last byte of an input that hold the rounding mode ([`Kind::Rounding`]); 0 if it has none. Raised
    /// exception flags are an input only of functions that read them.
    #[must_use]
    pub const fn mode_bits(&self) -> u8 {
        match (self.has_rounding, self.uses_environment) {
            (false, _) => 0,
            (true, false) => 3,
            (true, true) => 7,
        }
    }

    /// The layout of the numbers in an input.
    #[must_use]
    pub fn layout(&self) -> Layout {
        if self.is_harness() {
            return Layout::doubles(HARNESS_INPUT_SIZE);
        }
        if let Some(model) = &self.model {
            return model.layout.clone();
        }
        let numbers: Vec<_> = self.parameters.iter().filter_map(|p| Some((p.name.as_str(), p.kind?))).collect();
        let domain = |(i, (name, kind)): (usize, &(&str, Kind))| Some((i, self.constraints.domain(name, *kind)?));
        let domains = numbers.iter().enumerate().filter_map(domain).collect();
        let kinds = numbers.iter().map(|(_, kind)| *kind).chain(self.has_rounding.then_some(Kind::Rounding));
        Layout::packed(&kinds.collect::<Vec<_>>()).with_domains(domains)
    }

    /// The thunk that takes numbers; `None` when there is none.
    #[must_use]
    pub fn call(&self) -> Option<Call> {
        self.call
    }

    /// The thunk that takes a frame; `None` when there is none.
    #[must_use]
    pub fn frame_call(&self) -> Option<Call> {
        // SAFETY: the calling convention is the same for a pointer to bytes that are written or not.
        self.raw()?.call_frame.map(|call| unsafe { core::mem::transmute::<_, Call>(call) })
    }

    /// Size of its frame in bytes.
    pub(crate) fn frame_size(&self) -> usize {
        self.raw().map_or(0, |record| record.frame_size as usize)
    }

    /// The types of its parameters.
    #[must_use]
    pub fn shapes(&self) -> Vec<Shape> {
        let Some(record) = self.raw().filter(|record| !record.params.is_null()) else { return Vec::new() };
        // SAFETY: an array of the loaded file with its length.
        let all = unsafe { core::slice::from_raw_parts(record.params, record.n_params as usize) };
        let shown = |i: usize| self.casts().iter().find(|c| c.of.is_null() && c.at as usize == i);
        let shape = |(i, p): (usize, &abi::Param)| Shape {
            record: shown(i).map_or(p.shape, |cast| cast.to),
            declared: p.shape,
            frame: p.frame as usize,
            nullable: p.nullable != 0,
            reads: super::passed::is_read(p),
            indexes: p.indexes & 1 != 0,
            is_number: p.indexes & 2 != 0,
            promised: p.promised as usize,
            names_file: p.names_file != 0,
            reach: Reach::of(p),
        };
        all.iter().enumerate().map(shape).collect()
    }

    /// The source of its translation unit, as recorded by the compiler.
    pub(crate) fn unit(&self) -> &'static str {
        self.raw().map_or("", |_| super::units::unit_of(self))
    }

    /// The types that its code casts `void *` pointers to.
    pub(crate) fn casts(&self) -> &'static [abi::Cast] {
        let Some(record) = self.raw().filter(|record| !record.casts.is_null()) else { return &[] };
        // SAFETY: an array of the loaded file with its length.
        unsafe { core::slice::from_raw_parts(record.casts, record.n_casts as usize) }
    }

    /// The pointers that its code compares as places in one buffer.
    pub(crate) fn buffers(&self) -> &'static [abi::BufferPair] {
        let Some(record) = self.raw().filter(|record| !record.buffers.is_null()) else { return &[] };
        // SAFETY: an array of the loaded file with its length.
        unsafe { core::slice::from_raw_parts(record.buffers, record.n_buffers as usize) }
    }

    /// The numbers of the structure that a parameter of this name fills in: name, kind, and offset in the output area,
    /// in bytes (see [`Parameter::place`]). Empty for any other parameter.
    #[must_use]
    pub fn output_members(&self, parameter: &str) -> Vec<(String, Kind, usize)> {
        let found = self.parameters.iter().zip(self.shapes()).find(|(p, _)| p.is_output() && p.name == parameter);
        found.map_or_else(Vec::new, |(p, shape)| {
            numbers_behind(shape.declared).into_iter().map(|(name, kind, at)| (name, kind, p.place + at)).collect()
        })
    }

    /// The enumerator that a parameter has with this value, if its type is an enumeration.
    #[must_use]
    pub fn enumerator(&self, parameter: usize, value: u64) -> Option<String> {
        self.parameters.get(parameter).filter(|p| !p.pointer)?;
        enumerator_of(self.shapes().get(parameter)?.declared, value)
    }

    /// The names and values of the enumerators of a parameter; empty if its type is no enumeration.
    #[must_use]
    pub fn enumerators(&self, parameter: usize) -> Vec<(String, i64)> {
        let is_value = self.parameters.get(parameter).is_some_and(|p| !p.pointer);
        let declared = self.shapes().get(parameter).filter(|_| is_value).map(|shape| shape.declared);
        declared.map_or_else(Vec::new, enumerators_of)
    }

    /// The enumerator that the result has with this value, if its type is an enumeration.
    #[must_use]
    pub fn result_enumerator(&self, value: u64) -> Option<String> {
        enumerator_of(self.raw()?.result_shape, value)
    }

    /// If the result is a structure: its type, and its offset in the frame.
    pub(crate) fn result_shape(&self) -> Option<(*const abi::Type, usize)> {
        let record = self.result_record().filter(|(_, is_pointer)| !is_pointer)?.0;
        Some((record, self.raw()?.result_frame as usize))
    }

    /// If the result is a pointer: its type.
    pub(crate) fn result_pointer(&self) -> Option<*const abi::Type> {
        self.result_record().filter(|(_, is_pointer)| *is_pointer).map(|(record, _)| record)
    }

    fn result_record(&self) -> Option<(*const abi::Type, bool)> {
        let record = self.raw()?.result_shape;
        // SAFETY: null, or a constant of the loaded file.
        let kind = unsafe { record.as_ref() }?.kind;
        Some((record, kind == abi::type_kind::POINTER))
    }

    /// Does it run when the file is loaded (a constructor, or a helper generated for constructors)?
    pub(super) fn is_of_start(&self) -> bool {
        let is_made = ["_GLOBAL__", "__cxx_global_"].iter().any(|start| self.symbol.starts_with(start));
        is_made || self.raw().is_some_and(|record| record.is_constructor != 0)
    }

    pub(super) fn raw(&self) -> Option<&'static abi::Function> {
        // SAFETY: null, or a record of the loaded file, which stays loaded.
        unsafe { self.record.as_ref() }
    }

    /// The indices of the functions that are called before it.
    pub fn constructors(&self) -> impl Iterator<Item = usize> + '_ {
        let sequence = self.model.as_ref().and_then(|model| model.sequence.as_ref());
        sequence.into_iter().flat_map(|s| s.constructors.iter().map(|call| call.function))
    }

    /// The parameters that have a value in the input, in the order of the [`Function::layout`].
    pub fn inputs(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|p| !p.is_output())
    }

    /// The signature in C syntax.
    #[must_use]
    pub fn signature(&self) -> String {
        let params: Vec<String> =
            self.parameters.iter().map(|p| format!("{} {}", p.type_name, p.name).trim_end().to_owned()).collect();
        let list = if params.is_empty() { "void".to_owned() } else { params.join(", ") };
        format!("{} {}({list})", self.result_type, self.name)
    }
}

impl Function {
    /// Returns a function without code, which can be described but not called (for tests of reports).
    #[must_use]
    pub fn without_code(result_kind: Option<Kind>, parameters: Vec<Parameter>, entry_edges: super::Edges) -> Self {
        Self {
            name: "f".to_owned(),
            symbol: "f".to_owned(),
            file: "f.c".to_owned(),
            line: 1,
            is_static: false,
            result_type: "double".to_owned(),
            result_kind,
            parameters,
            input_size: 8,
            output_size: 32,
            sites: 0..0,
            entry_edges,
            floats: Vec::new(),
            integers: Vec::new(),
            tokens: Vec::new(),
            has_rounding: false,
            uses_environment: false,
            model: None,
            constraints: Rc::default(),
            calls: 1,
            deep: DeepMemory::default(),
            init: None,
            globals: Vec::new(),
            record: core::ptr::null(),
            address: core::ptr::null(),
            call: None,
        }
    }
}

/// Converts a kind of the ABI to the mutators' kind; `None` if there is none.
#[must_use]
pub fn kind_of(kind: u32) -> Option<Kind> {
    Some(match kind {
        abi::kind::F32 => Kind::F32,
        abi::kind::F64 => Kind::F64,
        abi::kind::I8 => Kind::I8,
        abi::kind::I16 => Kind::I16,
        abi::kind::I32 => Kind::I32,
        abi::kind::I64 => Kind::I64,
        abi::kind::U8 => Kind::U8,
        abi::kind::U16 => Kind::U16,
        abi::kind::U32 => Kind::U32,
        abi::kind::U64 => Kind::U64,
        abi::kind::BOOL => Kind::Bool,
        _ => return None,
    })
}

/// Makes the names of parameters unique: parameters expanded from a C++ parameter pack have the same name in the debug
/// information.
pub(super) fn make_names_unique(all: &mut [Parameter]) {
    for i in 1..all.len() {
        if all[..i].iter().any(|p| p.name == all[i].name) {
            all[i].name = format!("{}_{}", all[i].name, i + 1);
        }
    }
}
