//! `rerun.sh`: a shell script that repeats the experiment.

use std::fmt::Write;

use penfuzz_report::format::shell_word;
use penfuzz_system::console::shown;

use crate::model::Experiment;

/// The file's name in the directory of an experiment.
pub const FILE: &str = "rerun.sh";

/// Returns the script. Its optional argument is the new output directory; `$PENFUZZ` is the program if it is not on the
/// search path.
pub fn script(experiment: &Experiment) -> String {
    let mut out = String::from("#!/bin/sh\n# Repeats an experiment: rerun.sh [NEW-DIRECTORY]\n");
    out.push_str("# Run it where the first one was run: names of files are relative to that directory.\n#\n");
    let m = &experiment.machine;
    let mut comment = |text: &str| {
        let _ = writeln!(out, "# {}", shown(text));
    };
    comment("The first one had these versions:");
    comment(&format!("  {}, {}", m.cpu, m.system));
    comment(&format!("  {}", m.gcc));
    for tool in &experiment.tools {
        comment(&match &tool.skipped {
            Some(why) => format!("  {}: skipped: {why}", tool.name),
            None => format!("  {}: {}", tool.name, tool.version),
        });
    }
    let words: Vec<_> = experiment.command.iter().map(|w| shell_word(w)).collect();
    out.push_str(
        "set -eu\n\
         penfuzz=${PENFUZZ:-penfuzz}\n\
         if ! command -v \"$penfuzz\" >/dev/null; then\n    \
         echo \"There is no program $penfuzz; \
         build it with 'cargo build --release' and set PENFUZZ=target/release/penfuzz\" >&2\n    \
         exit 1\n\
         fi\n",
    );
    let _ = writeln!(out, "exec \"$penfuzz\" compare {} -o \"${{1:-penfuzz-compare-again}}\"", words.join(" "));
    out
}
