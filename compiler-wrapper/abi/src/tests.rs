use std::{collections::BTreeSet, fmt::Write, fs, iter, mem::offset_of, process::Command};

use super::*;

/// Lines of a name and a number, in two forms: the C code that prints them, and the values that Rust computes.
#[derive(Default)]
struct Layout {
    c: String,
    rust: String,
}

impl Layout {
    fn value(&mut self, c: &str, rust: u64) {
        writeln!(self.c, "  printf(\"{c} %lu\\n\", (unsigned long)({c}));").expect("a String takes it");
        writeln!(self.rust, "{c} {rust}").expect("a String takes it");
    }
}

macro_rules! structure {
    ($layout:ident, $c:literal, $rust:ty, $($c_field:literal $field:ident)*) => {
        $layout.value(concat!("sizeof(struct ", $c, ")"), size_of::<$rust>() as u64);
        $($layout.value(concat!("offsetof(struct ", $c, ", ", $c_field, ")"), offset_of!($rust, $field) as u64);)*
    };
}

fn structures(layout: &mut Layout) {
    structure!(layout, "pen_param", Param,
        "name" name "type" type_name "shape" shape "passed" passed "kind" kind "pointer" pointer "offset" offset
        "size" size "cell" cell
        "frame" frame "nullable" nullable "reads" reads "indexes" indexes
        "promised" promised "names_file" names_file "reach_first" reach_first "reach_second" reach_second
        "reach_times" reach_times
        "reach_plus" reach_plus "argument" argument "n_passed" n_passed "unused" unused);
    structure!(layout, "pen_passed", Passed, "function" function "argument" argument "is_first" is_first);
    structure!(layout, "pen_type", Type, "name" name "target" target "members" members "size" size "count" count
        "kind" kind "number" number "flags" flags "n_members" n_members);
    structure!(layout, "pen_member", Member, "name" name "type" member_type "offset" offset "bits" bits
        "nullable" nullable);
    structure!(layout, "pen_edges", Edges, "next" next "calls" calls "lines" lines "starts" starts "n_next" n_next
        "n_calls" n_calls "n_lines" n_lines "n_starts" n_starts);
    structure!(layout, "pen_case", Case, "value" value "branch" branch "to_default" to_default);
    structure!(layout, "pen_switch", Switch, "cases" cases "by_branch" by_branch "first" first "bucket" bucket
        "n_cases" n_cases "n_branches" n_branches "shift" shift "unused" unused);
    structure!(layout, "pen_near", Near, "gap" gap "operand" operand);
    structure!(layout, "pen_site", Site,
        "function" function "file" file "actions" actions "edges" edges "cases" cases "name" name "line" line
        "column" column
        "n_branches" n_branches "n_cases" n_cases "kind" kind "predicate" predicate "operand" operand "width" width
        "possible" possible "operation" operation "assumption" assumption "decision" decision);
    structure!(layout, "pen_node", Node,
        "actions" actions "next_true" next_true "next_false" next_false "on_true" on_true "unused" unused);
    structure!(layout, "pen_decision", Decision, "actions" actions "nodes" nodes "n_nodes" n_nodes
        "n_vectors" n_vectors);
    structure!(layout, "pen_walk", Walk, "node" node "vector" vector);
    structure!(layout, "pen_traced", Traced, "actions" actions "operands" operands "result" result "what" what
        "unused" unused);
    structure!(layout, "pen_function", Function,
        "name" name "symbol" symbol "file" file "unit" unit "address" address "call" call "call_frame" call_frame
        "params" params "sites" sites
        "entry" entry "floats" floats "integers" integers "tokens" tokens "result_type" result_type
        "references" references
        "result_shape" result_shape "casts" casts "buffers" buffers "n_params" n_params
        "n_sites" n_sites "n_floats" n_floats "n_integers" n_integers "n_tokens" n_tokens "result_kind" result_kind
        "input_size" input_size "line" line "is_static" is_static "output_size" output_size
        "is_constructor" is_constructor
        "frame_size" frame_size "result_frame" result_frame "n_casts" n_casts
        "n_buffers" n_buffers "unused" unused);
    structure!(layout, "pen_cast", Cast, "of" of "to" to "at" at);
    structure!(layout, "pen_buffer_pair", BufferPair,
        "first_of" first_of "second_of" second_of "first_at" first_at "second_at" second_at
        "first_parameter" first_parameter "second_parameter" second_parameter "votes" votes "flags" flags);
    structure!(layout, "pen_token", Token, "bytes" bytes "length" length "unused" unused);
    structure!(layout, "pen_references", References,
        "functions" functions "function_names" function_names "variables" variables "variable_names" variable_names
        "variable_uses" variable_uses "n_functions" n_functions "n_variables" n_variables);
    structure!(layout, "pen_variable", Variable,
        "name" name "file" file "unit" unit "scope" scope "type" variable_type "address" address
        "references" references "size" size "line" line "flags" flags);
    structure!(layout, "pen_state", State,
        "r" r "fuel" fuel "metric" metric "hits" hits "n_improved" n_improved "last_branch" last_branch
        "outcomes" outcomes "best" best "improved" improved "coverage" coverage "stop" stop
        "exit_status" exit_status "lead" lead "path" path "back" back "n_path" n_path "path_at" path_at
        "path_bits" path_bits "watch" watch "seen" seen "n_seen" n_seen "trace" trace "n_trace" n_trace
        "trace_room" trace_room "passes" passes "n_passes" n_passes "passes_room" passes_room
        "taken" taken "is_improved" is_improved "near" near "measured" measured "n_measured" n_measured
        "n_allocated" n_allocated
        "compared" compared "n_compared" n_compared "compared_room" compared_room
        "walks" walks "n_walks" n_walks "reach_infects" reach_infects "mutant" mutant
        "epsilon" epsilon "blocks" blocks "n_blocks" n_blocks);
    structure!(layout, "pen_block", Block, "at" at "size" size "use" usage);
    structure!(layout, "pen_compared", Compared,
        "actions" actions "a" a "b" b "predicate" predicate "taken" taken);
    structure!(layout, "pen_tables", Tables,
        "version" version "n_guards" n_guards "state" state "sites" sites "sites_end" sites_end
        "functions" functions "functions_end" functions_end "actions" actions "actions_end" actions_end
        "variables" variables "variables_end" variables_end "cases" cases "cases_end" cases_end
        "sancov_gate" sancov_gate
        "streams" streams "streams_end" streams_end "release" release
        "fill" fill "fills" fills "fills_end" fills_end);
    structure!(layout, "pen_fill", Fill,
        "on" on "integer" integer "real" real "real32" real32 "bytes" bytes);
    structure!(layout, "pen_stream", Stream,
        "name" name "values" values "kind" kind "n" n "taken" taken "unused" unused);
}

fn constants(layout: &mut Layout) {
    for (c, rust) in [
        ("PEN_ABI_VERSION", VERSION),
        ("PEN_BUFFER_INCLUSIVE", buffer_flag::INCLUSIVE),
        ("PEN_BUFFER_LIMIT", buffer_flag::LIMIT),
        ("PEN_BUFFER_WEAK", buffer_flag::WEAK),
        ("PEN_BLOCK_FIXED", block_use::FIXED as u32),
        ("PEN_BLOCK_HEAP", block_use::HEAP as u32),
        ("PEN_BLOCK_FREED", block_use::FREED as u32),
        ("PEN_BLOCK_KEPT", block_use::KEPT as u32),
        ("PEN_RECORD", action::RECORD.into()),
        ("PEN_WANT", action::WANT.into()),
        ("PEN_TRACK", action::TRACK.into()),
        ("PEN_NEAR", action::NEAR.into()),
        ("PEN_STEP", action::STEP.into()),
        ("PEN_MIN", action::MIN.into()),
        ("PEN_LEAD", action::LEAD.into()),
        ("PEN_ARMED", action::ARMED.into()),
        ("PEN_FILL_VALUES", FILL_VALUES as u32),
        ("PEN_LEAD_BITS", LEAD_BITS),
        ("PEN_ULP", metric::ULP),
        ("PEN_SQUARED", metric::SQUARED),
        ("PEN_BOUNDARY", metric::BOUNDARY),
        ("PEN_END", END),
        ("PEN_STRAYED", STRAYED),
        ("PEN_UNSUPPORTED", kind::UNSUPPORTED),
        ("PEN_F32", kind::F32),
        ("PEN_F64", kind::F64),
        ("PEN_I8", kind::I8),
        ("PEN_I16", kind::I16),
        ("PEN_I32", kind::I32),
        ("PEN_I64", kind::I64),
        ("PEN_U8", kind::U8),
        ("PEN_U16", kind::U16),
        ("PEN_U32", kind::U32),
        ("PEN_U64", kind::U64),
        ("PEN_BOOL", kind::BOOL),
        ("PEN_VOID", kind::VOID),
        ("PEN_OUTPUT", kind::OUTPUT),
        ("PEN_F16", kind::F16),
        ("PEN_F80", kind::F80),
        ("PEN_F128", kind::F128),
        ("PEN_I128", kind::I128),
        ("PEN_U128", kind::U128),
        ("PEN_TYPE_OTHER", type_kind::OTHER),
        ("PEN_TYPE_NUMBER", type_kind::NUMBER),
        ("PEN_TYPE_POINTER", type_kind::POINTER),
        ("PEN_TYPE_ARRAY", type_kind::ARRAY),
        ("PEN_TYPE_STRUCT", type_kind::STRUCT),
        ("PEN_TYPE_UNION", type_kind::UNION),
        ("PEN_TYPE_FUNCTION", type_kind::FUNCTION),
        ("PEN_TYPE_VOID", type_kind::VOID),
        ("PEN_TYPE_INCOMPLETE", type_kind::INCOMPLETE),
        ("PEN_TYPE_CONST", type_flag::CONST),
        ("PEN_TYPE_REFERENCE", type_flag::REFERENCE),
        ("PEN_TYPE_COMPLEX", type_flag::COMPLEX),
        ("PEN_TYPE_ENUM", type_flag::ENUM),
        ("PEN_TYPE_CLASS", type_flag::CLASS),
        ("PEN_TYPE_CHAR", type_flag::CHAR),
        ("PEN_TYPE_AGGREGATE", type_flag::AGGREGATE),
        ("PEN_TYPE_ABSTRACT", type_flag::ABSTRACT),
        ("PEN_TYPE_PROTOTYPE", type_flag::PROTOTYPE),
        ("PEN_OP_NONE", operand::NONE.into()),
        ("PEN_OP_F32", operand::F32.into()),
        ("PEN_OP_F64", operand::F64.into()),
        ("PEN_OP_INT", operand::INT.into()),
        ("PEN_OP_POINTER", operand::POINTER.into()),
        ("PEN_OP_MANY", operand::MANY.into()),
        ("PEN_HEAP_FREE", heap::FREE),
        ("PEN_HEAP_LOSE", heap::LOSE),
        ("PEN_HEAP_ARENA", heap::ARENA),
        ("PEN_HEAP_SYSTEM", heap::SYSTEM),
        ("PEN_STOP_FUEL", stop::FUEL),
        ("PEN_STOP_EXIT", stop::EXIT),
        ("PEN_STOP_STRAYED", stop::STRAYED),
        ("PEN_STOP_THROW", stop::THROW),
        ("PEN_STOP_REJECTED", stop::REJECTED),
        ("PEN_STOP_CHECK", stop::CHECK),
        ("PEN_ASSUMED", ASSUMED),
        ("PEN_CELL_BYTES", CELL_BYTES as u32),
        ("PEN_VARIABLE_CONSTANT", variable_flag::CONSTANT),
        ("PEN_VARIABLE_THREAD_LOCAL", variable_flag::THREAD_LOCAL),
        ("PEN_VARIABLE_STATIC", variable_flag::STATIC),
        ("PEN_VARIABLE_LOCAL", variable_flag::LOCAL),
        ("PEN_USE_READ", variable_use::READ),
        ("PEN_USE_WRITE", variable_use::WRITE),
        ("PEN_STRIDE_BYTES", STRIDE_BYTES as u32),
        ("PEN_SINGLE", operation_flag::SINGLE),
        ("PEN_CONSTANT", operation_flag::CONSTANT),
        ("PEN_INTEGER_SHIFT", operation_flag::INTEGER_SHIFT),
        ("PEN_POSSIBLE_SHIFT", operation_flag::POSSIBLE_SHIFT),
    ] {
        layout.value(c, rust.into());
    }
    layout.value("PEN_OTHER_SIDE", side::OTHER);
}

fn sites(layout: &mut Layout) {
    for (c, rust) in [
        ("PEN_BRANCH", site_kind::BRANCH.into()),
        ("PEN_SWITCH", site_kind::SWITCH.into()),
        ("PEN_SELECT", site_kind::SELECT.into()),
        ("PEN_COMPARISON", site_kind::COMPARISON.into()),
        ("PEN_OPERATION", site_kind::OPERATION.into()),
        ("PEN_DECISION", site_kind::DECISION.into()),
        ("PEN_OUTCOME_FALSE", decided::FALSE),
        ("PEN_OUTCOME_TRUE", decided::TRUE),
        ("PEN_MUTATION", site_kind::MUTATION.into()),
        ("PEN_BELOW", side::BELOW as u32),
        ("PEN_EQUAL", side::EQUAL as u32),
        ("PEN_ABOVE", side::ABOVE as u32),
        ("PEN_OVERFLOW", exception::OVERFLOW as u32),
        ("PEN_UNDERFLOW", exception::UNDERFLOW as u32),
        ("PEN_DIVIDE_BY_ZERO", exception::DIVIDE_BY_ZERO as u32),
        ("PEN_INVALID", exception::INVALID as u32),
        ("PEN_INEXACT", exception::INEXACT as u32),
    ] {
        layout.value(c, rust.into());
    }
}

fn predicates(layout: &mut Layout) {
    for (c, rust) in [
        ("PEN_FCMP_FALSE", predicate::FCMP_FALSE),
        ("PEN_FCMP_OEQ", predicate::FCMP_OEQ),
        ("PEN_FCMP_OGT", predicate::FCMP_OGT),
        ("PEN_FCMP_OGE", predicate::FCMP_OGE),
        ("PEN_FCMP_OLT", predicate::FCMP_OLT),
        ("PEN_FCMP_OLE", predicate::FCMP_OLE),
        ("PEN_FCMP_ONE", predicate::FCMP_ONE),
        ("PEN_FCMP_ORD", predicate::FCMP_ORD),
        ("PEN_FCMP_UNO", predicate::FCMP_UNO),
        ("PEN_FCMP_UEQ", predicate::FCMP_UEQ),
        ("PEN_FCMP_UGT", predicate::FCMP_UGT),
        ("PEN_FCMP_UGE", predicate::FCMP_UGE),
        ("PEN_FCMP_ULT", predicate::FCMP_ULT),
        ("PEN_FCMP_ULE", predicate::FCMP_ULE),
        ("PEN_FCMP_UNE", predicate::FCMP_UNE),
        ("PEN_FCMP_TRUE", predicate::FCMP_TRUE),
        ("PEN_ICMP_EQ", predicate::ICMP_EQ),
        ("PEN_ICMP_NE", predicate::ICMP_NE),
        ("PEN_ICMP_UGT", predicate::ICMP_UGT),
        ("PEN_ICMP_UGE", predicate::ICMP_UGE),
        ("PEN_ICMP_ULT", predicate::ICMP_ULT),
        ("PEN_ICMP_ULE", predicate::ICMP_ULE),
        ("PEN_ICMP_SGT", predicate::ICMP_SGT),
        ("PEN_ICMP_SGE", predicate::ICMP_SGE),
        ("PEN_ICMP_SLT", predicate::ICMP_SLT),
        ("PEN_ICMP_SLE", predicate::ICMP_SLE),
        ("PEN_NO_PREDICATE", NO_PREDICATE),
    ] {
        layout.value(c, rust.into());
    }
}

fn operations(layout: &mut Layout) {
    for (c, rust) in [
        ("PEN_OPERANDS", movement::OPERANDS),
        ("PEN_VALUE", movement::VALUE),
        ("PEN_LOAD", movement::LOAD),
        ("PEN_STORE", movement::STORE),
        ("PEN_CONSTANT_NAME", movement::CONSTANT_NAME as u32),
        ("PEN_RETURNED", movement::RETURNED as u32),
        ("PEN_PASSED", movement::PASSED as u32),
        ("PEN_NO_OPERATION", operation::NO_OPERATION),
        ("PEN_ADD", operation::ADD),
        ("PEN_SUBTRACT", operation::SUBTRACT),
        ("PEN_MULTIPLY", operation::MULTIPLY),
        ("PEN_DIVIDE", operation::DIVIDE),
        ("PEN_FMOD", operation::FMOD),
        ("PEN_FMA", operation::FMA),
        ("PEN_SQRT", operation::SQRT),
        ("PEN_NARROW", operation::NARROW),
        ("PEN_NEGATE", operation::NEGATE),
        ("PEN_ABS", operation::ABS),
        ("PEN_TO_SIGNED", operation::TO_SIGNED),
        ("PEN_TO_UNSIGNED", operation::TO_UNSIGNED),
        ("PEN_FROM_SIGNED", operation::FROM_SIGNED),
        ("PEN_FROM_UNSIGNED", operation::FROM_UNSIGNED),
        ("PEN_LOG", operation::LOG),
        ("PEN_LOG2", operation::LOG2),
        ("PEN_LOG10", operation::LOG10),
        ("PEN_LOG1P", operation::LOG1P),
        ("PEN_LOGB", operation::LOGB),
        ("PEN_EXP", operation::EXP),
        ("PEN_EXP2", operation::EXP2),
        ("PEN_EXP10", operation::EXP10),
        ("PEN_EXPM1", operation::EXPM1),
        ("PEN_SINH", operation::SINH),
        ("PEN_COSH", operation::COSH),
        ("PEN_POW", operation::POW),
        ("PEN_ASIN", operation::ASIN),
        ("PEN_ACOS", operation::ACOS),
        ("PEN_ATANH", operation::ATANH),
        ("PEN_ACOSH", operation::ACOSH),
        ("PEN_REMAINDER", operation::REMAINDER),
        ("PEN_TGAMMA", operation::TGAMMA),
        ("PEN_LGAMMA", operation::LGAMMA),
        ("PEN_Y0", operation::Y0),
        ("PEN_Y1", operation::Y1),
        ("PEN_YN", operation::YN),
        ("PEN_LDEXP", operation::LDEXP),
        ("PEN_SCALBN", operation::SCALBN),
        ("PEN_SCALBLN", operation::SCALBLN),
        ("PEN_HYPOT", operation::HYPOT),
        ("PEN_ERFC", operation::ERFC),
        ("PEN_NEXTAFTER", operation::NEXTAFTER),
        ("PEN_SIN", operation::SIN),
        ("PEN_COS", operation::COS),
        ("PEN_TAN", operation::TAN),
        ("PEN_ATAN", operation::ATAN),
        ("PEN_ATAN2", operation::ATAN2),
        ("PEN_TANH", operation::TANH),
        ("PEN_ASINH", operation::ASINH),
        ("PEN_CBRT", operation::CBRT),
        ("PEN_ERF", operation::ERF),
        ("PEN_FLOOR", operation::FLOOR),
        ("PEN_CEIL", operation::CEIL),
        ("PEN_ROUND_TO_ZERO", operation::ROUND_TO_ZERO),
        ("PEN_ROUND", operation::ROUND),
        ("PEN_RINT", operation::RINT),
        ("PEN_OPERATIONS", operation::OPERATIONS),
    ] {
        layout.value(c, rust.into());
    }
}

/// All constants and layouts that are compared.
fn mirrored() -> Layout {
    let mut layout = Layout::default();
    structures(&mut layout);
    constants(&mut layout);
    sites(&mut layout);
    predicates(&mut layout);
    operations(&mut layout);
    layout
}

#[test]
fn the_mirror_agrees_with_the_header() {
    let layout = mirrored();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (source, program) = (directory.path().join("layout.c"), directory.path().join("layout"));
    let text =
        format!("#include \"pen.h\"\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{\n{}}}\n", layout.c);
    fs::write(&source, text).expect("the source is written");
    let status = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()))
        .args(["-I", concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime"), "-o"])
        .args([&program, &source])
        .status()
        .expect("a C compiler runs");
    assert!(status.success(), "the C compiler refused the layout program: {status}");
    let output = Command::new(&program).output().expect("the layout program runs");
    let c = String::from_utf8_lossy(&output.stdout);
    assert_eq!(c.lines().count(), layout.rust.lines().count(), "the layout program prints every line:\n{c}");
    let different: Vec<_> = c.lines().zip(layout.rust.lines()).filter(|(c, rust)| c != rust).collect();
    assert!(different.is_empty(), "(pen.h, penfuzz-abi) differ in {different:?}");
}

/// Definitions of the header that only pass and runtime use. Both include the header, so Rust does not mirror them.
const NOT_MIRRORED: [&str; 28] = [
    "PEN_H",
    "PEN_SIDES",
    "PEN_EXCEPTIONS",
    "PEN_FCMP_EQUAL",
    "PEN_FCMP_GREATER",
    "PEN_FCMP_LESS",
    "PEN_FCMP_UNORDERED",
    "PEN_ICMP_OR_EQUAL",
    "PEN_ICMP_ORDER",
    "PEN_SIGNALING_NAN",
    "PEN_QUIET_NAN",
    "PEN_NEGATIVE_INFINITY",
    "PEN_NEGATIVE_NORMAL",
    "PEN_NEGATIVE_SUBNORMAL",
    "PEN_NEGATIVE_ZERO",
    "PEN_POSITIVE_ZERO",
    "PEN_POSITIVE_SUBNORMAL",
    "PEN_POSITIVE_NORMAL",
    "PEN_POSITIVE_INFINITY",
    "PEN_OPERATION_MASK",
    "PEN_INTEGER_MASK",
    "PEN_BYTES_ENDED",
    "PEN_BYTES_FOLDED",
    "PEN_BYTES_CONSTANT",
    "PEN_BYTES_DIFFER",
    "PEN_OPAQUE_TRUE",
    "PEN_OPAQUE_DECIDED",
    "struct pen_pair",
];

/// The header without its comments.
fn header() -> String {
    let text = include_str!("../../runtime/pen.h");
    let behind = |part: &'static str| part.split_once("*/").map_or("", |(_, code)| code);
    let mut parts = text.split("/*");
    let before = parts.next().unwrap_or_default();
    iter::once(before).chain(parts.map(behind)).collect()
}

/// The numbers that the header defines (`PEN_…`), and its structures.
fn definitions(code: &str) -> BTreeSet<String> {
    let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let numbers = words.filter(|word| word.starts_with("PEN_")).map(str::to_owned);
    let starts = code.lines().filter_map(|line| line.strip_suffix(" {"));
    numbers.chain(starts.filter(|line| line.starts_with("struct ")).map(str::to_owned)).collect()
}

#[test]
fn nothing_in_the_header_lacks_a_mirror() {
    let compared = mirrored().rust;
    let is_compared = |name: &str| {
        compared
            .lines()
            .any(|line| line.starts_with(&format!("{name} ")) || line.starts_with(&format!("sizeof({name})")))
    };
    let code = header();
    let all = definitions(&code);
    assert!(all.contains("PEN_ABI_VERSION") && all.contains("struct pen_site"), "the header is read: {all:?}");
    let missing: Vec<_> =
        all.iter().filter(|name| !is_compared(name) && !NOT_MIRRORED.contains(&name.as_str())).collect();
    assert!(
        missing.is_empty(),
        "in pen.h, but neither compared with abi.rs here nor listed as not mirrored: {missing:?}"
    );
}
