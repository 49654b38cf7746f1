//! The cost of an evaluation: the plain function, the instrumented one with nothing armed, and armed as during search.
//!
//! `cargo bench -p penfuzz --bench evaluations`. All functions get the same points. The three forms alternate, so that
//! other load on the machine affects them equally. Times are nanoseconds per call, median over the rounds (min to max).

use std::{hint::black_box, path::Path, time::Instant};

use libafl_bolts::rands::StdRand;
use penfuzz_engine::{
    goals::{Aim, Goal},
    saturation::{BranchGraph, Goals, Saturation, Scope, ScopeKind},
};
use penfuzz_executor::Evaluator;
use penfuzz_mutators::{dictionary::Dictionary, structured, view::Layout};
use penfuzz_target::program::Function;
use twin::{Recipe, Twin};

#[expect(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../../tests/semantics/twin.rs"]
mod twin;

const FUNCTIONS: [&str; 8] = [
    "__kernel_cos",
    "tanh",
    "__ieee754_fmod",
    "__ieee754_pow",
    "__ieee754_acos",
    "log1p",
    "__ieee754_sqrt",
    "__ieee754_atan2",
];

/// Points of two doubles; functions of one argument use the first.
const POINTS: usize = 4096;
const ROUNDS: usize = 41;

type Point = [f64; 2];

fn points() -> Vec<Point> {
    let (layout, dictionary) = (Layout::doubles(16), Dictionary::general());
    let mut rng = StdRand::with_seed(1);
    let mut x = [0; 16];
    let one = |_| {
        structured::fill(&mut rng, &layout, &dictionary, &mut x);
        let reals = layout.reals(&x);
        [reals[0], reals[1]]
    };
    (0..POINTS).map(one).collect()
}

fn build(directory: &Path) -> Twin {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harnesses/fdlibm/suite.toml");
    let suite = penfuzz_suite::load(&path).unwrap_or_else(|e| panic!("{e}"));
    let mut sources = suite.support_files.clone();
    let wanted = suite.targets.iter().filter(|t| FUNCTIONS.contains(&&*t.function));
    sources.extend(wanted.map(|t| suite.file_of(t)));
    sources.sort();
    sources.dedup();
    let mut flags = suite.flags_of(&suite.targets[0]);
    flags.extend(["-g", "-O2"].map(str::to_owned));
    Twin::build(directory, &Recipe { sources, flags, libraries: suite.build.libs.clone(), san_cov: false })
}

/// The plain function through its address, as another C program would call it.
enum Plain {
    One(unsafe extern "C" fn(f64) -> f64),
    Two(unsafe extern "C" fn(f64, f64) -> f64),
}

impl Plain {
    fn of(twin: &Twin, index: usize) -> Self {
        let address = twin.plain_address(index);
        // SAFETY: these functions of the suite take one or two doubles and return one.
        unsafe {
            match twin.target.functions[index].parameters.len() {
                1 => Self::One(core::mem::transmute::<*const libc::c_void, unsafe extern "C" fn(f64) -> f64>(address)),
                _ => Self::Two(core::mem::transmute::<*const libc::c_void, unsafe extern "C" fn(f64, f64) -> f64>(
                    address,
                )),
            }
        }
    }

    fn round(&self, points: &[Point]) -> f64 {
        let start = Instant::now();
        let mut last = 0.0;
        for x in points {
            // SAFETY: as in `of`; these functions end for every input.
            last = unsafe {
                match self {
                    Self::One(f) => f(x[0]),
                    Self::Two(f) => f(x[0], x[1]),
                }
            };
        }
        black_box(last);
        start.elapsed().as_nanos() as f64 / points.len() as f64
    }
}

fn round(evaluator: &mut Evaluator, inputs: &[[u8; 16]]) -> f64 {
    let n = evaluator.input_size();
    let start = Instant::now();
    for x in inputs {
        black_box(evaluator.run(&x[..n]));
    }
    start.elapsed().as_nanos() as f64 / inputs.len() as f64
}

/// The branch that the fewest points take, as a search would aim at it.
fn rarest(evaluator: &mut Evaluator, function: &Function, inputs: &[[u8; 16]]) -> usize {
    let target = std::rc::Rc::clone(evaluator.target());
    let branches = || {
        function.sites.clone().flat_map(|s| (0..2).map(move |i| (s, i))).map(|(s, i)| target.sites[s].first_branch + i)
    };
    let mut count = vec![0usize; target.n_branches];
    let mut hits = Vec::new();
    evaluator.arm(|_| penfuzz_abi::action::RECORD);
    for x in inputs {
        evaluator.run(&x[..evaluator.input_size()]);
        evaluator.take_hits(&mut hits);
        for b in &hits {
            count[*b as usize] += 1;
        }
    }
    branches().min_by_key(|b| count[*b]).expect("the function has branches")
}

#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn median(&mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0[self.0.len() / 2]
    }

    fn text(&mut self) -> String {
        let median = self.median();
        format!("{median:7.1} ({:.1}-{:.1})", self.0[0], self.0[self.0.len() - 1])
    }
}

fn measure(twin: &Twin, name: &str, points: &[Point], inputs: &[[u8; 16]]) {
    let index = twin.index_of(name);
    let plain = Plain::of(twin, index);
    let mut evaluator = twin.evaluator(index);
    let function = twin.target.functions[index].clone();
    let branch = rarest(&mut evaluator, &function, inputs);
    let scope = Scope::new(&twin.target, index, ScopeKind::Function, Goals::Branches);
    let saturation = Saturation::new(BranchGraph::new(&twin.target, &scope));
    let [mut direct, mut unarmed, mut aimed] = [Times::default(), Times::default(), Times::default()];
    for r in 0..=ROUNDS {
        let a = plain.round(points);
        evaluator.arm(|_| 0);
        let b = round(&mut evaluator, inputs);
        Aim(Some(branch)).arm(&mut evaluator, &saturation);
        // Only the target branch is armed, as late in a campaign, when everything else is covered.
        evaluator.arm(|b| if b == branch { Aim(Some(branch)).action(&saturation, b) } else { 0 });
        let c = round(&mut evaluator, inputs);
        if r > 0 {
            direct.0.push(a);
            unarmed.0.push(b);
            aimed.0.push(c);
        }
    }
    let share = 100.0 * direct.median() / unarmed.median();
    println!("{name:16} {:>22} {:>22} {:>22} {share:6.0} %", direct.text(), unarmed.text(), aimed.text());
}

fn main() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = build(directory.path());
    let points = points();
    let inputs: Vec<[u8; 16]> = points
        .iter()
        .map(|x| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&x[0].to_le_bytes());
            bytes[8..].copy_from_slice(&x[1].to_le_bytes());
            bytes
        })
        .collect();
    println!(
        "ns per call, median of {ROUNDS} rounds over {POINTS} points (min-max); the last column is plain / unarmed"
    );
    println!("{:16} {:>22} {:>22} {:>22}", "function", "plain -O2", "nothing armed", "aimed at a branch");
    for name in FUNCTIONS {
        measure(&twin, name, &points, &inputs);
    }
}
