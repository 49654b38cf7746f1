//! The operands that came closest to the cases of switches.
//!
//! A pass of a switch notes its operand at the cases on either side of it only, so that it costs the same with one case as with
//! thousands. An operand between two others is no closer to any further case than they are: for a case without an operand of its
//! own, the nearest cases below and above that have one know the closest.

use penfuzz_abi as abi;

use penfuzz_target::program::{Site, Target};

/// The largest distance.
const LARGEST: u64 = u64::MAX - 1;

/// One operand for each case of the target.
#[derive(Debug)]
pub(super) struct Near {
    operands: Vec<abi::Near>,
    /// One bit per case: it has an operand.
    known: Vec<u64>,
    /// For each branch where its cases begin in `cases`, and the end.
    first: Vec<u32>,
    /// The numbers of all cases, by branch.
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

    /// The case has an operand now; without effect on what is no case.
    pub(super) fn note(&mut self, case: usize) {
        if let Some(word) = self.known.get_mut(case / 64) {
            *word |= 1 << (case % 64);
        }
    }

    /// Forgets the operands at the cases of a branch.
    pub(super) fn forget(&mut self, branch: usize) {
        for case in &self.cases[self.first[branch] as usize..self.first[branch + 1] as usize] {
            let case = *case as usize;
            self.operands[case] = abi::Near { gap: u64::MAX, operand: 0 };
            self.known[case / 64] &= !(1 << (case % 64));
        }
    }

    /// The smallest distance of an operand to a branch of the switch `site`, and the case at which it is noted.
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
        // Its own operand is the closest on either side up to the next cases, but may be further than those at these cases.
        let below = self.last_known(site.first_case, case);
        let above = self.first_known(case + 1, site.first_case + site.cases.len());
        let distance = |c: usize| (self.operands[c].operand.abs_diff(value).clamp(1, LARGEST), c);
        own.into_iter().chain(below).chain(above).map(distance).min()
    }

    /// While the default is not taken, each operand is that of a case.
    fn closest_to_default(&self, target: &Target, site: &Site) -> Option<(u64, usize)> {
        let cases = site.first_case..site.first_case + site.cases.len();
        let known = cases.filter(|c| self.operands[*c].gap == 0 && target.to_default[*c] > 0);
        known.map(|c| (u64::from(target.to_default[c]), c)).min()
    }

    /// The last case with an operand in `from..to`.
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

    /// The first case with an operand in `from..to`.
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
