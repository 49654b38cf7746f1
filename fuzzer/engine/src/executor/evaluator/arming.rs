//! The evaluator's side of an objective: metric, `r` before a run, and the action bytes of the sites in scope.

use std::rc::Rc;

use penfuzz_cc::abi::{action, metric, site_kind};

use super::{Evaluator, RunStatus};

impl Evaluator {
    /// The metric that is set, one of [`metric`].
    #[must_use]
    pub fn metric(&self) -> u32 {
        // SAFETY: as in `run`.
        unsafe { (*self.state).metric }
    }

    /// Sets the metric and the value of `r` before each run.
    pub fn set_metric(&mut self, metric: u32, r0: u64) {
        self.r0 = r0;
        // SAFETY: as in `run`.
        unsafe { (*self.state).metric = metric };
    }

    /// Where `r` begins for each branch with [`action::LEAD`] when it is missed; only what armed branches have is read.
    pub fn set_leads(&mut self, leads: impl Iterator<Item = (usize, u64)>) {
        for (branch, r) in leads {
            self.lead[branch] = r;
        }
    }

    /// Arms only these sites from now on; the others are at rest.
    pub fn set_scope(&mut self, sites: &[usize]) {
        self.arm(|_| 0);
        self.sites = sites.to_vec();
    }

    /// Sets the action byte of every branch in scope; `action_of` gives it without [`action::NEAR`] and [`action::ARMED`], which follow
    /// from the others.
    pub fn arm(&mut self, mut action_of: impl FnMut(usize) -> u8) {
        self.recorded.clear();
        let target = Rc::clone(&self.target);
        // SAFETY: `actions` are `n_branches` bytes of the target, read only while it runs.
        let actions = unsafe { core::slice::from_raw_parts_mut(target.actions(), target.n_branches) };
        let mut any_comparison = false;
        for site in self.sites.iter().map(|s| &target.sites[*s]) {
            let bytes = &mut actions[site.branches()];
            for (i, byte) in bytes.iter_mut().enumerate() {
                *byte = action_of(site.first_branch + i);
                if *byte & action::RECORD != 0 {
                    self.recorded.push((site.first_branch + i) as u32);
                }
            }
            arm_site(bytes);
            if site.kind == site_kind::COMPARISON && bytes[0] != 0 {
                any_comparison = true;
                open_gate(actions, site.first_branch);
            }
        }
        if self.metric() != metric::SQUARED {
            // SAFETY: as in `run`.
            unsafe { (*self.state).metric = if any_comparison { metric::BOUNDARY } else { metric::ULP } };
        }
    }

    /// Runs one input and returns those of these `branches` that it takes; there is one flag per branch of the target.
    pub fn record(&mut self, branches: &[bool], bytes: &[u8]) -> (RunStatus, Vec<u32>) {
        self.set_metric(metric::ULP, u64::MAX);
        self.arm(|b| if branches[b] { action::RECORD } else { 0 });
        let ran = self.run(bytes);
        let mut hits = Vec::new();
        self.take_hits(&mut hits);
        (ran, hits)
    }

    /// Stops recording, wanting and tracking these branches, without looking at the others.
    pub fn disarm(&mut self, branches: &[u32]) {
        let target = Rc::clone(&self.target);
        // SAFETY: as in `arm`.
        let actions = unsafe { core::slice::from_raw_parts_mut(target.actions(), target.n_branches) };
        for b in branches {
            let site = &target.sites[target.site_of(*b as usize)];
            actions[*b as usize] = 0;
            arm_site(&mut actions[site.branches()]);
            if site.kind == site_kind::COMPARISON && actions[site.first_branch] != 0 {
                open_gate(actions, site.first_branch);
            }
        }
        self.recorded.retain(|b| !branches.contains(b));
    }
}

/// Completes the bytes of one site: who has a wanted or tracked sibling, and whether the hook must look at all.
fn arm_site(bytes: &mut [u8]) {
    const MEASURED: u8 = action::WANT | action::TRACK | action::LEAD;
    let goals = bytes.iter().filter(|b| **b & MEASURED != 0).count();
    let mut any = 0;
    for byte in bytes.iter_mut() {
        *byte &= !(action::NEAR | action::ARMED);
        let own = usize::from(*byte & MEASURED != 0);
        if goals > own {
            *byte |= action::NEAR;
        }
        any |= *byte;
    }
    if any != 0 {
        bytes[0] |= action::ARMED;
    }
}

/// The hook of a two-way site looks at the comparison that follows in the tables only where its own bytes are not at rest.
fn open_gate(actions: &mut [u8], comparison: usize) {
    actions[comparison - 2] |= action::NEAR | action::ARMED;
    actions[comparison - 1] |= action::NEAR;
}

/// The metric of the ABI as the mutators know it.
#[must_use]
pub fn metric_of(metric: u32) -> penfuzz_mutators::evaluate::Metric {
    if metric == metric::SQUARED {
        penfuzz_mutators::evaluate::Metric::Squared
    } else {
        penfuzz_mutators::evaluate::Metric::Ulp
    }
}
