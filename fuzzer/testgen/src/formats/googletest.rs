//! `GoogleTest`. A test that ends the process is a death test in a separate suite, as `GoogleTest` recommends.

use penfuzz_report::{model::Report, test_format::TestFormat};

use super::{
    Format, Library,
    common::{self, Parts, bare_call, helpers, returning, title},
};
use crate::{
    cases::{Case, Ending},
    checks::Check,
    streams::entry,
};

/// The format.
pub static FORMAT: Format = Format {
    format: TestFormat::GoogleTest,
    help: "GoogleTest, in C++",
    is_cxx: true,
    library: Library {
        options: "-pthread",
        source: "",
        libs: "-lgtest_main -lgtest -pthread",
        cmake: "find_package(GTest REQUIRED)\n",
        cmake_libs: "GTest::gtest_main",
        meson: "test_framework = dependency('gtest', main: true)\n",
    },
    helpers: helpers!(HELPERS, CHILDREN),
    program: |report, cases| common::program(report, cases, &PARTS),
};

const HELPERS: &str = "
#define PENFUZZ_EXPECT(difference) EXPECT_PRED_FORMAT1(penfuzz_is_none, difference)

PENFUZZ_HELPER ::testing::AssertionResult penfuzz_is_none(const char *, const char *difference)
{
  return difference ? ::testing::AssertionFailure() << difference : ::testing::AssertionSuccess();
}
";

const CHILDREN: &str = "
/* A fault of memory is undefined behaviour: another compiler's program may continue, and is then ended by SIGKILL. */
struct penfuzz_fault {
  int signal;
  bool operator()(int status) const
  {
    return WIFSIGNALED(status) && (WTERMSIG(status) == signal || WTERMSIG(status) == SIGKILL);
  }
};

/* In a child: ends it after the last check. */
PENFUZZ_HELPER void penfuzz_end_child()
{
  fflush(NULL);
  _Exit(::testing::Test::HasFailure());
}
";

const PARTS: Parts = Parts { includes: "#include <gtest/gtest.h>\n", test, main: |report, _| main(report) };

/// The `main` of a whole program's tests, which cannot use the `main` of the library because the program has its own.
fn main(report: &Report) -> String {
    if !report.is_program() {
        return String::new();
    }
    let head = entry(report, "int argc, char **argv");
    format!("\n{head}\n{{\n  ::testing::InitGoogleTest(&argc, argv);\n  return RUN_ALL_TESTS();\n}}\n")
}

fn integer(check: &Check, expected: &str) -> String {
    format!("EXPECT_EQ({}, {expected});", check.value)
}

fn test(report: &Report, case: &Case) -> String {
    let suite = crate::names::identifier_of(report);
    let (title, name) = (title(case), &case.name);
    if case.own_process {
        return format!(
            "static void {name}()\n{{\n{}    penfuzz_end_child();\n}}\n\n{title}TEST({suite}DeathTest, test_{name})\n\
             {{\n    \
             EXPECT_EXIT({name}(), ::testing::ExitedWithCode(0), \"\");\n}}\n",
            returning(case, integer)
        );
    }
    let (predicate, raised) = match case.ending {
        Ending::Return => {
            return format!("{title}TEST({suite}, {name})\n{{\n{}}}\n", returning(case, integer));
        }
        Ending::Exit(status) => (format!("::testing::ExitedWithCode({status})"), ""),
        Ending::Signal { name, must: true } => (format!("::testing::KilledBySignal({name})"), ""),
        Ending::Signal { name, must: false } => (format!("penfuzz_fault{{{name}}}"), "        raise(SIGKILL);\n"),
    };
    if case.runs_whole_in_child() {
        let bare: String = case.steps.iter().map(|step| step.bare(case.environment.as_ref())).collect();
        let (call, raised) = (bare_call(case, "    "), raised.trim_start());
        return format!(
            "static void {name}()\n{{\n{bare}{}{call}    {raised}\n}}\n\n{title}TEST({suite}DeathTest, test_{name})\n\
             {{\n    \
             EXPECT_EXIT({name}(), {predicate}, \"\");\n}}\n",
            case.variables
        );
    }
    let call = bare_call(case, "        ");
    format!(
        "{title}TEST({suite}DeathTest, {name})\n{{\n{}    EXPECT_EXIT(\n      {{\n{call}{raised}      }},\n      \
         {predicate}, \"\");\n}}\n",
        case.variables
    )
}
