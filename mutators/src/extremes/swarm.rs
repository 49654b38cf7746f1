//! Swarms: sets of points in a small window that move by each other's differences.
//!
//! In a window of some `2^24` neighbouring arguments each intermediate result of a function is nearly linear in the argument. So is its
//! *phase*, the fraction of an ulp at which it is rounded: `phase(x) = a + b x` modulo 1, for each of the roundings. The error is largest
//! where all phases are near certain values at once. Two points with large errors have nearly these phases, so their difference is a step
//! that changes no phase by much: `x + (a - b)` has nearly the phases of `x`. That is the mutation of differential evolution (Storn and Price,
//! *Differential Evolution*, 1997) with factor 1 and without crossover. In a window it finds larger errors in some thousands of evaluations than
//! uniform samples do in a hundred times as many.
//!
//! Which window is best is not known before. So many swarms begin, and of those that end a [`Stage`] the best [`FACTOR`]th go on to the next one
//! with [`FACTOR`] times as many steps, if they still improved (asynchronous successive halving: Li et al., *A System for Massively Parallel
//! Hyperparameter Tuning*, 2020). New windows lie
//!
//! - beside the best windows of the stages, at all distances: how large errors can be changes smoothly with the argument,
//! - around large values of cells,
//! - around places that the caller named.

use std::collections::VecDeque;

use libafl_bolts::rands::Rand;

use super::{Extremes, Height, between, cell::Cell};
use crate::evaluate::Stop;

/// Points of a swarm in its first stage; half as many more in each other.
const MEMBERS: usize = 48;
/// Members from which on differences are taken: until then the window is sampled.
const SAMPLED: usize = 32;
/// Steps of a swarm in its first stage, and by how many times more each other stage has.
const FIRST_STEPS: u64 = 1024;
const FACTOR: usize = 4;
/// Stages.
const STAGES: usize = 5;
/// Exponents of half the width of a window.
const WIDTHS: (u32, u32) = (14, 32);
/// Values of a stage that are compared with, places that are remembered, and swarms that wait for the next stage.
const VALUES: usize = 64;
const PLACES: usize = 32;
const WAITING: usize = 16;
/// Places are neighbours if their positions are equal but for this many bits.
const NEAR: u32 = 44;
/// The most bits of the distance of a new window: four binades of a double.
const FARTHEST: u32 = 54;
/// Up to 2 to the power of one less cells are drawn, of which the best gives a swarm its place.
const TOURNAMENT: usize = 11;
/// Steps of all swarms between two turns of the cells.
const STEPS: u64 = 32_768;

/// Points with large values in a window.
#[derive(Debug)]
struct Swarm {
    window: Vec<(u64, u64)>,
    width: u32,
    stage: usize,
    /// The best value at the beginning of this stage.
    before: f64,
    /// Steps left in this stage.
    left: u64,
    /// Descending.
    members: Vec<(f64, Box<[u64]>)>,
}

impl Swarm {
    fn best(&self) -> f64 {
        self.members.first().map_or(0.0, |m| m.0)
    }

    fn room(&self) -> usize {
        MEMBERS + self.stage * MEMBERS / 2
    }

    /// Does the value get in?
    fn admits(&self, value: f64) -> bool {
        value > 0.0
            && (self.members.len() < self.room() || self.members.last().is_some_and(|(least, _)| value > *least))
    }

    fn insert(&mut self, value: f64, at: &[u64]) {
        let place = self.members.partition_point(|(v, _)| *v > value);
        // Equal points have equal values.
        if self.members[place..].iter().take_while(|(v, _)| *v == value).any(|(_, known)| **known == *at) {
            return;
        }
        if self.members.len() == self.room() {
            let (_, mut last) = self.members.pop().expect("there are members");
            last.copy_from_slice(at);
            self.members.insert(place, (value, last));
        } else {
            self.members.insert(place, (value, at.into()));
        }
    }

    /// The next point: a member, better ones more often, plus the difference of two. A random one of the window if that leaves it.
    fn propose<R: Rand>(&self, rng: &mut R, x: &mut [u64]) {
        let n = self.members.len();
        if n >= SAMPLED {
            let mut draw = || rng.below_or_zero(n);
            let (from, a, b) = (draw().min(draw()), draw(), draw());
            let at = |i: usize| &self.members[i].1;
            let mut is_within = a != b;
            for (d, (least, greatest)) in self.window.iter().enumerate() {
                x[d] = at(from)[d].wrapping_add(at(a)[d]).wrapping_sub(at(b)[d]);
                is_within &= (*least..=*greatest).contains(&x[d]);
            }
            if is_within {
                return;
            }
        }
        for (x, (least, greatest)) in x.iter_mut().zip(&self.window) {
            *x = between(rng, *least, *greatest);
        }
    }
}

/// What came of the swarms that finished a stage.
#[derive(Debug, Default)]
struct Stage {
    /// The last values.
    values: VecDeque<f64>,
    /// Where the largest were, and the widths of the windows; descending.
    places: Vec<(f64, Box<[u64]>, u32)>,
    /// Descending.
    waiting: Vec<Swarm>,
}

impl Stage {
    /// The best swarm that waits, if it is better than all but a [`FACTOR`]th of the last ones.
    fn promoted(&mut self) -> Option<Swarm> {
        let best = self.waiting.first()?.best();
        let better = self.values.iter().filter(|v| **v >= best).count();
        (better <= self.values.len() / FACTOR && self.values.len() >= FACTOR).then(|| self.waiting.remove(0))
    }

    fn finish(&mut self, swarm: Swarm) {
        let Some((value, at)) = swarm.members.first() else { return };
        if self.values.len() == VALUES {
            self.values.pop_front();
        }
        self.values.push_back(*value);
        self.note_place(*value, at, swarm.width);
        if *value > swarm.before {
            let rank = self.waiting.partition_point(|w| w.best() >= *value);
            self.waiting.insert(rank, swarm);
            self.waiting.truncate(WAITING);
        }
    }

    /// Keeps the best place of each neighbourhood.
    fn note_place(&mut self, value: f64, at: &[u64], width: u32) {
        let is_near = |other: &[u64]| other.iter().zip(at).all(|(a, b)| a >> NEAR == b >> NEAR);
        match self.places.iter().position(|p| is_near(&p.1)) {
            Some(i) if self.places[i].0 >= value => return,
            Some(i) => drop(self.places.remove(i)),
            None => {}
        }
        let rank = self.places.partition_point(|p| p.0 >= value);
        self.places.insert(rank, (value, at.into(), width));
        self.places.truncate(PLACES);
    }
}

/// Swarms, of which the best of each stage go on to the next one.
#[derive(Debug, Default)]
pub(super) struct Swarms {
    stages: [Stage; STAGES],
    current: Option<Swarm>,
}

impl Swarms {
    fn next<R: Rand>(&mut self, rng: &mut R, from: &Places) -> Option<Swarm> {
        for stage in (0..STAGES - 1).rev() {
            if let Some(mut swarm) = self.stages[stage].promoted() {
                swarm.before = swarm.best();
                swarm.stage += 1;
                swarm.left = FIRST_STEPS * (FACTOR as u64).pow(swarm.stage as u32);
                return Some(swarm);
            }
        }
        self.new_swarm(rng, from)
    }

    /// A swarm in a new window.
    fn new_swarm<R: Rand>(&self, rng: &mut R, from: &Places) -> Option<Swarm> {
        let (least, greatest) = WIDTHS;
        let mut width = least + rng.below_or_zero((greatest - least + 1) as usize) as u32;
        let begun = self.stages.iter().take_while(|s| !s.places.is_empty()).count();
        let at = if begun > 0 && rng.below_or_zero(8) < 5 {
            let places = &self.stages[rng.below_or_zero(begun)].places;
            let n = places.len();
            let (_, place, known) = &places[rng.below_or_zero(n).min(rng.below_or_zero(n))];
            if rng.below_or_zero(2) == 0 {
                width = *known;
            }
            beside(rng, place, width, from.ends)
        } else if !from.hints.is_empty() && rng.below_or_zero(2) == 0 {
            from.hints[rng.below_or_zero(from.hints.len())].clone()
        } else {
            large(rng, from.cells)?
        };
        let half = 1u64 << width;
        let window = |(x, (least, greatest)): (&u64, &(u64, u64))| {
            (x.saturating_sub(half).max(*least), x.saturating_add(half).min(*greatest))
        };
        let window = at.iter().zip(from.ends).map(window).collect();
        Some(Swarm { window, width, stage: 0, before: 0.0, left: FIRST_STEPS, members: Vec::with_capacity(MEMBERS) })
    }
}

/// What new windows are placed by.
struct Places<'a> {
    cells: &'a [Cell],
    ends: &'a [(u64, u64)],
    hints: &'a [Vec<u64>],
}

/// At a distance of about `2^k` in each argument, with `k` drawn evenly from `width` on.
fn beside<R: Rand>(rng: &mut R, place: &[u64], width: u32, ends: &[(u64, u64)]) -> Vec<u64> {
    let moved = |(x, (least, greatest)): (&u64, &(u64, u64))| {
        let bits = (u64::BITS - (greatest - least).leading_zeros()).min(FARTHEST);
        let least_k = width.min(bits);
        let k = least_k + rng.below_or_zero((bits - least_k).max(1) as usize) as u32;
        let step = (1u64 << k) + (rng.next() & ((1 << k) - 1));
        let is_up = rng.below_or_zero(2) == 0;
        if is_up { x.saturating_add(step) } else { x.saturating_sub(step) }.clamp(*least, *greatest)
    };
    place.iter().zip(ends).map(moved).collect()
}

/// A large value of the best of some cells, few of them or many.
fn large<R: Rand>(rng: &mut R, cells: &[Cell]) -> Option<Vec<u64>> {
    let first = |c: &&Cell| c.best.first().map_or(0.0, |b| b.0);
    let n = 1 << rng.below_or_zero(TOURNAMENT);
    let drawn = (0..n).map(|_| &cells[rng.below_or_zero(cells.len())]);
    let cell = drawn.max_by(|a, b| first(a).total_cmp(&first(b))).filter(|c| !c.best.is_empty())?;
    Some(cell.best[rng.below_or_zero(cell.best.len())].1.to_vec())
}

impl Extremes {
    /// A turn of the swarms.
    pub(super) fn swarm<F: Height, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
        let mut left = STEPS;
        while left > 0 {
            let from = Places { cells: &self.cells, ends: &self.ends, hints: &self.hints };
            let next = self.swarms.current.take().or_else(|| self.swarms.next(rng, &from));
            let Some(mut swarm) = next else { return Ok(()) };
            let n = swarm.left.min(left);
            f.enter(&swarm.window);
            for _ in 0..n {
                swarm.propose(rng, &mut self.x);
                let value = f.height(&self.x)?;
                if swarm.admits(value) {
                    swarm.insert(value, &self.x);
                    self.note_best(value);
                }
            }
            left -= n;
            swarm.left -= n;
            if swarm.left == 0 {
                let stage = swarm.stage;
                self.swarms.stages[stage].finish(swarm);
            } else {
                self.swarms.current = Some(swarm);
            }
        }
        Ok(())
    }
}
