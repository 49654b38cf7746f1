//! Builds clang's command line with `libafl_cc`'s [`ClangWrapper`].
//!
//! The pass runs at the start of clang's pipeline, and the user's `-O` level applies afterwards. At the end of the
//! pipeline the branches of small float functions are already selects, and no site would remain.

use std::{env, path::PathBuf, process::Command};

use libafl_cc::{ClangWrapper, CompilerWrapper, ToolWrapper};

use crate::{
    Error, LLVM_MAJOR, Language,
    arguments::{Action, Arguments},
    artifact, assume, bitcode, link,
};

/// clang does not warn about unused options between these two, such as a pass for an assembler file or a library while
/// compiling. The user's options are outside, so that clang warns about them as usual.
pub(crate) const NO_WARNING: [&str; 2] = ["--start-no-unused-arguments", "--end-no-unused-arguments"];

/// Options that [`ClangWrapper`] adds to every line. A drop-in compiler must not pass them: they change the program's
/// results, and they hide that a library is missing.
const FORCED: [&str; 2] = ["-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION=1", "-lrt"];

/// Makes clang count for coverage: it then emits a branch for each conditional that gcov and llvm-cov count. The pass
/// drops the counters (`pass/sites/counters.cc`).
const COUNTERS: [&str; 2] = ["-Xclang", "-fprofile-instrument=clang"];

/// Makes clang branch on `!n` itself instead of on `n` with exchanged destinations, as MC/DC needs it. The maximum of 0
/// conditions disables MC/DC's counters, and its warnings about conditions that it does not support.
const NEGATIONS: [&str; 4] = ["-Xclang", "-fcoverage-mcdc", "-Xclang", "-fmcdc-max-conditions=0"];

/// A command ready to run.
pub(crate) struct Invocation {
    /// Program and arguments.
    pub(crate) command: Vec<String>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

impl Invocation {
    /// The command for these arguments of pen-cc (without the program's name), with or without SanCov.
    pub(crate) fn new(args: &[String], language: Language, san_cov: bool) -> Result<Self, Error> {
        let clang = find_clang(language)?.to_string_lossy().into_owned();
        let line = Arguments::read(args)?;
        if line.action == Action::Query {
            let command = [vec![clang], line.args].concat();
            return Ok(Self { command, notes: Vec::new() });
        }
        let mut notes = Vec::new();
        if let Action::PlainProgram(reason) = line.action {
            notes.push(format!("penfuzz cannot load this program, although it runs: {reason}"));
        }
        let linking = link::Linking::new(&line, &clang)?;
        let own = [compile_args(&line, san_cov)?, linking.after].concat();
        let command = wrap(&clang, language, &line.args, &linking.before, &own)?;
        Ok(Self { command, notes })
    }
}

/// The options that instrument. None for bitcode that is instrumented already.
fn compile_args(line: &Arguments, san_cov: bool) -> Result<Vec<String>, Error> {
    let mut args = [vec!["-fPIC".to_owned()], recorded(line)].concat();
    if bitcode::is_instrumented(&line.args)? {
        return Ok(args);
    }
    let headers = artifact::include_directory()?.display().to_string();
    // Passed as options of clang itself: other compilers that build the sources from a noted command line must not get
    // them.
    args.extend(
        ["-D__PENFUZZ__=1", "-internal-isystem", &headers]
            .into_iter()
            .flat_map(|o| ["-Xclang".to_owned(), o.to_owned()]),
    );
    // All classes with their members: without it, clang describes only those that the same file constructs.
    args.push("-fstandalone-debug".to_owned());
    args.extend(assume::options(&line.assumptions, &line.args)?);
    let plugin = artifact::PLUGIN.path()?.display().to_string();
    args.push(format!("-fpass-plugin={plugin}"));
    let mut options = Vec::new();
    if line.exceptions {
        options.extend(["-mllvm", "-pen-exceptions"]);
    }
    if line.moves {
        options.extend(["-mllvm", "-pen-moves"]);
    }
    if line.decisions {
        // `pass/sites/decision.cc` distinguishes operands of `&&` and `||` from nested conditionals by the names of
        // blocks.
        args.push("-fno-discard-value-names".to_owned());
        options.extend(["-mllvm", "-pen-decisions"]);
    }
    if line.goal {
        options.extend(["-mllvm", "-pen-goal"]);
    }
    let mutants = line.mutants.as_ref().map(|function| format!("-pen-mutants={function}"));
    if let Some(mutants) = &mutants {
        // An overflow that C does not define would make original and mutant incomparable.
        args.push("-fwrapv".to_owned());
        options.extend(["-mllvm", mutants]);
    }
    if line.counters {
        options.extend(["-mllvm", "-pen-keeps-counters"]);
    } else {
        options.extend(COUNTERS);
        options.extend(artifact::COUNTS_CONDITIONS.then_some(NEGATIONS).into_iter().flatten());
    }
    if options.contains(&"-mllvm") {
        // clang accepts the options of a pass plugin only if it loads it as a plugin of clang, too.
        args.extend(["-Xclang", "-load", "-Xclang", &plugin].map(str::to_owned));
    }
    args.extend(options.into_iter().map(str::to_owned));
    if !san_cov {
        return Ok(args);
    }
    args.push("-fsanitize-coverage=trace-pc-guard".to_owned());
    if artifact::GATES_CALLBACKS {
        args.extend(["-mllvm", "-sanitizer-coverage-gated-trace-callbacks"].map(str::to_owned));
    }
    Ok(args)
}

/// Options with which clang stores its command line in the section `.GCC.command.line` of each object, which is not
/// loaded. From it penfuzz reads how another compiler can build the sources. The directory is the one that clang stores
/// anyway, unless the user sets another.
fn recorded(line: &Arguments) -> Vec<String> {
    let option = "-fdebug-compilation-dir=";
    let is_set =
        |arg: &String| ["-fdebug-compilation-dir", "-ffile-compilation-dir"].iter().any(|o| arg.starts_with(o));
    let directory = env::var_os("PWD")
        .map(PathBuf::from)
        .filter(|pwd| pwd.is_absolute() && pwd.canonicalize().ok() == env::current_dir().ok())
        .or_else(|| env::current_dir().ok());
    let directory = directory.filter(|_| !line.args.iter().any(is_set));
    let noted = directory.map(|d| format!("{option}{}", d.display()));
    ["-frecord-command-line".to_owned()].into_iter().chain(noted).collect()
}

/// The command: `before`, the user's arguments, and `after`.
fn wrap(
    clang: &str,
    language: Language,
    user: &[String],
    before: &[String],
    after: &[String],
) -> Result<Vec<String>, Error> {
    let failed = |error: libafl_cc::Error| match error {
        libafl_cc::Error::InvalidArguments(message) | libafl_cc::Error::Unknown(message) => Error::Wrapper(message),
        libafl_cc::Error::Io(error) => Error::Wrapper(error.to_string()),
    };
    let marked: Vec<&str> =
        ["pen-cc"].into_iter().chain(user.iter().map(String::as_str)).chain([NO_WARNING[0]]).collect();
    let mut wrapper = ClangWrapper::new();
    wrapper
        .cpp(language == Language::Cxx)
        .dont_optimize()
        .silence(true)
        .wrapped_cc(clang.to_owned())
        .wrapped_cxx(clang.to_owned())
        .add_args(before)
        .parse_args(&marked)
        .map_err(failed)?
        // It would link -lm, -ldl and -lrt, and so hide that the user forgot one of them.
        .linking(false);
    let command = wrapper.add_cc_args(after).add_cc_arg(NO_WARNING[1]).command().map_err(failed)?;
    Ok(without_forced(command))
}

/// Removes [`FORCED`] where [`ClangWrapper`] added it: after the user's arguments.
fn without_forced(command: Vec<String>) -> Vec<String> {
    let mut ours = false;
    command
        .into_iter()
        .filter(|arg| {
            ours |= arg == NO_WARNING[0];
            !(ours && FORCED.contains(&arg.as_str()))
        })
        .collect()
}

/// The clang to run: that of the build, or the one that `PEN_CC_CLANG` (`PEN_CC_CLANGXX`) names.
///
/// # Errors
/// If the variable names a program that cannot be run, or that is not a clang of LLVM version [`LLVM_MAJOR`].
pub fn find_clang(language: Language) -> Result<PathBuf, Error> {
    let (variable, built_in) = match language {
        Language::C => ("PEN_CC_CLANG", artifact::CLANG),
        Language::Cxx => ("PEN_CC_CLANGXX", artifact::CLANGXX),
    };
    let Some(path) = env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from) else {
        return Ok(PathBuf::from(built_in));
    };
    let answer = Command::new(&path)
        .arg("--version")
        .output()
        .map_err(|source| Error::NoClang { path: path.clone(), source })?;
    match major_version(&String::from_utf8_lossy(&answer.stdout)) {
        Some(LLVM_MAJOR) => Ok(path),
        found => Err(Error::WrongClang { variable, path, found, wanted: LLVM_MAJOR }),
    }
}

/// The number in "clang version 22.1.8 (…)".
fn major_version(answer: &str) -> Option<u32> {
    let (_, version) = answer.split_once("clang version ")?;
    version.split('.').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_any_vendor() {
        assert_eq!(major_version("Debian clang version 22.1.8 (1~deb12u1)\nTarget: x"), Some(22));
        assert_eq!(major_version("clang version 16.0.6"), Some(16));
        assert_eq!(major_version("gcc (Debian 12.2.0) 12.2.0"), None);
    }

    #[test]
    fn a_definition_of_the_users_stays() {
        let command = [FORCED[0], "x.c", NO_WARNING[0], "-g", FORCED[0], FORCED[1]].map(str::to_owned).to_vec();
        assert_eq!(without_forced(command), [FORCED[0], "x.c", NO_WARNING[0], "-g"]);
    }
}
