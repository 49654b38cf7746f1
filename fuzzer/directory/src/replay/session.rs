//! A loaded target on which single inputs are evaluated, including inputs that end their process.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use penfuzz_abi::{action, metric};
use penfuzz_compile::{Recipe, interruptible::build};
use penfuzz_engine::saturation::{Goals, Scope, ScopeKind};
use penfuzz_error::{Error, at};
use penfuzz_executor::{
    Evaluator, Fault,
    evaluator::{EvaluationLimits, RunStatus},
    sandbox::{Allow, Sandbox},
};
use penfuzz_system::process::{
    child::{self, Ending, Limit},
    streams,
};
use penfuzz_target::{
    inputs::{Calls, Sizes},
    program::{Function, Rounding, Target},
};
use serde::{Deserialize, Serialize};

use crate::{
    output::{fingerprint, manifest::Manifest, trust::Trusted},
    replay::{
        fatal_input::{self, Death},
        fresh::{NO_SUPERVISOR, Pipes, Zygote},
        long_input::{self, Answer},
        open::{KnownSizes, select, with_sizes, with_statements},
    },
};

/// The result of one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The branches in scope that it takes, ascending.
    pub covers: Vec<u32>,
    /// How the input fails; `None` if the function returns.
    pub fault: Option<Fault>,
    /// Duration in milliseconds, if the input uses up its fuel and returns without a fuel limit.
    #[serde(default)]
    pub long: Option<u64>,
}

/// A loaded target, its function under test, and its scope.
#[derive(Debug)]
pub struct ReplaySession {
    /// Evaluates the function under test.
    pub evaluator: Evaluator,
    /// The branches that count as goals.
    pub scope: Scope,
    /// Identifies target, function and goals ([`fingerprint::fingerprint`]).
    pub fingerprint: String,
    /// The linked file that is loaded.
    pub linked: PathBuf,
    timeout: Duration,
}

/// What to load, and how to evaluate it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The target as the command line names it.
    pub name: &'a Path,
    /// The function under test, if it is named.
    pub function: Option<&'a str>,
    /// Rounding modes in which the function is called.
    pub rounding: Rounding,
    /// Options about the arguments (`--arg`).
    pub args: &'a [String],
    /// Options about the calls of an input.
    pub calls: &'a Calls,
    /// The sizes of its blocks, if known.
    pub sizes: Option<&'a Sizes>,
    /// If set, the function is called with numbers, and with memory for structures that it fills in. These structures
    /// are results, even if the function could read them.
    pub only_numbers: bool,
    /// The goals of the search.
    pub goals: Goals,
    /// The scope of the goals; by default as in a campaign.
    pub scope: Option<ScopeKind>,
    /// Limits of one evaluation.
    pub limits: EvaluationLimits,
}

/// Returns true if the function can be called with numbers, and memory for results.
fn takes_numbers(function: &Function) -> bool {
    function.entry().is_some() && function.inputs().all(|p| !p.pointer)
}

impl ReplaySession {
    /// Loads the linked file of a target.
    ///
    /// # Errors
    /// When the file cannot be loaded, or its function cannot be called.
    pub fn load(linked: &Path, subject: Subject) -> Result<Self, Error> {
        let mut hold = Sandbox::before_loading();
        let target = Target::load(linked)?.named(subject.name);
        hold.loaded();
        let target = if subject.rounding.is_nearest() { target } else { target.with_rounding() };
        let mut target = target;
        let function = select(&mut target, subject.function, subject.calls)?;
        let target = if subject.only_numbers && takes_numbers(&target.functions[function]) {
            with_statements(target, function, subject.args)?
        } else {
            with_sizes(target, function, subject.args, KnownSizes::stored(subject.sizes), subject.limits, &hold)?.0
        };
        let kind = subject.scope.unwrap_or_else(|| ScopeKind::of(&target.functions[function], subject.goals));
        let scope = Scope::new(&target, function, kind, subject.goals);
        let fingerprint = fingerprint::fingerprint(&target, function, kind, subject.goals);
        let evaluator = Evaluator::new(target, function, subject.limits)?;
        Ok(Self { evaluator, scope, fingerprint, linked: linked.to_path_buf(), timeout: subject.limits.timeout })
    }

    /// Loads the target of a campaign. It is linked again if the file in the cache is gone, or if others can write it.
    /// Loading the target runs its code, and compiling it may do so too: the user must trust the campaign.
    ///
    /// # Errors
    /// When neither the linked file nor its sources exist, or when they cannot be used.
    pub fn of(campaign: &Trusted) -> Result<Self, Error> {
        Self::for_goals(campaign, campaign.manifest().settings.goals, campaign.manifest().scope)
    }

    /// The same, with the target compiled for other goals.
    ///
    /// # Errors
    /// As [`ReplaySession::of`].
    pub fn for_goals(campaign: &Trusted, goals: Goals, scope: ScopeKind) -> Result<Self, Error> {
        let manifest = campaign.manifest();
        let subject = Subject {
            name: &manifest.settings.target,
            function: Some(&manifest.symbol),
            rounding: manifest.settings.rounding,
            args: &manifest.settings.args,
            calls: &manifest.settings.calls,
            sizes: manifest.sizes.as_ref(),
            only_numbers: false,
            goals,
            scope: Some(scope),
            limits: manifest.settings.limits(),
        };
        if manifest.settings.sources.is_empty() && !manifest.settings.linked.exists() {
            return Err(at(
                &manifest.settings.linked,
                "is the target of this campaign and no longer exists; link it again with pen-cc",
            ));
        }
        let is_as_built = goals == manifest.settings.goals || manifest.settings.sources.is_empty();
        if manifest.settings.is_linked() && is_as_built {
            return Self::load(&manifest.settings.linked, subject)
                .map(|session| session.allowing(&manifest.settings.allow));
        }
        Self::load(&build(&recipe(manifest, goals, scope))?, subject)
            .map(|session| session.allowing(&manifest.settings.allow))
    }

    fn allowing(mut self, allowed: &[Allow]) -> Self {
        self.evaluator.allow(allowed);
        self
    }

    /// Starts a process that evaluates each input in a fresh child. This process must not have evaluated anything yet.
    pub fn zygote(&mut self) -> Option<Zygote> {
        Zygote::start(Pipes::new()?, &mut self.evaluator, &self.scope, self.timeout, NO_SUPERVISOR)
    }

    /// A warning if the target has changed since the campaign.
    #[must_use]
    pub fn change_since(&self, manifest: &Manifest) -> Option<String> {
        (self.fingerprint != manifest.fingerprint).then(|| {
            format!(
                "{} has changed since the campaign; inputs are evaluated on the target as it is now",
                manifest.settings.target.display()
            )
        })
    }

    /// Number of branches in scope.
    #[must_use]
    pub fn n_goals(&self) -> usize {
        self.scope.len()
    }

    /// Evaluates `inputs` in order, in child processes whose output is discarded. An input that kills its process is
    /// run again alone.
    ///
    /// # Errors
    /// When the system has no process to spare.
    pub fn evaluate(&mut self, inputs: &[&[u8]]) -> Result<Vec<Run>, Error> {
        let mut runs: Vec<Run> = Vec::with_capacity(inputs.len());
        while runs.len() < inputs.len() {
            let before = runs.len();
            let mut ending = self.in_child(&inputs[before..], &mut runs);
            let next = runs.len();
            if ending == Ending::Done && next > before || next == inputs.len() {
                continue;
            }
            if next > before {
                // Earlier inputs may have left the target in a bad state, so the next input is tried in a fresh
                // process.
                ending = self.in_child(&inputs[next..=next], &mut runs);
            }
            if runs.len() == next {
                runs.push(self.fatal_run(inputs[next], ending)?);
            }
        }
        Ok(runs)
    }

    fn in_child(&mut self, inputs: &[&[u8]], runs: &mut Vec<Run>) -> Ending {
        let patience = self.patience();
        let timeout = self.timeout;
        let work = |send: &mut dyn FnMut(&Run)| {
            silence();
            if self.evaluator.detach_from_supervisor(timeout).is_err() {
                return;
            }
            for bytes in inputs {
                let run = self.evaluate_here(bytes);
                send(&self.with_more_fuel(bytes, run));
                if self.evaluator.needs_restart() {
                    return;
                }
            }
        };
        child::run(work, |run| runs.push(run), Limit::Silence(patience + long_input::patience(timeout)))
    }

    /// Evaluates one input in this process.
    pub fn evaluate_here(&mut self, bytes: &[u8]) -> Run {
        self.evaluator.set_metric(metric::ULP, u64::MAX);
        let scope = &self.scope;
        self.evaluator.arm(|b| if scope.requested[b] { action::RECORD } else { 0 });
        let (ran, covers) = self.evaluator.run_recorded(bytes);
        Run { covers, fault: if ran == RunStatus::Faulted { self.evaluator.fault() } else { None }, long: None }
    }

    /// Evaluates an input that has used up its fuel again without a fuel limit. Other inputs keep their result.
    fn with_more_fuel(&mut self, bytes: &[u8], run: Run) -> Run {
        let Some(fault) = run.fault.as_ref().filter(|f| f.is_out_of_fuel) else { return run };
        match long_input::run_here(&mut self.evaluator, &self.scope.requested, bytes, self.timeout) {
            Answer::Returns(long) => Run { covers: long.covers, fault: None, long: Some(long.milliseconds) },
            Answer::Fails(fault) => Run { fault: Some(fault), ..run },
            Answer::Hangs => Run { fault: Some(long_input::hang_fault(fault.clone(), self.timeout)), ..run },
        }
    }

    /// The result of an input that kills its process: the branches that it takes, and a fault identified by the signal
    /// and these branches.
    ///
    /// # Errors
    /// When the system has no process to spare.
    fn fatal_run(&mut self, bytes: &[u8], ending: Ending) -> Result<Run, Error> {
        let patience = self.patience();
        let again = fatal_input::run_again(&mut self.evaluator, &self.scope, bytes, patience)?;
        let last = match ending {
            Ending::Died(signal) => Death { signal, stuck: false },
            _ => Death { signal: libc::SIGKILL, stuck: true },
        };
        let (death, covers) = again.unwrap_or((last, Vec::new()));
        let place = self.place_after(&covers);
        Ok(Run { fault: Some(death.fault(&covers, place)), covers, long: None })
    }

    /// The place of the last branch of a run.
    fn place_after(&self, branches: &[u32]) -> String {
        let target = self.evaluator.target();
        match branches.last() {
            Some(last) => {
                let site = &target.sites[target.site_of(*last as usize)];
                format!("{} (after {}:{})", target.functions[site.function].name, site.file, site.line)
            }
            None => self.evaluator.function().name.clone(),
        }
    }

    /// Time after which an input counts as hanging even if the alarm has not ended it.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.timeout * 2 + Duration::from_secs(1)
    }

    /// Wall time limit of one evaluation.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }
}

/// Links the target of a campaign again, from its sources as they are now. If a source is gone, returns the file that
/// the campaign has loaded.
///
/// # Errors
/// When the sources do not compile, or when neither the sources nor the file exist.
pub fn link_again(campaign: &Trusted) -> Result<PathBuf, Error> {
    let manifest = campaign.manifest();
    if manifest.settings.sources.iter().all(|source| source.exists()) && !manifest.settings.sources.is_empty() {
        return build(&recipe(manifest, manifest.settings.goals, manifest.scope));
    }
    if manifest.settings.is_linked() && manifest.settings.linked.exists() {
        return Ok(manifest.settings.linked.clone());
    }
    Err(at(&manifest.settings.linked, "is the target of this campaign and no longer exists; link it again with pen-cc"))
}

/// The function whose mutants are made in this scope; `*` for all functions.
fn mutated(manifest: &Manifest, scope: ScopeKind) -> &str {
    if scope == ScopeKind::Function { &manifest.symbol } else { "*" }
}

/// The option of pen-cc with which the mutants of a campaign are compiled.
#[must_use]
pub fn mutants_flag(manifest: &Manifest, scope: ScopeKind) -> String {
    format!("{}={}", penfuzz_cc::MUTANTS_FLAG, mutated(manifest, scope))
}

/// The recipe by which the target of a campaign is built.
fn recipe(manifest: &Manifest, goals: Goals, scope: ScopeKind) -> Recipe {
    Recipe {
        sources: manifest.settings.sources.clone(),
        flags: manifest.settings.flags.clone(),
        libs: manifest.settings.libs.clone(),
        exceptions: goals.need_operations(),
        decisions: goals.are_decisions(),
        goal: manifest.settings.goal.clone().filter(|_| goals == Goals::Custom),
        mutants: (goals == Goals::Mutants).then(|| mutated(manifest, scope).to_owned()),
        ..Recipe::default()
    }
}

/// Connects the standard streams of this child process to `/dev/null`, so that the target's output does not mix with
/// that of penfuzz. On error, the target keeps the streams.
pub fn silence() {
    let _ = streams::disconnect(&[libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO]);
}
