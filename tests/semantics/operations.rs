//! Floating-point operations as sites: the exceptions that the hook reports are those of the hardware's flags.

use std::{fs, path::Path};

use libafl_bolts::rands::{Rand, StdRand};
use penfuzz_abi::{Traced, action, exception, metric, operation, site_kind};
use penfuzz_executor::{Evaluator, evaluator::RunStatus};
use penfuzz_mutators::{dictionary::Dictionary, structured, view::Kind};
use penfuzz_target::program::{Site, Target};

use crate::twin::{Arming, Recipe, Twin, on_target_thread};

const SOURCE: &str = include_str!("operations.c");
const EXCEPTIONS: usize = 5;

pub fn build(directory: &Path, flags: &[&str]) -> Twin {
    let source = directory.join("operations.c");
    fs::write(&source, SOURCE).expect("the source is written");
    let mut flags: Vec<String> = flags.iter().map(|f| (*f).to_owned()).collect();
    flags.extend(["-w", "-g", penfuzz_cc::EXCEPTIONS_FLAG].map(str::to_owned));
    Twin::build(directory, &Recipe { sources: vec![source], flags, libraries: vec!["-lm".to_owned()], san_cov: false })
}

/// Returns the names of the functions with one operation. Each has a twin that reads the hardware's flags.
fn names(target: &Target) -> Vec<String> {
    let asks = |f: &&str| f.starts_with("flags_");
    let all: Vec<_> = target.functions.iter().map(|f| f.name.as_str()).filter(asks).collect();
    all.iter().map(|f| f["flags_".len()..].to_owned()).collect()
}

/// Returns the site of the operation under test: the last one if an operand is computed.
pub fn site_of(target: &Target, function: usize) -> &Site {
    let sites = &target.sites[target.functions[function].sites.clone()];
    let mut operations = sites.iter().filter(|s| s.kind == site_kind::OPERATION);
    operations.next().unwrap_or_else(|| panic!("{} has an operation", target.functions[function].name))
}

/// Returns a number at which operations begin to raise exceptions, a neighbour of one, or a number whose product with
/// `first` lies there.
fn number(rng: &mut StdRand, first: f64) -> f64 {
    const SPECIAL: [f64; 14] = [
        0.0,
        5e-324,
        2.225_073_858_507_201e-308,
        f64::MIN_POSITIVE,
        1.0,
        2.0,
        3.0,
        -1.0,
        0.5,
        2.5,
        f64::MAX,
        1e16,
        f64::INFINITY,
        f64::NAN,
    ];
    // Exponents at the limits of the two formats, and of the integers.
    const TARGETS: [i64; 14] = [-1075, -1074, -1073, -1023, -1022, 1023, 1024, -150, -149, -127, -126, 127, 128, 63];
    let sign = if rng.below_or_zero(2) == 0 { 1.0 } else { -1.0 };
    let significand = match rng.below_or_zero(4) {
        0 => 1.0,
        1 => 1.0 + rng.below_or_zero(8) as f64 / 8.0,
        2 => 2.0 - f64::EPSILON * (1 + rng.below_or_zero(4)) as f64,
        _ => f64::from_bits(0x3ff0_0000_0000_0000 | rng.next() >> 12),
    };
    let exponent = (first.to_bits() >> 52 & 0x7ff) as i64 - 1023;
    let target = TARGETS[rng.below_or_zero(TARGETS.len())] + rng.below_or_zero(3) as i64 - 1;
    let scale = |e: i64| {
        let half = e.clamp(-2200, 2200) as i32 / 2;
        significand * 2f64.powi(half) * 2f64.powi(e.clamp(-2200, 2200) as i32 - half)
    };
    match rng.below_or_zero(6) {
        0 => sign * SPECIAL[rng.below_or_zero(SPECIAL.len())],
        1 => sign * scale(target - exponent),
        2 => sign * scale(exponent - target),
        3 => sign * scale(rng.below_or_zero(2100) as i64 - 1070),
        4 => sign * scale(rng.below_or_zero(130) as i64 - 64),
        _ => sign * scale(target),
    }
}

/// Fills the input of a function with one to three operands; the later ones depend on the first.
fn fill(rng: &mut StdRand, target: &Target, function: usize, x: &mut [u8]) {
    let f = &target.functions[function];
    if rng.below_or_zero(3) == 0 {
        structured::fill(rng, &f.layout(), &Dictionary::new(&f.floats, &f.integers), x);
        return;
    }
    let mut first = 1.0;
    for p in &f.parameters {
        let value = number(rng, first);
        let raw = match p.kind.expect("numbers only") {
            Kind::F64 => value.to_bits(),
            Kind::F32 => u64::from((value as f32).to_bits()),
            _ if rng.below_or_zero(2) == 0 => rng.below_or_zero(4500) as u64,
            _ => (value as i64) as u64,
        };
        let size = p.kind.map_or(0, Kind::size);
        x[p.offset..p.offset + size].copy_from_slice(&raw.to_le_bytes()[..size]);
        first = value;
    }
}

/// Whether every floating-point argument is a finite number.
fn all_finite(target: &Target, function: usize, x: &[u8]) -> bool {
    target.functions[function].parameters.iter().all(|p| match p.kind {
        Some(Kind::F64) => f64::from_le_bytes(x[p.offset..p.offset + 8].try_into().expect("8 bytes")).is_finite(),
        Some(Kind::F32) => f32::from_le_bytes(x[p.offset..p.offset + 4].try_into().expect("4 bytes")).is_finite(),
        _ => true,
    })
}

/// One function with one operation, under test.
struct Case<'a> {
    twin: &'a Twin,
    name: &'a str,
    function: usize,
    site: Site,
    evaluator: Evaluator,
    flags: penfuzz_target::program::function::Call,
    plain: penfuzz_target::program::function::Call,
}

impl<'a> Case<'a> {
    fn new(twin: &'a Twin, name: &'a str) -> Self {
        let function = twin.index_of(name);
        let flags = twin.plain(twin.index_of(&format!("flags_{name}")));
        let site = site_of(&twin.target, function).clone();
        Self { twin, name, function, site, evaluator: twin.evaluator(function), flags, plain: twin.plain(function) }
    }

    fn inputs(&self, n: usize) -> Vec<Vec<u8>> {
        let mut rng = StdRand::with_seed(7);
        let size = self.twin.target.functions[self.function].layout().size();
        let mut one = || {
            let mut x = vec![0; size];
            fill(&mut rng, &self.twin.target, self.function, &mut x);
            x
        };
        (0..n).map(|_| one()).collect()
    }

    /// Returns the exceptions that the operation raises, by the hardware's flags; bits as in [`exception`].
    fn raised(&self, x: &[u8]) -> u32 {
        let mut output = [0u128; 4];
        // SAFETY: the input is as large as the function table says, and one cell holds the result.
        unsafe { (self.flags)(x.as_ptr(), output.as_mut_ptr().cast()) };
        let loses = matches!(self.site.operation, operation::TO_SIGNED | operation::TO_UNSIGNED);
        let reported = if loses { 1 << exception::INVALID } else { self.site.possible };
        let subnormal = u32::from(self.is_subnormal_sum(x)) << exception::UNDERFLOW;
        if loses || all_finite(&self.twin.target, self.function, x) {
            output[0] as u32 & reported | subnormal
        } else {
            0
        }
    }

    /// A subnormal sum is exact, so it raises no flag. The hook reports it as an underflow.
    fn is_subnormal_sum(&self, x: &[u8]) -> bool {
        let mut output = [0u128; 4];
        // SAFETY: the input is as large as the function table says, and one cell holds the result.
        unsafe { (self.plain)(x.as_ptr(), output.as_mut_ptr().cast()) };
        self.site.is_sum()
            && match self.site.width {
                32 => f32::from_bits(output[0] as u32).is_subnormal(),
                _ => f64::from_bits(output[0] as u64).is_subnormal(),
            }
    }

    fn run(&mut self, x: &[u8]) {
        assert_eq!(self.evaluator.run(x), RunStatus::Returned, "{} at {x:02x?}", self.name);
    }

    fn arm(&mut self, metric: u32, exceptions: std::ops::Range<usize>, how: u8) {
        let first = self.site.first_branch;
        self.evaluator.set_metric(metric, u64::MAX);
        self.evaluator.arm(|b| if (first + exceptions.start..first + exceptions.end).contains(&b) { how } else { 0 });
    }

    fn possible(&self, exception: usize) -> bool {
        self.site.possible >> exception & 1 == 1
    }

    /// glibc's pow also raises underflow for exact results.
    fn may_be_more(&self, exception: usize) -> bool {
        self.site.operation == operation::POW && exception == exception::UNDERFLOW
    }

    /// The branches that the hook takes must be the flags of the hardware.
    fn takes_what_is_raised(&mut self, inputs: &[Vec<u8>]) {
        self.arm(metric::ULP, 0..EXCEPTIONS, action::RECORD);
        let mut hits = Vec::new();
        for x in inputs {
            self.run(x);
            self.evaluator.take_hits(&mut hits);
            let taken = hits.iter().fold(0, |mask, b| mask | 1 << (*b as usize - self.site.first_branch));
            let mut raised = self.raised(x);
            if self.may_be_more(exception::UNDERFLOW) && taken >> exception::UNDERFLOW & 1 == 0 {
                raised &= !(1 << exception::UNDERFLOW);
            }
            assert_eq!(taken, raised, "{} at {}: left hook, right hardware", self.name, self.shown(x));
        }
    }

    /// The distance to an exception must be 0 if and only if the exception is raised.
    fn measures_what_is_raised(&mut self, inputs: &[Vec<u8>], metric: u32) {
        for exception in (0..EXCEPTIONS).filter(|e| self.possible(*e)).collect::<Vec<_>>() {
            self.arm(metric, exception..exception + 1, action::WANT);
            for x in inputs {
                self.run(x);
                let (r, raised) = (self.evaluator.r(), self.raised(x) >> exception & 1 == 1);
                assert!(r == 0 || !raised || self.may_be_more(exception), "{} at {}: raised", self.name, self.shown(x));
                assert!(r > 0 || raised, "{} at {}: distance {r} to {exception}", self.name, self.shown(x));
                assert_ne!(r, u64::MAX, "{} at {}: the hook set r", self.name, self.shown(x));
            }
        }
    }

    /// The hook's short path must give the same result as the full computation, which runs when a trace is written. The
    /// trace must contain the operation.
    fn both_ways_agree(&mut self, inputs: &[Vec<u8>]) {
        let state = self.twin.target.state();
        for exception in (0..EXCEPTIONS).filter(|e| self.possible(*e)).collect::<Vec<_>>() {
            self.arm(metric::ULP, exception..exception + 1, action::WANT);
            for x in inputs {
                self.run(x);
                let short = self.evaluator.r();
                let mut traced =
                    [Traced { actions: std::ptr::null(), operands: [0; 3], result: 0, what: 0, unused: 0 }];
                // SAFETY: the state is the target's, which runs on this thread alone, and the array outlives the run.
                unsafe { ((*state).trace, (*state).trace_room, (*state).n_trace) = (traced.as_mut_ptr(), 1, 0) };
                self.run(x);
                // SAFETY: as before.
                unsafe { (*state).trace = std::ptr::null_mut() };
                assert_eq!(short, self.evaluator.r(), "{} at {}: {exception}, right traced", self.name, self.shown(x));
                assert_eq!(traced[0].what & 0xff, self.site.operation, "{}: operation traced", self.name);
                // SAFETY: as before.
                assert_eq!(unsafe { (*state).n_trace }, 1, "{}: one operation is armed", self.name);
            }
        }
    }

    fn shown(&self, x: &[u8]) -> String {
        let value = |p: &penfuzz_target::program::function::Parameter| match p.kind {
            Some(Kind::F64) => {
                format!("{:e}", f64::from_le_bytes(x[p.offset..p.offset + 8].try_into().expect("8 bytes")))
            }
            Some(Kind::F32) => {
                format!("{:e}", f32::from_le_bytes(x[p.offset..p.offset + 4].try_into().expect("4 bytes")))
            }
            _ => format!("{:02x?}", &x[p.offset..p.offset + p.kind.map_or(0, Kind::size)]),
        };
        self.twin.target.functions[self.function].parameters.iter().map(value).collect::<Vec<_>>().join(", ")
    }
}

/// From the first arguments to the second, the distance to the exception decreases to 0.
type Way = (&'static str, usize, &'static [f64], &'static [f64]);
const WAYS: [Way; 22] = [
    ("add", exception::OVERFLOW, &[1.0, f64::MAX], &[1e300, f64::MAX]),
    ("subtract", exception::OVERFLOW, &[1e300, -1.0], &[f64::MAX, -1e308]),
    ("add", exception::UNDERFLOW, &[1.0, 1.0], &[1e-310, 1e-310]),
    ("subtract", exception::UNDERFLOW, &[1.0, -1.0], &[1e-310, -2e-310]),
    ("multiply", exception::OVERFLOW, &[1.0, 3.0], &[1e200, 1e200]),
    ("multiply", exception::UNDERFLOW, &[1.0, 3.0], &[1e-200, 1.1e-200]),
    ("divide", exception::OVERFLOW, &[1e10, 1.0], &[1e10, 1e-310]),
    ("divide", exception::UNDERFLOW, &[1.0, 1.0], &[1.1e-300, 1e30]),
    ("divide", exception::DIVIDE_BY_ZERO, &[3.0, -7.0], &[3.0, 0.0]),
    ("divide", exception::INVALID, &[3.0, 7.0], &[0.0, 0.0]),
    ("divide", exception::OVERFLOW, &[1e-300, 0.0], &[1.0, 5e-324]),
    ("root", exception::INVALID, &[1e300], &[-1.0]),
    ("narrow", exception::OVERFLOW, &[1.0], &[1e39]),
    ("to_int", exception::INVALID, &[5.0], &[2_147_483_648.0]),
    ("to_int", exception::INVALID, &[-5.0], &[-2_147_483_649.0]),
    ("to_byte", exception::INVALID, &[-0.25], &[-1.0]),
    ("logarithm", exception::DIVIDE_BY_ZERO, &[1e9], &[0.0]),
    ("logarithm1p", exception::INVALID, &[1e9], &[-1.5]),
    ("exponential", exception::OVERFLOW, &[0.0], &[710.0]),
    ("arc_sine", exception::INVALID, &[-0.25], &[-1.5]),
    ("power", exception::DIVIDE_BY_ZERO, &[4.0, 9.0], &[0.0, -1.0]),
    ("area_cosine", exception::INVALID, &[1e9], &[0.5]),
];

/// Maps doubles to integers in ascending order, both zeros to 0.
fn key(x: f64) -> i64 {
    let size = x.abs().to_bits() as i64;
    if x.is_sign_negative() { -size } else { size }
}

fn double(key: i64) -> f64 {
    let size = f64::from_bits(key.unsigned_abs());
    if key < 0 { -size } else { size }
}

fn ways_shrink() {
    const STEPS: i128 = 200;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = build(directory.path(), &["-O2"]);
    for (name, exception, from, to) in WAYS {
        let mut case = Case::new(&twin, name);
        case.arm(metric::ULP, exception..exception + 1, action::WANT);
        let mut before = u64::MAX;
        for step in 0..=STEPS {
            let at = |(a, b): (&f64, &f64)| {
                let (a, b) = (i128::from(key(*a)), i128::from(key(*b)));
                double((a + (b - a) * step / STEPS) as i64)
            };
            let x: Vec<u8> = from.iter().zip(to).map(at).flat_map(f64::to_le_bytes).collect();
            case.run(&x);
            let d = case.evaluator.r();
            assert!(d <= before, "{name}: {before} to {d} towards {exception} at {}", case.shown(&x));
            assert!(step > 0 || d > 0, "{name} does not raise {exception} at the start");
            before = d;
        }
        assert_eq!(before, 0, "{name} raises {exception} at the end");
    }
}

#[test]
fn distances_shrink_on_the_way_to_an_exception() {
    on_target_thread(ways_shrink);
}

fn places() {
    const TEXT: &str = "#include <math.h>\ndouble f(double x, long n) {\n  double y = x * x +\n    log(x);\n  \
                        return y\n    / (float)n;\n}\n";
    // Each build has its own directory: loading a path a second time returns the library that was loaded first.
    let directories = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
    let source = directories[0].path().join("places.c");
    fs::write(&source, TEXT).expect("the source is written");
    let build = |directory: &tempfile::TempDir, flags: &[&str]| {
        let flags = flags.iter().map(|f| (*f).to_owned()).collect();
        Twin::build(
            directory.path(),
            &Recipe { sources: vec![source.clone()], flags, libraries: vec!["-lm".to_owned()], san_cov: false },
        )
    };
    let with = build(&directories[0], &["-O1", "-g", penfuzz_cc::EXCEPTIONS_FLAG]);
    let found: Vec<_> = with.target.sites.iter().map(|s| (s.line, s.name.as_str(), s.operation)).collect();
    let expected = [
        (4, "log", operation::LOG), // product and sum were contracted to one instruction
        (3, "*", operation::MULTIPLY),
        (3, "+", operation::ADD),
        (6, "(float)", operation::FROM_SIGNED),
        (6, "/", operation::DIVIDE),
    ];
    assert_eq!(found, expected, "line, name and operation of each site in the order of the code");
    let without = build(&directories[1], &["-O1", "-g"]);
    assert!(without.target.sites.is_empty(), "operations are sites only on request: {:?}", without.target.sites);
}

#[test]
fn operations_stand_where_the_source_has_them() {
    on_target_thread(places);
}

fn check(flags: &'static [&'static str]) -> usize {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = build(directory.path(), flags);
    let names = names(&twin.target);
    for name in &names {
        let mut case = Case::new(&twin, name);
        let inputs = case.inputs(4000);
        case.takes_what_is_raised(&inputs);
        case.measures_what_is_raised(&inputs[..1000], metric::ULP);
        case.measures_what_is_raised(&inputs[..200], metric::SQUARED);
        case.both_ways_agree(&inputs[..500]);
        // The conversion of a number that does not fit in the integer is undefined, and compilers give different
        // results.
        let plain = (case.site.operation != operation::TO_UNSIGNED).then_some(name.clone());
        for function in plain.into_iter().chain([format!("flags_{name}")]) {
            twin.compare(twin.index_of(&function), &Arming::ALL, 3000, 5);
        }
    }
    names.len()
}

/// Number of lines of the fixture that define a function.
fn fixtures() -> usize {
    SOURCE.lines().filter(|l| ["ONE(", "TWO(", "THREE(", "RANGE("].iter().any(|m| l.starts_with(m))).count()
}

#[test]
fn operations_raise_what_the_hardware_says_without_optimization() {
    assert_eq!(on_target_thread(|| check(&["-O0"])), fixtures());
}

#[test]
fn operations_raise_what_the_hardware_says_with_optimization() {
    assert_eq!(on_target_thread(|| check(&["-O2"])), fixtures());
}

#[test]
fn constrained_operations_raise_what_the_hardware_says() {
    assert_eq!(on_target_thread(|| check(&["-O2", "-frounding-math", "-ffp-exception-behavior=strict"])), fixtures());
}
