//! Runs an experiment, from its settings to its reports.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_suite::Suite;
use penfuzz_system::{
    errln,
    process::{interrupts, tree},
};

use super::{
    archive::Archive,
    machine,
    model::{Budget, Experiment, FunctionInfo, SCHEMA, ToolInfo, Trial},
    prepare::{Candidate, NO_COMPOSITE, Prepared, candidates, prepare, shuffle},
    report,
    schedule::{self, Setting},
    tools::{self, Tool},
};

/// The settings of an experiment.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The suites, loaded.
    pub suites: Vec<Suite>,
    /// Names of the tools; empty for all.
    pub tools: Vec<String>,
    /// This many functions, drawn at random, instead of all.
    pub draw: Option<usize>,
    /// Seed of that draw.
    pub draw_seed: u64,
    /// Only functions that take structures, arrays or strings.
    pub composite: bool,
    /// Trials of each tool on each function.
    pub trials: u32,
    /// The budget of one trial.
    pub budget: Budget,
    /// Tools that need no seed inputs get none.
    pub without_seeds: bool,
    /// Seed of the first trial.
    pub seed: u64,
    /// Cores to run on, one trial on each at a time; empty for all.
    pub cores: Vec<usize>,
    /// Output directory.
    pub out: PathBuf,
    /// Cache of compiled files.
    pub cache: PathBuf,
    /// Print no progress.
    pub quiet: bool,
    /// The arguments that repeat the experiment.
    pub command: Vec<String>,
}

/// The outcome of an experiment.
#[derive(Debug)]
pub struct Outcome {
    /// The experiment.
    pub experiment: Experiment,
    /// The finished trials.
    pub trials: Vec<Trial>,
    /// Whether it was interrupted by Ctrl-C.
    pub interrupted: bool,
}

/// Runs an experiment, or continues the one in the output directory.
///
/// # Errors
/// The settings are contradictory, no function can be compared, or the output directory cannot be used.
pub fn run(settings: &Settings) -> Result<Outcome> {
    let _watch = interrupts::SignalGuard::begin();
    let cores = usable_cores(&settings.cores)?;
    let Chosen { installed, infos } = choose(&settings.tools)?;
    let archive = Archive::open(&settings.out)?;
    let drawn = drawn(settings);
    let wanted = settings.draw.unwrap_or(drawn.len());
    if !settings.quiet {
        errln!("penfuzz: preparing {wanted} functions for {} tools", installed.len());
    }
    let Prepared { ready, mut left_out } =
        prepare(&drawn, wanted, cores.len(), &archive.work().join("functions"), &settings.cache.join("referee"));
    // With the option `composite`, these functions do not belong to the experiment at all.
    left_out.retain(|(_, why)| why != NO_COMPOSITE);
    if interrupts::requested() {
        bail!("interrupted before the first trial");
    }
    for (name, why) in left_out.iter().filter(|_| !settings.quiet) {
        errln!("penfuzz: {name} is left out: {why}");
    }
    if ready.is_empty() {
        bail!("no function can be compared; the reasons are above");
    }
    let functions = ready.iter().map(|r| FunctionInfo {
        name: r.subject.name.clone(),
        suite: r.subject.suite.name.clone(),
        file: r.subject.spec.file.clone(),
        function: r.subject.spec.function.clone(),
        paper: r.subject.spec.paper,
    });
    let experiment = Experiment {
        schema: SCHEMA,
        published: settings.suites.iter().flat_map(|s| s.published.iter().cloned()).collect(),
        suites: settings.suites.iter().map(|s| s.name.clone()).collect(),
        functions: functions.collect(),
        left_out,
        tools: infos,
        trials: settings.trials,
        budget: settings.budget,
        without_seeds: settings.without_seeds,
        seed: settings.seed,
        machine: machine::describe(&cores),
        command: settings.command.clone(),
    };
    archive.begin(&experiment)?;
    let setting = Setting {
        experiment: &experiment,
        tools: &installed,
        ready: &ready,
        archive: &archive,
        cache: settings.cache.clone(),
        quiet: settings.quiet,
    };
    // A report that cannot be written now is written at the end; if that fails, it is an error.
    let trials = schedule::run(&setting, |trials| drop(write_reports(archive.dir(), &experiment, trials)))?;
    write_reports(archive.dir(), &experiment, &trials)?;
    archive.tidy();
    Ok(Outcome { experiment, trials, interrupted: interrupts::requested() })
}

fn write_reports(dir: &Path, experiment: &Experiment, trials: &[Trial]) -> Result<()> {
    report::write_all(dir, experiment, trials).context(|| "the reports cannot be written".to_owned())
}

fn usable_cores(wanted: &[usize]) -> Result<Vec<usize>> {
    let all = tree::cores();
    if wanted.is_empty() {
        return Ok(all);
    }
    if let Some(missing) = wanted.iter().find(|c| !all.contains(c)) {
        let all: Vec<_> = all.iter().map(ToString::to_string).collect();
        bail!("core {missing} cannot be used; this process may run on {}", all.join(", "));
    }
    Ok(wanted.to_vec())
}

/// The requested tools.
struct Chosen {
    /// The installed ones.
    installed: Vec<Box<dyn Tool>>,
    /// The description of all of them.
    infos: Vec<ToolInfo>,
}

fn choose(names: &[String]) -> Result<Chosen> {
    let mut all = tools::all();
    if let Some(unknown) = names.iter().find(|n| all.iter().all(|t| t.name() != n.as_str())) {
        let known: Vec<_> = all.iter().map(|t| t.name()).collect();
        bail!("there is no tool {unknown}; tools are {}", known.join(", "));
    }
    all.retain(|t| names.is_empty() || names.iter().any(|n| n == t.name()));
    let mut chosen = Chosen { installed: Vec::new(), infos: Vec::new() };
    for tool in all {
        let (version, skipped) = match tool.version() {
            Ok(version) => (version, None),
            Err(why) => (String::new(), Some(why)),
        };
        let how = tool.how();
        if let Some(why) = &skipped {
            errln!("penfuzz: {} is skipped: {why}", tool.name());
        }
        let takes_part = skipped.is_none();
        chosen.infos.push(ToolInfo {
            name: tool.name().to_owned(),
            what: tool.what().to_owned(),
            version,
            build: how.build,
            run: how.run,
            skipped,
        });
        if takes_part {
            chosen.installed.push(tool);
        }
    }
    if chosen.installed.is_empty() {
        bail!("none of the tools is installed; ./setup --peers installs them");
    }
    Ok(chosen)
}

/// Returns the functions in the order of their preparation: shuffled for a draw.
fn drawn(settings: &Settings) -> Vec<Candidate> {
    let suites: Vec<_> = settings.suites.iter().cloned().map(Arc::new).collect();
    let mut all = candidates(&suites, settings.composite);
    if settings.draw.is_some() {
        shuffle(&mut all, settings.draw_seed);
    }
    all
}
