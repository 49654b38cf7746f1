//! The target of a command: a source that is compiled, or a file that pen-cc linked.

use std::path::{Path, PathBuf};

use penfuzz_abi::names::single_colons;
use penfuzz_cc::ASSUME_FLAG;
use penfuzz_compile::{Recipe, interruptible::build};
use penfuzz_directory::{
    output::manifest::Settings,
    rendering::linked::{self, BuildRecord},
};
use penfuzz_engine::saturation::Goals;
use penfuzz_error::{Error, at};
use penfuzz_executor::evaluator::EvaluationLimits;
use penfuzz_report::{Compilation, criterion::Criterion};
use penfuzz_system::files::{destination::Unusable, foreign};
use penfuzz_target::{
    inputs::Calls,
    program::{
        Rounding,
        kind::{TargetKind, classify, is_archive},
    },
};

use super::{choices, values};

/// The target and how its sources are compiled; shared by the commands that take one.
#[derive(Debug, Clone, clap::Args)]
pub struct TargetArgs {
    /// C or C++ source file, LLVM bitcode, or a file linked by pen-cc.
    #[arg(value_name = "TARGET", required = true)]
    pub target: Option<PathBuf>,

    /// Function under test; may be omitted when the target has only one.
    #[arg(long, short = 'f', value_name = "NAME")]
    pub function: Option<String>,

    /// Compiler flag for the sources; may be repeated.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    pub cflags: Vec<String>,

    /// Further source file to compile with TARGET; may be repeated.
    #[arg(long = "with", value_name = "FILE")]
    pub with: Vec<PathBuf>,

    /// Library to link with the sources, as -lNAME or a file; may be repeated.
    #[arg(long = "lib", value_name = "LIB", allow_hyphen_values = true)]
    pub libs: Vec<String>,

    /// Rounding modes in which the function is called.
    #[arg(long, value_parser = choices::rounding(), default_value = "nearest")]
    pub rounding: Rounding,

    /// Constraint on an argument, as 'NAME: DOMAIN'; may be repeated. Domains: array[10], array[n+1], array[n*m],
    /// string[..32], 0..90, finite.
    #[arg(long = "arg", value_name = "NAME: DOMAIN", allow_hyphen_values = true, value_parser = values::statement)]
    pub args: Vec<String>,

    /// Condition over the arguments that each input fulfils, as a C expression: 'lo < hi && n % 2 == 0'; may be
    /// repeated. TARGET must be a source.
    #[arg(long = "assume", value_name = "EXPR", allow_hyphen_values = true, requires = "function")]
    pub assumptions: Vec<String>,
    #[command(flatten)]
    pub calls: CallArgs,
}

/// The calls of one input.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct CallArgs {
    /// Call the function up to N times in each evaluation, and keep its state between the calls: 1 to 32 [default: 1].
    #[arg(long = "calls", value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    most: Option<u8>,

    /// Function that is called first and constructs the object that the function under test takes.
    #[arg(long, value_name = "NAME")]
    init: Option<String>,

    /// Variable with static storage duration that is an input, by its name; may be repeated.
    #[arg(long = "global", value_name = "NAME")]
    globals: Vec<String>,
}

impl CallArgs {
    /// The options in the engine's representation.
    pub fn calls(&self) -> Calls {
        Calls { most: self.most.map(usize::from), init: self.init.clone(), globals: self.globals.clone() }
    }
}

/// A target that is ready to be loaded.
pub struct Linked {
    /// The linked file.
    pub file: PathBuf,
    /// Its sources; empty if the target was given as a linked file.
    pub sources: Vec<PathBuf>,
    /// For a target given as a linked file, its compilations as recorded by pen-cc.
    pub compilations: Vec<Compilation>,
    /// Its libraries.
    pub libs: Vec<String>,
}

impl TargetArgs {
    /// Replaces the paths of sources and in compiler flags.
    pub fn move_paths(&mut self, moved: impl Fn(&str) -> String) {
        for path in self.target.iter_mut().chain(&mut self.with) {
            *path = PathBuf::from(moved(&path.to_string_lossy()));
        }
        for flag in &mut self.cflags {
            *flag = moved(flag);
        }
    }

    /// The path as it was given.
    pub fn path(&self) -> Result<&PathBuf, Error> {
        self.target.as_ref().ok_or_else(|| Error::new("no target is given"))
    }

    /// The compiler flags of the sources. Flags from the command line are last, so they take precedence.
    pub fn flags(&self) -> Vec<String> {
        let rounding = self.rounding.flag().into_iter();
        let assumed = self.assumptions.iter().map(|e| format!("{ASSUME_FLAG}{}:{e}", self.name_in_source()));
        rounding.chain(self.header_directory()).chain(assumed).chain(self.cflags.iter().cloned()).collect()
    }

    /// The name of the function without the file and without parameters that `--function` may contain.
    fn name_in_source(&self) -> &str {
        let name = self.function.as_deref().unwrap_or_default();
        let name = name.split('(').next().unwrap_or_default();
        single_colons(name).next_back().map_or(name, |colon| &name[colon + 1..])
    }

    /// The reason why `--assume` cannot be compiled into the target, if there is one.
    fn assume_error(&self, target: &Path) -> Result<Option<String>, Error> {
        let Some(first) = self.assumptions.first() else { return Ok(None) };
        let (name, file) = (self.name_in_source(), target.display());
        if classify(target)? == TargetKind::Linked {
            return Ok(Some(format!(
                "--assume is compiled into the source, and {file} is linked already; compile the source with pen-cc \
                 '{ASSUME_FLAG}{name}:{first}'"
            )));
        }
        let defines = |path: &PathBuf| {
            foreign::read(path, foreign::LONGEST_TEXT)
                .is_ok_and(|text| penfuzz_cc::defines(&String::from_utf8_lossy(&text), name))
        };
        let is_there = self.target.iter().chain(&self.with).any(defines);
        Ok((!is_there).then(|| {
            format!(
                "--assume: {file} has no definition of `{name}` in its text; write PEN_ASSUME({first}) of \
                     penfuzz.h into the function"
            )
        }))
    }

    /// The option with which other compilers find `penfuzz.h`, if a source mentions it. pen-cc finds it without the
    /// option.
    fn header_directory(&self) -> Option<String> {
        let sources = self.target.iter().chain(&self.with);
        let mentions = |path: &PathBuf| {
            foreign::read(path, foreign::LONGEST_TEXT)
                .is_ok_and(|text| String::from_utf8_lossy(&text).contains("penfuzz.h"))
        };
        let is_source = |path: &&PathBuf| classify(path).is_ok_and(|kind| kind != TargetKind::Linked);
        sources
            .filter(is_source)
            .any(mentions)
            .then(penfuzz_cc::include_directory)?
            .ok()
            .map(|d| format!("-I{}", d.display()))
    }

    /// The settings of a campaign on the target, which is `linked`; criteria and limits are the defaults.
    pub fn settings(&self, linked: &Linked, goals: Goals) -> Result<Settings, Error> {
        let limits = EvaluationLimits::default();
        Ok(Settings {
            target: self.path()?.clone(),
            linked: linked.file.clone(),
            sources: linked.sources.clone(),
            flags: self.flags(),
            libs: self.libs.clone(),
            rounding: self.rounding,
            args: self.args.clone(),
            calls: self.calls.calls(),
            goals,
            criteria: vec![Criterion::Branch],
            goal: None,
            timeout: limits.timeout.as_secs_f64(),
            fuel: limits.fuel,
            memory_limit: limits.memory,
            allow: Vec::new(),
        })
    }

    /// Compiles and links the target if it is source.
    pub fn link(&self, goals: Goals) -> Result<Linked, Error> {
        self.link_with_goal(goals, None)
    }

    /// As [`link`](Self::link). The conditionals of the target call the goal in the file `goal`, if there is one.
    pub fn link_with_goal(&self, goals: Goals, goal: Option<&Path>) -> Result<Linked, Error> {
        let target = self.path()?;
        if let Some(goal) = goal {
            check_goal(target, goal)?;
        }
        if let Some(why) = self.assume_error(target)? {
            return Err(Error::from_source(Unusable(why)));
        }
        if classify(target)? == TargetKind::Linked {
            let BuildRecord { compilations, libs } = linked::recorded(target);
            return Ok(Linked { file: target.clone(), sources: Vec::new(), compilations, libs });
        }
        let mut sources = vec![target.clone()];
        for other in &self.with {
            classify(other)?;
            sources.push(other.clone());
        }
        let recipe = Recipe {
            sources,
            flags: self.flags(),
            libs: self.libs.clone(),
            exceptions: goals.need_operations(),
            decisions: goals.are_decisions(),
            goal: goal.map(Path::to_path_buf),
            ..Recipe::default()
        };
        let file = build(&recipe)?;
        Ok(Linked { file, sources: recipe.sources, compilations: Vec::new(), libs: Vec::new() })
    }
}

/// Checks that the file of a goal is a source, and that the target can be compiled for it.
fn check_goal(target: &Path, goal: &Path) -> Result<(), Error> {
    if classify(target)? == TargetKind::Linked || is_archive(target) {
        let why = format!("--goal is compiled into the sources, and {} is compiled already", target.display());
        return Err(Error::from_source(Unusable(why)));
    }
    if classify(goal)? == TargetKind::Linked || is_archive(goal) {
        return Err(at(goal, "is no C or C++ source with a goal"));
    }
    Ok(())
}
