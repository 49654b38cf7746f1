//! Merges several campaigns and the inputs of other fuzzers into one campaign: keeps inputs that cover a new branch,
//! and one input for each place of a crash or a hang. The result can be resumed and reported on like any other
//! campaign.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use penfuzz_directory::{
    output::{
        directory::lock,
        manifest::{self, Manifest},
        preconditions, reports,
        store::{LongRun, SavedState, Store},
        trust::Trusted,
    },
    replay::{
        fresh::Zygote,
        session::{ReplaySession, Run},
    },
    shrink::Shrinker,
};
use penfuzz_engine::saturation::{BranchCounts, BranchGraph, Saturation};
use penfuzz_error::{Error, at};
use penfuzz_executor::{
    Fault,
    fresh::{FreshProcessRunner, FreshResult},
};
use penfuzz_target::program::select;

use super::{
    directory::{self, Client, FAILING, Input, KEPT},
    triage::noted,
};
use crate::{Options, assembly as report_assembly, saved_state, worker_shm::StopReason};

/// The figures of a merged campaign.
#[derive(Debug)]
pub struct Merged {
    /// Number of distinct inputs evaluated.
    pub inputs: usize,
    /// Number of inputs kept because they cover a new branch.
    pub kept: usize,
    /// Number of branches covered, including those covered by crashes.
    pub covered: usize,
    /// Number of branches in scope.
    pub total: usize,
    /// Number of places of crashes.
    pub crashes: usize,
    /// Number of places of hangs.
    pub hangs: usize,
}

/// A directory to merge.
struct Source {
    dir: PathBuf,
    manifest: Option<Manifest>,
    clients: Vec<Client>,
    inputs: Vec<Input>,
}

impl Source {
    fn read(dir: &Path) -> Result<Self, Error> {
        let manifest = if dir.join(manifest::FILE).exists() { Some(manifest::read(dir)?) } else { None };
        let clients = directory::clients(dir)?;
        let inputs = if clients.is_empty() {
            directory::plain_inputs(dir)?
        } else {
            directory::inputs(&clients, &[KEPT, FAILING].concat())?
        };
        Ok(Self { dir: dir.to_path_buf(), manifest, clients, inputs })
    }

    fn states(&self) -> impl Iterator<Item = &SavedState> {
        self.clients.iter().filter_map(|c| c.saved.as_ref())
    }
}

/// The directories to merge, and the target.
pub struct Merger {
    sources: Vec<Source>,
    manifest: Manifest,
    session: ReplaySession,
}

impl Merger {
    /// Reads the directories `dirs`. The target is `given`, with its manifest, or that of the first campaign. With
    /// `is_trusted`, that campaign need not have been written by this user.
    ///
    /// # Errors
    /// When a directory cannot be read, the campaigns are not on the same function and target, there is no target, or
    /// its campaign is not trusted.
    pub fn new(dirs: &[PathBuf], given: Option<(Manifest, ReplaySession)>, is_trusted: bool) -> Result<Self, Error> {
        let sources = dirs.iter().map(|d| Source::read(d)).collect::<Result<Vec<_>, _>>()?;
        let mut campaigns = sources.iter().filter_map(|s| Some((s.dir.as_path(), s.manifest.as_ref()?)));
        let (name, manifest, session) = match (given, campaigns.next()) {
            (Some((manifest, session)), first) => {
                let name = manifest.settings.target.clone();
                refuse_other(&name, &manifest, first.into_iter())?;
                (name, manifest, session)
            }
            (None, Some((dir, _))) => {
                let campaign = Trusted::read(dir, is_trusted)?;
                (dir.to_path_buf(), campaign.manifest().clone(), ReplaySession::of(&campaign)?)
            }
            (None, None) => {
                return Err(Error::new(
                    "none of the directories is that of a campaign; name the target of the inputs with --target",
                ));
            }
        };
        refuse_other(&name, &manifest, campaigns)?;
        Ok(Self { sources, manifest, session })
    }

    /// A warning for the user before anything is written.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        self.session.change_since(&self.manifest)
    }

    /// Writes the merged campaign into `out`.
    ///
    /// # Errors
    /// When `out` is not empty or cannot be written.
    pub fn write(mut self, out: &Path) -> Result<Merged, Error> {
        directory::refuse_used(out)?;
        let linked = &self.session.linked;
        self.manifest.settings.linked = std::path::absolute(linked).unwrap_or_else(|_| linked.clone());
        self.manifest.fingerprint.clone_from(&self.session.fingerprint);
        let mut fresh = self.session.zygote();
        let finds = evaluate(&mut self.session, &self.sources)?;
        let target = self.session.evaluator.target();
        let lock = lock(out, std::process::id())?;
        // The manifest is written first: it identifies the directory.
        self.manifest.write(out)?;
        let mut store = Store::open(out, lock, &self.session.fingerprint, None)?;
        store.saved = SavedState {
            fingerprint: store.saved.fingerprint.clone(),
            version: store.saved.version,
            ..sum(self.sources.iter().flat_map(Source::states), target.n_branches)
        };
        let mut saturation = Saturation::new(BranchGraph::new(target, &self.session.scope));
        let kept = fill(&mut store, &mut saturation, &finds, fresh.as_mut())?;
        let files = store.counts();
        let BranchCounts { total, covered, .. } = saturation.counts();
        let merged = Merged { inputs: finds.len(), kept, covered, total, crashes: files.crashes, hangs: files.hangs };
        drop(finds);
        self.report(&store, &saturation, fresh.as_ref())?;
        Ok(merged)
    }

    /// Writes the reports.
    fn report(mut self, store: &Store, saturation: &Saturation, fresh: Option<&Zygote>) -> Result<(), Error> {
        let evaluator = &mut self.session.evaluator;
        evaluator.set_preconditions(preconditions::read(store.dir(), &evaluator.function().symbol));
        saved_state::restore_progress(evaluator, &store.saved);
        let spent = saved_state::spent(&store.saved, saturation.len());
        let sources = report_assembly::ReportInputs {
            dir: store.dir(),
            options: &Options::resuming(&self.manifest),
            inputs: &store.inputs(),
            fault_inputs: store.fault_inputs(),
            saved: &store.saved,
            saturation,
            spent: Some(&spent),
            scope: &self.session.scope,
            stop: if saturation.is_done() { StopReason::Saturated } else { StopReason::Merged },
            fresh,
            only_fresh: false,
        };
        let report = report_assembly::report(evaluator, &sources, &mut Shrinker::default());
        reports::write_all(store.dir(), &report).map_err(Error::from_source)
    }
}

/// An input, its run, and the fault recorded by the campaign that found it.
struct Find<'a> {
    input: &'a Input,
    run: Run,
    noted: Option<Fault>,
}

/// Evaluates every distinct input once.
fn evaluate<'a>(session: &mut ReplaySession, sources: &'a [Source]) -> Result<Vec<Find<'a>>, Error> {
    let mut seen = HashSet::new();
    let all = sources.iter().flat_map(|s| s.inputs.iter().map(move |input| (input, noted(&s.clients, input))));
    let inputs: Vec<_> = all.filter(|(input, _)| seen.insert(input.bytes.as_slice())).collect();
    let bytes: Vec<&[u8]> = inputs.iter().map(|(input, _)| input.bytes.as_slice()).collect();
    let runs = session.evaluate(&bytes)?;
    Ok(inputs.into_iter().zip(runs).map(|((input, noted), run)| Find { input, run, noted }).collect())
}

/// Adds the finds to the store, and updates its state. Returns the number of kept inputs.
fn fill(
    store: &mut Store,
    saturation: &mut Saturation,
    finds: &[Find],
    mut fresh: Option<&mut Zygote>,
) -> Result<usize, Error> {
    saturation.recall_uninitialized(core::mem::take(&mut store.saved.uninitialized));
    saturation.recall_unconfirmed(core::mem::take(&mut store.saved.unconfirmed));
    let returning = || finds.iter().filter(|f| f.run.fault.is_none());
    let covered: HashSet<u32> = returning().flat_map(|f| f.run.covers.iter().copied()).collect();
    store.saved.closest.retain(|b, _| !covered.contains(b));
    for branch in store.saved.given_up.iter().filter(|b| !covered.contains(b)) {
        saturation.give_up(*branch as usize);
    }
    let mut kept = 0;
    for find in returning() {
        kept += usize::from(keep(store, saturation, find, fresh.as_deref_mut()));
    }
    for find in finds {
        keep_fault(store, find);
        if find.run.fault.is_some() {
            saturation.cover(&find.run.covers, true);
        }
    }
    saturation.cover(&store.saved.by_crash, true);
    let which = |is: &dyn Fn(usize) -> bool| (0..saturation.len()).filter(|b| is(*b)).map(|b| b as u32).collect();
    store.saved.by_crash = which(&|b| saturation.is_covered_by_crash(b));
    store.saved.given_up = which(&|b| saturation.is_given_up(b));
    store.saved.unconfirmed = saturation.unconfirmed().collect();
    store.saved.uninitialized = saturation.uninitialized().collect();
    store.save().map_err(Error::from_source)?;
    Ok(kept)
}

/// Keeps an input that fails, or that a campaign has recorded as failing although it returns this time.
fn keep_fault(store: &mut Store, find: &Find) {
    let fault = match (&find.run.fault, &find.noted) {
        // For an input that kills its process, the campaign that found it has recorded a more precise place.
        (Some(fault), Some(noted)) if fault.stack.is_empty() => Fault { key: fault.key, ..noted.clone() },
        // It was recorded as a hang, but returns with more fuel.
        (None, Some(fault)) if fault.is_out_of_fuel && find.run.long.is_some() => return,
        (Some(fault), _) | (None, Some(fault)) => fault.clone(),
        (None, None) => return,
    };
    store.keep_fault(&find.input.bytes, &fault, find.input.number("time").unwrap_or(0));
}

/// The branches of an input that may cover a new one, as taken in a fresh process: the input was evaluated after
/// others.
fn confirmed(saturation: &mut Saturation, find: &Find, fresh: Option<&mut Zygote>) -> Vec<u32> {
    let covers = &find.run.covers;
    let is_known = covers.iter().all(|b| saturation.is_covered(*b as usize)) && !saturation.has_unconfirmed();
    let Some(fresh) = fresh.filter(|_| !is_known && find.run.long.is_none()) else { return covers.clone() };
    let (hits, mut uninitialized) = match fresh.run_fresh(&find.input.bytes) {
        FreshResult::Ended { hits, uninitialized, fault: None } => (hits, uninitialized),
        FreshResult::NoProcess => return covers.clone(),
        _ => (Vec::new(), Vec::new()),
    };
    let unconfirmed: Vec<u32> = covers.iter().copied().filter(|b| !hits.contains(b)).collect();
    uninitialized.retain(|b| unconfirmed.contains(b));
    saturation.note_unconfirmed(&unconfirmed, &uninitialized);
    hits
}

/// Keeps an input that covers a new branch: in `queue/` if it saturates one, otherwise in `pending/`. Returns whether
/// it is kept.
fn keep(store: &mut Store, saturation: &mut Saturation, find: &Find, fresh: Option<&mut Zygote>) -> bool {
    let Find { input, run, .. } = find;
    let covers = confirmed(saturation, find, fresh);
    if covers.iter().all(|b| saturation.is_covered(*b as usize)) {
        return false;
    }
    let ms = input.number("time").unwrap_or(0);
    let evaluations = input.number("execs").unwrap_or(0);
    let saturates = saturation.cover(&covers, false) > 0;
    if let Some(milliseconds) = run.long {
        store.keep_long(&input.bytes, LongRun { milliseconds, covers: run.covers.clone() }, ms, evaluations, "merge");
    } else if saturates {
        store.keep(&input.bytes, ms, evaluations, "merge");
    } else {
        store.keep_pending(&input.bytes, ms, evaluations, "merge");
    }
    true
}

/// Refuses a campaign on another function or another target.
fn refuse_other<'a>(
    dir: &Path,
    manifest: &Manifest,
    others: impl Iterator<Item = (&'a Path, &'a Manifest)>,
) -> Result<(), Error> {
    for (other_dir, other) in others {
        if other.fingerprint == manifest.fingerprint {
            continue;
        }
        let what = |m: &Manifest| format!("`{}` of {}", m.function, m.settings.target.display());
        let difference = if what(manifest) == what(other) {
            "they are of different versions of the target, or differ in --scope or --rounding".to_owned()
        } else {
            format!("that is {}, this {}", what(manifest), what(other))
        };
        return Err(at(
            other_dir,
            format!("cannot be merged with {}: {difference}; give campaigns on one function", dir.display()),
        ));
    }
    Ok(())
}

/// The sum of the states, for a target with `n_branches` branches.
fn sum<'a>(states: impl Iterator<Item = &'a SavedState>, n_branches: usize) -> SavedState {
    let mut all = SavedState::default();
    states.for_each(|state| all.add(state));
    all.spent.resize(n_branches, 0);
    all.evaluated.resize(n_branches, 0);
    all.attempts.resize(n_branches, 0);
    all.taken_at.resize(n_branches, 0);
    for branches in [&mut all.given_up, &mut all.by_crash] {
        branches.retain(|b| (*b as usize) < n_branches);
    }
    all
}

/// The manifest for a target that is given for a merge, and the loaded target.
///
/// # Errors
/// When it cannot be loaded.
pub fn given(options: &Options) -> Result<(Manifest, ReplaySession), Error> {
    let subject = penfuzz_directory::replay::session::Subject {
        name: &options.settings.target,
        function: options.function.as_deref(),
        rounding: options.settings.rounding,
        args: &options.settings.args,
        calls: &options.settings.calls,
        sizes: None,
        only_numbers: false,
        goals: options.settings.goals,
        scope: options.scope,
        limits: options.settings.limits(),
    };
    let session = ReplaySession::load(&options.settings.linked, subject)?;
    let function = session.evaluator.function();
    let symbol = select::identity(session.evaluator.target(), session.evaluator.function_index());
    let manifest = Manifest {
        schema: manifest::SCHEMA,
        function: function.name.clone(),
        symbol,
        scope: session.scope.kind,
        settings: options.settings.clone().with_absolute_paths(),
        sizes: None,
        fingerprint: session.fingerprint.clone(),
    };
    Ok((manifest, session))
}
