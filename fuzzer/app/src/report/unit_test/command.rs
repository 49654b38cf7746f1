//! The command that builds and runs the program, for the comment at its head.

use std::path::{Path, PathBuf};

use super::{coverage_options, file_name, includes_source};
use crate::{
    files::foreign,
    report::{
        c_text::{identifier, is_cxx, is_source},
        format::shell_word,
        model::Report,
    },
};

/// `gcc … && ./test_f && gcov …`. The program is compiled apart from the sources, so that flags meant for these (include
/// directories above all) do not reach it, and it does not show up in gcov's count.
pub(super) fn command_line(report: &Report) -> String {
    let file = file_name(report);
    let program = format!("test_{}", identifier(&report.function));
    let own = absolute(&report.signature.file);
    let mut sources: Vec<PathBuf> = report.sources.iter().map(|s| absolute(s)).filter(|s| is_source(s)).collect();
    if sources.is_empty() && is_source(&own) {
        sources.push(own.clone());
    }
    let mut libs = report.libs.clone();
    if sources.iter().any(|s| is_cxx(s)) {
        libs.push("-lstdc++".to_owned());
    }
    libs.push("-lm".to_owned());
    let (before, first) = if includes_source(report) {
        sources.retain(|s| !same_file(s, &own));
        (String::new(), file)
    } else {
        (format!("gcc -O0 -c {file} && "), format!("{program}.o"))
    };
    let mut words: Vec<_> = report.flags.iter().map(|f| shell_word(f)).collect();
    if sources.iter().any(|s| defines_main(s)) {
        words.push("-Dmain=program_main".to_owned());
    }
    words.extend(["-O0".to_owned(), "--coverage".to_owned()]);
    words.extend(coverage_options(report).iter().map(|o| (*o).to_owned()));
    words.push(first);
    words.extend(sources.iter().map(|s| shell_word(&s.to_string_lossy())));
    words.extend(libs.iter().map(|l| shell_word(l)));
    format!("{before}gcc {} -o {program} && ./{program} && gcov -b *.gcda", words.join(" "))
}

/// The path from the root: the program may be compiled in another directory than the target was.
pub(super) fn absolute(path: &str) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path))
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Bytes of a source file that are read at most. The name may be a stranger's, as all of a report.
const LARGEST: u64 = 1 << 25;

/// Does the file seem to define `main`? A wrong yes does no harm: the name is changed everywhere.
#[must_use]
pub fn defines_main(source: &Path) -> bool {
    let Ok(bytes) = foreign::read(source, LARGEST) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    text.match_indices("main").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        text[at + 4..].trim_start().starts_with('(') && !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}
