//! The choice of predicted windows: where they lie, and which of them are evaluated.

use libafl_bolts::rands::Rand;

use super::{
    Extremes, Height, Peak,
    aim::Aim,
    away,
    duds::{Areas, Duds},
    frame::Frame,
    origins::{self, Origin, Origins},
    period::{self, Jumps},
    roundings::Steps,
    seen::{self, Seen},
};
use crate::{evaluate::Stop, view::Kind};

/// Number of windows proposed per round. [`TAKEN`] is the number of waiting windows of each kind whose best arguments
/// are computed per round.
const PROPOSED: usize = 256;
const TAKEN: usize = 48;
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
const LEFT: f64 = 1.0 / 536_870_912.0;
/// Number of attempts to draw a place outside all visited windows.
const DRAWN: usize = 8;
/// Share of a window around its middle that counts as visited even if the window is not confirmed.
const UNKNOWN: f64 = 0.125;
/// Maximum number of consecutive windows of one kind without known and correct roundings; then this kind is given up.
const FRUITLESS: usize = 512;
/// One window in [`RARELY`] is of the less promising kind. Congruent arguments are less promising if their largest
/// expected error is below [`BEHIND`] times that of neighbours. Neighbours are, while the global best value was found
/// in a window of congruent arguments.
const BEHIND: f64 = 0.8;
const RARELY: usize = 6;

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
        let jumps = Jumps::of(middle, LEFT)?;
        let binade = period::binade(middle);
        let away = |end: u64| end as f64 - middle as f64;
        Some(Frame::congruent(&jumps, LEFT, (away(binade.0.max(ends.0)), away(binade.1.min(ends.1)))))
    }

    /// The number of the neighbourhood of a position; equal for places that are close to each other.
    fn neighbourhood(self, at: u64) -> u64 {
        if self == Self::Neighbours { at >> NEAR } else { period::neighbourhood(at) }
    }

    /// The number of the smallest part of windows (see [`Seen`]) that contains a position.
    fn part(self, at: u64) -> u64 {
        if self == Self::Neighbours {
            return at / (HALF as u64 / seen::FINEST);
        }
        period::part(at, (core::f64::consts::TAU / LEFT) as u64 * seen::FINEST)
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
struct Known {
    /// Windows to be evaluated, by expected error in descending order.
    waiting: Vec<(Aim, Origin)>,
    best: Places,
    /// Places next to which better windows may lie, by [`Aim::reach`].
    reach: Places,
    fruitless: usize,
    duds: Duds,
    seen: Seen,
    origins: Origins,
}

impl Known {
    /// Whether a window around this place is neither in a rejected area nor visited already.
    fn is_new(&self, points: Points, at: u64) -> bool {
        !self.is_dud(points, at) && !self.seen.has(points.part(at))
    }

    fn is_dud(&self, points: Points, at: u64) -> bool {
        self.duds.has(points.areas(at))
    }

    /// Records the expected number of points of an evaluated window and the number found. If its area is rejected now,
    /// drops all places and waiting windows there.
    fn note_tried(&mut self, points: Points, at: u64, expected: f64, found: usize) {
        self.duds.note(points.areas(at), expected, found);
        if self.is_dud(points, at) {
            let duds = &self.duds;
            for places in [&mut self.best, &mut self.reach] {
                places.0.retain(|p| !duds.has(points.areas(p.1)));
            }
            self.waiting.retain(|(w, _)| !duds.has(points.areas(w.middle)));
        }
    }

    fn remember(&mut self, points: Points, aim: &Aim) {
        self.best.remember(points, aim.expected, aim.middle);
        self.reach.remember(points, aim.reach(), aim.middle);
    }

    fn wait(&mut self, aim: Aim, origin: Origin) {
        let rank = self.waiting.partition_point(|(w, _)| w.expected >= aim.expected);
        self.waiting.insert(rank, (aim, origin));
        self.waiting.truncate(WAITING);
    }

    /// Draws how the next window is proposed.
    fn origin<R: Rand>(&self, rng: &mut R, points: Points, ends: (u64, u64)) -> Origin {
        if self.best.0.is_empty() {
            return Origin::New;
        }
        if let Some(origin) = self.origins.draw(rng) {
            return origin;
        }
        // A third of the windows of neighbours lie anywhere, and half of those of congruent arguments, for which a
        // distance says less.
        let anywhere = if points == Points::Congruent { 3 } else { 2 };
        let Some(places) = rng.below_or_zero(6).checked_sub(anywhere) else { return Origin::New };
        let exponents = origins::DISTANCES.min(bits(ends).saturating_sub(NEAREST).max(1) as usize);
        let k = if points == Points::Congruent {
            rng.below_or_zero(origins::DISTANCES)
        } else {
            rng.below_or_zero(exponents).min(rng.below_or_zero(exponents))
        };
        if places < 2 { Origin::Best(k) } else { Origin::Reach(k) }
    }

    /// The middle of a window next to a known place; `None` if the proposal uses no known place.
    fn beside<R: Rand>(&self, rng: &mut R, points: Points, origin: Origin, ends: (u64, u64)) -> Option<u64> {
        let (places, k) = match origin {
            Origin::New => return None,
            Origin::Best(k) => (&self.best, k),
            Origin::Reach(k) => (&self.reach, k),
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
pub(super) struct Aims {
    /// Indexed like [`Points::ALL`].
    known: [Known; 2],
    /// The best value found in a predicted window; `leader` is the kind of that window.
    best: f64,
    leader: Option<Points>,
    found: Vec<(f64, Steps)>,
}

impl Aims {
    /// Whether the best value of the search was found in a predicted window.
    pub(super) fn leads(&self, best: f64) -> bool {
        self.best >= best
    }
}

impl Extremes {
    /// One round: proposes windows, then evaluates the best waiting ones.
    pub(super) fn aim<F: Height, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
        let [ends] = self.ends[..] else { return Ok(()) };
        for turn in 0..PROPOSED {
            let Some(points) = self.kind(turn) else { return Ok(()) };
            self.propose(f, rng, points, ends)?;
        }
        for points in Points::ALL {
            let waiting = &mut self.aims.known[points as usize].waiting;
            let taken: Vec<(Aim, Origin)> = waiting.drain(..TAKEN.min(waiting.len())).collect();
            for (aim, origin) in taken {
                self.shoot(f, points, (&aim, origin), ends)?;
            }
            self.aims.known[points as usize].origins.end_turn();
        }
        Ok(())
    }

    /// The kind of the window to propose: alternating if the expected errors of both kinds are similar, otherwise
    /// mostly the more promising kind. `None` if both are given up.
    fn kind(&self, turn: usize) -> Option<Points> {
        let first = |points: Points| self.aims.known[points as usize].best.0.first().map_or(f64::INFINITY, |p| p.0);
        let is_first = self.aims.leads(self.best) && self.aims.leader == Some(Points::Congruent);
        let is_behind = first(Points::Congruent) < BEHIND * first(Points::Neighbours);
        let is_its_turn = match (is_first, is_behind) {
            (true, _) => turn % RARELY != 1,
            (false, true) => turn % RARELY == 1,
            (false, false) => turn % 2 == 1,
        };
        let points = if is_its_turn { Points::Congruent } else { Points::Neighbours };
        [points, Points::Neighbours, Points::Congruent].into_iter().find(|points| self.is_fruitful(*points))
    }

    fn is_fruitful(&self, points: Points) -> bool {
        self.aims.known[points as usize].fruitless < FRUITLESS
            && (points == Points::Neighbours || self.kinds == [Kind::F64])
    }

    /// Proposes one window: predicts its errors, confirms them, and evaluates it or lets it wait.
    fn propose<F: Height, R: Rand>(
        &mut self,
        f: &mut F,
        rng: &mut R,
        points: Points,
        ends: (u64, u64),
    ) -> Result<(), Stop> {
        let drawn = (0..DRAWN).find_map(|_| self.draw(rng, points, ends));
        let Some((middle, origin)) = drawn else { return Ok(()) };
        let known = &mut self.aims.known[points as usize];
        known.fruitless += 1;
        known.seen.note(points.part(middle), UNKNOWN);
        known.origins.note_tried(origin);
        let Some(frame) = points.frame(middle, ends) else { return Ok(()) };
        let width = frame.farthest();
        let mut aim = f.roundings(middle, frame.jumps).and_then(|r| Aim::new(middle, frame, r));
        if aim.as_mut().map_or(Ok(false), |aim| aim.confirm(f, rng, ends))?
            && let Some(aim) = aim
        {
            let known = &mut self.aims.known[points as usize];
            known.fruitless = 0;
            known.seen.note(points.part(middle), aim.frame.farthest() / width);
            known.remember(points, &aim);
            // A window at a place that swarms found is evaluated without comparison: the predictions for other windows
            // may be too high.
            if origin == Origin::New && points == Points::Neighbours {
                self.shoot(f, points, (&aim, origin), ends)?;
            } else {
                known.wait(aim, origin);
            }
        }
        Ok(())
    }

    /// The middle of a new window, and its proposal. `None` if that place is visited or rejected.
    fn draw<R: Rand>(&self, rng: &mut R, points: Points, ends: (u64, u64)) -> Option<(u64, Origin)> {
        let known = &self.aims.known[points as usize];
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
    fn note_aimed(&mut self, value: f64, points: Points) {
        (self.aims.best, self.aims.leader) = (value, Some(points));
        let has = |p: &Peak| p.ends[0].0 <= self.x[0] && self.x[0] <= p.ends[0].1;
        if let Some(region) = self.peaks.iter().position(has) {
            let x = core::mem::take(&mut self.x);
            self.note_peak(region, value, &x);
            self.x = x;
        }
    }

    /// Evaluates the computed best arguments of a window.
    fn shoot<F: Height>(
        &mut self,
        f: &mut F,
        points: Points,
        (aim, origin): (&Aim, Origin),
        (least, greatest): (u64, u64),
    ) -> Result<(), Stop> {
        let mut aimed = core::mem::take(&mut self.aims.found);
        let beyond = self.best;
        let expected = aim.best(beyond, &mut aimed);
        let mut found = 0;
        for (_, k) in &aimed {
            let Some(at) = aim.frame.position(aim.middle, *k).filter(|at| (least..=greatest).contains(at)) else {
                continue;
            };
            self.x[0] = at;
            let value = f.height(&self.x)?;
            found += usize::from(value > beyond);
            if value > self.best {
                self.note_aimed(value, points);
            }
        }
        self.aims.found = aimed;
        let known = &mut self.aims.known[points as usize];
        known.note_tried(points, aim.middle, expected, found);
        known.origins.note_expected(origin, expected);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extremes::{Fixed, Rounding, Roundings};
    use crate::line;

    /// A window with one rounding of this weight.
    fn window(middle: u64, weight: f64, fixed: Fixed) -> Aim {
        let rounding = Rounding { weight, slope: [0.618_034, 0.0], ..Rounding::default() };
        let roundings = Roundings { error: fixed.error, all: vec![rounding], fixed };
        Aim::new(middle, Frame::neighbours(HALF), roundings).expect("a window")
    }

    #[test]
    fn the_best_window_need_not_be_where_the_best_ones_are() {
        let (lucky, hilly) = (1 << 50, 1 << 51);
        let mut known = Known::default();
        for sign in [1.0, -1.0] {
            known.remember(Points::Neighbours, &window(lucky, 0.3, Fixed { error: sign * 0.28, deviation: 0.1 }));
            known.remember(Points::Neighbours, &window(hilly, 0.5, Fixed { error: sign * 0.02, deviation: 0.2 }));
        }
        let first = |places: &Places| places.0[0].1;
        assert_eq!((first(&known.best), first(&known.reach)), (lucky, hilly), "{known:?}");
        known.remember(Points::Neighbours, &window(1 << 52, 0.5, Fixed { error: 0.0, deviation: f64::INFINITY }));
        assert_eq!(first(&known.reach), hilly, "what is not known is no place: {known:?}");
        assert!((known.reach.0[0].0 - 0.85).abs() < 0.01, "half of the weight, and three deviations: {known:?}");
    }

    #[test]
    fn a_window_is_looked_at_once() {
        let middle = 1 << 50;
        for points in Points::ALL {
            let middle =
                if points == Points::Congruent { line::position(Kind::F64, 2.5e6f64.to_bits()) } else { middle };
            let mut known = Known::default();
            assert!(known.is_new(points, middle));
            known.seen.note(points.part(middle), 1.0);
            assert!(!known.is_new(points, middle), "{points:?}");
            assert!(known.is_new(points, middle + 3 * HALF as u64), "{points:?}: beyond its end");
        }
        let mut known = Known::default();
        known.seen.note(Points::Neighbours.part(middle), 1.0);
        let half = HALF as u64;
        assert!(!known.is_new(Points::Neighbours, middle - half) && !known.is_new(Points::Neighbours, middle + half));
    }

    #[test]
    fn a_neighbourhood_that_promises_too_much_is_left() {
        let (dud, other) = (1 << 50, 1 << 51);
        let fixed = Fixed { error: 0.0, deviation: 0.1 };
        let mut known = Known::default();
        for at in [dud, other] {
            known.remember(Points::Neighbours, &window(at, 0.5, fixed));
            known.wait(window(at, 0.5, fixed), Origin::New);
        }
        known.note_tried(Points::Neighbours, dud, 5.0, 0);
        assert_eq!((known.best.0.len(), known.waiting.len()), (2, 2), "that may be bad luck");
        known.note_tried(Points::Neighbours, dud + 1, 5.0, 0);
        assert!(known.is_dud(Points::Neighbours, dud) && !known.is_dud(Points::Neighbours, other));
        let left = |places: &Places| places.0.iter().all(|p| p.1 == other);
        assert!(
            left(&known.best) && left(&known.reach) && known.waiting.iter().all(|(w, _)| w.middle == other),
            "{known:?}"
        );
    }
}
