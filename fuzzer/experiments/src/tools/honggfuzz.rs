//! honggfuzz in persistent mode (`docs/PersistentFuzzing.md`).
//!
//! Its compiler wrapper hfuzz-cc is clang with the flags below; the installed package lacks it. It has no option for a
//! seed, so no trial can be repeated exactly.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use penfuzz_error::Error;

use super::{
    super::{corpus::Stamped, subject::Subject, toolchain::Toolchain},
    Built, How, Tool, Work, files, place,
};

/// honggfuzz with its defaults.
#[derive(Debug)]
pub struct Honggfuzz;

/// hfuzz-cc's flags for code to be tested.
const INSTRUMENT: [&str; 7] = [
    "-fsanitize-coverage=trace-pc-guard,trace-cmp,trace-div,indirect-calls",
    "-mllvm",
    "-sanitizer-coverage-prune-blocks=1",
    "-fno-inline",
    "-fno-builtin",
    "-fno-omit-frame-pointer",
    "-D__NO_STRING_INLINES",
];

/// Functions whose operands its runtime observes: those that hfuzz-cc wraps, except for functions of certain libraries.
const WRAPPED: [&str; 10] =
    ["strcmp", "strcasecmp", "strncmp", "strncasecmp", "strstr", "strcasestr", "memcmp", "bcmp", "memmem", "strcpy"];

/// Symbols of the runtime that must be requested explicitly, as hfuzz-cc does.
const PULLED: [&str; 2] = ["LIBHFUZZ_module_instrument", "LIBHFUZZ_module_memorycmp"];

/// Its libraries, in the order of the link.
const LIBRARIES: [&str; 2] = ["libhfuzz.a", "libhfcommon.a"];

/// One thread, persistent mode, one second for a call, lines instead of a screen.
const OPTIONS: [&str; 6] = ["-n", "1", "-P", "-t", "1", "-v"];

impl Tool for Honggfuzz {
    fn name(&self) -> &'static str {
        "honggfuzz"
    }

    fn what(&self) -> &'static str {
        "honggfuzz"
    }

    fn version(&self) -> Result<String, String> {
        let program = place::find("honggfuzz").ok_or(place::MISSING)?;
        libraries(&program).ok_or(place::MISSING)?;
        let version = place::first_line(Command::new(&program).arg("--version"));
        let clang = place::clang().map_err(|e| e.to_string())?;
        Ok(format!("{version}, {}", clang.version))
    }

    fn how(&self) -> How {
        How {
            build: format!(
                "clang -O0 {} -c function.c; clang {} function.o harness.o {} -pthread -ldl -lrt -o TARGET",
                INSTRUMENT.join(" "),
                link_flags().join(" "),
                LIBRARIES.join(" ")
            ),
            run: format!(
                "honggfuzz -i CORPUS --output FOUND -W OUT --crashdir crashes -F SIZE {} --statsfile stats -- TARGET \
                 (it has no seed)",
                OPTIONS.join(" ")
            ),
        }
    }

    fn build(&self, subject: &Subject, cache: &Path) -> Result<Built, Error> {
        let missing = || Error::new(place::MISSING);
        let libraries = libraries(&place::find("honggfuzz").ok_or_else(missing)?).ok_or_else(missing)?;
        let mut compiler = place::clang()?;
        let plain = compiler.clone();
        // Another version of the runtime results in other programs.
        compiler.version.push_str(&self.version().map_err(Error::new)?);
        let mut link = link_flags();
        link.extend(libraries.iter().map(|l| l.to_string_lossy().into_owned()));
        link.extend(["-pthread", "-ldl", "-lrt"].map(str::to_owned));
        let instrument = INSTRUMENT.map(str::to_owned).to_vec();
        Toolchain { compiler, plain, instrument, link }.build(subject, cache)
    }

    fn command(&self, work: &Work) -> Command {
        let (found, crashes) = (found(work), crashes(work));
        for directory in [&found, &crashes] {
            // honggfuzz itself reports a missing directory.
            let _ = fs::create_dir_all(directory);
        }
        let mut command = Command::new(place::find("honggfuzz").unwrap_or_else(|| "honggfuzz".into()));
        command.arg("-i").arg(if work.restarts == 0 { work.seeds } else { &found });
        command.arg("--output").arg(&found).arg("-W").arg(work.directory).arg("--crashdir").arg(crashes);
        command.args(OPTIONS).arg("--statsfile").arg(stats(work, work.restarts));
        if let Some(size) = work.subject.input_size() {
            command.arg("-F").arg(size.max(1).to_string());
        }
        if let Some(left) = work.budget.evaluations {
            command.arg("-N").arg(left.to_string());
        }
        command.arg("--").args(work.built.programs.first());
        command
    }

    fn corpus(&self, work: &Work) -> io::Result<Vec<Stamped>> {
        files::dated(work, &found(work), &crashes(work), "SIG")
    }

    fn evaluations(&self, work: &Work) -> Option<u64> {
        executions(&files::log(work), |start| fs::read_to_string(stats(work, start)).ok())
    }
}

/// The directory of its corpus.
fn found(work: &Work) -> PathBuf {
    work.directory.join("found")
}

/// The directory of crashing inputs.
fn crashes(work: &Work) -> PathBuf {
    work.directory.join("crashes")
}

/// The file of statistics, which honggfuzz truncates at each start.
fn stats(work: &Work, start: u32) -> PathBuf {
    work.directory.join(format!("stats-{start}"))
}

fn link_flags() -> Vec<String> {
    let wrapped = WRAPPED.iter().map(|name| format!("-Wl,--wrap={name}"));
    wrapped.chain(PULLED.iter().map(|name| format!("-Wl,-u,{name}"))).collect()
}

/// Returns the runtime, which is in `lib` next to the program's `bin`.
fn libraries(program: &Path) -> Option<[PathBuf; 2]> {
    let lib = program.parent()?.parent()?.join("lib/honggfuzz");
    let all = LIBRARIES.map(|name| lib.join(name));
    all.iter().all(|library| library.is_file()).then_some(all)
}

/// Returns the calls of all starts: each start's count at its end, or else the last line of its statistics.
fn executions(log: &str, stats: impl Fn(u32) -> Option<String>) -> Option<u64> {
    let parts = files::starts(log, |line| line.starts_with("Start time:"));
    let of = |(start, part): (u32, &&str)| {
        let summary = part.lines().find_map(|line| line.strip_prefix("Summary iterations:"));
        let summary = summary.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        summary.or_else(|| total(&stats(start)?))
    };
    (0..).zip(&parts).map(of).reduce(|sum, n| Some(sum.unwrap_or(0) + n.unwrap_or(0)))?
}

/// Returns the third column of the last line: `unix_time, last_cov_update, total_exec, …`.
fn total(stats: &str) -> Option<u64> {
    stats.lines().last()?.split(", ").nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDED: &str = "Start time:'2026-01-01.15.49.17' bin:'./t', input:'s'\nSz:8 Tm:21us New:0/0\n\
        Summary iterations:174341 time:3 speed:58113 crashes_count:0\n";
    const KILLED: &str = "Start time:'2026-01-01.15.50.17' bin:'./t', input:'s'\nSz:8 Tm:21us New:0/0\n";
    const STATS: &str = "# unix_time, last_cov_update, total_exec, exec_per_sec, crashes\n\
        1795276157, 1795276157, 24, 0, 0\n1795276159, 1795276159, 134123, 67061, 0\n";

    #[test]
    fn the_summary_has_the_exact_count() {
        assert_eq!(executions(ENDED, |_| Some(STATS.to_owned())), Some(174_341));
    }

    #[test]
    fn without_a_summary_the_statistics_have_the_count() {
        assert_eq!(executions(KILLED, |_| Some(STATS.to_owned())), Some(134_123));
    }

    #[test]
    fn each_start_has_its_own_statistics() {
        let stats = |start| (start == 1).then(|| STATS.to_owned());
        assert_eq!(executions(&format!("{ENDED}{KILLED}"), stats), Some(174_341 + 134_123));
    }

    #[test]
    fn statistics_without_a_line_have_no_count() {
        assert_eq!(total("# unix_time, last_cov_update, total_exec, exec_per_sec\n"), None);
    }
}
