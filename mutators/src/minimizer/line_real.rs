//! Minimization over one real variable: bracketing, then Brent's method without derivatives.
//!
//! R. Brent, *Algorithms for Minimization without Derivatives*, 1973, chapter 5. Brackets by growing steps with
//! parabolic extrapolation, as in *Numerical Recipes* (section 10.1). `SciPy`'s Powell method, which is CoverMe's local
//! minimizer, does the same. Costs may be infinite (site not reached), but must not be NaN.

/// Golden ratio: growth of bracketing steps.
const GOLDEN: f64 = 1.618_034;
/// Fraction of an interval that a golden section step takes.
const SECTION: f64 = 0.381_966;
/// Maximum length of a parabolic step, in units of the last step.
const GROW_LIMIT: f64 = 110.0;
/// Maximum number of bracketing steps. The golden ratio to this power is above `1e300`, the range of doubles from a
/// step of 1.
const MAX_GROWTH: u32 = 1500;

/// Three abscissae, in rising or falling order, with the smallest cost in the middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket {
    /// One end.
    pub a: f64,
    /// The abscissa between them.
    pub b: f64,
    /// The other end.
    pub c: f64,
    /// Cost at `b`.
    pub cost: f64,
}

/// Brackets a minimum of `cost`, starting from the abscissae 0 and `step`.
///
/// `step` must be finite and not 0, and `cost` must not return NaN. If the costs decrease without end, the bracket ends
/// at the last finite abscissa, and the smallest cost is that at `b` or `c`.
///
/// # Errors
/// The error that `cost` returned.
pub fn bracket<E>(mut cost: impl FnMut(f64) -> Result<f64, E>, step: f64) -> Result<Bracket, E> {
    let (mut a, mut b) = (0.0, step);
    let (mut fa, mut fb) = (cost(a)?, cost(b)?);
    if fa < fb {
        (a, b, fa, fb) = (b, a, fb, fa);
    }
    let mut c = b + GOLDEN * (b - a);
    let mut fc = cost(c)?;
    for _ in 0..MAX_GROWTH {
        if fc >= fb || !c.is_finite() {
            break;
        }
        let limit = b + GROW_LIMIT * (c - b);
        let vertex = parabola((a, fa), (b, fb), (c, fc));
        let mut w = vertex;
        let between = (w - c) * (b - w) > 0.0;
        let beyond = (w - limit) * (c - w) >= 0.0;
        if !between && !beyond {
            w = if vertex.is_nan() || (w - limit) * (limit - c) < 0.0 { c + GOLDEN * (c - b) } else { limit };
        }
        if !w.is_finite() {
            break;
        }
        let mut fw = cost(w)?;
        if between {
            if fw < fc {
                return Ok(Bracket { a: b, b: w, c, cost: fw });
            }
            if fw > fb {
                return Ok(Bracket { a, b, c: w, cost: fb });
            }
            w = c + GOLDEN * (c - b);
            if !w.is_finite() {
                break;
            }
            fw = cost(w)?;
        }
        (a, b, c, fa, fb, fc) = (b, c, w, fb, fc, fw);
    }
    Ok(Bracket { a, b, c, cost: fb })
}

/// The abscissa of the vertex of the parabola through three points; infinite or NaN if there is none.
fn parabola((a, fa): (f64, f64), (b, fb): (f64, f64), (c, fc): (f64, f64)) -> f64 {
    let left = (b - a) * (fb - fc);
    let right = (b - c) * (fb - fa);
    b - ((b - c) * right - (b - a) * left) / (2.0 * (right - left))
}

/// A minimum of a function of one variable.
#[derive(Debug, Clone, Copy)]
pub struct Minimum {
    /// The abscissa.
    pub x: f64,
    /// The cost there.
    pub cost: f64,
}

/// A minimum within the bracket, by Brent's method.
///
/// Ends at the relative tolerance `tolerance` of the abscissa, after `max_iterations` evaluations, or at once if the
/// midpoint of the bracket is not finite. `cost` must not return NaN.
///
/// # Errors
/// The error that `cost` returned.
pub fn brent<E>(
    mut cost: impl FnMut(f64) -> Result<f64, E>,
    bracket: Bracket,
    tolerance: f64,
    max_iterations: u32,
) -> Result<Minimum, E> {
    let (mut low, mut high) = (bracket.a.min(bracket.c), bracket.a.max(bracket.c));
    let (mut x, mut fx) = (bracket.b, bracket.cost);
    let (mut w, mut fw, mut v, mut fv) = (x, fx, x, fx);
    let (mut last, mut before_last) = (0.0f64, 0.0f64);
    for _ in 0..max_iterations {
        // Smaller steps would be within the rounding error.
        let finest = tolerance * x.abs() + 1e-11;
        let middle = f64::midpoint(low, high);
        if (x - middle).abs() <= 2.0 * finest - 0.5 * (high - low) || !middle.is_finite() {
            break;
        }
        let parabolic = parabola((v, fv), (x, fx), (w, fw)) - x;
        let inside = low < x + parabolic && x + parabolic < high;
        if before_last.abs() > finest && inside && parabolic.abs() < 0.5 * before_last.abs() {
            before_last = last;
            last = parabolic;
        } else {
            before_last = if x >= middle { low - x } else { high - x };
            last = SECTION * before_last;
        }
        let u = x + if last.abs() >= finest { last } else { finest.copysign(last) };
        let fu = cost(u)?;
        if fu <= fx {
            if u >= x {
                low = x;
            } else {
                high = x;
            }
            (v, fv, w, fw, x, fx) = (w, fw, x, fx, u, fu);
        } else {
            if u < x {
                low = u;
            } else {
                high = u;
            }
            if fu <= fw || w == x {
                (v, fv, w, fw) = (w, fw, u, fu);
            } else if fu <= fv || v == x || v == w {
                (v, fv) = (u, fu);
            }
        }
    }
    Ok(Minimum { x, cost: fx })
}

#[cfg(test)]
mod tests {
    use core::convert::Infallible;

    use super::*;

    fn minimum(f: impl Fn(f64) -> f64) -> f64 {
        let mut cost = |t| Ok::<_, Infallible>(f(t));
        let Ok(found) = bracket(&mut cost, 1.0);
        let Ok(found) = brent(&mut cost, found, 1e-8, 200);
        found.x
    }

    #[test]
    fn a_parabola() {
        assert!((minimum(|t| (t - 12.5) * (t - 12.5)) - 12.5).abs() < 1e-5);
    }

    #[test]
    fn a_kink_on_the_negative_side() {
        assert!((minimum(|t| (t + 1e6).abs()) + 1e6).abs() < 1.0);
    }

    #[test]
    fn infinite_costs_on_one_side() {
        let t = minimum(|t| if t < 0.0 { f64::INFINITY } else { t + 1.0 });
        assert!(t.abs() < 1e-3, "{t}");
    }

    #[test]
    fn a_cost_without_minimum_ends() {
        assert!(minimum(|t| -t).is_finite());
    }

    #[test]
    fn a_constant_cost_ends() {
        assert!(minimum(|_| 3.0).is_finite());
    }
}
