//! Distances of conditions as they occur in mathematical libraries.

mod words;

use penfuzz_mutators::{
    distance::{
        Relation::{Eq, Ge, Gt, Le, Lt, Ne},
        exact_float, exact_nan,
    },
    view::Kind,
};
use words::{UNREACHED, guarded, high, int, low, magnitude, real, reduced, to_int, whole};

/// One wanted branch.
pub struct Condition {
    pub name: &'static str,
    pub kinds: &'static [Kind],
    /// Integer constants of the program that are in the dictionary.
    pub constants: &'static [i64],
    /// Distance of the wanted branch, `u64::MAX` where its site is not reached.
    pub distance: fn(&[u8]) -> u64,
    /// Limit for the median number of evaluations, the start included.
    pub limit: u64,
}

const X: &[Kind] = &[Kind::F64];
const XY: &[Kind] = &[Kind::F64, Kind::F64];

pub static CONDITIONS: &[Condition] = &[
    Condition {
        name: "ix >= 0x7ff00000",
        kinds: X,
        constants: &[],
        distance: |b| int(Ge, magnitude(real::<1>(b)[0]), 0x7ff0_0000),
        limit: 5,
    },
    Condition {
        name: "ix < 0x3e300000",
        kinds: X,
        constants: &[],
        distance: |b| int(Lt, magnitude(real::<1>(b)[0]), 0x3e30_0000),
        limit: 5,
    },
    Condition {
        name: "hx >= 0x40862e42",
        kinds: X,
        constants: &[],
        distance: |b| int(Ge, high(real::<1>(b)[0]), 0x4086_2e42),
        limit: 12,
    },
    Condition { name: "hx < 0", kinds: X, constants: &[], distance: |b| int(Lt, high(real::<1>(b)[0]), 0), limit: 12 },
    Condition {
        name: "((hx&0x7fffffff)|lx) == 0",
        kinds: X,
        constants: &[],
        distance: |b| {
            let [x] = real(b);
            int(Eq, i128::from(magnitude(x)) + i128::from(low(x)), 0)
        },
        limit: 12,
    },
    Condition {
        name: "x == 1.0",
        kinds: X,
        constants: &[],
        distance: |b| exact_float(Eq, real::<1>(b)[0], 1.0),
        limit: 5,
    },
    Condition {
        name: "x == 0.6931471805599453",
        kinds: X,
        constants: &[],
        distance: |b| exact_float(Eq, real::<1>(b)[0], core::f64::consts::LN_2),
        limit: 5,
    },
    Condition {
        name: "fabs(x) < 2^-28",
        kinds: X,
        constants: &[],
        distance: |b| exact_float(Lt, real::<1>(b)[0].abs(), 2f64.powi(-28)),
        limit: 6,
    },
    Condition { name: "x != x", kinds: X, constants: &[], distance: |b| exact_nan(real::<1>(b)[0]), limit: 5 },
    Condition {
        name: "(lx & 1) != 0",
        kinds: X,
        constants: &[],
        distance: |b| int(Ne, low(real::<1>(b)[0]) & 1, 0),
        limit: 8,
    },
    Condition {
        name: "(ix >> 20) - 1023 == 20",
        kinds: X,
        constants: &[],
        distance: |b| int(Eq, (magnitude(real::<1>(b)[0]) >> 20) - 1023, 20),
        limit: 12,
    },
    Condition {
        name: "(int)x == 2",
        kinds: X,
        constants: &[],
        distance: |b| int(Eq, to_int(real::<1>(b)[0]), 2),
        limit: 60,
    },
    Condition {
        name: "hx > 0x3ff00000 => (int)(x*1.4427) == 1000",
        kinds: X,
        constants: &[],
        distance: |b| {
            let [x] = real(b);
            guarded(high(x) > 0x3ff0_0000, || int(Eq, to_int(x * core::f64::consts::LOG2_E), 1000))
        },
        limit: 100,
    },
    Condition {
        name: "hx == 0x40080000 => lx == 0",
        kinds: X,
        constants: &[],
        distance: |b| {
            let [x] = real(b);
            int(Eq, high(x), 0x4008_0000).saturating_mul(1 << 32).saturating_add(int(Eq, low(x), 0))
        },
        limit: 20,
    },
    Condition {
        name: "hx > 0x3ff00000 => hy < 0",
        kinds: XY,
        constants: &[],
        distance: |b| {
            let [x, y] = real(b);
            guarded(high(x) > 0x3ff0_0000, || int(Lt, high(y), 0))
        },
        limit: 30,
    },
    Condition {
        name: "hx < 0 => y whole",
        kinds: XY,
        constants: &[],
        distance: |b| {
            let [x, y] = real(b);
            let reached = whole(y).filter(|_| high(x) < 0);
            reached.map_or(UNREACHED, |(_, cut)| int(Eq, cut, low(y)))
        },
        limit: 400,
    },
    Condition {
        name: "hx < 0, y whole => y odd",
        kinds: XY,
        constants: &[],
        distance: |b| {
            let [x, y] = real(b);
            let reached = whole(y).filter(|&(_, cut)| high(x) < 0 && cut == low(y));
            reached.map_or(UNREACHED, |(j, _)| int(Ne, j & 1, 0))
        },
        limit: 3000,
    },
    Condition {
        name: "x == y",
        kinds: XY,
        constants: &[],
        distance: |b| {
            let [x, y] = real(b);
            exact_float(Eq, x, y)
        },
        limit: 6,
    },
    Condition {
        name: "x * y == 1",
        kinds: XY,
        constants: &[],
        distance: |b| {
            let [x, y] = real(b);
            exact_float(Eq, x * y, 1.0)
        },
        limit: 100,
    },
    Condition {
        name: "x != 0 => x * x == 0",
        kinds: X,
        constants: &[],
        distance: |b| {
            let [x] = real(b);
            guarded(x != 0.0, || exact_float(Eq, x * x, 0.0))
        },
        limit: 30,
    },
    Condition {
        name: "x + y rounds to x, y != 0",
        kinds: XY,
        constants: &[],
        distance: |b| {
            let [x, y] = real(b);
            guarded(y != 0.0, || exact_float(Eq, x + y, x))
        },
        limit: 120,
    },
    Condition {
        name: "|x| > 1 => x within 2^-16 of n pi/2, relatively",
        kinds: X,
        constants: &[],
        distance: |b| {
            let [x] = real(b);
            guarded((1.0..1e5).contains(&x.abs()), || int(Gt, (magnitude(x) >> 20) - (magnitude(reduced(x)) >> 20), 16))
        },
        limit: 2000,
    },
    Condition {
        name: "float: ix > 0x42b17218",
        kinds: &[Kind::F32],
        constants: &[],
        distance: |b| {
            let bits = u32::from_le_bytes(b.try_into().expect("one float"));
            int(Gt, bits & 0x7fff_ffff, 0x42b1_7218)
        },
        limit: 5,
    },
    Condition {
        name: "n < 0, x > 0 => n == -5",
        kinds: &[Kind::I32, Kind::F64],
        constants: &[],
        distance: |b| {
            let (n, x) = b.split_at(4);
            let n = i32::from_le_bytes(n.try_into().expect("an integer"));
            guarded(n < 0 && real::<1>(x)[0] > 0.0, || int(Eq, n, -5))
        },
        limit: 100,
    },
    Condition {
        name: "hash of hx only, constant known",
        kinds: X,
        constants: &[0x3fe9_21fb],
        distance: |b| int(Le, u8::from(high(real::<1>(b)[0]) != 0x3fe9_21fb), 0),
        limit: 40,
    },
];
