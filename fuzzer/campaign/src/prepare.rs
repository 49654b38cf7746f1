//! The first steps of every process that evaluates for a campaign: it loads the target, finds the function and its
//! goals, and chooses the directory.

use std::{
    os::unix::process::parent_id,
    path::{Path, PathBuf},
    rc::Rc,
};

use penfuzz_directory::{
    output::{
        directory, fingerprint,
        manifest::{self, Manifest, Settings},
        preconditions, store,
    },
    replay::open::{KnownSizes, set_calls, with_sizes},
};
use penfuzz_engine::saturation::{Scope, ScopeKind};
use penfuzz_error::{Error, at, failed};
use penfuzz_executor::sandbox::Sandbox;
use penfuzz_target::{
    inputs::{Calls, Sizes},
    program::{Target, select},
    recorded::{self, RecordedCall},
};

use super::{cluster, options::Options, worker_shm::WorkerShm};
use crate::options;

/// A loaded target that is ready for a campaign.
pub struct Prepared {
    /// The target.
    pub target: Rc<Target>,
    /// The index of the function under test.
    pub function: usize,
    /// The kind of scope: the functions whose branches are goals.
    pub kind: ScopeKind,
    /// The goals.
    pub scope: Scope,
    /// Identifies the code under test: a campaign is continued only with the same fingerprint.
    pub fingerprint: String,
    /// The declared domains of the arguments, from the options or from the stored manifest.
    args: Vec<String>,
    /// The declared structure of the sequence of calls, from the same sources.
    calls: Calls,
    /// The sizes of the memory blocks that pointers lead to.
    sizes: Sizes,
    /// The sandbox that keeps the target from harming the process.
    pub hold: Sandbox,
}

impl Prepared {
    /// Loads the target into this process.
    ///
    /// # Errors
    /// When the target cannot be loaded, or the function does not exist or cannot be called.
    pub fn load(options: &Options) -> Result<Self, Error> {
        let mut hold = Sandbox::before_loading().allowing(&options.settings.allow);
        let target = Target::load(&options.settings.linked)?.named(&options.settings.target);
        hold.loaded();
        let target = if options.settings.rounding.is_nearest() { target } else { target.with_rounding() };
        let mut target = target;
        let function = select::find(&target, options.function.as_deref())?;
        let Declarations { args, calls, sizes } = declarations(options, &target, function);
        set_calls(&mut target, function, &calls)?;
        let recorded = recorded_calls(options, &target, function)?;
        let known = sizes.as_ref().map_or(KnownSizes::Recorded(&recorded), KnownSizes::All);
        let (target, sizes) = with_sizes(target, function, &args, known, options.settings.limits(), &hold)?;
        let kind = options.scope.unwrap_or_else(|| ScopeKind::of(&target.functions[function], options.settings.goals));
        let scope = Scope::new(&target, function, kind, options.settings.goals);
        let fingerprint = fingerprint::fingerprint(&target, function, kind, options.settings.goals);
        Ok(Self { target, function, kind, scope, fingerprint, args, calls, sizes, hold })
    }

    /// Returns the directory of the campaign: `dir`, or the default one. With `--fresh`, an old campaign in it is set
    /// aside, but only by the first worker, which finds no directory in `shm`. `is_farm` is true if there are several
    /// clients.
    ///
    /// # Errors
    /// When the directory holds something else, is in use, or has a name that is not UTF-8.
    pub fn choose_directory(
        &self,
        options: &Options,
        dir: Option<&Path>,
        is_farm: bool,
        shm: &WorkerShm,
    ) -> Result<PathBuf, Error> {
        let f = &self.target.functions[self.function];
        let dir = dir.map_or_else(|| options::default_directory(options, &f.name), Path::to_path_buf);
        if dir.to_str().is_none() {
            // The supervisor receives the path as text.
            return Err(at(&dir, "is not a UTF-8 name; give another -o"));
        }
        directory::refuse_without_campaign(&dir)?;
        if options.run.fresh
            && shm.directory.get().is_none()
            && let Some(old) = directory::set_aside(&dir, parent_id())?
        {
            penfuzz_system::errln!("penfuzz: starting over; the old campaign is kept in {}", old.display());
        }
        if !is_farm && cluster::is_farm(&dir) {
            return Err(at(
                &dir,
                "holds a campaign of several clients; give --cores to resume it, or another -o, or --fresh to start \
                 over",
            ));
        }
        Ok(dir)
    }

    /// Writes the manifest of the campaign to `dir`.
    ///
    /// # Errors
    /// File system errors; when the directory belongs to another campaign.
    pub fn write_manifest(&self, options: &Options, dir: &Path) -> Result<(), Error> {
        let there =
            manifest::read(dir).map_or_else(|_| store::peek_state(dir).map(|s| s.fingerprint), |m| Some(m.fingerprint));
        if let Some(there) = there.filter(|there| !there.is_empty())
            && let Some(conflict) = fingerprint::conflict(&there, &self.fingerprint)
        {
            return Err(at(dir, conflict));
        }
        let f = &self.target.functions[self.function];
        let symbol = select::identity(&self.target, self.function);
        let settings = Settings { args: self.args.clone(), calls: self.calls.clone(), ..options.settings.clone() };
        let manifest = Manifest {
            schema: manifest::SCHEMA,
            function: f.name.clone(),
            symbol,
            scope: self.kind,
            settings: settings.with_absolute_paths(),
            sizes: Some(self.sizes.clone()).filter(|sizes| !sizes.is_empty()),
            fingerprint: self.fingerprint.clone(),
        };
        manifest.write(dir)
    }

    /// Copies the likely preconditions of the function from the recording, if there is one, to the directory of a
    /// campaign or of a client.
    ///
    /// # Errors
    /// Those of [`preconditions::copy`].
    pub fn copy_preconditions(&self, options: &Options, dir: &Path) -> Result<(), Error> {
        let symbol = &self.target.functions[self.function].symbol;
        options.run.seeds.as_ref().map_or(Ok(()), |recording| preconditions::copy(recording, dir, symbol))
    }
}

/// The calls of the function that the directory of seeds has a recording of.
pub(super) fn recorded_calls(options: &Options, target: &Target, function: usize) -> Result<Vec<RecordedCall>, Error> {
    let Some(dir) = &options.run.seeds else { return Ok(Vec::new()) };
    let file = recorded::of_symbol(dir, &target.functions[function].symbol);
    if !file.exists() {
        return Ok(Vec::new());
    }
    recorded::read(&file).map_err(|e| failed(&file, "cannot be read", e))
}

/// The declarations about the inputs, and their sizes if these are known from the manifest.
struct Declarations {
    args: Vec<String>,
    calls: Calls,
    sizes: Option<Sizes>,
}

/// The declared arguments and calls. Unset options default to the stored manifest of a campaign on this function. The
/// stored sizes hold for these declarations only: other declarations change the fingerprint, and the campaign is
/// refused.
fn declarations(options: &Options, target: &Target, function: usize) -> Declarations {
    let (args, calls) = (options.settings.args.clone(), options.settings.calls.clone());
    let nothing = Declarations { args, calls, sizes: None };
    if options.run.fresh {
        return nothing;
    }
    let name = &target.functions[function].name;
    let dir = options.run.out.clone().unwrap_or_else(|| options::default_directory(options, name));
    let begun = manifest::read(&dir).ok().filter(|m| m.symbol == select::identity(target, function));
    let Some(begun) = begun else { return nothing };
    let Declarations { args, calls, .. } = nothing;
    let Settings { args: begun_args, calls: begun_calls, .. } = begun.settings;
    let init = calls.init.or(begun_calls.init);
    let globals = if calls.globals.is_empty() { begun_calls.globals } else { calls.globals };
    let calls = Calls { most: calls.most.or(begun_calls.most), init, globals };
    Declarations { args: if args.is_empty() { begun_args } else { args }, calls, sizes: begun.sizes }
}
