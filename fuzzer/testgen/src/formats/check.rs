//! Check. It runs each test in its own process, so exits and signals are separate kinds of tests.

use std::fmt::Write;

use penfuzz_report::{c_text::string, model::Report, test_format::TestFormat};

use super::{
    Format, Library,
    common::{self, Parts, bare_call, expect_with, helpers, returning, title},
};
use crate::{
    cases::{Case, Ending},
    checks::{Check, Kind},
    names::identifier_of,
};

/// The format.
pub static FORMAT: Format = Format {
    format: TestFormat::Check,
    help: "Check, in C",
    is_cxx: false,
    library: Library {
        options: "$(pkg-config --cflags check)",
        source: "",
        libs: "$(pkg-config --libs check)",
        cmake: "find_package(PkgConfig REQUIRED)\npkg_check_modules(CHECK REQUIRED IMPORTED_TARGET check)\n",
        cmake_libs: "PkgConfig::CHECK",
        meson: "test_framework = dependency('check')\n",
    },
    helpers: helpers!(HELPERS, ""),
    program: |report, cases| common::program(report, cases, &PARTS),
};

const HELPERS: &str = expect_with!("ck_abort_msg");

const PARTS: Parts = Parts { includes: "#include <check.h>\n", test, main };

fn integer(check: &Check, expected: &str) -> String {
    let name = if check.kind == Kind::Signed { "int" } else { "uint" };
    format!("ck_assert_{name}_eq({}, {expected});", check.value)
}

fn test(_: &Report, case: &Case) -> String {
    let body = match case.ending {
        Ending::Return => returning(case, integer),
        Ending::Signal { name, must: false } => format!(
            "{}{}    /* A fault of memory is undefined behaviour: another compiler's program may continue. */\n    \
             raise({name});\n",
            case.variables,
            bare_call(case, "    ")
        ),
        // An exit status of 0 is also that of a test that returns.
        _ => format!("{}{}    ck_abort_msg(\"it returned\");\n", case.variables, bare_call(case, "    ")),
    };
    format!("{}START_TEST(test_{})\n{{\n{body}}}\nEND_TEST\n", title(case), case.name)
}

fn main(report: &Report, cases: &[Case]) -> String {
    let name = string(&identifier_of(report));
    let mut tests = String::new();
    for case in cases {
        let (test, added) = (format!("test_{}", case.name), "  tcase_add_");
        let _ = match case.ending {
            Ending::Return => writeln!(tests, "{added}test(tests, {test});"),
            Ending::Exit(status) => writeln!(tests, "{added}exit_test(tests, {test}, {status});"),
            Ending::Signal { name, .. } => writeln!(tests, "{added}test_raise_signal(tests, {test}, {name});"),
        };
    }
    let statements = format!(
        "  Suite *suite = suite_create({name});\n  TCase *tests = tcase_create({name});\n  SRunner *runner;\n  \
         int failed;\n  \
         /* Seconds. */\n  tcase_set_timeout(tests, 60);\n{tests}  suite_add_tcase(suite, tests);\n  runner = \
         srunner_create(suite);\n  srunner_set_fork_status(runner, CK_FORK);\n  srunner_run_all(runner, CK_NORMAL);\n  \
         failed = srunner_ntests_failed(runner);\n  srunner_free(runner);\n  return failed != 0;\n"
    );
    common::main(report, &statements)
}
