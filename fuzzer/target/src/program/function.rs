//! A function of the target, as its table describes it.

use core::ffi::c_void;
use std::rc::Rc;

use penfuzz_abi as abi;
use penfuzz_mutators::view::{Kind, Layout};

use crate::{
    inputs::{Model, Said, numbers_behind},
    program::script,
};

use super::globals::Global;

/// A parameter of a function under test.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Name in the source, or `argN` counted from 1.
    pub name: String,
    /// Type as C writes it.
    pub type_name: String,
    /// The kind of the value (or of what is pointed to); `None` when it is not supported.
    pub kind: Option<Kind>,
    /// The callee gets the address of one such value.
    pub pointer: bool,
    /// Place in the input, in bytes.
    pub offset: usize,
    /// Place of what the pointer points to in [`penfuzz_executor::Evaluator::output`], in bytes, a multiple of 16.
    pub cell: usize,
    /// Place of the same in the output area of the thunk: bytes from its start.
    pub place: usize,
    /// Bytes of a structure that the callee fills in, of which nothing is in the input; 0 for any other parameter.
    pub output_size: usize,
}

impl Parameter {
    /// The callee fills in a structure: nothing of the parameter is in the input.
    #[must_use]
    pub fn is_output(&self) -> bool {
        self.output_size > 0
    }

    /// Bytes of the memory that the callee gets the address of: a whole cell for a number.
    #[must_use]
    pub fn block_size(&self) -> usize {
        if self.is_output() { self.output_size } else { abi::CELL_BYTES }
    }

    /// The type of the value: what is pointed to for a pointer, without qualifiers.
    #[must_use]
    pub fn value_type(&self) -> &str {
        let t = if self.pointer { pointee(&self.type_name).unwrap_or(&self.type_name) } else { &self.type_name };
        let t = t.strip_prefix("const ").unwrap_or(t);
        t.strip_prefix("volatile ").unwrap_or(t)
    }
}

/// The type that a pointer or a reference is to, by the text of its type.
#[must_use]
pub fn pointee(type_name: &str) -> Option<&str> {
    [" *", " &", " &&"].iter().find_map(|end| type_name.strip_suffix(end))
}

/// The type of a parameter, and how the function uses it.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Shape {
    /// Null without debug information. Of a `void *` the pointer type that the code shows, if it shows one.
    pub record: *const abi::Type,
    /// The type as it is declared.
    pub declared: *const abi::Type,
    /// Place in the frame, in bytes.
    pub frame: usize,
    /// The function compares it with null.
    pub nullable: bool,
    /// The function reads what it points to before it writes it, as far as is known.
    pub reads: bool,
    /// There may be an array, as far as is known.
    pub indexes: bool,
    /// Bytes that the declaration promises; 0 if it promises none.
    pub promised: usize,
    /// A file is opened by the name that it points to.
    pub names_file: bool,
    /// How far the loops of the function reach, if that is known.
    pub reach: Option<Reach>,
}

/// Bytes behind a pointer that loops reach: `times * n + plus`, or `times * n * m + plus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// The numbers of the parameters, the second if there is one.
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

/// A thunk of the function table: arguments at the first pointer, results go to the second.
pub type Call = unsafe extern "C-unwind" fn(*const u8, *mut u8);

/// libFuzzer's entry point.
pub type Harness = unsafe extern "C-unwind" fn(*const u8, usize) -> i32;

/// How the function takes its input.
#[derive(Debug, Clone, Copy)]
pub enum Entry {
    /// Through the thunk of the function table: fixed-size input, one value per parameter.
    Thunk(Call),
    /// The same, in the rounding mode given by the last byte of the input ([`Kind::Rounding`]).
    Rounded(Call),
    /// Through the thunk, with no floating-point exception flag raised before: code that reads the flags must not see
    /// those of earlier calls.
    Unflagged(Call),
    /// Through the thunk that takes a frame ([`crate::inputs`]).
    Frame(Call),
    /// `int LLVMFuzzerTestOneInput(const uint8_t *, size_t)`: any bytes, seen as doubles.
    Harness(Harness),
}

/// One defined function.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Function {
    /// Name in the source.
    pub name: String,
    /// Name for the linker.
    pub symbol: String,
    /// Source file of the definition.
    pub file: String,
    /// Line of the definition.
    pub line: u32,
    /// Internal linkage.
    pub is_static: bool,
    /// Result type as C writes it.
    pub result_type: String,
    /// Kind of the result; `None` for void and for what is no scalar.
    pub result_kind: Option<Kind>,
    /// In order.
    pub parameters: Vec<Parameter>,
    /// Bytes of the arguments in an input.
    pub input_size: usize,
    /// Bytes of the output area of the thunk.
    pub output_size: usize,
    /// Indices of its sites in [`super::Target::sites`].
    pub sites: core::ops::Range<usize>,
    /// What follows its entry.
    pub entry_edges: super::Edges,
    /// Floating-point constants of its body, as bits of doubles.
    pub floats: Vec<u64>,
    /// Integer constants of its body.
    pub integers: Vec<i64>,
    /// Constant strings and characters that its body compares with.
    pub tokens: Vec<Vec<u8>>,
    /// An input ends with the rounding mode of the call, see [`super::Target::with_rounding`].
    pub has_rounding: bool,
    /// Its file reads the floating-point exception flags, or changes the environment.
    pub uses_environment: bool,
    /// How inputs become structures, arrays and strings; `None` when all parameters are numbers, or pointers to one that the callee
    /// reads or writes.
    pub model: Option<Rc<Model>>,
    /// What the user says about the arguments.
    pub said: Rc<Said>,
    /// The most calls of one input, from 1.
    pub calls: usize,
    /// Its calls are to show which memory it uses ([`crate::inputs`]).
    pub is_probed: bool,
    /// The function that makes the object of the calls, by its number, if the user names one.
    pub init: Option<usize>,
    /// The variables that are inputs because the user names them.
    pub globals: Vec<Global>,
    pub(super) record: *const abi::Function,
    /// Its first instruction.
    pub address: *const c_void,
    pub(super) call: Option<Call>,
}

/// Bytes of the input of a harness that takes any number: eight doubles.
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

    /// How to call it; `None` when a parameter is not supported.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        if self.is_harness() {
            // SAFETY: the symbol has this type by libFuzzer's convention, and the address comes from the target's own table.
            let harness = unsafe { core::mem::transmute::<*const c_void, Harness>(self.address) };
            return Some(Entry::Harness(harness));
        }
        if let Some(model) = &self.model {
            let script = model.sequence.as_ref().map(|_| script::run as Call);
            // The frame of a function that takes numbers is its packed arguments.
            return script.or_else(|| self.frame_call()).or(self.call).map(Entry::Frame);
        }
        self.call.map(match (self.has_rounding, self.uses_environment) {
            (true, _) => Entry::Rounded,
            (false, true) => Entry::Unflagged,
            (false, false) => Entry::Thunk,
        })
    }

    /// The bits of the last byte of an input that are its rounding mode ([`Kind::Rounding`]); 0 when it has none. Raised exception flags
    /// are an input only of what reads them.
    #[must_use]
    pub const fn mode_bits(&self) -> u8 {
        match (self.has_rounding, self.uses_environment) {
            (false, _) => 0,
            (true, false) => 3,
            (true, true) => 7,
        }
    }

    /// Where the numbers lie in an input.
    #[must_use]
    pub fn layout(&self) -> Layout {
        if self.is_harness() {
            return Layout::doubles(HARNESS_INPUT_SIZE);
        }
        if let Some(model) = &self.model {
            return model.layout.clone();
        }
        let numbers: Vec<_> = self.parameters.iter().filter_map(|p| Some((p.name.as_str(), p.kind?))).collect();
        let domain = |(i, (name, kind)): (usize, &(&str, Kind))| Some((i, self.said.domain(name, *kind)?));
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

    /// Bytes of its frame.
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
            indexes: p.indexes != 0,
            promised: p.promised as usize,
            names_file: p.names_file != 0,
            reach: Reach::of(p),
        };
        all.iter().enumerate().map(shape).collect()
    }

    /// The source of its translation unit, as the compiler noted it.
    pub(crate) fn unit(&self) -> &'static str {
        self.raw().map_or("", |_| super::units::unit_of(self))
    }

    /// The types that its code gives to what `void *` point to.
    pub(crate) fn casts(&self) -> &'static [abi::Cast] {
        let Some(record) = self.raw().filter(|record| !record.casts.is_null()) else { return &[] };
        // SAFETY: an array of the loaded file with its length.
        unsafe { core::slice::from_raw_parts(record.casts, record.n_casts as usize) }
    }

    /// The numbers of the structure that a parameter of this name has filled in: name, kind, and place in the output area, in bytes (see
    /// [`Parameter::place`]). Empty for another parameter.
    #[must_use]
    pub fn output_members(&self, parameter: &str) -> Vec<(String, Kind, usize)> {
        let found = self.parameters.iter().zip(self.shapes()).find(|(p, _)| p.is_output() && p.name == parameter);
        found.map_or_else(Vec::new, |(p, shape)| {
            numbers_behind(shape.declared).into_iter().map(|(name, kind, at)| (name, kind, p.place + at)).collect()
        })
    }

    /// The type of a result that is a structure, and its place in the frame.
    pub(crate) fn result_shape(&self) -> Option<(*const abi::Type, usize)> {
        let record = self.result_record().filter(|(_, is_pointer)| !is_pointer)?.0;
        Some((record, self.raw()?.result_frame as usize))
    }

    /// The type of a result that is a pointer.
    pub(crate) fn result_pointer(&self) -> Option<*const abi::Type> {
        self.result_record().filter(|(_, is_pointer)| *is_pointer).map(|(record, _)| record)
    }

    fn result_record(&self) -> Option<(*const abi::Type, bool)> {
        let record = self.raw()?.result_shape;
        // SAFETY: null, or a constant of the loaded file.
        let kind = unsafe { record.as_ref() }?.kind;
        Some((record, kind == abi::type_kind::POINTER))
    }

    /// Does it run when the file is loaded, or is it a part of what does?
    pub(super) fn is_of_start(&self) -> bool {
        let is_made = ["_GLOBAL__", "__cxx_global_"].iter().any(|start| self.symbol.starts_with(start));
        is_made || self.raw().is_some_and(|record| record.is_constructor != 0)
    }

    pub(super) fn raw(&self) -> Option<&'static abi::Function> {
        // SAFETY: null, or a record of the loaded file, which stays loaded.
        unsafe { self.record.as_ref() }
    }

    /// The functions that are called before it, by their numbers.
    pub fn makers(&self) -> impl Iterator<Item = usize> + '_ {
        let sequence = self.model.as_ref().and_then(|model| model.sequence.as_ref());
        sequence.into_iter().flat_map(|s| s.makers.iter().map(|call| call.function))
    }

    /// The parameters that have a value in the input, in the order of the [`Function::layout`].
    pub fn inputs(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|p| !p.is_output())
    }

    /// The signature as C writes it.
    #[must_use]
    pub fn signature(&self) -> String {
        let params: Vec<String> =
            self.parameters.iter().map(|p| format!("{} {}", p.type_name, p.name).trim_end().to_owned()).collect();
        let list = if params.is_empty() { "void".to_owned() } else { params.join(", ") };
        format!("{} {}({list})", self.result_type, self.name)
    }
}

impl Function {
    /// A signature without code: it cannot be called, only described (for tests of reports).
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
            said: Rc::default(),
            calls: 1,
            is_probed: false,
            init: None,
            globals: Vec::new(),
            record: core::ptr::null(),
            address: core::ptr::null(),
            call: None,
        }
    }
}

/// The mutators' kind of an ABI kind.
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

/// The parameters that a pack of C++ expands to have one name in the debug information.
pub(super) fn name_apart(all: &mut [Parameter]) {
    for i in 1..all.len() {
        if all[..i].iter().any(|p| p.name == all[i].name) {
            all[i].name = format!("{}_{}", all[i].name, i + 1);
        }
    }
}
