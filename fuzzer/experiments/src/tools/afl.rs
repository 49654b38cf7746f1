//! AFL++ in persistent mode, with its driver for libFuzzer's entry point (`utils/aflpp_driver/README.md`).
//!
//! Used as its documentation advises for short campaigns (`docs/fuzzing_in_depth.md`, "CI fuzzing"): compiled by
//! afl-clang-fast, not in LTO mode, and with fast calibration. `CmpLog` has a program of its own, given by `-c`
//! (`instrumentation/README.cmplog.md`); LAF is `AFL_LLVM_LAF_ALL` (`instrumentation/README.laf-intel.md`). The time
//! limit of a call is AFL++'s own, about five times that of the seeds: with a second for every endless loop, little
//! would remain of a short campaign. The level is -O0, and `AFL_DONT_OPTIMIZE` keeps the wrapper from adding -O3. Its
//! passes run at that level, too.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use penfuzz_directory::object::Compiler;
use penfuzz_error::Error;

use super::{
    super::{corpus::Stamped, subject::Subject, toolchain::Toolchain},
    Built, How, Tool, Work, files, place,
};

/// One way to use AFL++.
#[derive(Debug)]
pub struct Afl {
    name: &'static str,
    what: &'static str,
    /// Environment variable of the compiler.
    instrument: Option<&'static str>,
    mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// One program.
    One,
    /// A second program that logs the operands of comparisons.
    CmpLog,
    /// The distance of comparisons is feedback.
    ValueProfile,
}

/// AFL++ with its defaults.
pub const PLAIN: Afl = Afl { name: "afl++", what: "AFL++", instrument: None, mode: Mode::One };

/// AFL++ with input-to-state replacement.
pub const CMPLOG: Afl = Afl { name: "afl++-cmplog", what: "AFL++ with CmpLog", instrument: None, mode: Mode::CmpLog };

/// AFL++ with comparisons split into bytes, including those of floating-point numbers.
pub const LAF: Afl = Afl {
    name: "afl++-laf",
    what: "AFL++ with split comparisons, floats included",
    instrument: Some("AFL_LLVM_LAF_ALL"),
    mode: Mode::One,
};

/// AFL++ with its value profile, which came after 4.40c.
pub const VALUE_PROFILE: Afl = Afl {
    name: "afl++-vp",
    what: "AFL++ with its value profile",
    instrument: Some("AFL_LLVM_VALUE_PROFILE"),
    mode: Mode::ValueProfile,
};

/// The compiler's environment variable for the second program.
const LOGS_COMPARISONS: &str = "AFL_LLVM_CMPLOG";

/// No terminal, no binding to a core, no warnings about a machine that is not set up for fuzzing. A directory with
/// results is continued, seeds that crash are left out, and the number of executions is written every second.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("AFL_NO_UI", "1"),
    ("AFL_NO_AFFINITY", "1"),
    ("AFL_SKIP_CPUFREQ", "1"),
    ("AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES", "1"),
    ("AFL_FAST_CAL", "1"),
    ("AFL_AUTORESUME", "1"),
    ("AFL_IGNORE_SEED_PROBLEMS", "1"),
    ("AFL_FUZZER_STATS_UPDATE_INTERVAL", "1"),
    // An older version would pause for two seconds at a variable that it does not have.
    ("AFL_IGNORE_UNKNOWN_ENVS", "1"),
];

impl Afl {
    fn toolchain(&self, instrument: Option<&str>) -> Result<Toolchain, Error> {
        let find = |program| place::find(program).ok_or_else(|| Error::new(place::MISSING));
        let mut environment = vec![("AFL_QUIET".to_owned(), "1".to_owned()), ("AFL_DONT_OPTIMIZE".into(), "1".into())];
        environment.extend(instrument.map(|name| (name.to_owned(), "1".to_owned())));
        let compiler = Compiler {
            c: find("afl-clang-fast")?,
            cxx: find("afl-clang-fast++")?,
            environment,
            version: self.version().map_err(Error::new)?,
        };
        let link = vec!["-fsanitize=fuzzer".to_owned()];
        Ok(Toolchain { compiler, plain: place::clang()?, instrument: Vec::new(), link })
    }
}

impl Tool for Afl {
    fn name(&self) -> &'static str {
        self.name
    }

    fn what(&self) -> &'static str {
        self.what
    }

    fn version(&self) -> Result<String, String> {
        let (Some(fuzzer), Some(compiler)) = (place::find("afl-fuzz"), place::find("afl-clang-fast")) else {
            return Err(place::MISSING.to_owned());
        };
        let printed = place::first_line(Command::new(&fuzzer).arg("--version"));
        let version = printed.split(" based on ").next().unwrap_or_default();
        if self.mode == Mode::ValueProfile && !mentions(&fuzzer, "AFL_LLVM_VALUE_PROFILE") {
            return Err(format!("{version} has no value profile: put a later AFL++ first on the PATH"));
        }
        let llvm = place::first_line(Command::new(compiler).arg("--version").env("AFL_QUIET", "1"));
        Ok(format!("{version}, {llvm}"))
    }

    fn how(&self) -> How {
        let variables = self.instrument.map(|name| format!("{name}=1 ")).unwrap_or_default();
        let mut build = format!(
            "AFL_DONT_OPTIMIZE=1 {variables}afl-clang-fast -O0 -fsanitize=fuzzer function.c harness.o -o TARGET"
        );
        let environment = ENVIRONMENT.map(|(name, value)| format!("{name}={value}")).join(" ");
        let mut run = environment + " afl-fuzz -i CORPUS -o OUT -s SEED -m none -g SIZE -G SIZE";
        match self.mode {
            Mode::One => {}
            Mode::CmpLog => {
                build += "; the same with AFL_LLVM_CMPLOG=1 and -o TARGET.cmplog";
                run += " -c TARGET.cmplog";
            }
            Mode::ValueProfile => run += " -r 0",
        }
        run.push_str(" -- TARGET");
        How { build, run }
    }

    fn build(&self, subject: &Subject, cache: &Path) -> Result<Built, Error> {
        let mut built = self.toolchain(self.instrument)?.build(subject, cache)?;
        if self.mode == Mode::CmpLog {
            let second = self.toolchain(Some(LOGS_COMPARISONS))?.build(subject, cache)?;
            built.programs.extend(second.programs);
            built.seconds += second.seconds;
        }
        Ok(built)
    }

    fn command(&self, work: &Work) -> Command {
        let mut command = Command::new(place::find("afl-fuzz").unwrap_or_else(|| "afl-fuzz".into()));
        for (name, _) in std::env::vars_os() {
            // The user may have set it for another campaign.
            if name.to_string_lossy().starts_with("AFL_") {
                command.env_remove(name);
            }
        }
        command.envs(ENVIRONMENT);
        command.arg("-i").arg(seeds(work)).arg("-o").arg(out(work)).arg("-s").arg(files::seed(work).to_string());
        command.args(["-m", "none"]);
        if let Some(size) = work.subject.input_size() {
            let size = size.max(1).to_string();
            command.args(["-g", &size, "-G", &size]);
        }
        if let Some(left) = work.budget.evaluations {
            // AFL++ also counts the executions of earlier starts.
            command.arg("-E").arg((self.evaluations(work).unwrap_or(0) + left).to_string());
        }
        match (self.mode, work.built.programs.get(1)) {
            (Mode::CmpLog, Some(second)) => {
                command.arg("-c").arg(second);
            }
            (Mode::ValueProfile, _) => {
                command.args(["-r", "0"]);
            }
            _ => {}
        }
        command.arg("--").args(work.built.programs.first());
        command
    }

    fn corpus(&self, work: &Work) -> io::Result<Vec<Stamped>> {
        let directories = ["queue", "crashes"].map(|name| instance(work).join(name));
        let mut all = files::named(work, &directories, |name| name.starts_with("id:"))?;
        files::add_seeds(&mut all, work.seeds)?;
        Ok(all)
    }

    fn evaluations(&self, work: &Work) -> Option<u64> {
        executions(&fs::read_to_string(instance(work).join("fuzzer_stats")).ok()?)
    }
}

fn out(work: &Work) -> PathBuf {
    work.directory.join("out")
}

/// Returns the directory of results of an AFL++ that runs alone.
fn instance(work: &Work) -> PathBuf {
    out(work).join("default")
}

/// Returns the directory with the seeds. If AFL++ rejected them before, because all of them crash, it has one of random
/// bytes instead.
fn seeds(work: &Work) -> PathBuf {
    let refused = work.restarts > 0 && !instance(work).join("fuzzer_stats").exists();
    let own = work.directory.join("seeds");
    if refused {
        let _ = fs::remove_dir_all(out(work));
        let mut all = Vec::new();
        let had = files::add_seeds(&mut all, work.seeds);
        let all: Vec<_> = all.into_iter().map(|input| input.bytes).collect();
        let _ = had.and_then(|()| files::copy_seeds(work, &own, &all));
    }
    if own.exists() { own } else { work.seeds.to_path_buf() }
}

/// Returns whether the file of a program contains this name.
fn mentions(program: &Path, name: &str) -> bool {
    fs::read(program).is_ok_and(|bytes| bytes.windows(name.len()).any(|w| w == name.as_bytes()))
}

/// Returns the number of executions in a `fuzzer_stats`.
fn executions(stats: &str) -> Option<u64> {
    stats.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "execs_done").then(|| value.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_read_from_the_stats() {
        let stats = "run_time          : 5\nexecs_done        : 213078\nexecs_per_sec     : 42547.52\n";
        assert_eq!(executions(stats), Some(213_078));
    }

    #[test]
    fn stats_that_are_cut_off_have_no_executions() {
        assert_eq!(executions("run_time          : 5\nexecs_done"), None);
    }
}
