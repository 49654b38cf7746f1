//! Tests with functions that record their operations themselves.

use penfuzz_abi::{Traced, movement, operation as op};

use penfuzz_mutators::extremes::Steps as Moves;

use super::*;

/// Computes operations and records them.
#[derive(Default)]
struct Run(Vec<Traced>);

impl Run {
    fn note(&mut self, what: u32, a: f64, b: f64, result: f64) -> f64 {
        let actions = core::ptr::without_provenance(self.0.len() + 1);
        let operands = [a.to_bits(), b.to_bits(), 0];
        self.0.push(Traced { actions, operands, result: result.to_bits(), what, unused: 0 });
        result
    }

    /// Records a movement. Operands are an address and a name, or names.
    fn moves(&mut self, what: u32, operands: [u64; 3], result: u64) {
        self.0.push(Traced { actions: core::ptr::null(), operands, result, what, unused: 0 });
    }

    fn add(&mut self, a: f64, b: f64) -> f64 {
        self.note(op::ADD, a, b, a + b)
    }

    fn subtract(&mut self, a: f64, b: f64) -> f64 {
        self.note(op::SUBTRACT, a, b, a - b)
    }

    fn times(&mut self, a: f64, b: f64) -> f64 {
        self.note(op::MULTIPLY, a, b, a * b)
    }

    fn by(&mut self, a: f64, b: f64) -> f64 {
        self.note(op::DIVIDE, a, b, a / b)
    }

    fn fused(&mut self, a: f64, b: f64, c: f64) -> f64 {
        let result = self.note(op::FMA, a, b, a.mul_add(b, c));
        self.0.last_mut().expect("it was noted").operands[2] = c.to_bits();
        result
    }

    fn root(&mut self, a: f64) -> f64 {
        self.note(op::SQRT, a, 0.0, a.sqrt())
    }
}

/// A rational function of the root of `1 - x^2`.
fn rational(run: &mut Run, x: f64) -> f64 {
    let square = run.times(x, x);
    let rest = run.subtract(1.0, square);
    let z = run.root(rest);
    let mut p = run.times(z, 0.3);
    for c in [-0.7, 0.9, 1.1] {
        let sum = run.add(p, c);
        p = run.times(sum, z);
    }
    let q = run.times(z, 1.7);
    let q = run.add(q, 1.3);
    run.by(p, q)
}

/// A run in a window of neighbours.
fn alone(trace: &[Traced], x: f64) -> Runs<'_> {
    let ulp = x.abs().next_up() - x.abs();
    Runs { trace, x: (x, ulp), steps: [ulp, 0.0], others: None }
}

fn roundings(f: fn(&mut Run, f64) -> f64, x: f64) -> Vec<Rounding> {
    let mut run = Run::default();
    let y = f(&mut run, x);
    let ulp = |x: f64| x.abs().next_up() - x.abs();
    Roundings::default().of(&alone(&run.0, x), (y, ulp(y))).expect("all operations are known")
}

/// The errors at `k` positions from the middle, as `Rounding` predicts them.
fn expected(middle: &[Rounding], k: f64) -> Vec<f64> {
    expected_after(middle, [k, 0.0], k)
}

/// The same after this number of steps along each coordinate, at this distance.
fn expected_after(middle: &[Rounding], steps: Moves, distance: f64) -> Vec<f64> {
    let mut moved = Vec::new();
    let mut errors = Vec::new();
    for r in middle {
        let on: f64 = r.on.iter().zip(&moved).map(|(on, m)| on * m).sum();
        let slopes: f64 = r.slope.iter().zip(steps).map(|(slope, k)| slope * k).sum();
        let exact = slopes + r.bend * distance * distance + on - r.error;
        let odd = f64::from(u8::from(r.is_odd));
        moved.push((exact - odd).round_ties_even() + odd);
        errors.push(moved[moved.len() - 1] - exact);
    }
    errors
}

#[test]
fn errors_at_other_arguments_follow_from_one_run() {
    let x = 0.41f64;
    let middle = roundings(rational, x);
    assert!(middle.len() >= 8, "{middle:?}");
    let (mut right, mut all, mut other) = (0, 0, Vec::new());
    for k in (1..100).chain([1000, 30_000, 300_000, 1_000_000]) {
        let there = roundings(rational, f64::from_bits(x.to_bits() + k));
        let expected = expected(&middle, k as f64);
        right += there.iter().zip(&expected).filter(|(r, e)| (r.error - **e).abs() < 0.1).count();
        all += there.len();
        let error: f64 = there.iter().map(|r| r.weight * r.error).sum();
        let expected: f64 = expected.iter().zip(&middle).map(|(e, r)| r.weight * e).sum();
        other.push((error - expected).abs() > 0.1);
    }
    // By chance a fifth would be right. Roundings that are left out may change one that is close to a tie.
    assert!(right * 10 > all * 9, "{right} of {all} roundings");
    let n = other.iter().filter(|o| **o).count();
    assert!(n * 10 < other.len(), "{n} of {} results", other.len());
}

/// The error of `(x + 1) * 3` by integers: the result minus the exact value in units of the result.
#[test]
fn contributions_add_up_to_the_error() {
    let whole = |x: f64| (x * f64::exp2(52.0)) as i128;
    let mut rounded = [0, 0];
    for x in (0..8).map(|k| f64::from_bits(1.3f64.to_bits() + k)) {
        let mut run = Run::default();
        let sum = run.add(x, 1.0);
        let y = run.times(sum, 3.0);
        let ulp = y.next_up() - y;
        let all = Roundings::default().contributions(&alone(&run.0, x), (y, ulp)).expect("both are known");
        for (at, _) in &all {
            rounded[*at] += 1;
        }
        let error = (whole(y) - 3 * (whole(x) + (1 << 52))) as f64 / (ulp * f64::exp2(52.0));
        let found: f64 = all.iter().map(|(_, error)| error).sum();
        assert!((found - error).abs() < 1e-15, "{x}: {error}, {all:?}");
    }
    assert!(rounded.iter().all(|n| *n > 0), "both are rounded now and then: {rounded:?}");
}

#[test]
fn constant_operations_contribute_to_error() {
    let x = 1.3;
    let mut run = Run::default();
    let k = run.note(op::FROM_SIGNED, f64::from_bits(3), 0.0, 3.0);
    let turns = run.times(k, 0.1);
    let y = run.subtract(x, turns);
    let mut roundings = Roundings::default();
    let all = roundings.contributions(&alone(&run.0, x), (y, 1.0)).expect("all are known");
    let error = 0.1f64.mul_add(-3.0, turns);
    assert!(all.iter().any(|(at, e)| *at == 1 && (e + error).abs() < 1e-20), "{error}: {all:?}");
    let fixed = roundings.fixed();
    assert!((fixed.error + error).abs() < 1e-20, "{error}: {fixed:?}");
    assert!((fixed.deviation / (turns.next_up() - turns) - 12f64.sqrt().recip()).abs() < 1e-9, "{fixed:?}");
}

/// `x - (x - h)` with the first half `h` of the bits of `x`: no operation of it is rounded.
#[test]
fn exact_operations_have_no_rounding() {
    let halves = |run: &mut Run, x: f64| {
        let h = f64::from_bits(x.to_bits() & !0xffff_ffff);
        let low = run.subtract(x, h);
        let scaled = run.times(low, 0.25);
        run.times(scaled, 1.1)
    };
    let all = roundings(halves, 1.3);
    assert_eq!(all.len(), 1, "{all:?}");
}

#[test]
fn a_shift_rounds_to_a_whole_number_that_stays() {
    let reduced = |run: &mut Run, x: f64| {
        let shift = 6_755_399_441_055_744.0;
        let shifted = run.add(x, shift);
        let whole = run.subtract(shifted, shift);
        let rest = run.subtract(x, whole);
        run.times(rest, 1.1)
    };
    let all = roundings(reduced, 41.3);
    assert_eq!(all.len(), 1, "41 is a constant: {all:?}");
}

#[test]
fn a_function_without_a_trace_of_its_own_is_not_known() {
    let mut run = Run::default();
    let y = run.note(op::FMOD, 0.7, 0.3, 0.7 % 0.3);
    assert!(Roundings::default().of(&alone(&run.0, 0.7), (y, 1e-16)).is_none());
    let inner = run.times(0.7, 1.3);
    run.note(op::EXP, 0.7, 0.0, inner);
    assert!(Roundings::default().of(&alone(&run.0[1..], 0.7), (inner, 1e-16)).is_some(), "the product is the result");
}

/// The square of an exponential of the C library: both roundings, and how they move.
#[test]
fn a_function_of_the_library_is_an_operation() {
    let square = |run: &mut Run, x: f64| {
        let e = run.note(op::EXP, x, 0.0, x.exp());
        run.times(e, e)
    };
    let all = roundings(square, 0.7);
    assert_eq!(all.len(), 2, "{all:?}");
    let [exponential, product] = [all[0], all[1]];
    // One unit of exp(0.7) = 2.01 is 2^-51, that of its square 2^-50.
    assert!((exponential.weight - 2.0 * 0.7f64.exp() / 2.0 * product.weight).abs() < 1e-9, "{all:?}");
    assert!(exponential.error != 0.0 && exponential.error.abs() < 0.52, "rounded nearly correctly: {exponential:?}");
    // A step of 2^-53 moves exp(0.7) by a half of its unit.
    assert!((exponential.slope[0] - 0.7f64.exp() / 4.0).abs() < 1e-9, "{exponential:?}");
}

/// As `log1p` is computed: a correction term that is 0 where nothing was rounded, and a number from an integer that
/// equals an earlier result.
fn corrected(run: &mut Run, x: f64) -> f64 {
    let u = run.add(1.0, x);
    let one = run.subtract(u, x);
    let c = run.subtract(1.0, one);
    let c = run.by(c, u);
    let k = run.note(op::FROM_SIGNED, f64::from_bits(1), 0.0, 1.0);
    let high = run.times(k, 0.693_147_180_369_123_8);
    let low = run.times(k, 1.908_214_929_270_587_7e-10);
    let low = run.add(low, c);
    let sum = run.add(u, low);
    run.add(high, sum)
}

#[test]
fn a_number_from_an_integer_is_no_earlier_one() {
    // Nothing is rounded in `1 + x` for the first argument.
    for x in [1.718_174_504_315_973_2f64, 1.718_174_504_315_973_5] {
        let all = roundings(corrected, x);
        assert!(all.iter().all(|r| r.weight.abs() < 1.01), "what is corrected has no weight: {all:?}");
    }
}

/// Returns whether the sum in `(x * 1.5 + 4) - 4` counts if these movements follow the product and the difference,
/// which are equal.
fn sum_counts(movements: [fn(&mut Run, u64); 2]) -> bool {
    let x = 0.375;
    let mut run = Run::default();
    run.moves(movement::OPERANDS, [0; 3], PRODUCT);
    let product = run.times(x, 1.5);
    movements[0](&mut run, product.to_bits());
    let beside = run.add(product, 4.0);
    let equal = run.subtract(beside, 4.0);
    assert!(product.to_bits() == equal.to_bits(), "as at this argument");
    movements[1](&mut run, equal.to_bits());
    let y = run.times(equal, 0.7);
    let all = Roundings::default().of(&alone(&run.0, x), (y, y.next_up() - y)).expect("all are known");
    all.len() == 3
}

const ADDRESS: u64 = 8;
const NAME: u64 = 1000;
const PRODUCT: u64 = 2000;

fn store(run: &mut Run, value: u64) {
    run.moves(movement::STORE, [ADDRESS, 0, 0], value);
}

fn load(run: &mut Run, value: u64) {
    run.moves(movement::LOAD, [ADDRESS, NAME, 0], value);
}

fn name(run: &mut Run, value: u64) {
    run.moves(movement::VALUE, [0, NAME, 0], value);
}

#[test]
fn equal_values_are_linked_by_address() {
    assert!(sum_counts([|_, _| (), |_, _| ()]), "the last is taken");
    assert!(!sum_counts([store, load]), "the product was stored, and loaded");
    let both = |run: &mut Run, value| {
        store(run, value);
        load(run, value);
    };
    assert!(sum_counts([store, both]), "the difference was stored, and loaded");
    let other = |run: &mut Run, _| load(run, 7f64.to_bits());
    assert!(sum_counts([store, other]), "what was loaded is no longer what was stored");
}

#[test]
fn equal_values_are_linked_by_name() {
    let taken = |run: &mut Run, _| run.moves(movement::OPERANDS, [NAME, 0, 0], 1);
    assert!(!sum_counts([name, taken]), "the name is that of the product");
    let renamed = |run: &mut Run, value| {
        name(run, value);
        run.moves(movement::OPERANDS, [NAME, 0, 0], 1);
    };
    assert!(sum_counts([name, renamed]), "the name is that of the difference");
    let product = |run: &mut Run, _| run.moves(movement::OPERANDS, [PRODUCT, 0, 0], 1);
    assert!(!sum_counts([|_, _| (), product]), "the product had its name from the start");
    let kept = |run: &mut Run, value| {
        run.moves(movement::STORE, [ADDRESS, PRODUCT, 0], value);
        load(run, value);
    };
    assert!(!sum_counts([|_, _| (), kept]), "it is stored by its name");
}

#[test]
fn equal_values_are_linked_through_calls_and_phis() {
    let passed = |run: &mut Run, value| {
        run.moves(movement::STORE, [movement::PASSED, PRODUCT, 0], value);
        run.moves(movement::LOAD, [movement::PASSED, NAME, 0], value);
        run.moves(movement::OPERANDS, [NAME, 0, 0], 1);
    };
    assert!(!sum_counts([|_, _| (), passed]), "the product is an argument of a function");
    let chosen = |run: &mut Run, value| {
        run.moves(movement::VALUE, [PRODUCT, NAME, 0], value);
        run.moves(movement::OPERANDS, [NAME, 0, 0], 1);
    };
    assert!(!sum_counts([|_, _| (), chosen]), "another name of the product");
}

#[test]
fn moved_constant_is_not_linked() {
    let x = 0.375;
    let mut run = Run::default();
    let product = run.times(x, 1.5);
    run.moves(movement::VALUE, [movement::CONSTANT_NAME, NAME, 0], product.to_bits());
    run.moves(movement::OPERANDS, [NAME, 0, 0], 1);
    let y = run.times(product, 0.7);
    assert!(Roundings::default().of(&alone(&run.0, x), (y, y.next_up() - y)).expect("both are known").is_empty());
}

#[test]
fn negation_and_scaling_link_to_operand() {
    let x = 0.375;
    let mut run = Run::default();
    run.moves(movement::OPERANDS, [0; 3], PRODUCT);
    let product = run.times(x, 1.5);
    let beside = run.add(product, 4.0);
    run.subtract(beside, 4.0);
    run.moves(movement::OPERANDS, [PRODUCT, 0, 0], NAME);
    run.note(op::NEGATE, product, 0.0, -product);
    run.moves(movement::OPERANDS, [NAME, 0, 0], 1);
    let y = run.times(-product, 0.7);
    let all = Roundings::default().of(&alone(&run.0, x), (y, y.abs().next_up() - y.abs())).expect("all are known");
    assert_eq!(all.len(), 2, "the sum has nothing to do with it: {all:?}");
}

/// The unit in the last place of the second result is less than the least normal number, and its inverse is infinite.
#[test]
fn weights_do_not_depend_on_the_size_of_the_result() {
    let scaled = |power: i32| {
        let mut run = Run::default();
        let square = run.times(1.3, 1.3);
        let sum = run.add(square, 0.1);
        let y = run.times(sum, 1.1 * f64::from(power).exp2());
        Roundings::default().of(&alone(&run.0, 1.3), (y, y.next_up() - y)).expect("all are known")
    };
    let weights = |power| scaled(power).iter().map(|r| r.weight).collect::<Vec<_>>();
    let (usual, small) = (weights(0), weights(-1000));
    let is_equal = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
    assert!(usual.len() == 3 && small.len() == 3 && usual.iter().zip(&small).all(is_equal), "{usual:?} and {small:?}");
}

#[test]
fn omitted_roundings_have_small_total_weight() {
    let even = [1.0; 20];
    assert_eq!(count_significant(even.into_iter()), 20, "each of them is heavy");
    let mut falling = [1.0; 100];
    falling[4..].fill(1e-4);
    assert_eq!(count_significant(falling.into_iter()), 4, "the others add up to little");
    assert_eq!(count_significant(core::iter::empty()), 0);
}

/// Reduces a large number by multiples of half of pi; returns the rest in two parts.
type Reduction = fn(&mut Run, f64) -> (f64, f64);

/// Returns the number of halves of pi in a large number.
fn turns(run: &mut Run, x: f64) -> f64 {
    let shift = 6_755_399_441_055_744.0;
    let turns = run.times(x, core::f64::consts::FRAC_2_PI);
    let turns = run.add(turns, shift);
    run.subtract(turns, shift)
}

/// Reduces by a constant in two parts, the first of which has 33 bits.
fn reduced_by_parts(run: &mut Run, x: f64) -> (f64, f64) {
    let turns = turns(run, x);
    let first = run.times(turns, 1.570_796_326_734_125_6);
    let rest = run.subtract(x, first);
    let low = run.times(turns, 6.077_100_506_506_192e-11);
    let y = run.subtract(rest, low);
    let tail = run.subtract(rest, y);
    (y, run.subtract(tail, low))
}

/// Reduces by a constant of 53 bits, the double above half of pi, whose multiples are not exact.
fn reduced_by_fma(run: &mut Run, x: f64) -> (f64, f64) {
    let turns = turns(run, x);
    let y = run.fused(turns, -core::f64::consts::FRAC_PI_2.next_up(), x);
    (y, run.times(turns, 1.608_122_649_676_636_6e-16))
}

/// Returns the cosine of a large number.
fn cosine(run: &mut Run, x: f64, reduction: Reduction) -> f64 {
    let (y, tail) = reduction(run, x);
    let z = run.times(y, y);
    let half = run.times(z, 0.5);
    let p = run.times(z, -0.001_388_888_888_888_889);
    let p = run.add(p, 0.041_666_666_666_666_664);
    let zz = run.times(z, z);
    let p = run.times(p, zz);
    let tail = run.times(y, tail);
    let p = run.subtract(p, tail);
    let rest = run.subtract(half, p);
    run.subtract(1.0, rest)
}

/// Returns the share of right predictions after jumps of `2^16`, which modulo 2 pi are less than 2e-12.
fn share_of_congruent_roundings_that_are_right(reduction: Reduction) -> f64 {
    let jumps = [-1_295_331_619_634i64, -3_022_440_445_813];
    let left = [1.656_299_362e-12, -9.859_398_972e-13];
    let x = 99_997.64f64;
    let ulp = x.next_up() - x;
    let run = |x: f64| {
        let mut run = Run::default();
        let y = cosine(&mut run, x, reduction);
        (run, y)
    };
    let to = |steps: Moves| x + steps.iter().zip(jumps).map(|(k, jump)| k * jump as f64 * ulp).sum::<f64>();
    let of = |x: f64| {
        let ((here, y), first, second) = (run(x), run(x + jumps[0] as f64 * ulp), run(x + jumps[1] as f64 * ulp));
        let others = Some([(&first.0.0[..], 1.0), (&second.0.0[..], 1.0)]);
        let runs = Runs { trace: &here.0, x: (x, ulp), steps: jumps.map(|jump| jump as f64 * ulp), others };
        Roundings::default().of(&runs, (y, y.next_up() - y)).expect("all operations are known")
    };
    let middle = of(x);
    assert!(middle.len() >= 5, "{middle:?}");
    let (mut right, mut all) = (0, 0);
    for steps in (-40..40).flat_map(|a| (-10..10).map(move |b| [f64::from(a), 4.0 * f64::from(b)])) {
        let distance = steps[0] + steps[1] * left[1] / left[0];
        let expected = expected_after(&middle, steps, distance);
        let there = of(to(steps));
        right += there.iter().zip(&expected).filter(|(r, e)| (r.error - **e).abs() < 0.1).count();
        all += there.len();
    }
    right as f64 / all as f64
}

#[test]
fn errors_at_congruent_arguments_follow_from_three_runs() {
    for reduction in [reduced_by_parts as Reduction, reduced_by_fma] {
        let share = share_of_congruent_roundings_that_are_right(reduction);
        assert!(share > 0.9, "{share} of the roundings");
    }
}
