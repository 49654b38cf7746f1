//! The steps of a run: its operations, each linked to the earlier ones that gave its operands.

use penfuzz_abi::{Traced, movement, operation as op, operation_flag};
use penfuzz_mutators::extremes::{COORDINATES, Steps as Moves};
use rustc_hash::FxHashMap;

use super::{
    double::{Double, two_sum},
    functions::{self, Local},
    runs::{Pairs, Runs},
};

/// Masks of fraction and sign of a double.
const FRACTION: u64 = (1 << 52) - 1;
const SIGN: u64 = 1 << 63;
/// All doubles are multiples of this number.
const LEAST: f64 = f64::from_bits(1);
/// A fraction with more trailing zeros than this may be equal to another by chance.
const ZEROS: u32 = 36;
/// A constant of at least `SHIFT` rounds what is added to it to an integer or a fixed-point number, if that is smaller
/// by a factor of `SHIFTED`.
const SHIFT: f64 = 1_099_511_627_776.0;
const SHIFTED: f64 = 1_048_576.0;

/// One executed operation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Step {
    /// Index in the trace; `None` for the argument.
    pub at: Option<usize>,
    /// The result.
    pub value: f64,
    /// Rounded value minus exact value, and the unit in the last place. The unit is 0 if the result is never rounded,
    /// otherwise the error is in units.
    pub error: f64,
    pub unit: f64,
    /// Rounded value minus exact value, absolute, also if the step does not move.
    pub rounded: f64,
    /// Whether the result differs at other arguments.
    pub moves: bool,
    /// A power of two of which the result is always a multiple.
    pub grid: f64,
    /// Whether the last bit of the result is set.
    pub is_odd: bool,
    /// For each operand the derivative by it, and the earlier step that it is a multiple of.
    pub operands: [(f64, Option<By>); 3],
    /// Second derivatives by the operands, halved: by one operand, and by two.
    square: [f64; 2],
    product: f64,
    /// Derivative of the run's result by this step.
    pub adjoint: f64,
    /// Change for one step along each coordinate, for a number that is not computed from others.
    pub given: Moves,
    /// First and second coefficient of the value as a polynomial in steps along the first coordinate.
    first: Double,
    pub second: f64,
}

impl Step {
    /// Returns a step whose result moves by `given` and is never rounded. In a window of neighbours, `given` is 0 and
    /// the result constant.
    fn given(value: f64, given: Moves) -> Self {
        let moves = given.iter().any(|g| *g != 0.0);
        let grid = given.iter().fold(lowest_bit(value), |grid, x| grid.min(lowest_bit(*x)));
        Self { value, moves, grid, given, first: Double::from(given[0]), ..Self::default() }
    }

    /// Sets the unit in the last place: that of a `float`, or of a `double`.
    fn round_to(&mut self, single: bool) {
        let bits = self.value.to_bits();
        let exponent = bits >> 52 & 0x7ff;
        let (places, last) = if single { (23, 29) } else { (52, 0) };
        self.unit = match exponent.checked_sub(1) {
            None => 0.0,
            Some(above) if exponent <= places => f64::from_bits(1 << above << (52 - places)),
            _ => f64::from_bits((exponent - places) << 52),
        };
        self.is_odd = bits >> last & 1 == 1;
    }

    /// Sets the error and the second derivatives. Returns the derivatives by the operands; `None` if no formula is
    /// known.
    fn derive(&mut self, operation: u32, [a, b, c]: [f64; 3]) -> Option<[f64; 3]> {
        let value = self.value;
        Some(match operation {
            op::ADD => {
                self.error = -two_sum(a, b, value);
                [1.0, 1.0, 0.0]
            }
            op::SUBTRACT => {
                self.error = -two_sum(a, -b, value);
                [1.0, -1.0, 0.0]
            }
            op::MULTIPLY => {
                self.error = -a.mul_add(b, -value);
                self.product = 1.0;
                [b, a, 0.0]
            }
            op::DIVIDE => {
                self.error = value.mul_add(b, -a) / b;
                self.product = -1.0 / (b * b);
                self.square[1] = value / (b * b);
                [1.0 / b, -value / b, 0.0]
            }
            op::FMA => {
                let product = a * b;
                let low = a.mul_add(b, -product);
                let sum = product + c;
                self.error = (value - sum) - (two_sum(product, c, sum) + low);
                self.product = 1.0;
                [b, a, 1.0]
            }
            op::SQRT if value > 0.0 => {
                self.error = value.mul_add(value, -a) / (2.0 * value);
                self.square[0] = -1.0 / (8.0 * value * value * value);
                [0.5 / value, 0.0, 0.0]
            }
            op::NARROW => {
                self.error = value - a;
                [1.0, 0.0, 0.0]
            }
            _ => return None,
        })
    }
}

impl Step {
    /// As `derive`, for a function of the C library.
    fn derive_function(&mut self, operation: u32, [a, b, _]: [f64; 3]) -> Option<[f64; 3]> {
        let Local { error, first, square, product } = functions::local(operation, [a, b], self.value)?;
        (self.error, self.square, self.product) = (error, square, product);
        Some([first[0], first[1], 0.0])
    }
}

/// A step, and a factor.
type By = (usize, f64);

/// Error: it is not known how a result moves.
struct Unknown;

/// A result of an operation, or a value loaded from where such a result was stored.
#[derive(Debug, Clone, Copy)]
struct Given {
    value: f64,
    by: By,
}

impl Given {
    fn as_operand(&self, times: f64) -> By {
        (self.by.0, self.by.1 * times)
    }
}

/// All steps, the argument first; keeps its buffers.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub all: Vec<Step>,
    /// In order of time.
    given: Vec<Given>,
    /// By address, and by name: a value, and the step that it comes from; `None` for a constant.
    stored: FxHashMap<u64, (f64, Option<By>)>,
    /// Names of the operands and the result of the next operation.
    names: [u64; 4],
    pairs: Pairs,
}

impl Steps {
    /// Reads the steps of a run. `None` if a step is unknown, or how it moves.
    pub fn read(&mut self, runs: &Runs) -> Option<()> {
        self.pairs.find(runs);
        self.all.clear();
        self.given.clear();
        self.stored.clear();
        let (value, grid) = runs.x;
        self.push(Step { grid, ..Step::given(value, runs.steps) });
        (0..runs.trace.len()).try_for_each(|at| self.entry(runs, at))
    }

    fn push(&mut self, step: Step) -> By {
        let by = (self.all.len(), 1.0);
        self.given.push(Given { value: step.value, by });
        self.all.push(step);
        by
    }

    fn store(&mut self, at: u64, value: f64, by: Option<By>) {
        self.stored.insert(at, (value, by));
    }

    /// Returns the step whose result was stored at this address or name, unless it was overwritten; otherwise the last
    /// step with this value.
    fn stored(&self, at: u64, value: f64) -> Option<By> {
        match self.stored.get(&at) {
            Some((stored, by)) if stored.to_bits() == value.to_bits() => *by,
            _ if at == movement::CONSTANT_NAME => None,
            _ => self.find(value),
        }
    }

    /// Processes a movement of a value.
    fn moved(&mut self, traced: &Traced) {
        let value = f64::from_bits(traced.result);
        let [address, name, last] = traced.operands;
        match traced.what & 0xff {
            movement::OPERANDS => self.names = [address, name, last, traced.result],
            movement::VALUE => self.store(name, value, self.stored(address, value)),
            movement::LOAD => {
                let by = self.stored(address, value);
                self.store(name, value, by);
                self.given.extend(by.map(|by| Given { value, by }));
            }
            _ => self.store(address, value, self.stored(name, value)),
        }
    }

    /// Processes one operation or movement. `None` if it is not known how the result moves.
    fn entry(&mut self, runs: &Runs, at: usize) -> Option<()> {
        let traced = &runs.trace[at];
        if traced.actions.is_null() {
            self.moved(traced);
            return Some(());
        }
        let before = self.all.len();
        let by = self.step(runs, at).ok()?;
        self.all[before..].iter_mut().for_each(|step| step.at = Some(at));
        let [.., name] = core::mem::take(&mut self.names);
        if name != 0 {
            self.store(name, f64::from_bits(traced.result), by);
        }
        Some(())
    }

    /// Returns the step of a value that a function with recorded operations of its own returned.
    fn returned(&self, value: f64) -> Result<Option<By>, Unknown> {
        match self.stored.get(&movement::RETURNED) {
            Some((returned, by)) if returned.to_bits() == value.to_bits() => Ok(*by),
            _ => self.find(value).map(Some).ok_or(Unknown),
        }
    }

    /// Returns the first operand's step for an operation that changes only sign or exponent.
    fn scaled(&self, operation: u32, operand: f64, value: f64) -> Option<By> {
        let (from, times) = self.stored(self.names[0], operand)?;
        let by = match operation {
            op::NEGATE => -1.0,
            op::ABS => 1f64.copysign(operand),
            _ => value / operand,
        };
        (by.is_normal() && by.to_bits() & FRACTION == 0).then_some((from, times * by))
    }

    /// Processes one operation: adds a step, or finds that the result is a multiple of an earlier one. Returns the step
    /// of the result.
    fn step(&mut self, runs: &Runs, at: usize) -> Result<Option<By>, Unknown> {
        let traced = &runs.trace[at];
        let value = f64::from_bits(traced.result);
        let operands = traced.operands.map(f64::from_bits);
        let operation = traced.what & 0xff;
        match operation {
            op::TO_SIGNED | op::TO_UNSIGNED => return Ok(None),
            op::NEGATE | op::ABS | op::LDEXP | op::SCALBN | op::SCALBLN => {
                return Ok(self.scaled(operation, operands[0], value));
            }
            // These are constant among neighbours. They become steps, so that an earlier result that happens to be
            // equal is not taken for them.
            op::FROM_SIGNED | op::FROM_UNSIGNED | op::FLOOR | op::CEIL | op::ROUND | op::RINT | op::ROUND_TO_ZERO => {
                return Ok(Some(self.push(Step::given(value, self.pairs.moves(runs, at)))));
            }
            _ => {}
        }
        let mut step = Step { value, ..Step::default() };
        step.round_to(traced.what & operation_flag::SINGLE != 0 || operation == op::NARROW);
        let derivatives = match step.derive(operation, operands).filter(|_| value.is_finite()) {
            Some(derivatives) => derivatives,
            None => match self.returned(value) {
                // The operations of the function itself are in the trace before it.
                Ok(by) => return Ok(by),
                Err(Unknown) => step.derive_function(operation, operands).ok_or(Unknown)?,
            },
        };
        step.rounded = step.error;
        let is_fixed = |i: usize| traced.what & operation_flag::CONSTANT << i != 0;
        for (i, (operand, derivative)) in step.operands.iter_mut().zip(derivatives).enumerate() {
            let linked = if derivative == 0.0 || is_fixed(i) { None } else { self.link(i, operands[i]) };
            if linked.is_none() && derivative != 0.0 && !self.pairs.is_constant(runs, at, i) {
                return Err(Unknown);
            }
            *operand = (derivative, linked);
        }
        if matches!(operation, op::ADD | op::SUBTRACT) && is_shift(&step, operands) {
            return Ok(Some(self.push(Step::given(value, self.pairs.moves(runs, at)))));
        }
        step.moves = step.operands.iter().any(|(_, linked)| linked.is_some_and(|(from, _)| self.all[from].moves));
        if !step.moves {
            let given = Step::given(value, [0.0; COORDINATES]);
            let fixed = Step { rounded: step.rounded, unit: step.unit, operands: step.operands, ..given };
            return Ok(Some(self.push(fixed)));
        }
        let exact = self.exact(operation, &step, operands);
        step.grid = exact.unwrap_or(step.unit).max(LEAST).min(lowest_bit(value));
        if exact.is_some() {
            step.unit = 0.0;
        } else if step.unit > 0.0 {
            step.error /= step.unit;
        }
        self.move_with_operands(&mut step);
        Ok(Some(self.push(step)))
    }

    /// Returns the power of two of which the result is a multiple, if it is never rounded, whatever the last bits of
    /// the operands are.
    fn exact(&self, operation: u32, step: &Step, [a, b, _]: [f64; 3]) -> Option<f64> {
        let is_power = |x: f64| x.to_bits() & FRACTION == 0;
        let grid = |i: usize, x: f64| match step.operands[i].1 {
            Some((from, times)) => self.all[from].grid * times.abs(),
            None => lowest_bit(x),
        };
        let (of_a, of_b) = (grid(0, a), grid(1, b));
        let (grid, is_exact) = match operation {
            op::MULTIPLY => (of_a * of_b, is_power(a) || is_power(b)),
            op::DIVIDE => (of_a / b.abs(), is_power(b)),
            op::ADD | op::SUBTRACT => (of_a.min(of_b), false),
            _ => return None,
        };
        (is_exact || operation != op::DIVIDE && grid >= step.unit).then_some(grid)
    }

    /// Computes how the value moves with the argument.
    fn move_with_operands(&self, step: &mut Step) {
        let mut first = [0.0; 3];
        for (operand, (derivative, linked)) in step.operands.into_iter().enumerate() {
            let Some((from, times)) = linked else { continue };
            let of = &self.all[from];
            first[operand] = times * of.first.value();
            step.first.add(derivative * times, of.first);
            step.second += derivative * times * of.second;
        }
        step.second += step.square[0] * first[0] * first[0]
            + step.square[1] * first[1] * first[1]
            + step.product * first[0] * first[1];
    }

    /// Returns the step that gave an operand, and the factor.
    fn link(&mut self, operand: usize, value: f64) -> Option<By> {
        self.stored(self.names[operand], value).or_else(|| self.link_root(value))
    }

    /// Recognises the square root of an earlier result, and adds it as a step: libraries compute it from the bits,
    /// without recorded operations.
    fn link_root(&mut self, value: f64) -> Option<By> {
        if value.is_nan() || value <= 0.0 || value.to_bits().trailing_zeros() > ZEROS {
            return None;
        }
        // The square is within some roundings of that result. (A root takes much longer than a product.)
        let square = value * value;
        let tolerance = (4.0 * f64::EPSILON).mul_add(square, f64::MIN_POSITIVE);
        let is_root = |s: &Step| (s.value - square).abs() <= tolerance && s.value.sqrt().to_bits() == value.to_bits();
        let from = self.all.iter().rposition(is_root)?;
        let mut step = Step { value, moves: self.all[from].moves, ..Step::default() };
        step.round_to(false);
        let [derivative, ..] = step.derive(op::SQRT, [self.all[from].value, 0.0, 0.0])?;
        step.rounded = step.error;
        step.operands[0] = (derivative, Some((from, 1.0)));
        step.error /= step.unit;
        step.grid = step.unit;
        self.move_with_operands(&mut step);
        Some(self.push(step))
    }

    /// Returns the step that gave the result of the run, and the factor.
    pub(super) fn result(&self, value: f64) -> Option<By> {
        self.stored(movement::RETURNED, value)
    }

    /// Returns the last step with this value up to sign and a power of two.
    fn find(&self, value: f64) -> Option<By> {
        let bits = value.to_bits() & !SIGN;
        if let Some(given) = self.given.iter().rfind(|g| g.value.to_bits() & !SIGN == bits) {
            return Some(given.as_operand(1f64.copysign(given.value) * 1f64.copysign(value)));
        }
        let fraction = bits & FRACTION;
        if fraction.trailing_zeros() > ZEROS {
            return None;
        }
        let given = self.given.iter().rfind(|g| g.value.to_bits() & FRACTION == fraction)?;
        let times = value / given.value;
        (times.is_normal() && times.to_bits() & FRACTION == 0).then(|| given.as_operand(times))
    }
}

/// Returns whether one operand of a sum is a constant that rounds the other to an integer or a fixed-point number.
fn is_shift(step: &Step, [a, b, _]: [f64; 3]) -> bool {
    let shifts = |i: usize, x: f64, other: f64| {
        step.operands[i].1.is_none()
            && x.abs() >= SHIFT
            && other.abs() * SHIFTED <= x.abs()
            && lowest_bit(x) * 4.0 > x.abs()
    };
    shifts(0, a, b) || shifts(1, b, a)
}

/// Returns the power of two of the lowest set bit; infinity for 0.
fn lowest_bit(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    if x == 0.0 {
        return f64::INFINITY;
    }
    let fraction = bits & FRACTION | if exponent == 0 { 0 } else { FRACTION + 1 };
    f64::from(exponent.max(1) - 1075 + fraction.trailing_zeros() as i32).exp2()
}
