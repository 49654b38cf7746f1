//! When a campaign asks solvers: once when its search finds nothing new, and at its end.

use std::{
    borrow::Cow,
    path::Path,
    time::{Duration, Instant},
};

use penfuzz_engine::error::Error;

use super::Supervisor;
use crate::{
    campaign::{
        models,
        options::{Options, Proofs},
    },
    output::manifest,
    process::interrupts,
    prove,
    report::{Report, write_all},
};

/// The search asks solvers for the first time when it has found no new branch for this time.
const PATIENCE: Duration = Duration::from_millis(500);
/// The factor by which this time grows after each time that solvers are asked.
const LONGER: u32 = 4;

/// The options of a campaign that pauses when it is stuck, if it is one that can: it has one client, time for proofs, a solver, and no limit
/// of evaluations, within which the same seed finds the same.
pub(super) fn pausing(options: &Options) -> Cow<'_, Options> {
    let is_alone = !options.farm.is_needed() && options.sync.is_empty();
    let pauses = is_alone
        && options.proofs == Proofs::Brief
        && options.goals.include_branches()
        && options.max_evals.is_none()
        && prove::solver::is_there();
    if pauses { Cow::Owned(Options { patience: Some(PATIENCE), ..options.clone() }) } else { Cow::Borrowed(options) }
}

impl Supervisor<'_> {
    /// Asks solvers about what the search has not found, and lets it go on without what is proved, from the models that there are.
    pub(super) fn ask_and_go_on(&mut self, dir: &Path, mut report: Report) -> Result<(), Error> {
        let began = Instant::now();
        self.carry_over(&mut report);
        if let Err(e) = self.ask(dir, &mut report, prove::Limits::after(self.begun.elapsed())) {
            self.display.warn(&format!("the proofs are not complete: {e}"));
        }
        let options = self.options.to_mut();
        let next = options.patience.map(|patience| patience * LONGER);
        options.patience = next.filter(|_| prove::unstated(&report).next().is_some());
        options.hints = prove::models::inputs(&report);
        options.excluded = prove::proved_places(&report);
        options.out = Some(dir.to_path_buf());
        options.fresh = false;
        self.stated = Some(report);
        let pause = began.elapsed();
        self.paused += pause;
        for client in &mut self.clients {
            client.shm().leave_out(pause);
            client.go_on(&self.options, self.begun)?;
        }
        Ok(())
    }

    /// Asks solvers about what nothing is stated of yet, unless the user has interrupted.
    fn ask(&self, dir: &Path, report: &mut Report, limits: prove::Limits) -> Result<prove::Summary, Error> {
        if interrupts::requested() {
            return Ok(prove::Summary::default());
        }
        let manifest = manifest::read(dir)?;
        let ask = if self.stated.is_some() { prove::complete_rest } else { prove::complete };
        ask(dir, &manifest, report, limits)
    }

    /// Copies what solvers have stated before to a later report.
    fn carry_over(&mut self, report: &mut Report) {
        for fault in self.stated.iter().flat_map(|stated| models::carry_over(stated, report)) {
            self.display.warn(&fault);
        }
    }

    /// Asks solvers about what the search left, and tries the models that they have. A campaign whose proofs fail is still a campaign.
    pub(super) fn prove(&mut self, dir: &Path, report: &mut Report) -> prove::Summary {
        self.carry_over(report);
        if self.stated.is_some()
            && let Err(e) = write_all(dir, report)
        {
            self.display.warn(&format!("the proofs are not in the reports: {e}"));
        }
        let limits = match self.options.proofs {
            Proofs::Off => return prove::Summary::default(),
            Proofs::Brief => prove::Limits::after(self.begun.elapsed()),
            Proofs::Within(limits) => limits,
        };
        let proved = self.ask(dir, report, limits);
        let tried = proved.and_then(|summary| {
            let are_new = summary.asked > 0 && self.farm.is_none();
            let faults = if are_new { models::try_all(&self.options, dir, report)? } else { Vec::new() };
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
