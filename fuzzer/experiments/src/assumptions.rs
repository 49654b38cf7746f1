//! Assumptions about arguments, for tools that are not compiled by pen-cc.
//!
//! For other compilers, `PEN_ASSUME(e)` of `penfuzz.h` is empty. If a source uses it, or its suite has `assume`, all
//! tools and the referee compile the source so that it is evaluated, and calls [`REJECT`] if it does not hold. The
//! [harness](super::harness) then leaves the call and rejects the input, as penfuzz does, and the referee discards the
//! branches of the call. The branches of the assumptions themselves do not belong to the function.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_report::Report;
use penfuzz_suite::{Suite, config::TargetSpec};
use penfuzz_target::hash;

/// The function that a source calls when an assumption does not hold; `penfuzz.h` declares it if [`DEFINE`] is given.
pub const REJECT: &str = "penfuzz_reject";

/// The option that makes `penfuzz.h` evaluate assumptions without pen-cc.
pub const DEFINE: &str = "-DPENFUZZ_HARNESS";

/// The name of the macro.
const MACRO: &str = "PEN_ASSUME";

/// The source of a function with its assumptions, and how to compile it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assumed {
    /// The source, including the assumptions of the suite.
    pub file: PathBuf,
    /// Additional flags for the compilers.
    pub flags: Vec<String>,
    /// The lines of its assumptions.
    pub lines: BTreeSet<u32>,
}

/// Returns whether the harness has to leave the call when an assumption does not hold.
#[must_use]
pub fn are_in(report: &Report) -> bool {
    report.flags.iter().any(|flag| flag == DEFINE)
}

/// Returns the assumptions about a function; `None` if there are none. If the suite has some, a source that includes
/// them is written below `cache`.
///
/// # Errors
/// The source cannot be read, no definition of the function is found in it, or the directory cannot be written.
pub fn of(suite: &Suite, spec: &TargetSpec, report: &Report, cache: &Path) -> Result<Option<Assumed>> {
    let own = suite.file_of(spec);
    let text = fs::read(&own).context(|| format!("cannot read {}", own.display()))?;
    let text = String::from_utf8_lossy(&text);
    let support = || suite.support_of(spec).into_iter().filter_map(|f| fs::read(f).ok());
    let has_macro = |text: &[u8]| text.windows(MACRO.len()).any(|part| part == MACRO.as_bytes());
    if spec.assume.is_empty() && !has_macro(text.as_bytes()) && !support().any(|text| has_macro(&text)) {
        return Ok(None);
    }
    let directory = penfuzz_cc::include_directory().context(|| "penfuzz.h cannot be written".to_owned())?;
    let mut flags = vec![DEFINE.to_owned(), "-idirafter".to_owned(), directory.display().to_string()];
    if spec.assume.is_empty() {
        return Ok(Some(Assumed { file: own, flags, lines: lines(&text) }));
    }
    let Some(changed) = penfuzz_cc::with_assumptions(&text, &report.function, &spec.assume) else {
        bail!("its source has no definition to which the assumptions could be added")
    };
    let name = own.file_name().unwrap_or_default();
    let directory = cache.join("assumed").join(format!("{:016x}", hash::of_bytes(changed.as_bytes())));
    let file = directory.join(name);
    fs::create_dir_all(&directory)
        .and_then(
            |()| if file.is_file() { Ok(()) } else { penfuzz_system::files::atomic::write(&file, changed.as_bytes()) },
        )
        .context(|| format!("cannot write {}", file.display()))?;
    let beside = own.parent().unwrap_or(Path::new(".")).display().to_string();
    flags.extend(["-iquote".to_owned(), beside, "-include".to_owned(), "penfuzz.h".to_owned()]);
    Ok(Some(Assumed { file, flags, lines: lines(&changed) }))
}

/// Returns the lines of the text that belong to an assumption with its arguments.
fn lines(text: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices(MACRO) {
        let mut depth = 0;
        let mut line = 1 + text[..at].matches('\n').count() as u32;
        found.insert(line);
        for c in text[at + MACRO.len()..].chars() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                '\n' => line += 1,
                c if depth == 0 && !c.is_whitespace() => break,
                _ => {}
            }
            if c == ')' && depth <= 0 {
                break;
            }
            found.insert(line);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assumption_has_the_lines_of_its_parentheses() {
        let text = "int f(int a)\n{\n  PEN_ASSUME(a > 0 &&\n    (a < 7));\n  if (a == 2)\n    return 1;\n  \
                    PEN_ASSUME(a);\n}\n";
        assert_eq!(lines(text), BTreeSet::from([3, 4, 7]));
        assert_eq!(lines("#define X PEN_ASSUME"), BTreeSet::from([1]));
        assert_eq!(lines("PEN_ASSUME(("), BTreeSet::from([1]));
        assert!(lines("int f(void) {}").is_empty());
    }
}
