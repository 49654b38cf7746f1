//! The choice of predicted windows: where they lie, and which of them are evaluated.

use libafl_bolts::rands::Rand;

use super::{
    Extremes, NoisyObjective, Peak,
    aim::PredictedWindow,
    away,
    frame::Frame,
    origins::{self, Proposal, ProposalStats},
    period::{self, Jumps},
    rejected_areas::{Areas, RejectedAreas},
    roundings::Steps,
    seen::{self, VisitedWindows},
};
use crate::{evaluate::Stop, view::Kind};

/// Number of windows proposed per round. [`WINDOWS_PER_ROUND`] is the number of waiting windows of each kind whose best
/// arguments are computed per round.
const PROPOSALS_PER_ROUND: usize = 256;
const WINDOWS_PER_ROUND: usize = 48;
/// Maximum number of waiting windows of each kind.
const WAITING: usize = 128;
/// Number of places next to which new windows lie. Of places whose positions are equal without the last [`NEAR`] bits,
/// only the best is kept.
const PLACES: usize = 32;
const NEAR: u32 = 40;
/// Bits of a position within a wider area.
const WIDE: u32 = 48;
/// Least binary exponent of the distance between such a place and a new window of neighbours.
const NEAREST: u32 = 24;
/// Maximum half width of a window of neighbours, in positions.
const HALF: f64 = 16_777_216.0;
/// Maximum half width of the interval of remainders in a window of congruent arguments.
const HALF_REMAINDER: f64 = 1.0 / 536_870_912.0;
/// Number of attempts to draw a place outside all visited windows.
const MAX_DRAWS: usize = 8;
/// Share of a window around its middle that counts as visited even if the window is not confirmed.
const UNCONFIRMED_SHARE: f64 = 0.125;
/// Maximum number of consecutive windows of one kind without known and correct roundings; then this kind is given up.
const MAX_NO_PROGRESS: usize = 512;
/// One window in [`RARE_PERIOD`] is of the less promising kind. Congruent arguments are less promising if their largest
/// expected error is below [`LESS_PROMISING`] times that of neighbours. Neighbours are, while the global best value was
/// found in a window of congruent arguments.
const LESS_PROMISING: f64 = 0.8;
const RARE_PERIOD: usize = 6;

/// The kind of a window: how its points are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Points {
    Neighbours,
    /// Arguments with nearly equal remainders modulo a period.
    Congruent,
}

impl Points {
    const ALL: [Self; 2] = [Self::Neighbours, Self::Congruent];

    /// The window around this position; `None` if this kind has none there.
    fn frame(self, middle: u64, ends: (u64, u64)) -> Option<Frame> {
        if self == Self::Neighbours {
            return Some(Frame::neighbours(HALF));
        }
        let jumps = Jumps::of(middle, HALF_REMAINDER)?;
        let binade = period::binade(middle);
        let away = |end: u64| end as f64 - middle as f64;
        Some(Frame::congruent(&jumps, HALF_REMAINDER, (away(binade.0.max(ends.0)), away(binade.1.min(ends.1)))))
    }

    /// The number of the neighbourhood of a position; equal for places that are close to each other.
    fn neighbourhood(self, at: u64) -> u64 {
        if self == Self::Neighbours { at >> NEAR } else { period::neighbourhood(at) }
    }

    /// The number of the smallest part of windows (see [`VisitedWindows`]) that contains a position.
    fn part(self, at: u64) -> u64 {
        if self == Self::Neighbours {
            return at / (HALF as u64 / seen::FINEST);
        }
        period::part(at, (core::f64::consts::TAU / HALF_REMAINDER) as u64 * seen::FINEST)
    }

    /// The areas of a position, for each of which expected and found points are compared.
    fn areas(self, at: u64) -> Areas {
        [self.neighbourhood(at), if self == Self::Neighbours { at >> WIDE } else { self.neighbourhood(at) }]
    }
}

/// The best place of each neighbourhood, with its value; in descending order.
#[derive(Debug, Default)]
struct Places(Vec<(f64, u64)>);

impl Places {
    fn remember(&mut self, points: Points, value: f64, place: u64) {
        let here = points.neighbourhood(place);
        let known = self.0.iter().position(|p| points.neighbourhood(p.1) == here);
        if value.is_finite() && known.is_none_or(|i| self.0[i].0 < value) {
            if let Some(i) = known {
                self.0.remove(i);
            }
            let rank = self.0.partition_point(|p| p.0 >= value);
            self.0.insert(rank, (value, place));
            self.0.truncate(PLACES);
        }
    }

    /// A random place; better ones are more likely.
    fn any<R: Rand>(&self, rng: &mut R) -> Option<u64> {
        let n = self.0.len().max(1);
        self.0.get(rng.below_or_zero(n).min(rng.below_or_zero(n))).map(|p| p.1)
    }
}

/// The state of the windows of one kind.
#[derive(Debug, Default)]
struct WindowPool {
    /// Windows to be evaluated, by expected error in descending order.
    waiting: Vec<(PredictedWindow, Proposal)>,
    best: Places,
    /// Places next to which better windows may lie, by [`PredictedWindow::reach`].
    reach: Places,
    no_progress: usize,
    rejected_areas: RejectedAreas,
    seen: VisitedWindows,
    origins: ProposalStats,
}

impl WindowPool {
    /// Whether a window around this place is neither in a rejected area nor visited already.
    fn is_new(&self, points: Points, at: u64) -> bool {
        !self.is_rejected(points, at) && !self.seen.has(points.part(at))
    }

    fn is_rejected(&self, points: Points, at: u64) -> bool {
        self.rejected_areas.has(points.areas(at))
    }

    /// Records the expected number of points of an evaluated window and the number found. If its area is rejected now,
    /// drops all places and waiting windows there.
    fn note_tried(&mut self, points: Points, at: u64, expected: f64, found: usize) {
        self.rejected_areas.note(points.areas(at), expected, found);
        if self.is_rejected(points, at) {
            let rejected_areas = &self.rejected_areas;
            for places in [&mut self.best, &mut self.reach] {
                places.0.retain(|p| !rejected_areas.has(points.areas(p.1)));
            }
            self.waiting.retain(|(w, _)| !rejected_areas.has(points.areas(w.middle)));
        }
    }

    fn remember(&mut self, points: Points, aim: &PredictedWindow) {
        self.best.remember(points, aim.expected, aim.middle);
        self.reach.remember(points, aim.reach(), aim.middle);
    }

    fn wait(&mut self, aim: PredictedWindow, origin: Proposal) {
        let rank = self.waiting.partition_point(|(w, _)| w.expected >= aim.expected);
        self.waiting.insert(rank, (aim, origin));
        self.waiting.truncate(WAITING);
    }

    /// Draws how the next window is proposed.
    fn origin<R: Rand>(&self, rng: &mut R, points: Points, ends: (u64, u64)) -> Proposal {
        if self.best.0.is_empty() {
            return Proposal::New;
        }
        if let Some(origin) = self.origins.draw(rng) {
            return origin;
        }
        // A third of the windows of neighbours lie anywhere, and half of those of congruent arguments, for which a
        // distance says less.
        let anywhere = if points == Points::Congruent { 3 } else { 2 };
        let Some(places) = rng.below_or_zero(6).checked_sub(anywhere) else { return Proposal::New };
        let exponents = origins::DISTANCES.min(bits(ends).saturating_sub(NEAREST).max(1) as usize);
        let k = if points == Points::Congruent {
            rng.below_or_zero(origins::DISTANCES)
        } else {
            rng.below_or_zero(exponents).min(rng.below_or_zero(exponents))
        };
        if places < 2 { Proposal::Best(k) } else { Proposal::Reach(k) }
    }

    /// The middle of a window next to a known place; `None` if the proposal uses no known place.
    fn beside<R: Rand>(&self, rng: &mut R, points: Points, origin: Proposal, ends: (u64, u64)) -> Option<u64> {
        let (places, k) = match origin {
            Proposal::New => return None,
            Proposal::Best(k) => (&self.best, k),
            Proposal::Reach(k) => (&self.reach, k),
        };
        let place = places.any(rng)?;
        if points == Points::Congruent {
            return Some(period::beside(rng, place, k).clamp(ends.0, ends.1));
        }
        Some(away(rng, place, (NEAREST + k as u32).min(bits(ends)), ends))
    }
}

/// Number of bits of the difference of the ends, at most 63.
fn bits(ends: (u64, u64)) -> u32 {
    (u64::BITS - (ends.1 - ends.0).leading_zeros()).min(u64::BITS - 1)
}

/// All predicted windows of a search.
#[derive(Debug, Default)]
pub(super) struct PredictedWindows {
    /// Indexed like [`Points::ALL`].
    known: [WindowPool; 2],
    /// The best value found in a predicted window; `leader` is the kind of that window.
    best: f64,
    leader: Option<Points>,
    found: Vec<(f64, Steps)>,
}

impl PredictedWindows {
    /// Whether the best value of the search was found in a predicted window.
    pub(super) fn leads(&self, best: f64) -> bool {
        self.best >= best
    }
}

impl Extremes {
    /// One round: proposes windows, then evaluates the best waiting ones.
    pub(super) fn aim<F: NoisyObjective, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
        let [ends] = self.ends[..] else { return Ok(()) };
        for turn in 0..PROPOSALS_PER_ROUND {
            let Some(points) = self.kind(turn) else { return Ok(()) };
            self.propose(f, rng, points, ends)?;
        }
        for points in Points::ALL {
            let waiting = &mut self.predicted_windows.known[points as usize].waiting;
            let taken: Vec<(PredictedWindow, Proposal)> =
                waiting.drain(..WINDOWS_PER_ROUND.min(waiting.len())).collect();
            for (aim, origin) in taken {
                self.evaluate_best(f, points, (&aim, origin), ends)?;
            }
            self.predicted_windows.known[points as usize].origins.end_round();
        }
        Ok(())
    }

    /// The kind of the window to propose: alternating if the expected errors of both kinds are similar, otherwise
    /// mostly the more promising kind. `None` if both are given up.
    fn kind(&self, turn: usize) -> Option<Points> {
        let first = |points: Points| {
            self.predicted_windows.known[points as usize].best.0.first().map_or(f64::INFINITY, |p| p.0)
        };
        let is_first =
            self.predicted_windows.leads(self.best) && self.predicted_windows.leader == Some(Points::Congruent);
        let is_behind = first(Points::Congruent) < LESS_PROMISING * first(Points::Neighbours);
        let is_its_turn = match (is_first, is_behind) {
            (true, _) => turn % RARE_PERIOD != 1,
            (false, true) => turn % RARE_PERIOD == 1,
            (false, false) => turn % 2 == 1,
        };
        let points = if is_its_turn { Points::Congruent } else { Points::Neighbours };
        [points, Points::Neighbours, Points::Congruent].into_iter().find(|points| self.makes_progress(*points))
    }

    fn makes_progress(&self, points: Points) -> bool {
        self.predicted_windows.known[points as usize].no_progress < MAX_NO_PROGRESS
            && (points == Points::Neighbours || self.kinds == [Kind::F64])
    }

    /// Proposes one window: predicts its errors, confirms them, and evaluates it or lets it wait.
    fn propose<F: NoisyObjective, R: Rand>(
        &mut self,
        f: &mut F,
        rng: &mut R,
        points: Points,
        ends: (u64, u64),
    ) -> Result<(), Stop> {
        let drawn = (0..MAX_DRAWS).find_map(|_| self.draw(rng, points, ends));
        let Some((middle, origin)) = drawn else { return Ok(()) };
        let known = &mut self.predicted_windows.known[points as usize];
        known.no_progress += 1;
        known.seen.note(points.part(middle), UNCONFIRMED_SHARE);
        known.origins.note_tried(origin);
        let Some(frame) = points.frame(middle, ends) else { return Ok(()) };
        let width = frame.farthest();
        let mut aim = f.roundings(middle, frame.jumps).and_then(|r| PredictedWindow::new(middle, frame, r));
        if aim.as_mut().map_or(Ok(false), |aim| aim.confirm(f, rng, ends))?
            && let Some(aim) = aim
        {
            let known = &mut self.predicted_windows.known[points as usize];
            known.no_progress = 0;
            known.seen.note(points.part(middle), aim.frame.farthest() / width);
            known.remember(points, &aim);
            // A window at a place that swarms found is evaluated without comparison: the predictions for other windows
            // may be too high.
            if origin == Proposal::New && points == Points::Neighbours {
                self.evaluate_best(f, points, (&aim, origin), ends)?;
            } else {
                known.wait(aim, origin);
            }
        }
        Ok(())
    }

    /// The middle of a new window, and its proposal. `None` if that place is visited or rejected.
    fn draw<R: Rand>(&self, rng: &mut R, points: Points, ends: (u64, u64)) -> Option<(u64, Proposal)> {
        let known = &self.predicted_windows.known[points as usize];
        let origin = known.origin(rng, points, ends);
        let middle = known.beside(rng, points, origin, ends).or_else(|| {
            let place = self.place(rng)?;
            let is_larger = points == Points::Congruent;
            Some(if is_larger { period::larger(rng, place).clamp(ends.0, ends.1) } else { place })
        })?;
        known.is_new(points, middle).then_some((middle, origin))
    }

    /// Records that the value at `x` is the global best. Cells do not get it, because it is not a uniform sample of a
    /// cell.
    fn note_predicted_best(&mut self, value: f64, points: Points) {
        (self.predicted_windows.best, self.predicted_windows.leader) = (value, Some(points));
        let has = |p: &Peak| p.ends[0].0 <= self.x[0] && self.x[0] <= p.ends[0].1;
        if let Some(region) = self.peaks.iter().position(has) {
            let x = core::mem::take(&mut self.x);
            self.note_peak(region, value, &x);
            self.x = x;
        }
    }

    /// Evaluates the computed best arguments of a window.
    fn evaluate_best<F: NoisyObjective>(
        &mut self,
        f: &mut F,
        points: Points,
        (aim, origin): (&PredictedWindow, Proposal),
        (least, greatest): (u64, u64),
    ) -> Result<(), Stop> {
        let mut aimed = core::mem::take(&mut self.predicted_windows.found);
        let beyond = self.best;
        let expected = aim.best(beyond, &mut aimed);
        let mut found = 0;
        for (_, k) in &aimed {
            let Some(at) = aim.frame.position(aim.middle, *k).filter(|at| (least..=greatest).contains(at)) else {
                continue;
            };
            self.x[0] = at;
            let value = f.value_at(&self.x)?;
            found += usize::from(value > beyond);
            if value > self.best {
                self.note_predicted_best(value, points);
            }
        }
        self.predicted_windows.found = aimed;
        let known = &mut self.predicted_windows.known[points as usize];
        known.note_tried(points, aim.middle, expected, found);
        known.origins.note_expected(origin, expected);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extremes::{FixedError, Rounding, Roundings};
    use crate::line;

    /// A window with one rounding of this weight.
    fn window(middle: u64, weight: f64, fixed: FixedError) -> PredictedWindow {
        let rounding = Rounding { weight, slope: [0.618_034, 0.0], ..Rounding::default() };
        let roundings = Roundings { error: fixed.error, all: vec![rounding], fixed };
        PredictedWindow::new(middle, Frame::neighbours(HALF), roundings).expect("a window")
    }

    #[test]
    fn reach_ranks_places_differently_than_the_expected_error() {
        let (lucky, hilly) = (1 << 50, 1 << 51);
        let mut known = WindowPool::default();
        for sign in [1.0, -1.0] {
            known.remember(Points::Neighbours, &window(lucky, 0.3, FixedError { error: sign * 0.28, deviation: 0.1 }));
            known.remember(Points::Neighbours, &window(hilly, 0.5, FixedError { error: sign * 0.02, deviation: 0.2 }));
        }
        let first = |places: &Places| places.0[0].1;
        assert_eq!((first(&known.best), first(&known.reach)), (lucky, hilly), "{known:?}");
        known.remember(Points::Neighbours, &window(1 << 52, 0.5, FixedError { error: 0.0, deviation: f64::INFINITY }));
        assert_eq!(first(&known.reach), hilly, "an infinite expectation is not remembered: {known:?}");
        assert!((known.reach.0[0].0 - 0.85).abs() < 0.01, "half of the weight, and three deviations: {known:?}");
    }

    #[test]
    fn visited_windows_are_not_proposed_again() {
        let middle = 1 << 50;
        for points in Points::ALL {
            let middle =
                if points == Points::Congruent { line::position(Kind::F64, 2.5e6f64.to_bits()) } else { middle };
            let mut known = WindowPool::default();
            assert!(known.is_new(points, middle));
            known.seen.note(points.part(middle), 1.0);
            assert!(!known.is_new(points, middle), "{points:?}");
            assert!(known.is_new(points, middle + 3 * HALF as u64), "{points:?}: beyond its end");
        }
        let mut known = WindowPool::default();
        known.seen.note(Points::Neighbours.part(middle), 1.0);
        let half = HALF as u64;
        assert!(!known.is_new(Points::Neighbours, middle - half) && !known.is_new(Points::Neighbours, middle + half));
    }

    #[test]
    fn rejected_areas_lose_their_places_and_waiting_windows() {
        let (dud, other) = (1 << 50, 1 << 51);
        let fixed = FixedError { error: 0.0, deviation: 0.1 };
        let mut known = WindowPool::default();
        for at in [dud, other] {
            known.remember(Points::Neighbours, &window(at, 0.5, fixed));
            known.wait(window(at, 0.5, fixed), Proposal::New);
        }
        known.note_tried(Points::Neighbours, dud, 5.0, 0);
        assert_eq!(
            (known.best.0.len(), known.waiting.len()),
            (2, 2),
            "one window without points does not reject its area"
        );
        known.note_tried(Points::Neighbours, dud + 1, 5.0, 0);
        assert!(known.is_rejected(Points::Neighbours, dud) && !known.is_rejected(Points::Neighbours, other));
        let left = |places: &Places| places.0.iter().all(|p| p.1 == other);
        assert!(
            left(&known.best) && left(&known.reach) && known.waiting.iter().all(|(w, _)| w.middle == other),
            "{known:?}"
        );
    }
}
