//! Proofs compared with executions, on programs that a generator makes from a number. The translation must allow every
//! branch that a run takes, no run may take a branch that is proved infeasible, and a proved branch that is made
//! feasible must lose its proof.
//!
//! The environment variable `PENFUZZ_RANDOM_PROGRAMS=FROM-TO` gives the numbers of the programs, for longer runs than
//! that of the tests.

use std::{ffi::OsString, fmt::Write};

use penfuzz_report::{Report, Status};

use crate::{
    prove::solvers,
    support::{Dir, is_covered},
};

/// Numbers of the programs of a test run.
const PROGRAMS: std::ops::Range<u64> = 1..5;
/// Number of proved branches per program that are made feasible.
const MUTANTS: usize = 2;

/// `SplitMix64`.
struct Generator {
    state: u64,
    guards: u32,
    text: String,
}

impl Generator {
    fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn one_of(&mut self, all: &[&str]) -> String {
        let number = self.below(all.len() as u64);
        all[usize::try_from(number).expect("an index")].to_owned()
    }

    fn double(&mut self, depth: u32) -> String {
        if depth == 0 || self.below(3) == 0 {
            return self.one_of(&["x", "d0", "d1", "0.0", "1.0", "-2.5", "1e-3", "1e10", "(double)i0", "(double)u"]);
        }
        let (a, b) = (self.double(depth - 1), self.double(depth - 1));
        match self.below(8) {
            0 | 1 => format!("({a} + {b})"),
            2 => format!("({a} - {b})"),
            3 => format!("({a} * {b})"),
            4 => format!("({a} / {b})"),
            5 => format!("fabs({a})"),
            6 => format!("sqrt({a})"),
            _ => format!("floor({a})"),
        }
    }

    /// An integer expression without overflow, which C leaves undefined and compilers exploit.
    fn int(&mut self, depth: u32) -> String {
        if depth == 0 || self.below(3) == 0 {
            let index = self.below(4);
            let cell = format!("cells[{index}]");
            return self.one_of(&["n", "i0", "i1", "7", "-3", "1000", "high(x)", "high(d0)", "near(d1)", &cell]);
        }
        let (a, b) = (self.int(depth - 1), self.int(depth - 1));
        match self.below(9) {
            0 => format!("(int)((unsigned){a} + (unsigned){b})"),
            1 => format!("(int)((unsigned){a} * (unsigned){b})"),
            2 => format!("({a} & {b})"),
            3 => format!("({a} | {b})"),
            4 => format!("({a} ^ {b})"),
            5 => format!("({a} >> {})", self.below(31)),
            6 => format!("({a} % {})", 2 + self.below(9)),
            7 => format!("({a} / {})", 2 + self.below(9)),
            _ => format!("cells[{a} & 3]"),
        }
    }

    fn unsigned(&mut self) -> String {
        let a = self.int(1);
        match self.below(4) {
            0 => format!("(unsigned){a}"),
            1 => format!("(u >> {})", self.below(32)),
            2 => format!("(u << {} ^ {a})", self.below(32)),
            _ => format!("(u * {}u)", self.below(1 << 32)),
        }
    }

    /// A condition; about half of them are always true or always false.
    fn condition(&mut self) -> String {
        let order = self.one_of(&["<", ">", "<=", ">=", "==", "!="]);
        match self.below(8) {
            0 => format!("{} {order} {}", self.double(2), self.double(1)),
            1 => format!("{} {order} {}", self.int(2), self.int(1)),
            2 => format!("{} {order} {}", self.unsigned(), self.unsigned()),
            3 => format!("({} & 7) > {}", self.int(2), 5 + self.below(5)),
            4 => format!("fabs({}) < {}", self.double(1), self.one_of(&["-1", "0", "1e-300", "3"])),
            5 => format!("{} % 5 == {}", self.int(1), self.below(9)),
            6 => format!("{} >> 28 {order} {}", self.unsigned(), 12 + self.below(8)),
            _ => format!("near({}) {order} {}", self.double(1), self.one_of(&["1000001", "-7", "0"])),
        }
    }

    fn line(&mut self, indent: usize, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", indent * 2);
    }

    fn statements(&mut self, indent: usize, depth: u32) {
        for _ in 0..=self.below(3) {
            match self.below(if depth == 0 { 4 } else { 9 }) {
                0 | 1 => {
                    let line = format!("{} = {};", self.one_of(&["d0", "d1"]), self.double(2));
                    self.line(indent, &line);
                }
                2 => {
                    let line = format!("{} = {};", self.one_of(&["i0", "i1"]), self.int(2));
                    self.line(indent, &line);
                }
                3 => {
                    let line = format!("cells[{} & 3] = {};", self.int(1), self.int(1));
                    self.line(indent, &line);
                }
                4 => {
                    let count = self.one_of(&["(n & 3) + 1", "4", "(int)(u % 5)"]);
                    self.line(indent, &format!("for (k{depth} = 0; k{depth} < {count}; k{depth}++) {{"));
                    self.statements(indent + 1, depth - 1);
                    self.line(indent, "}");
                }
                _ => {
                    self.guards += 1;
                    let condition = self.condition();
                    self.line(indent, &format!("if (GUARD({}, {condition})) {{", self.guards));
                    self.statements(indent + 1, depth - 1);
                    self.line(indent, "} else {");
                    self.statements(indent + 1, depth - 1);
                    self.line(indent, "}");
                }
            }
        }
    }
}

/// Returns the program with this number. `-DMUTATE=K -DTAKEN=T` and the bits of arguments (`X`, `N`, `U`) give guard K
/// the value T for these arguments.
fn program(number: u64) -> String {
    let mut made = Generator { state: number, guards: 0, text: String::new() };
    while made.guards < 6 {
        made.statements(1, 3);
    }
    format!(
        "#include <math.h>
#include <string.h>
#ifdef MUTATE
#define GUARD(k, c) (MUTATE != (k) ? (c) : TAKEN ? ((c) | is_there) : ((c) & !is_there))
#else
#define GUARD(k, c) (c)
#endif
static unsigned long bits(double x) {{ unsigned long b; memcpy(&b, &x, sizeof b); return b; }}
static int high(double x) {{ return (int)(bits(x) >> 32); }}
static int near(double x) {{ return x > -1e6 && x < 1e6 ? (int)x : 7; }}
double program(double x, int n, unsigned u)
{{
  double d0 = x, d1 = 1;
  int i0 = n, i1 = 0, k1 = 0, k2 = 0, k3 = 0, cells[4] = {{0, 1, 2, 3}};
#ifdef MUTATE
  int is_there = bits(x) == X && n == (int)N && u == U;
#endif
{}  return d0 + d1 + i0 + i1 + k1 + k2 + k3 + cells[1];
}}
",
        made.text
    )
}

type Place = (u32, u32, String);

fn places(report: &Report, is: impl Fn(&penfuzz_report::Branch) -> bool) -> Vec<Place> {
    let branches = report.sites.iter().flat_map(|s| s.branches.iter().map(move |b| (s, b)));
    branches.filter(|(_, b)| is(b)).map(|(s, b)| (s.line, s.column, b.outcome.clone())).collect()
}

/// Returns options that make the proved branch feasible, for the arguments of a test that takes the other branch.
fn feasible(report: &Report, source: &str, (line, column, outcome): &Place) -> Option<String> {
    let text = source.lines().nth(*line as usize - 1)?;
    let guard = text.split("GUARD(").nth(1)?.split(',').next()?;
    let number = report.sites.iter().position(|s| (s.line, s.column) == (*line, *column))?;
    let taking = report.tests.iter().find(|test| test.covers.iter().any(|at| at.site == number))?;
    let bits = |k: usize| taking.args.get(k).map(|arg| arg.bits.clone());
    let (x, n, u) = (bits(0)?, bits(1)?, bits(2)?);
    let taken = u8::from(outcome == "true");
    Some(format!("--cflag -DMUTATE={guard} --cflag -DTAKEN={taken} --cflag -DX={x}ul --cflag -DN={n} --cflag -DU={u}u"))
}

/// Returns the number of proved branches, and of mutants.
fn examine(number: u64, solvers: &OsString) -> (usize, usize) {
    let dir = Dir::new();
    let source = program(number);
    let file = dir.file("program.c", &source);
    let prove = |more: &str| dir.penfuzz(&format!("prove {more}")).env("PENFUZZ_SOLVERS", solvers);
    dir.fuzz(&file, "-f program --fresh --max-evals 3000 --no-prove --quiet").exits(0);
    let check = prove("out --check --solver-time 5s").exits(0);
    check.expect(check.stdout.contains(" 0 contradictions"), &format!("program {number}: no contradiction"));
    prove("out --solver-time 2s --prove-time 20s").exits(0);
    let report = dir.report("out");
    let proved = places(&report, |b| b.status == Status::ProvedUnreachable);

    let deep = "-f program -o deep --fresh --max-evals 200000 --seed 99 --no-prove --quiet";
    dir.penfuzz("").arg(&file).args(deep).exits(0);
    let taken = places(&dir.report("deep"), is_covered);
    for place in &proved {
        assert!(!taken.contains(place), "program {number}: {place:?} is proved unreachable, and taken\n{source}");
    }

    let mutants = proved.iter().filter_map(|place| Some((place, feasible(&report, &source, place)?)));
    let mut done = 0;
    for (place, options) in mutants.take(MUTANTS) {
        let file = file.display();
        let options = format!("{file} -f program -o mutant --fresh --max-evals 300 {options}");
        prove(&format!("{options} --solver-time 2s --prove-time 20s")).exits(0);
        let still = places(&dir.report("mutant"), |b| b.status == Status::ProvedUnreachable);
        let is_still = still.iter().any(|(line, _, outcome)| (line, outcome) == (&place.0, &place.2));
        assert!(!is_still, "program {number}: {place:?} is feasible with {options}, and proved unreachable\n{source}");
        done += 1;
    }
    (proved.len(), done)
}

#[test]
#[ignore = "nightly"]
fn proofs_of_random_programs_agree_with_their_executions() {
    let Some(solvers) = solvers() else { return };
    let wanted = std::env::var("PENFUZZ_RANDOM_PROGRAMS").ok();
    let bounds = wanted.as_deref().and_then(|w| w.split_once('-'));
    let numbers = bounds.map_or(PROGRAMS, |(from, to)| {
        from.parse().expect("the first number")..to.parse().expect("the number behind the last")
    });
    let (mut proved, mut mutants) = (0, 0);
    for number in numbers {
        let found = examine(number, &solvers);
        println!("program {number}: {} branches proved, {} mutants", found.0, found.1);
        proved += found.0;
        mutants += found.1;
    }
    assert!(proved >= 3 && mutants >= 3, "the programs have {proved} proved branches and {mutants} mutants");
}

#[test]
fn a_number_always_gives_the_same_program() {
    assert_eq!(program(7), program(7));
    assert_ne!(program(7), program(8));
    assert!(program(7).contains("GUARD(6, "), "at least six guards");
}
