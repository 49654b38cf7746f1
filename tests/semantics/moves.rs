//! Where operands come from in traces (`-fpen-moves`).

use std::fs;

use penfuzz_cc::abi::{Traced, movement, operation, operation_flag};

use crate::twin::{Recipe, Twin, on_target_thread};

const TEXT: &str = "double kept[2];\nfloat half;\ndouble f(double x) {\n  kept[1] = x * 3;\n  half = 0.5f;\n  \
                    long *bits = (long *)kept;\n  bits[0] = 7;\n  return kept[1] + half;\n}\n";

/// What a run of `f` writes to its trace, with these options.
fn traced(flags: &[&str]) -> Vec<Traced> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = directory.path().join("moves.c");
    fs::write(&source, TEXT).expect("the source is written");
    let flags = flags.iter().map(|f| (*f).to_owned()).collect();
    let twin =
        Twin::build(directory.path(), &Recipe { sources: vec![source], flags, libraries: vec![], san_cov: false });
    let function = twin.index_of("f");
    let mut x = vec![0; twin.target.functions[function].layout().size()];
    x[..8].copy_from_slice(&2.5f64.to_ne_bytes());
    twin.evaluator(function).trace(&x, 16).expect("the run returns, and there is room")
}

fn all_moves_are_there() {
    let all = traced(&["-O2", penfuzz_cc::EXCEPTIONS_FLAG, penfuzz_cc::MOVES_FLAG]);
    let kind = |t: &Traced| t.what & 0xff;
    let seen: Vec<_> = all.iter().map(|t| (kind(t), t.what & operation_flag::SINGLE != 0)).collect();
    let expected = [
        (movement::VALUE, false), // the parameter
        (movement::OPERANDS, false),
        (operation::MULTIPLY, false),
        (movement::STORE, false),
        (movement::STORE, true),
        (movement::LOAD, false),
        (movement::LOAD, true),
        (movement::VALUE, false), // as a double
        (movement::OPERANDS, false),
        (operation::ADD, false),
    ];
    assert_eq!(seen, expected);
    let values: Vec<_> =
        all.iter().filter(|t| kind(t) != movement::OPERANDS).map(|t| f64::from_bits(t.result)).collect();
    assert_eq!(values, [2.5, 7.5, 7.5, 0.5, 7.5, 0.5, 0.5, 8.0]);
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
    let without = traced(&["-O2", penfuzz_cc::EXCEPTIONS_FLAG]);
    assert_eq!(without.iter().map(kind).collect::<Vec<_>>(), [operation::MULTIPLY, operation::ADD]);
}

#[test]
fn moves_are_traced() {
    on_target_thread(all_moves_are_there);
}
