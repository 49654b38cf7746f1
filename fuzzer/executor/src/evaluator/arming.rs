//! Arming of sites: the metric, the value of `r` before a run, and the action bytes of the sites in scope.
//!
//! A search changes its goal every few hundred evaluations, and a change must not cost time proportional to the number
//! of open branches. So the evaluator stores which bytes it has written, and [`Evaluator::arm_changed`] writes only
//! those that differ.

use std::rc::Rc;

use penfuzz_abi::{Walk, action, metric, site_kind};
use penfuzz_target::program::Target;

use super::{Evaluator, RunStatus};

/// The actions that need the distance to a branch.
const MEASURED: u8 = action::WANT | action::TRACK | action::LEAD;

/// The actions of a branch of a switch for which `r` depends on its distance.
const R_ACTIONS: u8 = action::WANT | action::LEAD;

/// A list of branches whose action may have changed, in order. Entries are only ever appended.
#[derive(Debug, Clone, Copy)]
pub struct Changes<'a> {
    /// Identifies the list; unique in this process.
    pub identity: u64,
    /// The branches.
    pub branches: &'a [u32],
}

/// The action bytes that are currently written.
#[derive(Debug)]
pub(super) struct Armed {
    /// Per site, for switches only: the number of branches with any action, and with [`action::TRACK`].
    tallies: Vec<(u32, u32)>,
    /// The branches of switches with an action of [`R_ACTIONS`], ascending.
    measured: Vec<u32>,
    /// Number of comparisons with an action.
    comparisons: usize,
    base: Option<Base>,
    /// The enabled mutant ([`Evaluator::set_mutant`]), if `is_alone`.
    pub(super) mutant: Option<usize>,
    /// Whether no other branch has an action.
    pub(super) is_alone: bool,
    /// Branches whose bytes differ from the base.
    different: Vec<u32>,
    /// The progress of the evaluation of each decision, indexed by its first branch; empty if the target has no
    /// decisions.
    walks: Vec<Walk>,
}

/// The actions that all branches have except those in [`Armed::different`].
#[derive(Debug, Clone, Copy)]
struct Base {
    /// Identity of the list of changes.
    identity: u64,
    /// Number of changes already written.
    written: usize,
    tracks: bool,
}

impl Armed {
    pub(super) fn new(target: &Target) -> Self {
        Self {
            tallies: vec![(0, 0); target.sites.len()],
            measured: Vec::new(),
            comparisons: 0,
            base: None,
            mutant: None,
            is_alone: false,
            different: Vec::new(),
            walks: vec![Walk::default(); if target.has_decisions() { target.n_branches } else { 0 }],
        }
    }
}

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

    /// Sets the distance of a strict comparison whose operands are equal (epsilon of `CoverMe`, Def. 4.1), finite and
    /// at least 0; only the metric [`metric::SQUARED`] uses it. The initial value is `1e-6`.
    pub fn set_epsilon(&mut self, epsilon: f64) {
        // SAFETY: as in `run`.
        unsafe { (*self.state).epsilon = epsilon };
    }

    /// Sets the value at which `r` starts when a branch with [`action::LEAD`] is missed. Only the values of armed
    /// branches are used.
    pub fn set_leads(&mut self, leads: impl Iterator<Item = (usize, u64)>) {
        for (branch, r) in leads {
            self.lead[branch] = r;
        }
    }

    /// Restricts arming to these sites; all others are disarmed.
    pub fn set_scope(&mut self, sites: &[usize]) {
        self.arm(|_| 0);
        self.sites = sites.to_vec();
    }

    /// Sets the action byte of every branch in scope. `action_of` returns it without [`action::NEAR`] and
    /// [`action::ARMED`], which are derived from the other bits.
    pub fn arm(&mut self, mut action_of: impl FnMut(usize) -> u8) {
        self.armed.base = None;
        self.armed.is_alone = false;
        self.armed.different.clear();
        self.armed.measured.clear();
        self.armed.comparisons = 0;
        let target = Rc::clone(&self.target);
        // SAFETY: `actions` are `n_branches` bytes of the target, read only while it runs.
        let actions = unsafe { core::slice::from_raw_parts_mut(target.actions(), target.n_branches) };
        for (number, site) in self.sites.iter().map(|s| (*s, &target.sites[*s])) {
            let bytes = &mut actions[site.branches()];
            for (i, byte) in bytes.iter_mut().enumerate() {
                *byte = action_of(site.first_branch + i);
            }
            if site.kind == site_kind::SWITCH {
                self.armed.arm_switch(number, site.first_branch, bytes);
            } else {
                arm_site(bytes);
            }
            if site.kind == site_kind::COMPARISON && bytes[0] != 0 {
                self.armed.comparisons += 1;
                enable_hook(&mut actions[target.sites[number - 1].branches()]);
            }
            if let Some(decision) = site.decision.as_ref().filter(|_| actions[site.first_branch] != 0) {
                for condition in &decision.conditions {
                    enable_hook(&mut actions[target.sites[condition.site].branches()]);
                }
            }
        }
        self.update_runtime_state(true);
    }

    /// Arms the open branches and a goal. `action_of` returns the actions of an open branch, and 0 for any other
    /// branch; `goal` lists branches with additional actions. Only bytes that differ from the last call with the same
    /// `changes` are written, so that list must contain every branch for which `action_of` has changed since then. If
    /// `tracks` is false, [`action::TRACK`] has no effect until the next call.
    pub fn arm_changed(
        &mut self,
        changes: Changes<'_>,
        action_of: impl Fn(usize) -> u8,
        goal: &[(usize, u8)],
        tracks: bool,
    ) {
        self.armed.is_alone = false;
        match self.armed.base.filter(|b| b.identity == changes.identity && (b.tracks || !tracks)) {
            None => {
                let shown = if tracks { u8::MAX } else { !action::TRACK };
                self.arm(|b| action_of(b) & shown);
                self.armed.base = Some(Base { identity: changes.identity, written: changes.branches.len(), tracks });
            }
            Some(base) => {
                let shown = if base.tracks { u8::MAX } else { !action::TRACK };
                let different = core::mem::take(&mut self.armed.different);
                for b in different.iter().chain(&changes.branches[base.written..]) {
                    self.set_byte(*b as usize, action_of(*b as usize) & shown);
                }
                self.armed.different = different;
                self.armed.different.clear();
                self.armed.base = Some(Base { written: changes.branches.len(), ..base });
            }
        }
        for (branch, actions) in goal {
            self.set_byte(*branch, action_of(*branch) | actions);
            self.armed.different.push(*branch as u32);
        }
        self.update_runtime_state(tracks);
    }

    /// Does the base include [`action::TRACK`], so that an [`Evaluator::arm_changed`] with `tracks` writes few bytes?
    #[must_use]
    pub fn tracks(&self) -> bool {
        self.armed.base.is_some_and(|base| base.tracks)
    }

    /// Updates the state of the runtime that depends on the action bytes.
    fn update_runtime_state(&mut self, tracks: bool) {
        // SAFETY: as in `run`; the list is replaced only before this is called.
        unsafe {
            let state = &mut *self.state;
            state.measured = self.armed.measured.as_ptr();
            state.n_measured = self.armed.measured.len() as u32;
            state.best = if tracks { self.best.as_mut_ptr() } else { core::ptr::null_mut() };
            let walks = &mut self.armed.walks;
            state.walks = if walks.is_empty() { core::ptr::null_mut() } else { walks.as_mut_ptr() };
            state.n_walks = 0;
        }
        self.choose_metric();
    }

    /// Selects the metric. The hook of a two-way site evaluates its comparison site and stores operands only in the
    /// metric [`metric::BOUNDARY`].
    pub(super) fn choose_metric(&mut self) {
        // SAFETY: as in `run`.
        unsafe {
            let state = &mut *self.state;
            if state.metric != metric::SQUARED {
                let further = self.armed.comparisons > 0 || !state.compared.is_null();
                state.metric = if further { metric::BOUNDARY } else { metric::ULP };
            }
        }
    }

    /// Runs one input and returns which of the given `branches` it takes; `branches` has one flag per branch of the
    /// target.
    pub fn record(&mut self, branches: &[bool], bytes: &[u8]) -> (RunStatus, Vec<u32>) {
        self.arm_records(branches);
        self.run_recorded(bytes)
    }

    /// Records these `branches` and no others from now on; `branches` has one flag per branch of the target.
    pub fn arm_records(&mut self, branches: &[bool]) {
        self.set_metric(metric::ULP, u64::MAX);
        self.arm(|b| if branches[b] { action::RECORD } else { 0 });
    }

    /// Runs one input and returns the recorded branches that it takes; see [`Evaluator::run_in_all_placements`].
    pub fn run_recorded(&mut self, bytes: &[u8]) -> (RunStatus, Vec<u32>) {
        self.run_in_all_placements(bytes)
    }

    /// Stops recording, wanting and tracking these branches, without processing the others.
    pub fn disarm(&mut self, branches: &[u32]) {
        self.armed.is_alone = false;
        for b in branches {
            self.set_byte(*b as usize, 0);
            self.armed.different.push(*b);
        }
        // SAFETY: as in `update_runtime_state`.
        unsafe {
            (*self.state).measured = self.armed.measured.as_ptr();
            (*self.state).n_measured = self.armed.measured.len() as u32;
        }
    }

    /// Replaces the actions of one branch. The cost does not depend on the number of branches of its site.
    pub(super) fn set_byte(&mut self, branch: usize, byte: u8) {
        let target = Rc::clone(&self.target);
        let number = target.site_of(branch);
        let site = &target.sites[number];
        // SAFETY: as in `arm`.
        let actions = unsafe { core::slice::from_raw_parts_mut(target.actions(), target.n_branches) };
        if site.kind == site_kind::SWITCH {
            self.armed.set_at_switch(number, site.first_branch, &mut actions[site.branches()], branch, byte);
            return;
        }
        let was_armed = actions[site.first_branch] != 0;
        actions[branch] = byte;
        if site.is_conditional() {
            complete_two_way(&target, actions, number);
            return;
        }
        arm_site(&mut actions[site.branches()]);
        if site.kind == site_kind::COMPARISON {
            let is_armed = actions[site.first_branch] != 0;
            self.armed.comparisons = self.armed.comparisons + usize::from(is_armed) - usize::from(was_armed);
            complete_two_way(&target, actions, number - 1);
        }
        for condition in site.decision.iter().flat_map(|d| &d.conditions) {
            complete_two_way(&target, actions, condition.site);
        }
    }
}

impl Armed {
    /// Sets the derived bits of switch `number`, all bytes of which are new.
    fn arm_switch(&mut self, number: usize, first: usize, bytes: &mut [u8]) {
        let has = |actions: u8| move |b: &&u8| **b & actions != 0;
        let count = |actions: u8| bytes.iter().filter(has(actions)).count() as u32;
        self.tallies[number] = (count(u8::MAX), count(action::TRACK));
        let in_r = bytes.iter().enumerate().filter(|(_, b)| **b & R_ACTIONS != 0).map(|(i, _)| (first + i) as u32);
        self.measured.extend(in_r);
        self.complete_switch(number, bytes);
    }

    fn set_at_switch(&mut self, number: usize, first: usize, bytes: &mut [u8], branch: usize, byte: u8) {
        let (busy, tracked) = &mut self.tallies[number];
        let own = &mut bytes[branch - first];
        let before = *own & !(action::NEAR | action::ARMED);
        *busy = *busy + u32::from(byte != 0) - u32::from(before != 0);
        *tracked = *tracked + u32::from(byte & action::TRACK != 0) - u32::from(before & action::TRACK != 0);
        *own = byte;
        match (before & R_ACTIONS != 0, byte & R_ACTIONS != 0, self.measured.binary_search(&(branch as u32))) {
            (false, true, Err(at)) => self.measured.insert(at, branch as u32),
            (true, false, Ok(at)) => {
                self.measured.remove(at);
            }
            _ => {}
        }
        self.complete_switch(number, bytes);
    }

    /// Sets the derived bits in the first byte of a switch, which apply to the whole switch.
    fn complete_switch(&self, number: usize, bytes: &mut [u8]) {
        let (busy, tracked) = self.tallies[number];
        let flag = |on: bool, flag: u8| if on { flag } else { 0 };
        let own = bytes[0] & !(action::NEAR | action::ARMED);
        bytes[0] = own | flag(busy > 0, action::ARMED) | flag(tracked > 0, action::NEAR);
    }
}

/// Sets the derived bits of a two-way site, a comparison or an operation: which branches have a wanted or tracked
/// sibling, and whether the hook must evaluate the site at all.
fn arm_site(bytes: &mut [u8]) {
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

/// Sets the derived bits of a two-way site, whose comparison or decision may be armed.
fn complete_two_way(target: &Target, actions: &mut [u8], number: usize) {
    let site = &target.sites[number];
    arm_site(&mut actions[site.branches()]);
    let comparison = target.sites.get(number + 1).filter(|s| s.kind == site_kind::COMPARISON);
    let decision = site.part_of.map(|decision| &target.sites[decision]);
    if comparison.into_iter().chain(decision).any(|s| actions[s.first_branch] != 0) {
        enable_hook(&mut actions[site.branches()]);
    }
}

/// Makes the hook of a two-way site evaluate its comparison and its decision: it does so only if the site's own bytes
/// are not zero.
fn enable_hook(bytes: &mut [u8]) {
    bytes[0] |= action::NEAR | action::ARMED;
    bytes[1] |= action::NEAR;
}

/// Converts a metric of the ABI to that of the mutators.
#[must_use]
pub fn metric_of(metric: u32) -> penfuzz_mutators::evaluate::Metric {
    if metric == metric::SQUARED {
        penfuzz_mutators::evaluate::Metric::Squared
    } else {
        penfuzz_mutators::evaluate::Metric::Ulp
    }
}
