//! Lattice points near a target: reduction (Lenstra, Lenstra and Lovasz, *Factoring Polynomials with Rational
//! Coefficients*, 1982) and enumeration (Schnorr and Euchner, *Lattice Basis Reduction*, 1994), for a few dimensions,
//! in doubles.

use super::phases::{VARIABLES, nearest};

/// Maximum number of dimensions.
pub const DIMENSIONS: usize = VARIABLES;
/// The parameter `delta` of the Lovasz condition.
const DELTA: f64 = 0.99;
/// Maximum number of exchanges of a reduction.
const EXCHANGES: usize = 2000;

/// An orthogonal vector with a square above [`WIDE`] allows only one or two candidates, which most points share. Its
/// contribution to the squared distance, if below [`FAR`], counts as at most 1.
const WIDE: f64 = 9.0;
const FAR: f64 = 4.0;

/// A vector; only the dimensions in use are read.
pub type Vector = [f64; DIMENSIONS];

/// A basis of as many linearly independent vectors as there are dimensions in use.
#[derive(Debug, Clone)]
pub struct Basis {
    n: usize,
    vectors: [Vector; DIMENSIONS],
    /// The result of the Gram-Schmidt process: coefficients, orthogonal vectors, and their squared lengths.
    mu: [Vector; DIMENSIONS],
    orthogonal: [Vector; DIMENSIONS],
    squares: Vector,
}

fn subtract(from: &mut Vector, times: f64, vector: &Vector) {
    from.iter_mut().zip(vector).for_each(|(f, v)| *f -= times * v);
}

fn dot(a: &Vector, b: &Vector, n: usize) -> f64 {
    a[..n].iter().zip(&b[..n]).map(|(a, b)| a * b).sum()
}

impl Basis {
    /// Reduces a basis. `None` if the reduction does not end within the limit, or if the vectors are not independent.
    pub fn reduced(vectors: &[Vector]) -> Option<Self> {
        let n = vectors.len();
        let zero = [[0.0; DIMENSIONS]; DIMENSIONS];
        let mut me = Self { n, vectors: zero, mu: zero, orthogonal: zero, squares: [0.0; DIMENSIONS] };
        me.vectors[..n].copy_from_slice(vectors);
        me.orthogonalize();
        let (mut i, mut left) = (1, EXCHANGES);
        while i < n {
            me.shorten(i);
            let wanted = (DELTA - me.mu[i][i - 1] * me.mu[i][i - 1]) * me.squares[i - 1];
            if me.squares[i] >= wanted {
                i += 1;
                continue;
            }
            left = left.checked_sub(1)?;
            me.exchange(i);
            i = (i - 1).max(1);
        }
        me.orthogonalize();
        me.squares[..n].iter().all(|s| s.is_normal()).then_some(me)
    }

    fn orthogonalize(&mut self) {
        let n = self.n;
        for i in 0..n {
            let mut rest = self.vectors[i];
            for j in 0..i {
                let mu = dot(&self.vectors[i], &self.orthogonal[j], n) / self.squares[j];
                self.mu[i][j] = mu;
                subtract(&mut rest, mu, &self.orthogonal[j]);
            }
            self.orthogonal[i] = rest;
            self.squares[i] = dot(&rest, &rest, n);
        }
    }

    /// Exchanges vector `i` with the one before it, and updates coefficients and squares, but not the orthogonal
    /// vectors. (H. Cohen, *A Course in Computational Algebraic Number Theory*, 1993, algorithm 2.6.3.)
    fn exchange(&mut self, i: usize) {
        self.vectors.swap(i, i - 1);
        let mu = self.mu[i][i - 1];
        let square = mu * mu * self.squares[i - 1] + self.squares[i];
        let back = mu * self.squares[i - 1] / square;
        self.squares[i] *= self.squares[i - 1] / square;
        self.squares[i - 1] = square;
        let (before, after) = self.mu.split_at_mut(i);
        before[i - 1][..i - 1].swap_with_slice(&mut after[0][..i - 1]);
        after[0][i - 1] = back;
        for later in &mut after[1..self.n - i] {
            let second = later[i];
            later[i] = later[i - 1] - mu * second;
            later[i - 1] = second + back * later[i];
        }
    }

    /// Size reduction: subtracts multiples of the vectors before vector `i` from it.
    fn shorten(&mut self, i: usize) {
        for j in (0..i).rev() {
            let times = nearest(self.mu[i][j]);
            if times == 0.0 {
                continue;
            }
            let (before, after) = self.vectors.split_at_mut(i);
            subtract(&mut after[0], times, &before[j]);
            let (before, after) = self.mu.split_at_mut(i);
            subtract(&mut after[0], times, &before[j]);
            self.mu[i][j] -= times;
        }
    }

    /// Calls `found` with the lattice points near the target, as coefficients of the vectors, until `nodes` nodes are
    /// visited. The square of the distance in the last `i` dimensions of the Gram-Schmidt basis is at most `limits[i]`
    /// (pruning: Schnorr and Hoerner, *Attacking the Chor-Rivest Cryptosystem by Improved Lattice Reduction*, 1995).
    /// Returns the number of nodes left.
    pub fn near(
        &self,
        target: &Vector,
        limits: &[f64; DIMENSIONS + 1],
        nodes: usize,
        mut found: impl FnMut(&Vector),
    ) -> usize {
        let mut centres = [0.0; DIMENSIONS];
        for (i, centre) in centres.iter_mut().enumerate().take(self.n) {
            *centre = dot(target, &self.orthogonal[i], self.n) / self.squares[i];
        }
        let mut walk = Walk { basis: self, limits, centres, times: [0.0; DIMENSIONS], left: nodes };
        walk.level(self.n, 0.0, &mut found);
        walk.left
    }

    /// Coordinate `d` of the point with these coefficients.
    pub fn coordinate(&self, d: usize, times: &Vector) -> f64 {
        self.vectors[..self.n].iter().zip(times).map(|(v, t)| v[d] * t).sum()
    }
}

/// The state of an enumeration.
struct Walk<'a> {
    basis: &'a Basis,
    limits: &'a [f64; DIMENSIONS + 1],
    /// The coefficients of the target in the orthogonal vectors.
    centres: Vector,
    /// The coefficients of the point so far.
    times: Vector,
    left: usize,
}

impl Walk<'_> {
    /// Enumerates the dimensions below `level`; `square` is the squared distance in those from it on. Returns false if
    /// no node is left.
    fn level(&mut self, level: usize, square: f64, found: &mut impl FnMut(&Vector)) -> bool {
        let Some(i) = level.checked_sub(1) else {
            found(&self.times);
            return true;
        };
        let basis = self.basis;
        let n = basis.n;
        let centre = (level..n).fold(self.centres[i], |c, j| c - self.times[j] * basis.mu[j][i]);
        let mut times = nearest(centre);
        let mut step = if centre >= times { 1.0 } else { -1.0 };
        loop {
            let off = times - centre;
            let own = off * off * basis.squares[i];
            let own = if basis.squares[i] > WIDE && own < FAR { own.min(1.0) } else { own };
            let square = own + square;
            if square > self.limits[n - i] {
                return true;
            }
            let Some(left) = self.left.checked_sub(1) else { return false };
            self.left = left;
            self.times[i] = times;
            if !self.level(i, square, found) {
                return false;
            }
            // Zigzag: the next nearest integer.
            times += step;
            step = -step - step.signum();
        }
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::{Rand, StdRand};

    use super::*;

    fn vector(x: &[f64]) -> Vector {
        let mut v = [0.0; DIMENSIONS];
        v[..x.len()].copy_from_slice(x);
        v
    }

    #[test]
    fn a_basis_is_reduced() {
        let basis = Basis::reduced(&[vector(&[1.0, 1.0, 1.0]), vector(&[-1.0, 0.0, 2.0]), vector(&[3.0, 5.0, 6.0])]);
        let basis = basis.expect("independent vectors");
        let mut squares: Vec<f64> = basis.vectors[..3].iter().map(|v| dot(v, v, 3)).collect();
        squares.sort_by(f64::total_cmp);
        assert!(squares[0] <= 1.0 && squares[2] <= 5.0, "{basis:?}");
        assert!(Basis::reduced(&[vector(&[1.0, 2.0]), vector(&[2.0, 4.0])]).is_none(), "dependent vectors");
    }

    #[test]
    fn an_exchange_keeps_coefficients_and_squares() {
        let mut rng = StdRand::with_seed(1);
        let mut unit = || (rng.next() >> 11) as f64 / (1u64 << 53) as f64;
        let vectors: Vec<Vector> = (0..6).map(|_| vector(&[0; 6].map(|_| unit() - 0.5))).collect();
        let mut basis = Basis::reduced(&vectors).expect("independent vectors");
        for i in 1..6 {
            basis.exchange(i);
            let mut fresh = basis.clone();
            fresh.orthogonalize();
            let both = (0..6).map(|j| (basis.squares[j], fresh.squares[j]));
            let both = both
                .chain((0..6).flat_map(|j| (0..j).map(move |k| (j, k))).map(|(j, k)| (basis.mu[j][k], fresh.mu[j][k])));
            assert!(both.into_iter().all(|(a, b)| (a - b).abs() < 1e-9), "{i}: {basis:?}, {fresh:?}");
        }
    }

    #[test]
    fn all_points_near_a_target_are_found() {
        let vectors = [vector(&[1.0, 0.25, 0.3]), vector(&[0.0, 1.0, -0.4]), vector(&[0.0, 0.0, 1.0])];
        let target = vector(&[7.3, -2.4, 5.1]);
        let is_near = |p: &Vector| (0..3).map(|d| (p[d] - target[d]).powi(2)).sum::<f64>() <= 4.0;
        let mut expected = 0;
        for (a, b, c) in (-20..20).flat_map(|a| (-20..20).flat_map(move |b| (-20..20).map(move |c| (a, b, c)))) {
            let times = [a, b, c].map(f64::from);
            let p: Vec<f64> = (0..3).map(|d| (0..3).map(|i| times[i] * vectors[i][d]).sum()).collect();
            expected += usize::from(is_near(&vector(&p)));
        }
        let mut found = Vec::new();
        let basis = Basis::reduced(&vectors).expect("independent vectors");
        basis.near(&target, &[4.0; DIMENSIONS + 1], 1_000_000, |times| {
            let p: Vec<f64> = (0..3).map(|d| basis.coordinate(d, times)).collect();
            assert!(is_near(&vector(&p)));
            found.push(p[0] as i64);
        });
        assert_eq!(found.len(), expected);
        assert!(expected > 20, "{expected} points");
    }
}
