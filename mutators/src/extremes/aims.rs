//! Where the windows of aims lie.

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

/// Windows that are looked at in one turn, and those of each kind that waited and whose best arguments are computed.
const PROPOSED: usize = 256;
const TAKEN: usize = 48;
/// Windows of each kind that wait.
const WAITING: usize = 128;
/// Places beside which new windows lie, and the bits of a neighbourhood, of which the best is kept.
const PLACES: usize = 32;
const NEAR: u32 = 40;
/// Bits of a wider area.
const WIDE: u32 = 48;
/// The least exponent of the distance of neighbours to such a place.
const NEAREST: u32 = 24;
/// Half the width of a window of neighbours, in positions, at most.
const HALF: f64 = 16_777_216.0;
/// In a window of congruent arguments, half of the interval in which what is left by the period is, at most.
const LEFT: f64 = 1.0 / 536_870_912.0;
/// How often a place is drawn, until it is in no window that was looked at.
const DRAWN: usize = 8;
/// The share of a window beside its middle that is not looked at again, whatever comes of it.
const UNKNOWN: f64 = 0.125;
/// Windows in a row whose roundings are not known, or not right, after which none are tried.
const FRUITLESS: usize = 512;
/// Windows of one kind are looked at once in so many turns: congruent arguments where the largest error to be expected in them is below this share of that of others,
/// neighbours while the largest error of all is one of congruent arguments.
const BEHIND: f64 = 0.8;
const RARELY: usize = 6;

/// What the points of a window are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Points {
    Neighbours,
    /// Arguments of which a period leaves nearly the same.
    Congruent,
}

impl Points {
    const ALL: [Self; 2] = [Self::Neighbours, Self::Congruent];

    /// The window around this point.
    fn frame(self, middle: u64, ends: (u64, u64)) -> Option<Frame> {
        if self == Self::Neighbours {
            return Some(Frame::neighbours(HALF));
        }
        let jumps = Jumps::of(middle, LEFT)?;
        let binade = period::binade(middle);
        let away = |end: u64| end as f64 - middle as f64;
        Some(Frame::congruent(&jumps, LEFT, (away(binade.0.max(ends.0)), away(binade.1.min(ends.1)))))
    }

    /// Equal where places are neighbours.
    fn neighbourhood(self, at: u64) -> u64 {
        if self == Self::Neighbours { at >> NEAR } else { period::neighbourhood(at) }
    }

    /// In which of the smallest parts of windows a place is.
    fn part(self, at: u64) -> u64 {
        if self == Self::Neighbours {
            return at / (HALF as u64 / seen::FINEST);
        }
        period::part(at, (core::f64::consts::TAU / LEFT) as u64 * seen::FINEST)
    }

    /// Where windows may have too little in common with what is expected of them.
    fn areas(self, at: u64) -> Areas {
        [self.neighbourhood(at), if self == Self::Neighbours { at >> WIDE } else { self.neighbourhood(at) }]
    }
}

/// The best place of each neighbourhood, after its value; descending.
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

    /// One of them, of the first more often.
    fn any<R: Rand>(&self, rng: &mut R) -> Option<u64> {
        let n = self.0.len().max(1);
        self.0.get(rng.below_or_zero(n).min(rng.below_or_zero(n))).map(|p| p.1)
    }
}

/// What is known of windows of one kind.
#[derive(Debug, Default)]
struct Known {
    /// Descending.
    waiting: Vec<(Aim, Origin)>,
    best: Places,
    /// Beside these there may be better ones.
    reach: Places,
    fruitless: usize,
    duds: Duds,
    seen: Seen,
    origins: Origins,
}

impl Known {
    /// Is something to be found in a window around this place?
    fn is_new(&self, points: Points, at: u64) -> bool {
        !self.is_dud(points, at) && !self.seen.has(points.part(at))
    }

    fn is_dud(&self, points: Points, at: u64) -> bool {
        self.duds.has(points.areas(at))
    }

    /// In the window around this place so many points were expected, and so many were found.
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

    /// Where the next window is to come from.
    fn origin<R: Rand>(&self, rng: &mut R, points: Points, ends: (u64, u64)) -> Origin {
        if self.best.0.is_empty() {
            return Origin::New;
        }
        if let Some(origin) = self.origins.draw(rng) {
            return origin;
        }
        // A third of the windows of neighbours lie anywhere, and half of the others: what is congruent is not near.
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

    /// The middle of a window beside one that is known, if it is to come from there.
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

/// The bits of a difference of positions.
fn bits(ends: (u64, u64)) -> u32 {
    (u64::BITS - (ends.1 - ends.0).leading_zeros()).min(u64::BITS - 1)
}

/// The windows of a search.
#[derive(Debug, Default)]
pub(super) struct Aims {
    /// As [`Points::ALL`].
    known: [Known; 2],
    /// The best value that was found here, and in a window of which kind.
    best: f64,
    leader: Option<Points>,
    found: Vec<(f64, Steps)>,
}

impl Aims {
    /// Is this value of theirs?
    pub(super) fn leads(&self, best: f64) -> bool {
        self.best >= best
    }
}

impl Extremes {
    /// A turn of the aims.
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

    /// Of which kind the window of a turn is: both in turn, if errors that are to be expected in both are not too different.
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

    /// Looks at one window.
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
            // Where swarms have found much an aim need not compare well: others may expect too much.
            if origin == Origin::New && points == Points::Neighbours {
                self.shoot(f, points, (&aim, origin), ends)?;
            } else {
                known.wait(aim, origin);
            }
        }
        Ok(())
    }

    /// The middle of a window, and where it comes from. `None` if nothing is to be found there.
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

    /// The value at `x` is the largest of all. Cells do not get it: it says nothing about their samples.
    fn note_aimed(&mut self, value: f64, points: Points) {
        (self.aims.best, self.aims.leader) = (value, Some(points));
        let has = |p: &Peak| p.ends[0].0 <= self.x[0] && self.x[0] <= p.ends[0].1;
        if let Some(region) = self.peaks.iter().position(has) {
            let x = core::mem::take(&mut self.x);
            self.note_peak(region, value, &x);
            self.x = x;
        }
    }

    /// Evaluates the best arguments of a window.
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

    /// A window around a middle, with a rounding of this weight.
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
