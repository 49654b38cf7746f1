//! The origin of operands in traces (`-fpen-moves`).

use std::fs;

use penfuzz_abi::{Traced, movement, operation, operation_flag};

use crate::twin::{Recipe, Twin, on_target_thread};

/// The arguments of the call are a choice between a product and a constant, and a sum that grows in a loop.
const CALLS: &str = "__attribute__((noinline)) static double g(double a, double b) { return a + b; }\n\
                     double f(double x) {\n  double p = x * 3;\n  double q = x;\n  \
                     for (int i = 0; i < 2; i++) q = q + p;\n\
                     return g(x < 1 ? p : 0.25, q);\n}\n";

const TEXT: &str = "double kept[2];\nfloat half;\ndouble f(double x) {\n  kept[1] = x * 3;\n  half = 0.5f;\n  \
                    long *bits = (long *)kept;\n  bits[0] = 7;\n  return kept[1] + half;\n}\n";

/// Returns the trace of a run of `f` in this program, compiled with these options.
fn traced(text: &str, flags: &[&str]) -> Vec<Traced> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = directory.path().join("moves.c");
    fs::write(&source, text).expect("the source is written");
    let flags = flags.iter().map(|f| (*f).to_owned()).collect();
    let twin =
        Twin::build(directory.path(), &Recipe { sources: vec![source], flags, libraries: vec![], san_cov: false });
    let function = twin.index_of("f");
    let mut x = vec![0; twin.target.functions[function].layout().size()];
    x[..8].copy_from_slice(&2.5f64.to_ne_bytes());
    twin.evaluator(function).trace(&x, 64).expect("the run returns, and there is room")
}

fn all_moves_are_there() {
    let all = traced(TEXT, &["-O2", penfuzz_cc::EXCEPTIONS_FLAG, penfuzz_cc::MOVES_FLAG]);
    let kind = |t: &Traced| t.what & 0xff;
    let seen: Vec<_> = all.iter().map(|t| (kind(t), t.what & operation_flag::SINGLE != 0)).collect();
    let expected = [
        (movement::LOAD, false), // the parameter
        (movement::OPERANDS, false),
        (operation::MULTIPLY, false),
        (movement::STORE, false),
        (movement::STORE, true),
        (movement::LOAD, false),
        (movement::LOAD, true),
        (movement::VALUE, false), // as a double
        (movement::OPERANDS, false),
        (operation::ADD, false),
        (movement::STORE, false), // what is returned
    ];
    assert_eq!(seen, expected);
    let values: Vec<_> =
        all.iter().filter(|t| kind(t) != movement::OPERANDS).map(|t| f64::from_bits(t.result)).collect();
    assert_eq!(values, [2.5, 7.5, 7.5, 0.5, 7.5, 0.5, 0.5, 8.0, 8.0]);
    assert_eq!(all[7].operands[0], all[6].operands[1], "the double is the float");
    let [x, _, _] = all[1].operands;
    let product = all[1].result;
    assert_eq!(
        (all[0].operands[1], all[3].operands[1]),
        (x, product),
        "the parameter is multiplied, the product stored"
    );
    assert_eq!(all[1].operands[1..], [0, 0], "3 is a constant, and there is no third operand");
    let address = |i: usize| all[i].operands[0];
    assert_eq!((address(3), address(4)), (address(5), address(6)), "what was stored is loaded");
    assert_eq!(all[8].operands[..2], [all[5].operands[1], all[7].operands[1]], "what was loaded is added");
    let mut names = [x, product, all[5].operands[1], all[6].operands[1], all[7].operands[1], all[8].result];
    names.sort_unstable();
    assert!(names[0] != 0 && names.windows(2).all(|w| w[0] != w[1]), "each value has a name: {names:?}");
    let without = traced(TEXT, &["-O2", penfuzz_cc::EXCEPTIONS_FLAG]);
    assert_eq!(without.iter().map(kind).collect::<Vec<_>>(), [operation::MULTIPLY, operation::ADD]);
}

fn all_sources_are_there() {
    let all = traced(CALLS, &["-O1", penfuzz_cc::EXCEPTIONS_FLAG, penfuzz_cc::MOVES_FLAG]);
    let value = |t: &Traced| f64::from_bits(t.result);
    let at = |what: u32, place: u64| all.iter().filter(move |t| t.what & 0xff == what && t.operands[0] == place);
    let place = |i: u64| movement::PASSED + i;
    let passed: Vec<_> = (0..2).map(|i| at(movement::STORE, place(i)).next().expect("it is passed")).collect();
    let taken: Vec<_> = (0..2).map(|i| at(movement::LOAD, place(i)).next_back().expect("it is taken")).collect();
    assert_eq!([&passed, &taken].map(|both| [value(both[0]), value(both[1])]), [[0.25, 17.5]; 2]);
    let returned: Vec<_> = at(movement::STORE, movement::RETURNED).map(value).collect();
    assert_eq!(returned, [17.75; 2], "by both functions");
    assert_eq!(at(movement::LOAD, movement::RETURNED).map(value).collect::<Vec<_>>(), [17.75]);
    let chosen = all.iter().find(|t| t.operands[1] == passed[0].operands[1]).expect("what is passed has a name");
    assert_eq!(chosen.operands[0], movement::CONSTANT_NAME, "0.25 was chosen");
    let sums: Vec<_> = all.iter().filter(|t| t.what & 0xff == movement::VALUE && t.result == 10f64.to_bits()).collect();
    assert!(!sums.is_empty() && sums.iter().all(|t| t.operands[0] > movement::RETURNED), "the sum of the turn before");
}

#[test]
fn moves_are_traced() {
    on_target_thread(all_moves_are_there);
    on_target_thread(all_sources_are_there);
}
