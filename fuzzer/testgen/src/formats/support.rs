//! The header of helpers beside the emitted tests. It depends on the format only, so all tests of a directory share it.

use std::fmt::Write;

use penfuzz_report::test_format::TestFormat;

use super::{super::cases::Case, FORMATS, Format, has_children};
use crate::cases::Ending;

/// The helpers of a format.
#[derive(Debug, Default)]
pub struct Helpers {
    /// Comparisons and checks, and the framework's macro.
    pub checks: &'static [&'static str],
    /// Functions that run a call in a child process.
    pub children: &'static str,
    /// An `_exit` that writes gcov's counts.
    pub exits: &'static str,
    /// Functions that check the type of a thrown exception.
    pub throws: &'static str,
}

/// The headers of the functions for child processes.
const CHILDREN: &str = "#include <signal.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\n";

/// The headers of the functions for exceptions.
const THROWS: &str = "#include <cxxabi.h>\n#include <string.h>\n#include <typeinfo>\n";

const HEAD: &str = "\
/* Helpers of the tests beside this file: they compare floats, and show how values differ. Emitted by penfuzz. */
#ifndef PENFUZZ_TEST_H
#define PENFUZZ_TEST_H

#include <stdio.h>

/* The greatest distance of a float from the expected one, in floats. */
#ifndef PENFUZZ_ULP
#define PENFUZZ_ULP 0ULL
#endif
";

/// The name of the header.
pub fn file(format: TestFormat) -> String {
    format!("penfuzz_{}.h", if format.is_plain() { "test" } else { format.name() })
}

/// The names of the headers of all formats.
pub fn possible_files() -> impl Iterator<Item = String> {
    FORMATS.iter().map(|format| file(format.format))
}

/// The text of the header.
pub fn text(format: &Format) -> String {
    let helpers = &format.helpers;
    let mut out = HEAD.to_owned();
    for text in helpers.checks {
        let _ = write!(out, "\n{}\n", text.trim_matches('\n'));
    }
    let optional = [
        ("CHILDREN", CHILDREN, helpers.children),
        ("EXITS", "#include <sys/syscall.h>\n", helpers.exits),
        ("THROWS", THROWS, helpers.throws),
    ];
    for (name, headers, text) in optional.iter().filter(|(_, _, text)| !text.is_empty()) {
        let _ = write!(out, "\n#ifdef PENFUZZ_{name}\n{headers}\n{}\n#endif\n", text.trim_matches('\n'));
    }
    out + "\n#endif\n"
}

/// The lines of a program that include the header with what its tests need.
pub fn including(format: &Format, ulp: u64, cases: &[Case]) -> String {
    let mut out = String::new();
    if ulp != 0 {
        let _ = writeln!(out, "#define PENFUZZ_ULP {ulp}ULL");
    }
    let helpers = &format.helpers;
    let needed = [
        ("CHILDREN", helpers.children, has_children(cases)),
        ("EXITS", helpers.exits, cases.iter().any(|c| matches!(c.ending, Ending::Exit(_)))),
        ("THROWS", helpers.throws, cases.iter().any(|c| c.throws.is_some())),
    ];
    for (name, text, is_needed) in needed {
        if is_needed && !text.is_empty() {
            let _ = writeln!(out, "#define PENFUZZ_{name}");
        }
    }
    let _ = writeln!(out, "#include \"{}\"", file(format.format));
    out
}
