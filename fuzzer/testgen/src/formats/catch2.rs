//! Catch2, version 2 (one header) or 3 (a library).

use penfuzz_report::{c_text::string, model::Report, test_format::TestFormat};

use super::{
    Format, Library,
    common::{self, CHILD, Parts, body, helpers, title},
};
use crate::{cases::Case, checks::Check, names::identifier_of, streams::entry};

/// The format. In version 2, the header defines `main`; in version 3, a library that pkg-config names.
pub static FORMAT: Format = Format {
    format: TestFormat::Catch2,
    help: "Catch2, in C++",
    is_cxx: true,
    library: Library {
        options: "",
        source: "",
        libs: "$(pkg-config --silence-errors --libs catch2-with-main)",
        cmake: "find_package(Catch2 REQUIRED)\n",
        cmake_libs: "$<IF:$<TARGET_EXISTS:Catch2::Catch2WithMain>,Catch2::Catch2WithMain,Catch2::Catch2>",
        meson: "test_framework = dependency('catch2-with-main', required: false)\n\
                if not test_framework.found()\n  test_framework = dependency('catch2')\nendif\n",
    },
    helpers: helpers!(HELPERS, CHILD),
    program: |report, cases| common::program(report, cases, &PARTS),
};

const HELPERS: &str = "
#define PENFUZZ_EXPECT(difference) CHECK(penfuzz_shown(difference) == \"\")

PENFUZZ_HELPER std::string penfuzz_shown(const char *difference)
{
  return difference ? difference : \"\";
}
";

const PARTS: Parts = Parts {
    includes: "\
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
#ifdef __clang__
/* Catch2's macros use __COUNTER__. */
#pragma clang diagnostic ignored \"-Wunknown-warning-option\"
#pragma clang diagnostic ignored \"-Wc2y-extensions\"
#endif
",
    test,
    main: |report, _| main(report),
};

/// The `main` of a whole program's tests, which cannot use the `main` of the library because the program has its own.
fn main(report: &Report) -> String {
    if !report.is_program() {
        return String::new();
    }
    let head = entry(report, "int argc, char **argv");
    format!("\n{head}\n{{\n  return Catch::Session().run(argc, argv);\n}}\n")
}

fn integer(check: &Check, expected: &str) -> String {
    format!("CHECK({} == {expected});", check.value)
}

fn test(report: &Report, case: &Case) -> String {
    let tag = identifier_of(report);
    format!("{}TEST_CASE({}, \"[{tag}]\")\n{{\n{}}}\n", title(case), string(&case.name), body(case, integer))
}
