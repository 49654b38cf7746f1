//! Floating-point exceptions, boundary values and paths in functions that take structures and arrays.

use std::{fmt::Write, process::Command};

use penfuzz_report::{
    Exception, Find, ResultEvidence,
    exceptions::{Confirmed, Exceptions},
};

use crate::support::Dir;

const SOURCE: &str = "#include <math.h>
struct vec { double a[3]; int n; };
double norm(struct vec *v)
{
  double s = 0;
  if (v->n < 0 || v->n > 3) return -1;
  for (int i = 0; i < v->n; i++) s += v->a[i] * v->a[i];
  v->a[2] = v->a[0] / v->a[1];
  return sqrt(s - 1);
}
double mean(const double *a, int n)
{
  double s = 0;
  for (int i = 0; i < n; i++) s += a[i] * 2;
  if (s > 1e10) return 0;
  return s / n;
}
";

fn exceptions(dir: &Dir, function: &str) -> Exceptions {
    dir.file("v.c", SOURCE);
    let run = dir.penfuzz("exceptions v.c --lib=-lm --seed 1 --max-evals 50000 -o out -f").arg(function).exits(0);
    let found = dir.report("out").exceptions.expect("the report has the exceptions");
    run.expect(found.finds.iter().all(|f| f.confirmed.by != Confirmed::No), "all are confirmed by the hardware");
    found
}

/// Returns the names of the exceptions at an operation on a line.
fn at(finds: &[Find], line: u32, operation: &str) -> Vec<&'static str> {
    let mut all: Vec<_> =
        finds.iter().filter(|f| f.line == line && f.operation == operation).map(|f| f.exception.name()).collect();
    all.sort_unstable();
    all
}

/// Builds and runs a program that calls the function with the arguments of each find, as the report shows them, and
/// checks the flags of the hardware.
fn reproduce(dir: &Dir, function: &str, finds: &[Find]) {
    let mut body = String::new();
    for (i, find) in finds.iter().enumerate() {
        let flag = match find.exception {
            Exception::Overflow => "FE_OVERFLOW",
            Exception::Underflow => "FE_UNDERFLOW",
            Exception::DivideByZero => "FE_DIVBYZERO",
            Exception::Inexact => "FE_INEXACT",
            Exception::Invalid | Exception::Conversion => "FE_INVALID",
            Exception::Subnormal => continue, // no flag
        };
        let (mut variables, mut passed) = (String::new(), Vec::new());
        for arg in &find.args {
            for m in &arg.memory {
                let elements = m.elements.map_or_else(String::new, |n| format!("[{}]", n.max(1)));
                let _ = write!(variables, "{} {}{elements} = {}; ", m.type_name, m.name, m.value);
            }
            passed.push(arg.hex.clone());
        }
        let _ = writeln!(
            body,
            "  {{ {variables}feclearexcept(FE_ALL_EXCEPT); volatile double r = {function}({}); (void)r; if \
             (!fetestexcept({flag})) return {}; }}",
            passed.join(", "),
            i + 1
        );
    }
    dir.file("main.c", format!("#include <fenv.h>\n#include \"v.c\"\nint main(void)\n{{\n{body}  return 0;\n}}\n"));
    dir.other(Command::new("gcc").args(["-O0", "-frounding-math", "main.c", "-lm", "-o", "main"]));
    dir.other(&mut Command::new("./main"));
}

#[test]
fn exceptions_of_a_structure() {
    let dir = Dir::new();
    let found = exceptions(&dir, "norm");
    let division = ["divide-by-zero", "invalid", "overflow", "underflow"];
    assert_eq!(at(&found.finds, 8, "/"), division, "{:#?}", found.finds);
    assert_eq!(at(&found.finds, 9, "sqrt"), ["invalid"]);
    assert_eq!(at(&found.finds, 7, "*"), ["overflow", "underflow"]);
    let divided = |f: &&Find| f.operation == "/" && f.exception == Exception::DivideByZero;
    let by_zero = found.finds.iter().find(divided).expect("a division by zero");
    let is_shown = by_zero.output.iter().any(|o| o.name == "v->a[2]" && o.decimal.contains("inf"));
    assert!(is_shown && matches!(by_zero.shown, ResultEvidence::Value { .. }), "{by_zero:#?}");
    reproduce(&dir, "norm", &found.finds);
}

#[test]
fn exceptions_of_an_array() {
    let dir = Dir::new();
    let found = exceptions(&dir, "mean");
    assert_eq!(
        at(&found.finds, 16, "/").first(),
        Some(&"invalid"),
        "0 / 0 of an array without elements: {:#?}",
        found.finds
    );
    assert!(at(&found.finds, 14, "*").contains(&"overflow"), "{:#?}", found.finds);
    reproduce(&dir, "mean", &found.finds);
}

#[test]
fn boundary_values_of_an_array() {
    let dir = Dir::new();
    dir.file("v.c", SOURCE);
    let run = dir.penfuzz("boundary v.c -f mean --seed 1 --max-evals 100000 -o out --lib=-lm").exits(0);
    run.expect(run.stdout.contains("10000000000.0 > 10000000000.0: false"), "the sum is exactly the bound");
    run.expect(run.stdout.contains("equal  mean({"), "shown with its elements");
}

#[test]
fn a_path_through_a_loop_over_an_array() {
    let dir = Dir::new();
    dir.file("v.c", SOURCE);
    let run = dir.penfuzz("reach v.c -f mean --seed 1 -o out --lib=-lm --path 14:T^3,14:F,15:T").exits(0);
    run.expect(run.stdout.contains("14:T^3,14:F,15:T"), "the path");
    let text = String::from_utf8(dir.files("out")["test_mean.c"].clone()).expect("a text");
    assert!(text.contains("double in1_a[3] = {"), "{text}");
}
