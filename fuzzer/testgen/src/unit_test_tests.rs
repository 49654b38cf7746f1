//! Compiles the emitted programs, runs them, and measures them with gcc and gcov.

use std::{fs, path::Path, process::Command};

use penfuzz_mutators::view::Kind;
use penfuzz_report::{
    Arg, Memory,
    c_text::environment,
    example, literal,
    model::{Parameter, Signature, Test},
    test_format::TestFormat,
};
use penfuzz_system::console;

use super::*;

/// Writes the source and the program of the report, whose paths must be in `dir`, and runs the command line in the
/// program's header. Returns its output.
fn run_header_command(dir: &Path, report: &Report, source: &str) -> String {
    fs::write(&report.signature.file, source).unwrap();
    for (name, text) in program_files(report) {
        fs::write(dir.join(name), text).unwrap();
    }
    let command = program(report).lines().find_map(|l| l.strip_prefix(" *   ")).unwrap().to_owned();
    let output = Command::new("sh").args(["-c", &command]).current_dir(dir).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}\n{text}\n{errors}\n{}", program(report));
    assert!(!errors.contains("warning"), "{command}\n{errors}");
    text
}

/// The example with its source at another path.
fn moved_to(path: &Path) -> Report {
    let mut report = example::report();
    report.signature.file = path.to_string_lossy().into_owned();
    report.sources = vec![report.signature.file.clone()];
    report
}

/// A report with one test and nothing else.
fn small(function: &str, signature: Signature, args: Vec<Arg>) -> Report {
    let mut report = example::report();
    report.function = function.to_owned();
    report.sources = vec![signature.file.clone()];
    report.signature = signature;
    report.crashes.clear();
    report.tests = vec![Test { file: "queue/id:000000".to_owned(), args, ..Test::default() }];
    report
}

fn parameter(name: &str, type_name: &str, kind: &str, pointer: bool) -> Parameter {
    Parameter { name: name.to_owned(), type_name: type_name.to_owned(), kind: kind.to_owned(), pointer, size: 0 }
}

#[test]
fn the_example() {
    let text = program(&example::report());
    // The command is one line of the program. The snapshot shows it wrapped.
    insta::assert_snapshot!(text.replace(" && ", " &&\n *   "), @r#"
    /* Tests of clamp (/src/clamp.c:3), emitted by penfuzz (search targeted, seed 1).
     * They covered 6 of 8 branches. Build, run and see gcov's count:
     *
     *   gcc -O0 -fno-builtin -c test_clamp.c -o test_clamp.o &&
     *   gcc -O0 --coverage -Wl,-u,__gcov_dump,-u,__gcov_reset test_clamp.o /src/clamp.c -lm -o test_clamp &&
     *   ./test_clamp &&
     *   gcov -b *.gcda
     *
     * Only inputs that crash cover 1 more. They are at the end, as expected failures, and gcov does not count them.
     * These are regression tests of found values, not a specification: they expect what the function did when
     * penfuzz ran it, right or wrong.
     */
    #include <signal.h>
    #include <stdint.h>
    #include <stdio.h>

    extern double clamp(double, int, double *);
    #define PENFUZZ_CHILDREN
    #include "penfuzz_test.h"
    #ifndef NAN
    #define NAN __builtin_nanf("")
    #endif

    /* line 5 is true; input queue/id:000000 */
    static void test_clamp_when_line_5_true(void)
    {
        double in3_rest[2] = {0.0};
        puts("clamp(0.25, 0, &(double){0.0})");
        penfuzz_show_float("result", clamp(0.25, 0, in3_rest));
        penfuzz_show_float("*rest", in3_rest[0]);
    }

    /* line 9 is false; input queue/id:000001 */
    static void test_clamp_when_line_9_false(void)
    {
        double in3_rest[2] = {0.0};
        puts("clamp(1.0, 0, &(double){0.0})");
        penfuzz_show_float("result", clamp(1.0, 0, in3_rest));
        penfuzz_show_float("*rest", in3_rest[0]);
    }

    /* line 9 is false; input queue/id:000002 */
    static void test_clamp_when_line_9_false_2(void)
    {
        double in3_rest[2] = {0.0};
        puts("clamp(NAN, 0, &(double){0.0})");
        penfuzz_show_float("result", clamp(NAN, 0, in3_rest));
        penfuzz_show_float("*rest", in3_rest[0]);
    }

    /* an expected failure: SIGABRT in clamp (/src/clamp.c:8); input crashes/id:000000 */
    static void test_clamp_aborts(void)
    {
        double in3_rest[2] = {0.0};
        puts("clamp(1.0, 7, &(double){0.0})");
        if (penfuzz_in_child()) {
          (void)clamp(1.0, 7, in3_rest);
          penfuzz_returned();
        }
        penfuzz_check_signal(SIGABRT, 1);
    }

    int main(void)
    {
      test_clamp_when_line_5_true();
      test_clamp_when_line_9_false();
      test_clamp_when_line_9_false_2();
      test_clamp_aborts();
      if (penfuzz_failures) printf("%d checks FAILED\n", penfuzz_failures);
      return penfuzz_failures != 0;
    }
    "#);
}

#[test]
fn the_command_in_the_header_builds_runs_and_measures() {
    let dir = tempfile::tempdir().unwrap();
    let report = moved_to(&dir.path().join("it's a file.c"));
    let printed = run_header_command(dir.path(), &report, example::SOURCE);
    assert!(printed.contains("result = 0x1p-2 (0.25)\n  *rest = 0x1p-2 (0.25)\n"), "{printed}");
    assert!(printed.contains("Branches executed:100.00% of 8"), "{printed}");
    assert!(printed.contains("Taken at least once:75.00% of 8"), "{printed}");
}

#[test]
fn a_source_with_its_own_main_can_be_linked() {
    let dir = tempfile::tempdir().unwrap();
    let report = moved_to(&dir.path().join("clamp.c"));
    let source = format!("{}\nint main (void) {{ return 9; }}\n", example::SOURCE);
    assert!(run_header_command(dir.path(), &report, &source).contains("result = 0x1p-2"));
}

#[test]
fn a_static_function_is_reached_by_including_its_source() {
    let dir = tempfile::tempdir().unwrap();
    let mut report = moved_to(&dir.path().join("clamp.c"));
    report.signature.is_static = true;
    let source = example::SOURCE.replace("double clamp", "static double clamp");
    let source = format!("{source}int main(void) {{ return 9; }}\n");
    let printed = run_header_command(dir.path(), &report, &source);
    assert!(printed.contains("Taken at least once:75.00% of 8"), "{printed}");
}

#[test]
fn floats_are_decimals_in_every_standard() {
    let dir = tempfile::tempdir().unwrap();
    let mut report = moved_to(&dir.path().join("clamp.c"));
    report.signature.is_static = true;
    report.tests[0].args[0] = literal::arg("x", "double", Kind::F64, 0.1_f64.to_bits());
    report.tests[0].result = Some(literal::arg("result", "double", Kind::F64, 0.1_f64.to_bits()));
    let source = example::SOURCE.replace("double clamp", "static double clamp");
    for standard in ["-std=c89", "-std=c99", "-std=c17"] {
        report.flags = vec![standard.to_owned(), "-pedantic".to_owned(), "-w".to_owned()];
        let printed = run_header_command(dir.path(), &report, &source);
        assert!(printed.contains("result = 0x1.999999999999ap-4 (0.1"), "{standard}: {printed}");
        assert!(program(&report).contains("0.1);"), "{}", program(&report));
    }
}

/// C++ converts no pointer from `void *`.
#[test]
fn pointers_have_the_types_of_the_declaration_in_cxx() {
    let signature = Signature {
        symbol: "fill".to_owned(),
        result: "int".to_owned(),
        result_kind: "i32".to_owned(),
        parameters: vec![parameter("out", "span *", "", true), parameter("table", "const double *", "f64", true)],
        file: "/src/fill.c".to_owned(),
        ..Signature::default()
    };
    let arg = |name: &str, type_name: &str, elements, of: &str| Arg {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        hex: format!("in1_{name}"),
        memory: vec![Memory {
            name: format!("in1_{name}"),
            type_name: of.to_owned(),
            elements,
            value: "{0}".to_owned(),
            bytes: "00".repeat(24),
            ..Memory::default()
        }],
        ..Arg::default()
    };
    let args = vec![arg("out", "span *", None, "span"), arg("table", "const double *", Some(3), "double")];
    let mut report = small("fill", signature, args);
    report.test_format = TestFormat::GoogleTest;
    let text = program(&report);
    assert!(text.contains("int tested_fill(void *, const double *);"), "{text}");
    assert!(text.contains("tested_fill((void *)in1_out, (const double *)in1_table)"), "{text}");
}

#[test]
fn types_of_the_project_are_used_where_its_source_is_included() {
    let dir = tempfile::tempdir().unwrap();
    let signature = Signature {
        symbol: "_ZN1n4pickE5colorPx".to_owned(),
        result: "pair".to_owned(),
        parameters: vec![parameter("c", "color", "u32", false), parameter("p", "long long *", "i64", true)],
        file: dir.path().join("p.cpp").to_string_lossy().into_owned(),
        ..Signature::default()
    };
    let args = vec![literal::arg("c", "color", Kind::U32, 1), literal::arg("p", "long long", Kind::I64, 1 << 63)];
    let report = small("n::pick", signature, args);
    assert_eq!(file_name(&report), "test_n__pick.cpp");
    let source = "enum color { red, green };\nstruct pair { int a, b; };\nnamespace n { pair pick(color c, long long \
                  *p) { *p += c; return pair(); } }\n";
    let printed = run_header_command(dir.path(), &report, source);
    assert!(printed.contains("*p = -0x7fffffffffffffff (-9223372036854775807)"), "{printed}");
}

#[test]
fn a_cxx_template_is_called_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let signature = Signature {
        symbol: "_ZN1n4halfIfEET_S1_".to_owned(),
        result: "float".to_owned(),
        result_kind: "f32".to_owned(),
        parameters: vec![parameter("int", "float", "f32", false)],
        file: dir.path().join("h.cc").to_string_lossy().into_owned(),
        ..Signature::default()
    };
    let report = small("n::half<float>", signature, vec![literal::arg("int", "float", Kind::F32, 0xffc0_0123)]);
    let source = "namespace n { template <class T> T half(T x) { return x > 1 ? x / 2 : x; }\ntemplate float \
                  half<float>(float); }\n";
    let printed = run_header_command(dir.path(), &report, source);
    assert!(printed.contains("n::half<float>(-__builtin_nanf(\"0x123\"))"), "{printed}");
    assert!(printed.contains("result = -nan"), "{printed}");
}

#[test]
fn a_function_that_is_also_in_the_standard_library_is_really_called() {
    let dir = tempfile::tempdir().unwrap();
    let signature = Signature {
        symbol: "pow".to_owned(),
        result: "double".to_owned(),
        result_kind: "f64".to_owned(),
        parameters: vec![parameter("x", "double", "f64", false), parameter("y", "double", "f64", false)],
        file: dir.path().join("pow.c").to_string_lossy().into_owned(),
        ..Signature::default()
    };
    let one = |name| literal::arg(name, "double", Kind::F64, 2.0_f64.to_bits());
    let report = small("pow", signature, vec![one("x"), one("y")]);
    let printed =
        run_header_command(dir.path(), &report, "double pow(double x, double y) { return x < y ? 1 : 77; }\n");
    assert!(printed.contains("result = 0x1.34p+6 (77)"), "{printed}");
}

#[test]
fn bytes_go_to_a_byte_harness() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("h.c").to_string_lossy().into_owned();
    let signature = Signature { symbol: BYTE_HARNESS.to_owned(), file, ..Signature::default() };
    let mut report = small(BYTE_HARNESS, signature, vec![literal::bytes("data", &[1, 2])]);
    report.tests.push(Test {
        file: "queue/id:1".to_owned(),
        args: vec![literal::bytes("data", &[])],
        ..Test::default()
    });
    let source = "#include <stddef.h>\nint LLVMFuzzerTestOneInput(const unsigned char *d, size_t n) { return n ? d[1] \
                  + (int)n : -5; }\n";
    let printed = run_header_command(dir.path(), &report, source);
    assert!(printed.contains("result = 0x4 (4)\nqueue/id:1\n  result = -0x5 (-5)"), "{printed}");
}

#[test]
fn hostile_names_stay_inside_their_comments_and_strings() {
    let dir = tempfile::tempdir().unwrap();
    let mut report = moved_to(&dir.path().join("a*.c"));
    report.function = "clamp */ \"%s\\".to_owned();
    report.target = "\n#error".to_owned();
    report.tests[0].file = "queue/*/\n#error".to_owned();
    report.tests[1].file = "queue/\u{1b}[31m*??/".to_owned();
    report.crashes[0].place = "*/ #error".to_owned();
    report.crashes[0].file = "crashes/\u{9b}\u{202e}\r\\".to_owned();
    let text = program(&report);
    assert!(!text.contains(|c| console::needs_escape(c) && c != '\n') && !text.contains("\\\n"), "{text}");
    let printed = run_header_command(dir.path(), &report, example::SOURCE);
    assert!(printed.contains("clamp * / \"%s\\u{5c}("), "{printed}");
    report.signature.is_static = true;
    report.signature.file = "a\".c".to_owned();
    assert!(program(&report).contains("#error"), "a path that cannot be included must be said to be one");
}

#[test]
fn a_structure_to_fill_in_is_passed_as_zeroed_memory() {
    let source = "\
typedef struct { double val, err; } result_t;
double half(double x, result_t *r, double *both)
{
  if (r->val != 0 || r->err != 0)
    return -1;
  r->val = r->err = x;
  both[0] = both[1] = x;
  return r->val / 2;
}
";
    for is_static in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("half.c").to_string_lossy().into_owned();
        let result = Parameter { size: 16, ..parameter("r", "result_t *", "output", true) };
        let signature = Signature {
            symbol: "half".to_owned(),
            result: "double".to_owned(),
            result_kind: "f64".to_owned(),
            parameters: vec![
                parameter("x", "double", "f64", false),
                result,
                parameter("both", "double *", "f64", true),
            ],
            file,
            unit: String::new(),
            line: 2,
            is_static,
            callbacks: Vec::new(),
            callback_parameters: Vec::new(),
            decoding: None,
            layouts: Vec::new(),
            result_layout: None,
            makers: Vec::new(),
            calls: 0,
            globals: Vec::new(),
            inputs: Vec::new(),
        };
        let args = vec![
            literal::arg("x", "double", Kind::F64, 3.0f64.to_bits()),
            literal::arg("both", "double", Kind::F64, 0),
        ];
        let mut report = small("half", signature, args);
        report.branches.total = 4;
        let source = if is_static { source.replace("double half", "static double half") } else { source.to_owned() };
        let printed = run_header_command(dir.path(), &report, &source);
        let expected = "half(3.0, &(result_t){0}, &(double){0.0})\n  result = 0x1.8p+0 (1.5)\n  *both = 0x1.8p+1 (3)\n";
        assert!(printed.contains(expected), "static: {is_static}: {printed}");
    }
}

#[test]
fn raised_flags_are_raised_for_the_call_and_cleared_behind_it() {
    let args = |mode| vec![literal::arg("x", "double", Kind::F64, 3.0_f64.to_bits()), literal::rounding(mode)];
    let statements = |mode| environment(&args(mode)).map(|e| (e.set, e.restore));
    let both = |set: &str, restore: &str| Some((set.to_owned(), restore.to_owned()));
    assert_eq!(statements(0), None);
    assert_eq!(statements(1), both("fesetround(FE_UPWARD);", "fesetround(FE_TONEAREST);"));
    assert_eq!(statements(4), both("feraiseexcept(FE_ALL_EXCEPT);", "feclearexcept(FE_ALL_EXCEPT);"));
    let (set, restore) = statements(6).expect("neither is the default");
    assert_eq!(set, "fesetround(FE_DOWNWARD); feraiseexcept(FE_ALL_EXCEPT);");
    assert_eq!(restore, "fesetround(FE_TONEAREST); feclearexcept(FE_ALL_EXCEPT);");
}

#[test]
fn a_directed_rounding_mode_holds_for_the_call_and_not_for_the_printing() {
    let dir = tempfile::tempdir().unwrap();
    let signature = Signature {
        symbol: "inverse".to_owned(),
        result: "double".to_owned(),
        result_kind: "f64".to_owned(),
        parameters: vec![parameter("x", "double", "f64", false)],
        file: dir.path().join("i.c").to_string_lossy().into_owned(),
        is_static: true,
        ..Signature::default()
    };
    let args = |mode| vec![literal::arg("x", "double", Kind::F64, 3.0_f64.to_bits()), literal::rounding(mode)];
    let mut report = small("inverse", signature, args(1));
    report.tests.push(Test { file: "queue/id:000001".to_owned(), args: args(0), ..Test::default() });
    for is_static in [true, false] {
        report.signature.is_static = is_static;
        let source = "double inverse(double x) { return 1 / x; }\n";
        let source = if is_static { format!("static {source}") } else { source.to_owned() };
        let printed = run_header_command(dir.path(), &report, &source);
        // To 17 digits 1/3 rounded up ends in 37 (upward, it would end in 38).
        let upward = "fesetround(FE_UPWARD); inverse(3.0)\n  result = 0x1.5555555555556p-2 (0.33333333333333337)";
        assert!(printed.contains(upward), "static {is_static}: {printed}");
        assert!(printed.contains("inverse(3.0)\n  result = 0x1.5555555555555p-2"), "static {is_static}: {printed}");
    }
}
