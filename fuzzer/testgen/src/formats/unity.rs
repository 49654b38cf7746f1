//! Unity of `ThrowTheSwitch`. It is compiled from its source; the environment variable `UNITY` names the directory.

use penfuzz_report::{model::Report, test_format::TestFormat};

use super::{
    Format, Library,
    common::{self, CHILD, Parts, body, helpers, title},
};
use crate::{
    cases::Case,
    checks::{Check, Kind},
};

/// The format.
pub static FORMAT: Format = Format {
    format: TestFormat::Unity,
    help: "Unity, in C; the environment variable UNITY is the directory of unity.c",
    is_cxx: false,
    library: Library {
        options: "-I\"$UNITY\"",
        source: "\"$UNITY\"/unity.c",
        libs: "",
        cmake: "if(NOT TARGET unity)\n  add_library(unity STATIC \"$ENV{UNITY}/unity.c\")\n  \
                target_include_directories(unity PUBLIC \"$ENV{UNITY}\")\nendif()\n",
        cmake_libs: "unity",
        meson: "unity_directory = run_command('printenv', 'UNITY', check: true).stdout().strip()\n\
                test_framework = declare_dependency(sources: unity_directory / 'unity.c', compile_args: '-I' + \
                unity_directory)\n",
    },
    helpers: helpers!(HELPERS, CHILD),
    program: |report, cases| common::program(report, cases, &PARTS),
};

const HELPERS: &str = "
#define PENFUZZ_EXPECT(difference) \\
  do { \\
    const char *penfuzz_difference = (difference); \\
    if (penfuzz_difference) TEST_FAIL_MESSAGE(penfuzz_difference); \\
  } while (0)
";

const PARTS: Parts = Parts { includes: "#include <unity.h>\n", test, main };

fn integer(check: &Check, expected: &str) -> String {
    let name = if check.kind == Kind::Signed { "INT64" } else { "UINT64" };
    format!("TEST_ASSERT_EQUAL_{name}_MESSAGE({expected}, {}, {});", check.value, check.label.expression())
}

fn test(_: &Report, case: &Case) -> String {
    format!("{}static void test_{}(void)\n{{\n{}}}\n", title(case), case.name, body(case, integer))
}

fn main(report: &Report, cases: &[Case]) -> String {
    let runs: String = cases.iter().flat_map(|c| ["  RUN_TEST(test_", &c.name, ");\n"]).collect();
    let hooks = "\nvoid setUp(void)\n{\n}\n\nvoid tearDown(void)\n{\n}\n";
    hooks.to_owned() + &common::main(report, &format!("  UNITY_BEGIN();\n{runs}  return UNITY_END();\n"))
}
