//! Goal for one path: `r` is 0 iff the run takes the given sequence of branches.
//!
//! Mathematical Execution has `r0 = 0` and adds to `r`, at each conditional on the path, the distance to the branch
//! that the path requires there (Fu and Su 2016, Sect. 4.4.1: `r = r + d`). After the first wrong branch, it adds
//! distances at conditionals that the path may not even pass. Here `r` is ordered instead: first by the number of
//! missing steps, then by the distance to the branch of the first missing step. It is 0 for the same inputs, and an
//! input that gets further is always closer.

use penfuzz_abi::{END, STRAYED, action, metric};
use penfuzz_executor::PenEvaluator;

use super::Goal;
use crate::saturation::Saturation;

/// One step of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The next conditional that is passed takes this branch.
    Branch(usize),
    /// Any sequence of branches, even an empty one.
    Any,
    /// No further conditional is passed. Only the last step can be this one.
    End,
}

/// Number of bits of `r` below the number of missing steps, if there are few steps: as many as an exact distance
/// between doubles of one sign and similar size needs.
const BITS: u32 = 54;
/// The same if there are many steps.
const LEAST_BITS: u32 = 16;
/// Number of bits of a distance below a level of the approach; the same as `PATH_LEAD_BITS` of the runtime.
const LEVEL_BITS: u32 = 8;
/// Levels above this one share one value, because the levels have a quarter of the range below a step.
const HIGHEST_LEVEL: u32 = (1 << (LEVEL_BITS - 2)) - 2;

/// A sequence of steps that a run must take in order; `r` is ordered by missing steps first, then by the distance of
/// the next.
///
/// # Example
/// ```
/// use penfuzz_engine::goals::path::{Path, Progress, Step};
///
/// // Branch 0, then 2 as the next conditional, then no further conditional.
/// let steps = [Step::Branch(0), Step::Branch(2), Step::End];
/// let path = Path::new(&steps, vec![true; 4]).expect("it has a step");
/// assert_eq!(path.branches().collect::<Vec<_>>(), [Some(0), Some(2), None]);
/// assert_eq!(path.progress(0, steps.len()), Progress { step: 3, distance: None }, "r = 0: the run takes the path");
/// assert_eq!(path.missing(u64::MAX), 3, "r0: no conditional was passed");
/// assert!(Path::new(&[Step::Any], vec![true; 4]).is_none(), "every run takes this path");
/// ```
#[derive(Debug, Clone)]
pub struct Path {
    /// For every branch of the target, whether passes of its site count.
    counts: Vec<bool>,
    steps: Vec<u32>,
    back: Vec<u32>,
    /// For each entry of `steps`, the index of its step among the given steps.
    step: Vec<usize>,
    bits: u32,
    leads: Vec<(usize, u64)>,
}

/// How far a run followed a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Index of the first step that was not taken, among the given steps; their number if all steps were taken.
    pub step: usize,
    /// Distance to the branch of that step, if its site was reached: exact up to 2^50 (2^12 on a path of 2^48 steps),
    /// rounded beyond.
    pub distance: Option<u64>,
}

impl Path {
    /// Creates a path over the branches for which `counts` has a flag (the same for all branches of a site; as many
    /// flags as the target has branches). The path begins with the first such conditional that a run passes, unless its
    /// first step is [`Step::Any`]. Returns `None` if every run takes the path, because it has no branch and no end.
    #[must_use]
    pub fn new(steps: &[Step], counts: Vec<bool>) -> Option<Self> {
        let mut me =
            Self { counts, steps: Vec::new(), back: Vec::new(), step: Vec::new(), bits: BITS, leads: Vec::new() };
        let mut segment = None;
        for (i, step) in steps.iter().enumerate() {
            let branch = match *step {
                Step::Any => {
                    segment = Some(me.steps.len());
                    continue;
                }
                // Any passes may come last, so an end adds no requirement.
                Step::End if segment == Some(me.steps.len()) => continue,
                Step::End => END,
                Step::Branch(b) => b as u32,
            };
            me.back.push(segment.map_or(STRAYED, |start| me.fallback(start)));
            me.steps.push(branch);
            me.step.push(i);
        }
        let n = me.steps.len() as u64;
        me.bits = (u64::BITS - (n + 1).ilog2() - 1).clamp(LEAST_BITS, BITS);
        (n > 0).then_some(me)
    }

    /// Knuth, Morris and Pratt's failure function for the next step, in the segment from `start` on: the entry after
    /// the longest proper prefix of the segment that the steps so far end with.
    fn fallback(&self, start: usize) -> u32 {
        let at = self.steps.len();
        if at == start {
            return start as u32;
        }
        let mut before = self.back[at - 1] as usize;
        if at - 1 == start {
            return start as u32;
        }
        while before > start && self.steps[before] != self.steps[at - 1] {
            before = self.back[before] as usize;
        }
        (before + usize::from(self.steps[before] == self.steps[at - 1])) as u32
    }

    /// Number of steps that are branches or the end.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// The branch of each entry; `None` for the end.
    pub fn branches(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        self.steps.iter().map(|step| (*step != END).then_some(*step as usize))
    }

    /// Always false: a path has a step.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Number of entries that are missing at this value of `r`; all entries if `r` is as before the run.
    #[must_use]
    pub fn missing(&self, r: u64) -> usize {
        if r == u64::MAX { self.steps.len() } else { (r >> self.bits) as usize }
    }

    /// Interprets a value of `r`. `steps` is the number of given steps.
    #[must_use]
    pub fn progress(&self, r: u64, steps: usize) -> Progress {
        let missing = self.missing(r);
        if missing == 0 {
            return Progress { step: steps, distance: None };
        }
        let (squeezed, exact) = (r & self.mask(), 1u64 << (self.bits - 4));
        let distance = match squeezed {
            _ if !self.is_site_reached(r) => None,
            d if d <= exact => Some(d),
            d => Some(exact.saturating_add((d - exact) << (65 - self.bits))),
        };
        Progress { step: self.step[self.steps.len() - missing], distance }
    }

    /// Whether the run passed the site of the first step that it did not take.
    #[must_use]
    pub fn is_site_reached(&self, r: u64) -> bool {
        r != u64::MAX && r & self.mask() < self.lead_base()
    }

    fn mask(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// Distances to a wanted branch stay below three quarters of the range below a step.
    fn lead_base(&self) -> u64 {
        3 << (self.bits - 2)
    }

    /// The branch of the next entry if it may follow any passes ([`Step::Any`]); `missing` is the number of missing
    /// entries.
    #[must_use]
    pub fn branch_after_any(&self, missing: usize) -> Option<usize> {
        let at = self.steps.len().checked_sub(missing).filter(|at| *at < self.steps.len())?;
        (self.back[at] as usize == at).then_some(self.steps[at] as usize)
    }

    /// If the next entry is the first one after a [`Step::Any`], `r` also falls along the branches that lead to its
    /// site (as in [`super::Approach`]). Other entries have no such branches. `missing` is the number of missing
    /// entries.
    pub fn lead(&mut self, missing: usize, saturation: &Saturation) {
        self.leads.clear();
        let Some(branch) = self.branch_after_any(missing) else { return };
        let base = |level: u32| {
            let above = u64::from(level.min(HIGHEST_LEVEL)) << (self.bits - LEVEL_BITS);
            ((missing as u64) << self.bits) + self.lead_base() + above
        };
        self.leads = saturation.leads(branch).into_iter().map(|(b, level)| (b, base(level))).collect();
    }
}

impl Goal for Path {
    fn metric(&self) -> u32 {
        metric::ULP
    }

    /// No site was reached.
    fn r0(&self) -> u64 {
        u64::MAX
    }

    fn action(&self, _saturation: &Saturation, branch: usize) -> u8 {
        if !self.counts[branch] {
            return 0;
        }
        let is_lead = self.leads.binary_search_by_key(&branch, |l| l.0).is_ok();
        action::STEP | if is_lead { action::LEAD } else { 0 }
    }

    fn arm<V: PenEvaluator>(&self, evaluator: &mut V, saturation: &Saturation) {
        evaluator.set_metric(self.metric(), self.r0());
        evaluator.set_path(&self.steps, &self.back, self.bits);
        evaluator.set_leads(self.leads.iter().copied());
        evaluator.arm(|b| self.action(saturation, b));
    }
}

/// Whether the sequence of branches that a run took follows the steps. Equivalent to `r == 0`, but from the record of a
/// run alone.
#[must_use]
pub fn is_taken(steps: &[Step], passes: &[u32]) -> bool {
    let mut segments = steps.split(|s| *s == Step::Any).peekable();
    let (mut at, mut is_first) = (0, true);
    while let Some(segment) = segments.next() {
        let ends = segment.last() == Some(&Step::End);
        let branches: Vec<u32> =
            segment.iter().filter_map(|s| if let Step::Branch(b) = s { Some(*b as u32) } else { None }).collect();
        let rest = &passes[at..];
        let found = if ends && !is_first {
            rest.ends_with(&branches).then(|| rest.len() - branches.len())
        } else if is_first {
            (rest.starts_with(&branches) && (!ends || rest.len() == branches.len())).then_some(0)
        } else {
            (0..=rest.len().saturating_sub(branches.len())).find(|i| rest[*i..].starts_with(&branches))
        };
        match found {
            Some(i) => at += i + branches.len(),
            None => return false,
        }
        is_first = false;
        debug_assert!(!ends || segments.peek().is_none(), "the end comes last");
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(steps: &[Step]) -> Path {
        Path::new(steps, vec![true; 10]).expect("there is a branch in it")
    }

    fn of(text: &str) -> Vec<Step> {
        let step = |c| match c {
            '*' => Step::Any,
            '$' => Step::End,
            c => Step::Branch(c as usize - '0' as usize),
        };
        text.chars().map(step).collect()
    }

    #[test]
    fn a_segment_falls_back_to_its_longest_border() {
        assert_eq!(path(&of("*00100")).back, [0, 0, 1, 0, 1]);
        assert_eq!(path(&of("5*0101$")).back, [STRAYED, 1, 1, 1, 2, 3]);
        assert_eq!(path(&of("01")).back, [STRAYED; 2]);
    }

    #[test]
    fn a_path_that_every_run_takes_is_none() {
        for steps in ["", "*", "**", "*$"] {
            assert!(Path::new(&of(steps), vec![true; 10]).is_none(), "{steps}");
        }
        assert_eq!(path(&of("1*$")).len(), 1, "the end comes anyway");
    }

    #[test]
    fn r_tells_the_first_step_not_taken() {
        let p = path(&of("*1*23"));
        assert_eq!(p.progress(u64::MAX, 5), Progress { step: 1, distance: None });
        assert_eq!(p.progress(2 << BITS | 7, 5), Progress { step: 3, distance: Some(7) });
        assert_eq!(p.progress(1 << BITS | p.mask(), 5), Progress { step: 4, distance: None });
        assert_eq!(p.progress(0, 5), Progress { step: 5, distance: None });
    }

    #[test]
    fn many_steps_leave_fewer_bits_for_distances() {
        let steps = vec![Step::Branch(1); 100_000];
        let p = path(&steps);
        assert_eq!(p.bits, 47);
        assert!(100_000u64 << p.bits >> p.bits == 100_000, "all steps fit above them");
    }

    #[test]
    fn the_record_of_a_run_is_matched_as_written() {
        let taken = |steps: &str, passes: &str| {
            let passes: Vec<u32> = passes.bytes().map(|c| u32::from(c - b'0')).collect();
            is_taken(&of(steps), &passes)
        };
        for (steps, passes, expected) in [
            ("01", "012", true),
            ("01", "201", false),
            ("*01", "201", true),
            ("0*1", "0221", true),
            ("0*1", "1221", false),
            ("01$", "01", true),
            ("01$", "012", false),
            ("*01$", "0101", true),
            ("*01$", "010", false),
            ("$", "", true),
            ("$", "0", false),
            ("0*0", "0", false),
        ] {
            assert_eq!(taken(steps, passes), expected, "{steps} on {passes}");
        }
    }
}
