//! The tests of a specification as a C program that checks an implementation.

use std::fmt::Write as _;

use penfuzz_report::c_text::{comment, identifier, string};

use super::{Answer, Specification, suite::Expectation};

/// The part of the program that is the same for all specifications.
const CHECK: &str = r#"
struct fault {
  double low, high; /* what an implementation with this fault may return */
  const char *change;
};

#define KNOWN(faults) faults, (int)(sizeof faults / sizeof *faults)

static int failures;

static void check(int number, const char *call, double result, double low, double high, const struct fault *faults,
                  int n_faults)
{
  int shown = 0;
  if (result >= low && result <= high) return;
  failures++;
  printf("FAILED %d: %s = %.17g, allowed are %.17g to %.17g\n", number, call, result, low, high);
  for (int i = 0; i < n_faults && shown < 3; i++) {
    if (!(result >= faults[i].low && result <= faults[i].high)) continue;
    printf("  as if %s\n", faults[i].change);
    shown++;
  }
}

#if OUTSIDE
static void check_outside(int number, const char *call, double result)
{
  if (result != result) return;
  failures++;
  printf("FAILED %d: %s = %.17g, outside of the domain\n", number, call, result);
}
#endif
"#;

/// Returns a C program (C99) that calls a function at the points of `answer` and checks its results. The function has
/// the name `implementation`, or that of the specification. Returns the name of the program's file as well.
#[must_use]
pub fn program(specification: &Specification, answer: &Answer, implementation: Option<&str>) -> (String, String) {
    let name = name_of(specification);
    let called = implementation.unwrap_or(&name);
    let file = format!("test_{name}.c");
    let type_name = if specification.is_single { "float" } else { "double" };
    let domain: Vec<_> =
        specification.variables.iter().map(|(v, low, high)| format!("{low} <= {v} <= {high}")).collect();
    let parameters: Vec<_> =
        specification.variables.iter().map(|(v, ..)| format!("{type_name} {}", identifier(v))).collect();
    let mut text = format!(
        "/* Tests of an implementation of {}, emitted by penfuzz: a result is f(x)(1 + e) with |e| <= {:e},\n \
         * where {}.\n *\n \
         *   cc -O2 {file} IMPLEMENTATION.c -lm -o test_{name} && ./test_{name}\n *\n \
         * -DIMPLEMENTATION=NAME checks another function than {called}; -DOUTSIDE=1 expects NaN outside of it.\n \
         */\n\
         #include <math.h>\n#include <stdio.h>\n\n\
         #ifndef IMPLEMENTATION\n#define IMPLEMENTATION {called}\n#endif\n\
         #ifndef OUTSIDE\n#define OUTSIDE 0\n#endif\n\n\
         extern {type_name} IMPLEMENTATION({});\n{CHECK}",
        comment(&specification.name),
        specification.accuracy,
        comment(&domain.join(", ")),
        parameters.join(", "),
    );
    for (i, expected) in answer.suite.iter().enumerate() {
        text += &faults(i + 1, expected);
    }
    text += "\nint main(void)\n{\n";
    for (i, expected) in answer.suite.iter().enumerate() {
        text += &call(i + 1, called, expected);
    }
    let _ = write!(
        text,
        "  printf(\"%d of {} tests failed\\n\", failures);\n  return failures != 0;\n}}\n",
        answer.suite.len()
    );
    (file, text)
}

/// The name of the specification as a C identifier.
fn name_of(specification: &Specification) -> String {
    let name = identifier(&specification.name);
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("f_{name}") }
}

/// The ranges of results that are wrong at a point.
fn faults(number: usize, expected: &Expectation) -> String {
    let known = expected.kills.iter().filter_map(|kill| {
        let (low, high) = kill.results?;
        Some(format!("  {{{}, {}, {}}},\n", literal(low), literal(high), string(&kill.change.replace('→', "->"))))
    });
    let known: String = known.collect();
    if known.is_empty() || expected.allowed.is_none() {
        return String::new();
    }
    format!("\nstatic const struct fault faults_{number}[] = {{\n{known}}};\n")
}

fn call(number: usize, called: &str, expected: &Expectation) -> String {
    let arguments: Vec<_> = expected.point.iter().map(|x| literal(*x)).collect();
    let arguments = arguments.join(", ");
    let shown = string(&format!("{called}({arguments})"));
    let call = format!("{number}, {shown}, IMPLEMENTATION({arguments})");
    let Some((low, high)) = expected.allowed else {
        return format!("#if OUTSIDE\n  check_outside({call});\n#endif\n");
    };
    let range = format!("{}, {}", literal(low), literal(high));
    let is_known = expected.kills.iter().any(|kill| kill.results.is_some());
    if is_known {
        format!("  check({call}, {range}, KNOWN(faults_{number}));\n")
    } else {
        format!("  check({call}, {range}, 0, 0);\n")
    }
}

/// A decimal number that C reads as the same number.
fn literal(x: f64) -> String {
    match x {
        f64::INFINITY => "HUGE_VAL".to_owned(),
        f64::NEG_INFINITY => "-HUGE_VAL".to_owned(),
        x => format!("{x:?}"),
    }
}
