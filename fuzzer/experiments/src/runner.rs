//! Runs one trial: a tool on a function until its budget is used up.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use penfuzz_error::context::{Context, Result};
use penfuzz_system::process::{
    interrupts,
    tree::{self, Limits},
};

use super::{
    corpus::Stamped,
    model::{Budget, SCHEMA, Trial, seconds},
    subject::Subject,
    toolchain::Built,
    tools::{Tool, Work},
};

/// Share of a budget that counts as all of it: no tool does anything useful with the rest.
const ENOUGH: f64 = 0.97;
/// Number of consecutive starts without further evaluations after which a tool is not started again.
const FUTILE_STARTS: u32 = 20;
/// Name of the file with the output of the tool.
const LOG: &str = "log.txt";

/// One trial to run.
pub struct Job<'a> {
    /// The tool.
    pub tool: &'a dyn Tool,
    /// The function.
    pub subject: &'a Subject,
    /// Number of the trial.
    pub number: u32,
    /// Seed of the tool's generator.
    pub seed: u64,
    /// Its budget.
    pub budget: Budget,
    /// The core it runs on.
    pub core: usize,
    /// An empty directory.
    pub directory: &'a Path,
    /// The seed inputs.
    pub seeds: &'a Path,
    /// Whether only tools that cannot do without seeds get them.
    pub without_seeds: bool,
}

impl Job<'_> {
    /// Returns a failed trial of this job, without figures.
    #[must_use]
    pub fn failed(&self, error: &str) -> Trial {
        Trial {
            schema: SCHEMA,
            function: self.subject.name.clone(),
            tool: self.tool.name().to_owned(),
            trial: self.number,
            seed: self.seed,
            cpu_seconds: 0.0,
            wall_seconds: 0.0,
            build_seconds: 0.0,
            evaluations: None,
            starts: 0,
            inputs: 0,
            failing_inputs: 0,
            total: 0,
            taken: Vec::new(),
            criteria: None,
            timeline: Vec::new(),
            error: Some(error.to_owned()),
        }
    }
}

/// The outcome of a trial.
pub struct TrialOutput {
    /// The figures, without those of the referee.
    pub trial: Trial,
    /// Its corpus.
    pub corpus: Vec<Stamped>,
}

/// Runs a trial; returns `None` after Ctrl-C.
///
/// # Errors
/// The tool cannot be started, or its files cannot be read.
pub fn run(job: &Job, built: &Built) -> Result<Option<TrialOutput>> {
    let mut work = Work {
        subject: job.subject,
        built,
        directory: job.directory,
        seeds: job.seeds,
        without_seeds: job.without_seeds,
        seed: job.seed,
        budget: job.budget,
        restarts: 0,
        began: SystemTime::now(),
    };
    let (mut cpu, mut wall, mut futile, mut error) = (Duration::ZERO, Duration::ZERO, 0, None);
    let log = job.directory.join(LOG);
    loop {
        let total = Duration::from_secs_f64(job.budget.cpu_seconds);
        work.budget.cpu_seconds = total.saturating_sub(cpu).as_secs_f64();
        let known = job.tool.evaluations(&work);
        work.budget.evaluations = job.budget.evaluations.map(|n| n.saturating_sub(known.unwrap_or(0)).max(1));
        let limits = Limits {
            cpu: total.saturating_sub(cpu),
            wall: total.saturating_sub(cpu) * 5 + Duration::from_secs(10),
            patience: job.tool.patience(),
        };
        let ended = tree::run(job.tool.command(&work), job.core, limits, &log)
            .context(|| format!("{} cannot be run", job.tool.name()))?;
        if interrupts::requested() {
            return Ok(None);
        }
        (cpu, wall) = (cpu + ended.cpu, wall + ended.wall);
        work.restarts += 1;
        let evaluations = job.tool.evaluations(&work);
        let Some(status) = ended.status else { break };
        if job.tool.ends_by_itself() {
            if !status.success() && status.code() != Some(3) {
                error = Some(format!("ended with {status}: {}", last_line(&log)));
            }
            break;
        }
        if is_used_up(job.budget, cpu, evaluations) {
            break;
        }
        futile = if evaluations > known { 0 } else { futile + 1 };
        if futile >= FUTILE_STARTS {
            error = Some(format!("ends at once with {status}: {}", last_line(&log)));
            break;
        }
    }
    let corpus = job.tool.corpus(&work).context(|| format!("cannot read what {} found", job.tool.name()))?;
    let trial = Trial {
        cpu_seconds: seconds(cpu),
        wall_seconds: seconds(wall),
        build_seconds: built.seconds,
        evaluations: job.tool.evaluations(&work),
        starts: work.restarts,
        inputs: corpus.len(),
        error,
        ..job.failed("")
    };
    Ok(Some(TrialOutput { trial, corpus }))
}

fn is_used_up(budget: Budget, cpu: Duration, evaluations: Option<u64>) -> bool {
    cpu.as_secs_f64() >= ENOUGH * budget.cpu_seconds
        || budget.evaluations.is_some_and(|n| evaluations.unwrap_or(0) as f64 >= ENOUGH * n as f64)
}

/// Returns the last non-empty line of a tool's output.
fn last_line(log: &Path) -> String {
    let printed = fs::read(log).unwrap_or_default();
    let printed = String::from_utf8_lossy(&printed);
    printed.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("it printed no message").trim().to_owned()
}
