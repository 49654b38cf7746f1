//! cmocka.

use penfuzz_report::{model::Report, test_format::TestFormat};

use super::{
    Format, Library,
    common::{self, CHILD, Parts, body, expect_with, helpers, title},
};
use crate::{cases::Case, checks::Check};

/// The format.
pub static FORMAT: Format = Format {
    format: TestFormat::Cmocka,
    help: "cmocka, in C",
    is_cxx: false,
    library: Library {
        options: "",
        source: "",
        libs: "-lcmocka",
        cmake: "find_package(PkgConfig REQUIRED)\npkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)\n",
        cmake_libs: "PkgConfig::CMOCKA",
        meson: "test_framework = dependency('cmocka')\n",
    },
    helpers: helpers!(HELPERS, CHILD),
    program: |report, cases| common::program(report, cases, &PARTS),
};

const HELPERS: &str = expect_with!("fail_msg");

/// cmocka's header needs the other headers before it, and has no `extern "C"`.
const PARTS: Parts = Parts {
    includes: "\
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern \"C\" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif
",
    test,
    main,
};

fn integer(check: &Check, expected: &str) -> String {
    format!("assert_int_equal({}, {expected});", check.value)
}

fn test(_: &Report, case: &Case) -> String {
    format!(
        "{}static void test_{}(void **state)\n{{\n    (void)state;\n{}}}\n",
        title(case),
        case.name,
        body(case, integer)
    )
}

fn main(report: &Report, cases: &[Case]) -> String {
    let tests: String = cases.iter().flat_map(|c| ["    cmocka_unit_test(test_", &c.name, "),\n"]).collect();
    let run = "  return cmocka_run_group_tests(tests, NULL, NULL) != 0;\n";
    common::main(report, &format!("  const struct CMUnitTest tests[] = {{\n{tests}  }};\n{run}"))
}
