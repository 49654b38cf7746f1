//! libFuzzer, clang's own fuzzer: the same clang that penfuzz compiles with, `-fsanitize=fuzzer`.
//!
//! It ends at the first input that crashes or takes too long. Then it is started again on its corpus with another seed,
//! as its documentation proposes for long runs.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use penfuzz_cc::LLVM_MAJOR;
use penfuzz_directory::object::Compiler;
use penfuzz_error::Error;

use super::{
    super::{corpus::Stamped, subject::Subject, toolchain::Toolchain},
    Built, How, Tool, Work, files, place,
};

/// One way to use libFuzzer.
#[derive(Debug)]
pub struct LibFuzzer {
    name: &'static str,
    what: &'static str,
    /// Additional options.
    options: &'static [&'static str],
}

/// libFuzzer with its defaults.
pub const PLAIN: LibFuzzer = LibFuzzer { name: "libfuzzer", what: "libFuzzer", options: &[] };

/// libFuzzer with the distance of the operands of comparisons as feedback.
pub const VALUE_PROFILE: LibFuzzer =
    LibFuzzer { name: "libfuzzer-vp", what: "libFuzzer with its value profile", options: &["-use_value_profile=1"] };

/// Limit of one second per call, no limit of memory, and the number of calls at the end.
const OPTIONS: [&str; 3] = ["-timeout=1", "-rss_limit_mb=0", "-print_final_stats=1"];

/// After a crash, its runtime would start a symbolizer for the stack trace, which takes longer than thousands of calls.
const QUICK_END: (&str, &str) = ("UBSAN_OPTIONS", "symbolize=0");

/// The largest seed that it reads as a positive number.
const MAX_SEED: u64 = i32::MAX as u64;

impl Tool for LibFuzzer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn what(&self) -> &'static str {
        self.what
    }

    fn version(&self) -> Result<String, String> {
        let clang = place::clang().map_err(|e| e.to_string())?;
        if runtime(&clang).is_some_and(|path| path.is_file()) {
            return Ok(clang.version);
        }
        Err(format!("{} (package libclang-rt-{LLVM_MAJOR}-dev)", place::MISSING))
    }

    fn how(&self) -> How {
        let more: Vec<_> = OPTIONS.iter().chain(self.options).copied().collect();
        How {
            build:
                "clang -O0 -fsanitize=fuzzer-no-link -c function.c; clang -fsanitize=fuzzer function.o harness.o -o \
                    TARGET"
                    .to_owned(),
            run: format!(
                "{}={} TARGET -seed=SEED+1 -max_len=SIZE -len_control=0 {} -artifact_prefix=crashes/ FOUND CORPUS",
                QUICK_END.0,
                QUICK_END.1,
                more.join(" ")
            ),
        }
    }

    fn build(&self, subject: &Subject, cache: &Path) -> Result<Built, Error> {
        let compiler = place::clang()?;
        let instrument = vec!["-fsanitize=fuzzer-no-link".to_owned()];
        let link = vec!["-fsanitize=fuzzer".to_owned()];
        Toolchain { plain: compiler.clone(), compiler, instrument, link }.build(subject, cache)
    }

    fn command(&self, work: &Work) -> Command {
        let (found, crashes, seeds) = (found(work), crashes(work), work.directory.join("seeds"));
        for directory in [&found, &crashes] {
            // libFuzzer itself reports a missing directory.
            let _ = fs::create_dir_all(directory);
        }
        let _ = files::copy_seeds(work, &seeds, &crashing(work));
        let mut command = Command::new(work.built.programs.first().map_or(Path::new("target"), PathBuf::as_path));
        command.env(QUICK_END.0, QUICK_END.1);
        // libFuzzer replaces a seed of 0 by a random one.
        command.arg(format!("-seed={}", 1 + files::seed(work) % MAX_SEED));
        if let Some(size) = work.subject.input_size() {
            command.arg(format!("-max_len={}", size.max(1))).arg("-len_control=0");
        }
        command.args(OPTIONS).args(self.options);
        command.args(work.budget.evaluations.map(|left| format!("-runs={left}")));
        command.arg(format!("-artifact_prefix={}/", crashes.display()));
        command.arg(found).arg(seeds);
        command
    }

    fn corpus(&self, work: &Work) -> io::Result<Vec<Stamped>> {
        files::dated(work, &found(work), &crashes(work), "crash-")
    }

    fn evaluations(&self, work: &Work) -> Option<u64> {
        executions(&files::log(work))
    }
}

/// The directory of the corpus.
fn found(work: &Work) -> PathBuf {
    work.directory.join("found")
}

/// The directory of inputs at which it ended.
fn crashes(work: &Work) -> PathBuf {
    work.directory.join("crashes")
}

/// Returns the inputs at which earlier starts ended.
fn crashing(work: &Work) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    // If a directory cannot be read, the next start reports it.
    let _ = files::add(&mut all, &crashes(work), |_, _| Some(std::time::Duration::ZERO));
    all.into_iter().map(|input| input.bytes).collect()
}

/// Returns the library that a link with `-fsanitize=fuzzer` uses.
fn runtime(clang: &Compiler) -> Option<PathBuf> {
    let mut command = Command::new(&clang.c);
    // Only prints the commands.
    command.args(["-###", "-fsanitize=fuzzer", "-x", "c", "/dev/null"]).stdin(Stdio::null());
    let printed = command.output().ok()?.stderr;
    runtime_in(&String::from_utf8_lossy(&printed))
}

/// Finds the quoted path in the link command that clang prints.
fn runtime_in(shown: &str) -> Option<PathBuf> {
    shown.split('"').find(|word| word.contains("clang_rt.fuzzer")).map(PathBuf::from)
}

/// Returns the calls of all starts: each start's count at its end, or else its last line with a count.
fn executions(log: &str) -> Option<u64> {
    let starts = files::starts(log, |line| line.starts_with("INFO: Seed: "));
    starts.iter().map(|part| in_one_start(part)).reduce(|sum, n| Some(sum.unwrap_or(0) + n.unwrap_or(0)))?
}

fn in_one_start(part: &str) -> Option<u64> {
    let at_end = part.lines().find_map(|l| l.strip_prefix("stat::number_of_executed_units:"));
    let on_the_way = || part.lines().rev().find_map(|line| line.strip_prefix('#')?.split_whitespace().next());
    at_end.map(str::trim).or_else(on_the_way)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRASHED: &str = "INFO: Running with entropic power schedule (0xFF, 100).\nINFO: Seed: 8\n#2\tINITED cov: 3\n\
        #22586\tNEW    cov: 26 ft: 28\n==9== ERROR: libFuzzer: fatal_inputs signal\n\
        stat::number_of_executed_units: 22601\n";
    const KILLED: &str = "INFO: Seed: 1000011\n#2\tINITED cov: 3\n#4194304\tpulse  cov: 26 ft: 28\n";

    #[test]
    fn the_count_at_the_end_is_the_exact_one() {
        assert_eq!(executions(CRASHED), Some(22601));
    }

    #[test]
    fn without_an_end_the_last_count_is_taken() {
        assert_eq!(executions(KILLED), Some(4_194_304));
    }

    #[test]
    fn all_starts_count() {
        assert_eq!(executions(&format!("{CRASHED}{KILLED}")), Some(22601 + 4_194_304));
    }

    #[test]
    fn a_log_without_a_start_has_no_count() {
        assert_eq!(executions("cannot execute\n"), None);
    }

    #[test]
    fn the_runtime_is_found_in_the_link_command() {
        let shown = " \"/usr/bin/ld\" \"-o\" \"a.out\" \"/l/clang/22/lib/linux/libclang_rt.fuzzer-x86_64.a\" \"-lm\"\n";
        assert_eq!(runtime_in(shown), Some("/l/clang/22/lib/linux/libclang_rt.fuzzer-x86_64.a".into()));
    }
}
