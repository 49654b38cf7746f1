//! Results of a search that are stored, and the merge of the answers of several runs.

use std::collections::HashSet;

use penfuzz_mutators::extremes::Peak;

use super::{Answer, Class, Compared, Found, inputs::Inputs, search::box_of};

/// Maximum number of wrong results of one class that are kept.
pub const WRONG: usize = 16;
/// Maximum number of sets of branches in a report.
pub const PATHS: usize = 64;

impl Compared {
    /// Returns the error; `None` for a difference without a size.
    #[must_use]
    pub fn size(self) -> Option<f64> {
        match self {
            Self::Ulps(size) => Some(size),
            Self::Wrong(_) => None,
        }
    }

    /// Returns the class of a difference without a size.
    #[must_use]
    pub fn class(self) -> Option<Class> {
        match self {
            Self::Ulps(_) => None,
            Self::Wrong(class) => Some(class),
        }
    }
}

impl Found {
    /// Returns the error; `None` for a difference without a size.
    #[must_use]
    pub fn size(&self) -> Option<f64> {
        self.compared.size()
    }

    /// Returns the value of the reference, rounded to the type of the result, raw bits; `None` if the reference does
    /// not return.
    #[must_use]
    pub fn expected(&self) -> Option<u64> {
        self.exact.as_ref().map(|exact| exact.rounded).or(self.of_reference)
    }

    fn class(&self) -> Option<Class> {
        self.compared.class()
    }
}

impl Answer {
    /// Returns the largest error; 0 if none was found.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.found.last().and_then(Found::size).unwrap_or(0.0)
    }

    /// Returns whether the answer is about these arguments. An answer that was read from a file may be about others.
    #[must_use]
    pub(super) fn fits(&self, of: &Inputs) -> bool {
        let ends = box_of(of.free());
        let is_within = |at: &[u64]| at.len() == ends.len() && at.iter().zip(&ends).all(|(x, (a, b))| a <= x && x <= b);
        let mut inputs = self.found.iter().chain(&self.wrong).chain(&self.regions);
        self.peaks.iter().all(|peak| is_within(&peak.at) && peak.ends.len() == ends.len())
            && inputs.all(|found| found.bytes.len() == of.held().len())
    }

    /// Adds a wrong result, unless it is known or there are [`WRONG`] of its class.
    pub(super) fn add_wrong(&mut self, found: Found) {
        let alike = self.wrong.iter().filter(|known| known.class() == found.class()).count();
        if alike < WRONG && self.wrong.iter().all(|known| known.bytes != found.bytes || known.class() != found.class())
        {
            self.wrong.push(found);
        }
    }

    /// Adds an input if its error is the largest for its set of branches.
    pub(super) fn add_region(&mut self, found: Found) {
        match self.regions.iter_mut().find(|known| known.covers == found.covers) {
            Some(known) if known.size() < found.size() => *known = found,
            Some(_) => {}
            None => self.regions.push(found),
        }
    }

    /// Sorts by descending error, and truncates to the length of a report.
    pub(super) fn sort_regions(&mut self) {
        self.regions.sort_by(|a, b| b.size().unwrap_or(0.0).total_cmp(&a.size().unwrap_or(0.0)));
        self.regions.truncate(PATHS);
    }

    /// Adds a peak if it is the largest error of its region.
    pub(super) fn add_peak(&mut self, peak: Peak) {
        match self.peaks.binary_search_by(|known| known.ends.cmp(&peak.ends)) {
            Ok(i) if self.peaks[i].value < peak.value => self.peaks[i] = peak,
            Ok(_) => {}
            Err(i) => self.peaks.insert(i, peak),
        }
    }

    /// Merges the answers of several runs. `found` is that of the run with the worst error.
    #[must_use]
    pub(super) fn of_all(runs: Vec<Self>) -> Self {
        let mut all = Self::default();
        for mut run in runs {
            if run.worst() > all.worst() || all.found.is_empty() {
                core::mem::swap(&mut all.found, &mut run.found);
            }
            run.wrong.into_iter().for_each(|found| all.add_wrong(found));
            run.regions.into_iter().for_each(|found| all.add_region(found));
            run.peaks.into_iter().for_each(|peak| all.add_peak(peak));
            all.counts.add(run.counts);
            all.tried = all.tried.max(run.tried);
        }
        all.sort_regions();
        all
    }

    /// Returns the inputs of a report, the worst first: the largest error, wrong results, and the worst of each set of
    /// branches.
    #[must_use]
    pub fn inputs(&self) -> Vec<&Found> {
        let mut seen = HashSet::new();
        let all = self.found.last().into_iter().chain(&self.wrong).chain(&self.regions);
        all.filter(|found| seen.insert(&found.bytes)).collect()
    }
}

#[cfg(test)]
mod tests {
    use penfuzz_mutators::{
        domain::Domain,
        view::{Kind, Layout},
    };

    use super::{super::Counts, *};

    fn found(size: f64, byte: u8, covers: &[u32]) -> Found {
        Found {
            bytes: vec![byte],
            result: 0,
            estimate: None,
            errno: None,
            compared: Compared::Ulps(size),
            exact: None,
            of_reference: None,
            evaluations: 0,
            cpu: 0.0,
            covers: covers.to_vec(),
        }
    }

    #[test]
    fn merge_keeps_progress_of_best_run() {
        let run = |sizes: &[f64], n| Answer {
            found: sizes.iter().map(|size| found(*size, 0, &[])).collect(),
            counts: Counts { evaluations: n, ..Counts::default() },
            ..Answer::default()
        };
        let all = Answer::of_all(vec![run(&[0.5, 0.75], 10), run(&[0.9], 5), run(&[], 1)]);
        assert_eq!((all.worst(), all.found.len(), all.counts.evaluations), (0.9, 1, 16));
    }

    #[test]
    fn of_each_region_the_largest_error_is_kept() {
        let mut answer = Answer::default();
        for (least, value) in [(8, 0.5), (1, 0.25), (8, 0.75), (8, 0.6)] {
            answer.add_peak(Peak { ends: vec![(least, least + 1)], at: vec![least], value });
        }
        let all: Vec<_> = answer.peaks.iter().map(|peak| (peak.ends[0].0, peak.value)).collect();
        assert_eq!(all, [(1, 0.25), (8, 0.75)]);
        for (size, byte, covers) in [(0.5, 0, [1]), (0.75, 1, [2]), (0.6, 2, [1])] {
            answer.add_region(found(size, byte, &covers));
        }
        answer.sort_regions();
        assert_eq!(answer.regions.iter().map(|f| f.bytes[0]).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn stored_answer_must_match_arguments() {
        let domain = Domain::new(Kind::I8, 1, 8).expect("a range");
        let inputs = Inputs::of(Layout::packed(&[Kind::I8]).with_domain(0, domain));
        let peak = |at: Vec<u64>| Answer {
            peaks: vec![Peak { ends: vec![(0, 255); at.len()], at, value: 1.0 }],
            ..Answer::default()
        };
        assert!(Answer::default().fits(&inputs) && peak(vec![0x81]).fits(&inputs));
        assert!(!peak(vec![0x80]).fits(&inputs), "0 is outside of the domain");
        assert!(!peak(vec![0x81, 0x81]).fits(&inputs) && !peak(Vec::new()).fits(&inputs));
        let of_bytes = |bytes| Answer { found: vec![Found { bytes, ..found(1.0, 0, &[]) }], ..Answer::default() };
        assert!(of_bytes(vec![1]).fits(&inputs) && !of_bytes(vec![1, 2]).fits(&inputs));
    }

    #[test]
    fn wrong_results_are_unique_and_limited_per_class() {
        let mut answer = Answer::default();
        for byte in (0..40).chain(0..40) {
            answer.add_wrong(Found { compared: Compared::Wrong(Class::Nan), ..found(0.0, byte, &[]) });
        }
        answer.add_wrong(Found { compared: Compared::Wrong(Class::Zero), ..found(0.0, 0, &[]) });
        assert_eq!(answer.wrong.len(), WRONG + 1);
    }
}
