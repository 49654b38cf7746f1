//! Harnesses for functions of structures, arrays, strings, callbacks and standard input: C tables of the memory layout
//! ([`Decoding`]), which precede the text of `decode.c`.

use std::{fmt::Write, path::Path};

use penfuzz_mutators::{group::Length, view::Slot};
use penfuzz_report::{
    Report,
    c_text::{comment, is_cxx, string},
};
use penfuzz_target::inputs::{Decoding, Form, Memory, Pointer, Target};

/// The part of the decoder that is the same for all functions.
const DECODE: &str = include_str!("decode.c");

/// The C types of the tables.
const TABLES: &str = "
struct penfuzz_slot { unsigned at; unsigned char size, bits, is_float, is_signed; };
struct penfuzz_domain { struct penfuzz_slot slot; unsigned long long least, greatest; };
struct penfuzz_copy { unsigned from, to, size; };
enum { PENFUZZ_BOOL = 1, PENFUZZ_F80, PENFUZZ_F128, PENFUZZ_EXTENDED };
struct penfuzz_converted { unsigned from, to, form; };
enum { PENFUZZ_END, PENFUZZ_BLOCK, PENFUZZ_NULL, PENFUZZ_STUB };
struct penfuzz_pointer { unsigned at, target, number; struct penfuzz_slot null; };
enum { PENFUZZ_FIXED, PENFUZZ_LINEAR, PENFUZZ_PRODUCT };
struct penfuzz_block {
  unsigned long capacity, stride;
  int is_sure, is_string, rule;
  struct penfuzz_slot n, m;
  long long times, plus;
  const struct penfuzz_copy *copies;
  const struct penfuzz_converted *converted;
  const struct penfuzz_pointer *pointers;
};
";

/// Checks that a harness can be written; the error is the reason why not.
pub(super) fn check(report: &Report, decoding: &Decoding) -> Result<(), &'static str> {
    let signature = &report.signature;
    if decoding.is_partial {
        return Err("the harness of other fuzzers has no sequences of calls, programs and files");
    }
    let is_within = |p: &Pointer| matches!(p.target, Target::Within(_));
    if decoding.blocks.iter().flat_map(|b| &b.pointers).any(is_within) {
        return Err("the harness of other fuzzers has no two pointers into one buffer");
    }
    if decoding.blocks.iter().flat_map(|b| &b.pointers).any(|p| p.alternative.is_some()) {
        return Err("the harness of other fuzzers has no unions of pointers and other values");
    }
    let is_method = signature.symbol.starts_with("_Z");
    if is_cxx(Path::new(signature.source())) && signature.is_static {
        return Err("the harness of other fuzzers cannot include C++ for a function that takes more than numbers");
    }
    let is_aggregate = |t: &String| t.starts_with("struct") || t.starts_with("union");
    if is_method && (decoding.parameters.iter().any(|(t, _)| is_aggregate(t)) || decoding.result.is_some()) {
        return Err("the harness of other fuzzers cannot pass objects of C++ by value");
    }
    if decoding.result.is_none() && signature.result.contains("omplex") {
        return Err("the harness of other fuzzers cannot call a function with a complex result");
    }
    Ok(())
}

/// Returns the C source of `penfuzz_call`, which calls the function under test with the arguments of a frame.
pub(super) fn call(report: &Report, decoding: &Decoding) -> String {
    let signature = &report.signature;
    let mut out = format!(
        "/* {}, called with the arguments of a frame, which {} makes. Written by penfuzz. */\n",
        comment(&report.function),
        super::DECODER
    );
    let name = if signature.is_static {
        out.push_str(&penfuzz_testgen::symbol_prologue(report));
        penfuzz_testgen::symbol_name(report)
    } else {
        let symbol = string(if signature.symbol.is_empty() { &report.function } else { &signature.symbol });
        let _ = writeln!(out, "extern void penfuzz_tested(void) __asm__({symbol});");
        "penfuzz_tested".to_owned()
    };
    out.push_str(&decoding.types);
    let types: Vec<_> = decoding.parameters.iter().map(|(t, _)| t.as_str()).collect();
    let listed = if types.is_empty() { "void".to_owned() } else { types.join(", ") };
    let result = decoding.result.clone().unwrap_or_else(|| result(report).to_owned());
    let _ = writeln!(out, "typedef {result} penfuzz_function({listed});");
    out.push_str("void penfuzz_call(unsigned char *frame);\nvoid penfuzz_call(unsigned char *frame)\n{\n");
    // A compiler that sees the definition of the function would warn about the different types, and compile the call to
    // a trap.
    let _ =
        writeln!(out, "  void *volatile at = (void *){name};\n  penfuzz_function *called = (penfuzz_function *)at;");
    for (i, t) in types.iter().enumerate() {
        let _ = writeln!(out, "  {t} a{};", i + 1);
    }
    for (i, (_, at)) in decoding.parameters.iter().enumerate() {
        let _ = writeln!(out, "  __builtin_memcpy(&a{0}, frame + {at}, sizeof a{0});", i + 1);
    }
    let passed: Vec<_> = (1..=types.len()).map(|i| format!("a{i}")).collect();
    let _ = writeln!(out, "  (void)frame;\n  (void)called({});\n}}", passed.join(", "));
    out
}

/// Returns a C type for a result that is no structure, equivalent for the caller: integers and pointers are returned in
/// one register.
fn result(report: &Report) -> &'static str {
    let signature = &report.signature;
    match signature.result_kind.as_str() {
        "void" => "void",
        "f32" => "float",
        "f64" => "double",
        _ if signature.result.ends_with(['*', '&']) => "void *",
        _ if signature.result.contains("long double") => "long double",
        _ if signature.result.contains("float128") => "__float128",
        _ if signature.result.contains("int128") => "__int128",
        _ => "long long",
    }
}

/// Returns the C source of the decoder.
pub(super) fn decoder(report: &Report, decoding: &Decoding) -> String {
    let mut out =
        format!("/* Arguments of {} made of bytes. Written by penfuzz. */\n{TABLES}", comment(&report.function));
    let (size, rounding) = (decoding.input_size(), u8::from(!report.rounding.is_nearest()));
    let flags = rounding & u8::from(report.reads_environment);
    let input = decoding.input.map_or_else(|| "-1".to_owned(), |block| block.to_string());
    let _ = writeln!(
        out,
        "#define PENFUZZ_SIZE {size}\n#define PENFUZZ_ROUNDING {rounding}\n#define PENFUZZ_FLAGS {flags}\n\
         #define PENFUZZ_INPUT {input}"
    );
    let domains = decoding.domains.iter().map(|(s, d)| {
        let (least, greatest) = d.positions();
        format!("{{{}, {least}ULL, {greatest}ULL}}", slot(Some(*s)))
    });
    table(&mut out, "penfuzz_domain penfuzz_domains", domains);
    table(&mut out, "penfuzz_slot penfuzz_stub_slots", decoding.stubs.iter().map(|s| slot(*s)));
    for (i, block) in decoding.blocks.iter().enumerate() {
        contents(&mut out, i, block);
    }
    let blocks: Vec<_> = decoding.blocks.iter().enumerate().map(|(i, b)| described(i, b)).collect();
    let _ = writeln!(out, "static const struct penfuzz_block penfuzz_blocks[] = {{\n{}\n}};\n", blocks.join(",\n"));
    out + DECODE
}

/// Appends an array that ends with an element of zeros.
fn table(out: &mut String, name: &str, entries: impl Iterator<Item = String>) {
    let entries: String = entries.map(|e| e + ", ").collect();
    let _ = writeln!(out, "static const struct {name}[] = {{{entries}{{0}}}};");
}

fn contents(out: &mut String, number: usize, block: &Memory) {
    let copies = block.copies.iter().map(|c| format!("{{{}, {}, {}}}", c.from, c.to, c.size));
    table(out, &format!("penfuzz_copy penfuzz_copies{number}"), copies);
    let converted = block.converted.iter().map(|c| {
        let form = match c.form {
            Form::Bool => "PENFUZZ_BOOL",
            Form::F80 => "PENFUZZ_F80",
            Form::F128 => "PENFUZZ_F128",
            Form::Extended => "PENFUZZ_EXTENDED",
        };
        format!("{{{}, {}, {form}}}", c.from, c.to)
    });
    table(out, &format!("penfuzz_converted penfuzz_converted{number}"), converted);
    let pointers = block.pointers.iter().map(|p| {
        let (target, n) = match p.target {
            Target::Block(n) => ("PENFUZZ_BLOCK", n),
            // Anything other than memory was rejected before.
            Target::Null
            | Target::Made(_)
            | Target::Stream(_)
            | Target::Name(_)
            | Target::Program
            | Target::Within(_)
            | Target::End(_)
            | Target::Count(_)
            | Target::Own(_) => ("PENFUZZ_NULL", 0),
            Target::Stub(n) => ("PENFUZZ_STUB", n),
        };
        format!("{{{}, {target}, {n}, {}}}", p.at, slot(p.null))
    });
    table(out, &format!("penfuzz_pointer penfuzz_pointers{number}"), pointers);
}

fn described(number: usize, b: &Memory) -> String {
    let none = slot(None);
    let (rule, n, m, times, plus) = match b.length {
        Length::Fixed(_) => ("PENFUZZ_FIXED", none.clone(), none, 0, 0),
        Length::Linear { n, times, plus } => ("PENFUZZ_LINEAR", slot(Some(n)), none, times, plus),
        Length::Product { a, b, plus } => ("PENFUZZ_PRODUCT", slot(Some(a)), slot(Some(b)), 0, plus),
    };
    format!(
        "  {{{}, {}, {}, {}, {rule}, {n}, {m}, {times}, {plus}, penfuzz_copies{number}, penfuzz_converted{number}, \
         penfuzz_pointers{number}}}",
        b.capacity,
        b.stride,
        u8::from(b.is_sure),
        u8::from(b.is_string)
    )
}

/// Returns the C initializer of a number in the input; its size is 0 if there is none.
fn slot(slot: Option<Slot>) -> String {
    let Some(Slot { kind, offset }) = slot else { return "{0}".to_owned() };
    format!(
        "{{{offset}, {}, {}, {}, {}}}",
        kind.size(),
        kind.bits(),
        u8::from(kind.is_float()),
        u8::from(kind.is_signed())
    )
}
