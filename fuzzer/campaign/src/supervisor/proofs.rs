//! Decides when a campaign runs solvers: whenever its search makes no progress, with growing intervals, and at its end.

use std::{
    borrow::Cow,
    path::Path,
    time::{Duration, Instant},
};

use penfuzz_directory::output::{manifest, reports::update};
use penfuzz_error::Error;
use penfuzz_prove::{self as prove, stated::StoredProofs};
use penfuzz_report::Report;
use penfuzz_system::process::interrupts;

use super::Supervisor;
use crate::{
    models,
    options::{Options, Proofs},
    watch::Phase,
};

/// Time without a new branch after which the search pauses for solvers for the first time.
const PATIENCE: Duration = Duration::from_millis(500);
/// The factor by which this time grows after each pause.
const LONGER: u32 = 4;

/// The options, changed so that the search pauses for solvers when it makes no progress. They are unchanged unless the
/// campaign has one client, time for proofs, a solver, and no limit on evaluations (with such a limit, the same seed
/// must find the same inputs).
pub(super) fn with_solver_pauses(options: &Options) -> Cow<'_, Options> {
    let is_alone = !options.run.farm.is_needed() && options.run.sync.is_empty();
    let pauses = is_alone
        && options.run.proofs == Proofs::Brief
        && options.settings.goals.have_proofs()
        && options.run.max_evals.is_none()
        && prove::solver::is_there();
    let mut options = Cow::Borrowed(options);
    if pauses {
        options.to_mut().run.patience = Some(PATIENCE);
    }
    options
}

impl Supervisor<'_> {
    /// Runs solvers on the goals that the search has not reached. Then continues the search without the goals that are
    /// proved unreachable, starting from the solver models.
    pub(super) fn run_solvers_and_resume(&mut self, dir: &Path, mut report: Report) -> Result<(), Error> {
        let began = Instant::now();
        self.display.enter(Phase::Proofs);
        self.carry_over(dir, &mut report);
        let mut limits = prove::Limits::after(self.begun.elapsed());
        // The limit of a campaign includes the pauses.
        limits.all =
            self.options.run.max_time.map_or(limits.all, |t| limits.all.min(t.saturating_sub(self.search_time())));
        if let Err(e) = ask(dir, &mut report, limits) {
            self.display.warn(&format!("the proofs are not complete: {e}"));
        }
        let run = &mut self.options.to_mut().run;
        let next = run.patience.map(|patience| patience * LONGER);
        run.patience = next.filter(|_| prove::without_verdict(&report).next().is_some());
        run.hints = prove::models::inputs(&report);
        run.out = Some(dir.to_path_buf());
        run.fresh = false;
        self.display.enter(Phase::Search);
        let pause = began.elapsed();
        for client in &mut self.clients {
            client.shm().exclude_pause(pause);
            client.resume(&self.options, self.begun)?;
        }
        Ok(())
    }

    /// Copies the proofs of an earlier pause or an earlier run of this campaign to the current report.
    fn carry_over(&mut self, dir: &Path, report: &mut Report) {
        let stated = manifest::read(dir).map(|manifest| StoredProofs::read(dir, &manifest)).unwrap_or_default();
        let mut faults = Vec::new();
        let written = update(dir, report, |report| {
            faults = models::carry_over(&stated, report);
            Ok(())
        });
        for fault in faults {
            self.display.warn(&fault);
        }
        if let Err(e) = written {
            self.display.warn(&format!("the proofs are not in the reports: {e}"));
        }
    }

    /// Runs solvers on the remaining goals, and tries their models as inputs. If the proofs fail, the campaign is still
    /// valid.
    pub(super) fn prove(&mut self, dir: &Path, report: &mut Report) -> prove::Summary {
        let limits = match self.options.run.proofs {
            Proofs::Off => return prove::Summary::default(),
            Proofs::Brief => prove::Limits::after(self.begun.elapsed()),
            Proofs::Within(limits) => limits,
        };
        if self.options.run.proofs == Proofs::Brief {
            self.carry_over(dir, report);
        }
        self.display.enter(Phase::Proofs);
        let proved = ask(dir, report, limits);
        let tried = proved.and_then(|summary| {
            // Other machines would take part in the short campaign that tries the models.
            let are_new = summary.asked > 0 && !self.options.run.farm.is_connected();
            let faults = if are_new {
                update(dir, report, |report| models::try_all(&self.options, dir, report))?
            } else {
                Vec::new()
            };
            for fault in faults {
                self.display.warn(&fault);
            }
            Ok(summary)
        });
        tried.unwrap_or_else(|e| {
            self.display.warn(&format!("the proofs are not complete: {e}"));
            prove::Summary::default()
        })
    }
}

/// Runs solvers on the branches without a proof result, unless the user has interrupted the campaign.
fn ask(dir: &Path, report: &mut Report, limits: prove::Limits) -> Result<prove::Summary, Error> {
    if interrupts::requested() {
        return Ok(prove::Summary::default());
    }
    let manifest = manifest::read(dir)?;
    let is_any = report.sites.iter().flat_map(|site| &site.branches).any(|branch| branch.proof.is_some());
    let ask = if is_any { prove::complete_rest } else { prove::complete };
    update(dir, report, |report| ask(dir, &manifest, report, limits))
}
