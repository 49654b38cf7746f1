//! Where the windows of aims lie.

use libafl_bolts::rands::Rand;

use super::{
    Extremes, Height, Peak,
    aim::Aim,
    away,
    frame::Frame,
    period::{self, Jumps},
    roundings::Steps,
};
use crate::{evaluate::Stop, view::Kind};

/// Windows that are looked at in one turn, and those that waited and whose best arguments are computed.
const PROPOSED: usize = 256;
const TAKEN: usize = 64;
/// Windows that wait.
const WAITING: usize = 256;
/// Places beside which new windows lie, and the bits of a neighbourhood, of which the best is kept.
const PLACES: usize = 32;
const NEAR: u32 = 40;
/// Exponents of the distance to such a place.
const DISTANCES: (u32, u32) = (24, 52);
/// Half the width of a window of neighbours, in positions, at most.
const HALF: f64 = 16_777_216.0;
/// In a window of congruent arguments, half of the interval in which what is left by the period is, at most.
const LEFT: f64 = 1.0 / 536_870_912.0;
/// Windows in a row whose roundings are not known, or not right, after which none are tried.
const FRUITLESS: usize = 512;

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
}

/// What is known of windows of one kind.
#[derive(Debug, Default)]
struct Known {
    /// The best of each neighbourhood, and what is to be expected there; descending.
    places: Vec<(f64, u64)>,
    fruitless: usize,
}

impl Known {
    /// Its place, if it is the best of its neighbourhood.
    fn remember(&mut self, points: Points, aim: &Aim) {
        let here = points.neighbourhood(aim.middle);
        let known = self.places.iter().position(|p| points.neighbourhood(p.1) == here);
        if known.is_none_or(|i| self.places[i].0 < aim.expected) {
            if let Some(i) = known {
                self.places.remove(i);
            }
            let rank = self.places.partition_point(|p| p.0 >= aim.expected);
            self.places.insert(rank, (aim.expected, aim.middle));
            self.places.truncate(PLACES);
        }
    }

    /// Beside such a place.
    fn propose<R: Rand>(&self, rng: &mut R, points: Points, ends: (u64, u64)) -> Option<u64> {
        let n = self.places.len();
        if n == 0 || rng.below_or_zero(2) == 0 {
            return None;
        }
        let (_, place) = self.places[rng.below_or_zero(n).min(rng.below_or_zero(n))];
        if points == Points::Congruent {
            return Some(period::beside(rng, place).clamp(ends.0, ends.1));
        }
        let bits = (u64::BITS - (ends.1 - ends.0).leading_zeros()).min(DISTANCES.1);
        let k = DISTANCES.0.min(bits);
        let k = k + rng.below_or_zero((bits - k).max(1) as usize) as u32;
        Some(away(rng, place, k, ends))
    }
}

/// The windows of a search.
#[derive(Debug, Default)]
pub(super) struct Aims {
    /// Descending.
    waiting: Vec<Aim>,
    /// As [`Points::ALL`].
    known: [Known; 2],
    /// The best value that was found here.
    best: f64,
    found: Vec<(f64, Steps)>,
}

impl Aims {
    /// Is this value of theirs?
    pub(super) fn leads(&self, best: f64) -> bool {
        self.best >= best
    }

    fn wait(&mut self, aim: Aim) {
        if self.waiting.iter().any(|w| w.middle == aim.middle) {
            return;
        }
        let rank = self.waiting.partition_point(|w| w.expected >= aim.expected);
        self.waiting.insert(rank, aim);
        self.waiting.truncate(WAITING);
    }
}

impl Extremes {
    /// A turn of the aims.
    pub(super) fn aim<F: Height, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
        let [ends] = self.ends[..] else { return Ok(()) };
        for turn in 0..PROPOSED {
            let mut kinds = Points::ALL.into_iter().filter(|points| self.is_fruitful(*points));
            let (Some(first), second) = (kinds.next(), kinds.next()) else { return Ok(()) };
            let points = second.filter(|_| turn % 2 == 1).unwrap_or(first);
            self.propose(f, rng, points, ends)?;
        }
        for _ in 0..TAKEN.min(self.aims.waiting.len()) {
            let aim = self.aims.waiting.remove(0);
            self.shoot(f, &aim, ends)?;
        }
        Ok(())
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
        let known = &mut self.aims.known[points as usize];
        known.fruitless += 1;
        let near = known.propose(rng, points, ends);
        let Some(middle) = near.or_else(|| self.place(rng)) else { return Ok(()) };
        let middle = if points == Points::Congruent && near.is_none() {
            period::larger(rng, middle).clamp(ends.0, ends.1)
        } else {
            middle
        };
        let mut aim = points
            .frame(middle, ends)
            .and_then(|frame| f.roundings(middle, frame.jumps).and_then(|r| Aim::new(middle, frame, r)));
        if aim.as_mut().map_or(Ok(false), |aim| aim.confirm(f, rng, ends))?
            && let Some(aim) = aim
        {
            let known = &mut self.aims.known[points as usize];
            known.fruitless = 0;
            known.remember(points, &aim);
            // Where swarms have found much an aim need not compare well: others may expect too much.
            if near.is_none() && points == Points::Neighbours {
                self.shoot(f, &aim, ends)?;
            } else {
                self.aims.wait(aim);
            }
        }
        Ok(())
    }

    /// The value at `x` is the largest of all. Cells do not get it: it says nothing about their samples.
    fn note_aimed(&mut self, value: f64) {
        self.aims.best = value;
        let has = |p: &Peak| p.ends[0].0 <= self.x[0] && self.x[0] <= p.ends[0].1;
        if let Some(region) = self.peaks.iter().position(has) {
            let x = core::mem::take(&mut self.x);
            self.note_peak(region, value, &x);
            self.x = x;
        }
    }

    /// Evaluates the best arguments of a window.
    fn shoot<F: Height>(&mut self, f: &mut F, aim: &Aim, (least, greatest): (u64, u64)) -> Result<(), Stop> {
        let mut found = core::mem::take(&mut self.aims.found);
        aim.best(self.best, &mut found);
        for (_, k) in &found {
            let Some(at) = aim.frame.position(aim.middle, *k).filter(|at| (least..=greatest).contains(at)) else {
                continue;
            };
            self.x[0] = at;
            let value = f.height(&self.x)?;
            if value > self.best {
                self.note_aimed(value);
            }
        }
        self.aims.found = found;
        Ok(())
    }
}
