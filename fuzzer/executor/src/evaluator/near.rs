//! The operands that came closest to the cases of switches.
//!
//! A pass of a switch stores its operand only at the two cases next to it, so a pass costs the same with one case as
//! with thousands. An operand between two cases is no closer to any further case than those two are. So for a case
//! without an operand of its own, the closest operand is stored at the nearest cases below and above that have one.

use penfuzz_abi as abi;

use penfuzz_target::program::{Site, Target};

/// The largest distance.
const LARGEST: u64 = u64::MAX - 1;

/// One operand per case of the target.
#[derive(Debug)]
pub(super) struct Near {
    operands: Vec<abi::Near>,
    /// One bit per case: whether it has an operand.
    known: Vec<u64>,
    /// Per branch: the index of its first case in `cases`; the last element is the length of `cases`.
    first: Vec<u32>,
    /// The numbers of all cases, grouped by branch.
    cases: Vec<u32>,
}

impl Near {
    pub(super) fn new(target: &Target) -> Self {
        let n = target.to_default.len();
        let none = abi::Near { gap: u64::MAX, operand: 0 };
        let (mut first, mut cases) = (vec![0; target.n_branches + 1], Vec::with_capacity(n));
        for site in &target.sites {
            let mut own: Vec<_> = site.cases.iter().enumerate().map(|(i, (_, k))| (*k, site.first_case + i)).collect();
            own.sort_unstable();
            for k in 0..site.n_branches {
                first[site.first_branch + k] = (cases.len() + own.partition_point(|c| c.0 < k)) as u32;
            }
            cases.extend(own.into_iter().map(|c| c.1 as u32));
        }
        first[target.n_branches] = cases.len() as u32;
        Self { operands: vec![none; n], known: vec![0; n.div_ceil(64)], first, cases }
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut abi::Near {
        self.operands.as_mut_ptr()
    }

    /// Marks that the case has an operand. Has no effect if there is no such case.
    pub(super) fn note(&mut self, case: usize) {
        if let Some(word) = self.known.get_mut(case / 64) {
            *word |= 1 << (case % 64);
        }
    }

    /// Removes the operands at the cases of a branch.
    pub(super) fn forget(&mut self, branch: usize) {
        for case in &self.cases[self.first[branch] as usize..self.first[branch + 1] as usize] {
            let case = *case as usize;
            self.operands[case] = abi::Near { gap: u64::MAX, operand: 0 };
            self.known[case / 64] &= !(1 << (case % 64));
        }
    }

    /// Returns the smallest distance of an operand to a branch of the switch `site`, and the case at which that operand
    /// is stored.
    pub(super) fn closest(&self, target: &Target, site: &Site, branch: usize) -> Option<(u64, usize)> {
        if branch == site.first_branch {
            return self.closest_to_default(target, site);
        }
        let own = &self.cases[self.first[branch] as usize..self.first[branch + 1] as usize];
        own.iter().filter_map(|case| self.closest_to_case(site, *case as usize)).min()
    }

    fn closest_to_case(&self, site: &Site, case: usize) -> Option<(u64, usize)> {
        let value = site.cases[case - site.first_case].0;
        let own = self.last_known(case, case + 1);
        // The case's own operand is the closest between its neighbours. Operands stored at the neighbours may be closer
        // still.
        let below = self.last_known(site.first_case, case);
        let above = self.first_known(case + 1, site.first_case + site.cases.len());
        let distance = |c: usize| (self.operands[c].operand.abs_diff(value).clamp(1, LARGEST), c);
        own.into_iter().chain(below).chain(above).map(distance).min()
    }

    /// As long as the default was not taken, each operand equals the value of a case.
    fn closest_to_default(&self, target: &Target, site: &Site) -> Option<(u64, usize)> {
        let cases = site.first_case..site.first_case + site.cases.len();
        let known = cases.filter(|c| self.operands[*c].gap == 0 && target.to_default[*c] > 0);
        known.map(|c| (u64::from(target.to_default[c]), c)).min()
    }

    /// Returns the last case with an operand in `from..to`.
    fn last_known(&self, from: usize, to: usize) -> Option<usize> {
        if to <= from {
            return None;
        }
        let mut word = (to - 1) / 64;
        let mut bits = self.known[word] & (u64::MAX >> (63 - (to - 1) % 64));
        while bits == 0 {
            if word * 64 <= from {
                return None;
            }
            word -= 1;
            bits = self.known[word];
        }
        let found = word * 64 + 63 - bits.leading_zeros() as usize;
        (found >= from).then_some(found)
    }

    /// Returns the first case with an operand in `from..to`.
    fn first_known(&self, from: usize, to: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.known.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            if word * 64 >= to {
                return None;
            }
            bits = *self.known.get(word)?;
        }
        let found = word * 64 + bits.trailing_zeros() as usize;
        (found < to).then_some(found)
    }
}
