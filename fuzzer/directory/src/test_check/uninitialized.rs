//! Names the variables that a function reads before it writes them, for a report with tests that depend on them.
//!
//! That some variable is read was found by runs with different contents of uninitialized memory. Which one it is, gcc
//! says: its warnings at -O2 follow values through inlined calls. What gcc does not see has no name.

use std::{process::Command, time::Duration};

use penfuzz_report::{Report, test_check::UninitializedVariable};
use penfuzz_system::process::run;
use penfuzz_target::program::names::is_name_of;

/// Longest time for the compiler.
const LONGEST: Duration = Duration::from_secs(10);

/// The variables of the functions in the report, in the order of the warnings.
pub fn variables(report: &Report, left: Duration) -> Vec<UninitializedVariable> {
    let source = report.signature.source();
    let own = report.compilations.iter().find(|c| c.source == source);
    let flags = own.map_or(&report.flags, |c| &c.flags);
    let mut command = Command::new("gcc");
    // `-w` turns all warnings off.
    command.env("LC_ALL", "C").args(flags.iter().filter(|flag| *flag != "-w"));
    command.args(["-O2", "-Wuninitialized", "-Wmaybe-uninitialized", "-fdiagnostics-plain-output"]);
    command.args(["-S", "-o", "/dev/null", source]);
    match run::run_compiler(command, left.min(LONGEST)) {
        Ok(ended) => of_warnings(&ended.text, |function| is_of(report, function)),
        Err(_) => Vec::new(),
    }
}

fn is_of(report: &Report, function: &str) -> bool {
    // gcc shows a function of C++ with its types.
    let name = function.split('(').next().unwrap_or(function);
    let name = name.rsplit([' ', ':']).next().unwrap_or(name);
    is_name_of(name, &report.function) || report.sites.iter().any(|site| is_name_of(name, &site.function))
}

/// The variables in gcc's warnings about functions that `is_wanted` accepts.
fn of_warnings(text: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<UninitializedVariable> {
    let mut found: Vec<UninitializedVariable> = Vec::new();
    let mut wanted = false;
    for line in text.lines() {
        // `a.c: In function 'f':`, and after a comma the functions into which it was inlined.
        if let Some((_, function)) = line.split_once(": In ").and_then(|(_, rest)| rest.split_once('\'')) {
            wanted = function.split('\'').next().is_some_and(&is_wanted);
        } else if let Some((_, rest)) = line.split_once("inlined from '") {
            wanted |= rest.split('\'').next().is_some_and(&is_wanted);
        } else if let Some(variable) = variable(line).filter(|_| wanted)
            && !found.iter().any(|known| known.name == variable.name && known.line == variable.line)
        {
            found.push(variable);
        }
    }
    found
}

/// The variable of a warning: `a.c:7:29: warning: 'out' may be used uninitialized`.
fn variable(line: &str) -> Option<UninitializedVariable> {
    let (place, message) = line.split_once(": warning: '")?;
    let (name, rest) = message.split_once('\'')?;
    let is_of_variable = [" may be used uninitialized", " is used uninitialized"].iter().any(|s| rest.starts_with(s));
    let mut parts = place.rsplitn(3, ':');
    let (_, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    let line = line.parse().ok().filter(|_| is_of_variable)?;
    Some(UninitializedVariable { name: name.to_owned(), file: file.to_owned(), line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_inlined_functions_are_found() {
        let text = "a.c: In function 'clip',
    inlined from 'side' at a.c:11:9:
a.c:7:29: warning: 'out' may be used uninitialized [-Wmaybe-uninitialized]
a.c: In function 'side':
a.c:4:17: note: 'out' declared here
a.c:7:29: warning: 'out' may be used uninitialized [-Wmaybe-uninitialized]
a.c:8:1: warning: unused variable 'x' [-Wunused]
a.c: In function 'other':
a.c:20:3: warning: 'y' is used uninitialized [-Wuninitialized]
";
        let out = UninitializedVariable { name: "out".to_owned(), file: "a.c".to_owned(), line: 7 };
        assert_eq!(of_warnings(text, |f| f == "side"), [out]);
        assert_eq!(of_warnings(text, |f| f == "other").len(), 1);
        assert_eq!(of_warnings(text, |_| false), []);
    }
}
