//! What a worker and a reporter have in common: the loaded target, the function, the goals, the directory.

use std::{
    os::unix::process::parent_id,
    path::{Path, PathBuf},
    rc::Rc,
};

use penfuzz_engine::{
    error::{Error, at},
    executor::sandbox::Sandbox,
    program::{Target, select},
    saturation::{Scope, ScopeKind},
};

use super::{Options, cluster, worker_shm::WorkerShm};
use crate::output::{
    directory, fingerprint,
    manifest::{self, Manifest},
};

/// A target that is ready for a campaign.
pub struct Prepared {
    /// The target.
    pub target: Rc<Target>,
    /// The function under test.
    pub function: usize,
    /// Whose branches are goals.
    pub kind: ScopeKind,
    /// The goals.
    pub scope: Scope,
    /// What makes this the same campaign when it is resumed.
    pub fingerprint: String,
    /// What keeps the target from harming the process.
    pub hold: Sandbox,
}

impl Prepared {
    /// Loads the target into this process.
    ///
    /// # Errors
    /// When it cannot be loaded, or there is no such function, or it cannot be called.
    pub fn load(options: &Options) -> Result<Self, Error> {
        let mut hold = Sandbox::before_loading();
        let target = Target::load(&options.linked)?.named(&options.target);
        hold.loaded();
        let target = Rc::new(if options.rounding.is_nearest() { target } else { target.with_rounding() });
        let function = select::select(&target, options.function.as_deref())?;
        let kind = options.scope.unwrap_or_else(|| ScopeKind::of(&target.functions[function], options.goals));
        let scope = Scope::new(&target, function, kind, options.goals);
        let fingerprint = fingerprint::fingerprint(&target, function, kind, options.goals);
        Ok(Self { target, function, kind, scope, fingerprint, hold })
    }

    /// The directory of the campaign: `dir` if it is given, checked; the old one set aside if the user wants so. `is_farm` when
    /// there are several clients. The name of the one that is used is written to `shm`.
    ///
    /// # Errors
    /// When the directory holds something else, or is in use.
    pub fn settle(
        &self,
        options: &Options,
        dir: Option<&Path>,
        is_farm: bool,
        shm: &WorkerShm,
    ) -> Result<PathBuf, Error> {
        let f = &self.target.functions[self.function];
        let dir = dir.map_or_else(|| fingerprint::default_directory(options, &f.name), Path::to_path_buf);
        directory::refuse_foreign(&dir, &directory::CAMPAIGN_MARKS)?;
        if options.fresh
            && shm.directory.get().is_none()
            && let Some(old) = directory::set_aside(&dir, parent_id())?
        {
            eprintln!("penfuzz: starting over; the old campaign is kept in {}", old.display());
        }
        if !is_farm && cluster::is_farm(&dir) {
            return Err(at(
                &dir,
                "holds a campaign of several clients; give --cores to go on with it, or another -o, or --fresh to start over",
            ));
        }
        Ok(dir)
    }

    /// Says in `dir` what the campaign is about.
    ///
    /// # Errors
    /// Those of the file system; when the directory is that of another campaign.
    pub fn sign(&self, options: &Options, dir: &Path) -> Result<(), Error> {
        if let Ok(there) = manifest::read(dir)
            && let Some(conflict) = fingerprint::conflict(&there.fingerprint, &self.fingerprint)
        {
            return Err(at(dir, conflict));
        }
        let f = &self.target.functions[self.function];
        Manifest::new(options, &f.name, &f.symbol, self.kind, &self.fingerprint).write(dir)
    }
}
