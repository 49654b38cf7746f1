//! Compares results of two implementations of the same operations.

use std::{fmt::Write, fs, process::Command};

use libafl_bolts::rands::StdRand;
use penfuzz_prove::solver;

use super::random::{DOUBLE, HALF, Operation, SINGLE, is_directed_or_nearest, of_floats, of_vectors, value};
use crate::{
    emit,
    eval::{self, Choice},
    float::{Format, Rounding},
    problem::Problem,
    term::{Node, Op, Sort, Terms, Value},
};

fn apply(operation: &Operation, args: &[Value], choice: Choice) -> Value {
    eval::apply(&Node { op: operation.op, sort: operation.sort, args: Vec::new() }, args, choice)
}

fn random_args(rng: &mut StdRand, operation: &Operation) -> Vec<Value> {
    operation.args.iter().map(|sort| value(rng, *sort)).collect()
}

/// In the mode to nearest, which is the processor's default.
#[test]
fn arithmetic_is_that_of_the_processor() {
    let mut rng = StdRand::with_seed(1);
    let mode = Rounding::NearestEven;
    let mut draw = |format| match value(&mut rng, Sort::Float(format)) {
        Value::Float(_, bits) => bits as u64,
        other => panic!("{other:?}"),
    };
    let double = |x: f64| DOUBLE.canonical(x.to_bits().into());
    let single = |x: f32| SINGLE.canonical(x.to_bits().into());
    for _ in 0..20_000 {
        let bits = [0; 3].map(|_| draw(DOUBLE));
        let ([p, q, r], of) = (bits.map(u128::from), bits.map(f64::from_bits));
        assert_eq!(DOUBLE.add(mode, p, q), double(of[0] + of[1]), "{of:?}");
        assert_eq!(DOUBLE.mul(mode, p, q), double(of[0] * of[1]), "{of:?}");
        assert_eq!(DOUBLE.div(mode, p, q), double(of[0] / of[1]), "{of:?}");
        assert_eq!(DOUBLE.fma(mode, p, q, r), double(of[0].mul_add(of[1], of[2])), "{of:?}");
        assert_eq!(DOUBLE.sqrt(mode, p), double(of[0].sqrt()), "{of:?}");
        assert_eq!(DOUBLE.convert(mode, p, SINGLE), single(of[0] as f32), "{of:?}");
        assert_eq!(DOUBLE.to_integral(mode, p), double(of[0].round_ties_even()), "{of:?}");
        assert_eq!(DOUBLE.to_integral(Rounding::NearestAway, p), double(of[0].round()), "{of:?}");
        assert_eq!(DOUBLE.to_integral(Rounding::Zero, p), double(of[0].trunc()), "{of:?}");
        assert_eq!(DOUBLE.compare(p, q), of[0].partial_cmp(&of[1]), "{of:?}");
        let bits = [0; 3].map(|_| draw(SINGLE));
        let ([p, q, r], of) = (bits.map(u128::from), bits.map(|u| f32::from_bits(u as u32)));
        assert_eq!(SINGLE.add(mode, p, q), single(of[0] + of[1]), "{of:?}");
        assert_eq!(SINGLE.div(mode, p, q), single(of[0] / of[1]), "{of:?}");
        assert_eq!(SINGLE.fma(mode, p, q, r), single(of[0].mul_add(of[1], of[2])), "{of:?}");
        assert_eq!(SINGLE.convert(mode, p, DOUBLE), double(of[0].into()), "{of:?}");
        assert_eq!(SINGLE.of_integer(mode, false, p), single(p as f32), "{of:?}");
    }
}

/// Remainders belong to the quotient rounded to the nearest integer.
#[test]
fn remainders_are_exact() {
    let rem = |a: f64, b: f64| f64::from_bits(DOUBLE.rem(a.to_bits().into(), b.to_bits().into()) as u64);
    for (a, b, expected) in [
        (5.0, 3.0, -1.0),
        (-5.0, 3.0, 1.0),
        (2.5, 1.0, 0.5),
        (3.5, 1.0, -0.5),
        (1e300, 0.1, 0.000_112_159_649_634_929_75),
        (7.0, f64::INFINITY, 7.0),
    ] {
        assert_eq!(rem(a, b).to_bits(), f64::to_bits(expected), "{a:e} rem {b:e}");
    }
    assert!(rem(-4.0, 2.0).is_sign_negative(), "a zero has the sign of the first argument");
    assert!(rem(1.0, 0.0).is_nan() && rem(f64::INFINITY, 1.0).is_nan());
}

/// Leaves out `fp.rem`, for which the solver has known bugs, and unspecified values.
#[test]
fn values_are_those_of_a_solver() {
    let solvers = solver::find();
    let Some(z3) = solvers.iter().find(|s| s.name == "z3") else {
        assert!(std::env::var_os("CI").is_none(), "./setup installs z3");
        println!("skipped: z3 is not installed");
        return;
    };
    let mut rng = StdRand::with_seed(2);
    let mut text = String::new();
    let mut cases = Vec::new();
    for operation in of_floats().into_iter().chain(of_vectors()).filter(|o| o.op != Op::FpRem) {
        for _ in 0..12 {
            let args = random_args(&mut rng, &operation);
            let result = apply(&operation, &args, Choice::First);
            if result != apply(&operation, &args, Choice::Second) {
                continue;
            }
            let args: Vec<String> = args.iter().map(|a| a.text()).collect();
            cases.push(format!("(= ({} {}) {})", operation.head, args.join(" "), result.text()));
        }
    }
    assert!(cases.len() > 3000);
    let is_unsat = |cases: &[String]| {
        text.clear();
        let _ = writeln!(text, "(assert (not (and true {})))\n(check-sat)", cases.join("\n"));
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cases.smt2");
        fs::write(&file, &text).unwrap();
        z3.ask(&file, std::time::Duration::from_mins(2)).0 == solver::Answer::Unsat
    };
    let mut is_unsat = is_unsat;
    if !is_unsat(&cases) {
        let wrong: Vec<_> = cases.iter().filter(|c| !is_unsat(core::slice::from_ref(c))).take(5).collect();
        panic!("{} finds other values: {wrong:#?}", z3.version);
    }
}

/// Emits every operation as a conjunct, and runs the C function on random inputs: it must not return early.
#[test]
fn the_c_code_computes_the_same() {
    let all: Vec<Operation> = of_floats().into_iter().chain(of_vectors()).filter(can_be_exact_in_c).collect();
    let mut terms = Terms::default();
    let mut problem = Problem::default();
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for operation in &all {
        let sorts = operation.args.iter().chain([&operation.sort]);
        let vars: Vec<_> = sorts.map(|s| terms.declare("x", *s)).collect();
        let (result, args) = vars.split_last().unwrap();
        let value = terms.make(operation.op, operation.sort, args);
        problem.conjuncts.push(terms.make(Op::Eq, Sort::Bool, &[value, *result]));
        rows.push(vars.iter().map(|v| terms.variable(*v).unwrap()).collect());
    }
    problem.free = (0..terms.variables.len()).collect();
    problem.definitions = vec![None; terms.variables.len()];
    let emitted = emit::emit(&terms, &problem);
    assert!(!emitted.is_exact, "modes that are inputs may be one that hardware does not have");
    let mut text = emitted.text;
    text.push_str("#include <stdio.h>\nint main(void) {\n");
    let mut rng = StdRand::with_seed(3);
    for _ in 0..60 {
        let mut values = vec![Value::Bool(false); terms.variables.len()];
        for (operation, row) in all.iter().zip(&rows) {
            let args = loop {
                let args = random_args(&mut rng, operation);
                if is_exact_in_c(operation, &args) {
                    break args;
                }
            };
            let result = apply(operation, &args, Choice::First);
            for (variable, value) in row.iter().zip(args.iter().chain([&result])) {
                values[*variable] = *value;
            }
        }
        let arguments: Vec<String> = values.iter().map(|v| argument(*v)).collect();
        let _ = writeln!(text, "  printf(\"%d\\n\", {}({}));", emit::FUNCTION, arguments.join(", "));
    }
    text.push_str("}\n");
    let output = run(&text);
    let other = output.lines().find(|line| *line != "0").map(|line| &all[line.parse::<usize>().unwrap() - 1]);
    assert!(other.is_none(), "another value in C: {other:?}");
    assert_eq!(output.lines().count(), 60);
}

/// False for operations that C rounds twice in every mode, so that it never computes the same as SMT-LIB.
fn can_be_exact_in_c(operation: &Operation) -> bool {
    let is_wide = matches!(operation.args.get(1), Some(Sort::Bits(54..)));
    operation.sort != Sort::Float(HALF) || operation.op != Op::FpFma && !is_wide
}

/// False if `emit` states that the C code is not exact, or if the value is unspecified.
fn is_exact_in_c(operation: &Operation, args: &[Value]) -> bool {
    let is_nearest = args[0] == Value::Rounding(Rounding::NearestEven);
    let of_half = operation.sort == Sort::Float(HALF);
    let rounds = args[0].sort() == Sort::Rounding
        && !matches!(operation.op, Op::FpRoundToIntegral | Op::FpToSigned | Op::FpToUnsigned);
    let is_wide = |v: &Value| matches!(v.sort(), Sort::Bits(54..));
    let is_unspecified = apply(operation, args, Choice::First) != apply(operation, args, Choice::Second);
    let is_right = match operation.op {
        _ if !rounds => true,
        Op::FpOfSigned | Op::FpOfUnsigned if is_wide(&args[1]) => is_nearest,
        _ if of_half => is_nearest,
        _ => is_directed_or_nearest(args[0]),
    };
    is_right && !is_unspecified
}

fn argument(value: Value) -> String {
    match value {
        Value::Bool(b) => u8::from(b).to_string(),
        Value::Rounding(mode) => Rounding::ALL.iter().position(|m| m.0 == mode).unwrap().to_string(),
        Value::Bits(65.., bits) => format!("{:#x}ULL, {:#x}ULL", bits as u64, (bits >> 64) as u64),
        Value::Bits(_, bits) => format!("{bits:#x}ULL"),
        Value::Float(format, bits) => float(format, bits),
    }
}

fn float(format: Format, bits: u128) -> String {
    match format.width() {
        64 => format!("OF_BITS(double, uint64_t, {bits:#x}ULL)"),
        32 => format!("OF_BITS(float, uint32_t, {bits:#x}U)"),
        // The input encodes binary16 in the order of the values.
        _ if bits & 0x8000 == 0 => format!("{:#x}", bits | 0x8000),
        _ => format!("{:#x}", !bits & 0xffff),
    }
}

fn run(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("cases.c"), directory.path().join("cases"));
    fs::write(&source, text).unwrap();
    let compiled =
        Command::new("cc").args(["-O0", "-w", "-ffp-contract=off", "-o"]).args([&program, &source]).arg("-lm").output();
    let compiled = compiled.expect("a C compiler is installed");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap()
}
