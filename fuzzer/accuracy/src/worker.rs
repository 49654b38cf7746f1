//! The child process of a search: its messages to the supervisor, and its entry.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use penfuzz_mutators::extremes::Peak;
use serde::{Deserialize, Serialize};

use super::{Counts, Found, Options, kept::PATHS, objective::Objective, search, sources::Sources};

/// Number of peaks whose branches are determined for the report even if the function is slow. Further peaks are
/// examined for at most [`LOOKING`].
const PEAKS: usize = 512;
const LOOKING: Duration = Duration::from_secs(1);

/// A message of a child process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Message {
    Better(Found),
    Wrong(Found),
    Region(Found),
    /// The largest error of each region so far.
    Peaks(Vec<Peak>),
    /// Number of inputs tried so far by exhaustive search, for the progress bar.
    Tried(u64),
    /// As `Tried`, and all results for these inputs have been sent: they need not be tried again.
    Passed(u64, Counts),
    Sources(Sources),
    End(Counts),
}

/// Runs the search and reports the results; called in the child process.
pub(super) fn run(mut objective: Objective, options: &Options, seed: u64) {
    let peaks = search::search(&mut objective, options, seed);
    report(&mut objective, &peaks);
}

/// Sends the largest error of each region, and the worst point of each set of branches.
fn report(objective: &mut Objective, peaks: &[Peak]) {
    objective.send_peaks(peaks);
    let worst = objective.worst_point();
    let mut points: Vec<&Vec<u64>> = worst.iter().collect();
    let mut peaks: Vec<&Peak> = peaks.iter().filter(|p| p.value > 0.0).collect();
    peaks.sort_by(|a, b| b.value.total_cmp(&a.value));
    points.extend(peaks.into_iter().map(|peak| &peak.at));
    let mut n = 0;
    for point in first_of_paths(objective, &points) {
        if n < PATHS
            && let Some(found) = objective.examine(&point)
        {
            n += 1;
            objective.send(&Message::Region(found));
        }
    }
    objective.end();
}

/// Returns the first point of each set of branches. If the function is slow, not all points are examined.
fn first_of_paths(objective: &mut Objective, points: &[&Vec<u64>]) -> Vec<Vec<u64>> {
    let until = Instant::now() + LOOKING;
    let mut paths = HashSet::new();
    objective.with_branches(|branches| {
        let mut is_first = |(i, at): (usize, &&Vec<u64>)| {
            let mut taken = if i < PEAKS || Instant::now() < until { branches(at) } else { return None };
            taken.sort_unstable();
            taken.dedup();
            paths.insert(taken).then(|| (*at).clone())
        };
        points.iter().enumerate().filter_map(&mut is_first).collect()
    })
}
