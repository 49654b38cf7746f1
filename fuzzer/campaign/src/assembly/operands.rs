//! The operands of each comparison at the moment when one of its boundary values is first reached.

use penfuzz_abi::{operand, site_kind};
use penfuzz_executor::{Evaluator, evaluator::ObservedOperands};
use penfuzz_mutators::view::Kind;
use penfuzz_target::program::Site;

use penfuzz_directory::shrink::Shrunk;
use penfuzz_report::{Met, Operand, literal};

/// The operands of branch `k` of `site` when the first emitted test that takes the branch first does so. `None` for
/// sites that are not comparisons, and if no test takes the branch.
pub(super) fn met(evaluator: &mut Evaluator, site: &Site, k: usize, shrunk: &Shrunk) -> Option<Met> {
    if site.kind != site_kind::COMPARISON {
        return None;
    }
    let branch = site.first_branch + k;
    let test = shrunk.tests.iter().find(|t| t.covers.contains(&(branch as u32)))?;
    let count = evaluator.evaluations();
    let seen = evaluator.observe(branch, &test.bytes);
    evaluator.set_evaluations(count);
    let ObservedOperands { values: [left, right, holds, _], .. } = seen?;
    let kind = kind_of(site.operand, site.predicate);
    let operand = |bits: u64| Operand { hex: literal::c_literal(kind, bits), decimal: literal::decimal(kind, bits) };
    let outcome = if holds == 1 { "true" } else { "false" }.to_owned();
    Some(Met { left: operand(left), right: operand(right), outcome })
}

/// The kind as which the operands are written. Operands of the integer comparisons `==` and `!=` are written as signed.
fn kind_of(operand: u8, predicate: u8) -> Kind {
    let is_unsigned = matches!(predicate, 34..=37);
    match operand {
        operand::F32 | operand::F64 => Kind::F64,
        _ if is_unsigned => Kind::U64,
        _ => Kind::I64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Values of `llvm::CmpInst::Predicate`.
    const INTEGER_EQ: u8 = 32;
    const INTEGER_NE: u8 = 33;
    const UNSIGNED: std::ops::RangeInclusive<u8> = 34..=37;
    const SIGNED: std::ops::RangeInclusive<u8> = 38..=41;

    #[test]
    fn integers_are_written_with_the_sign_that_they_are_compared_with() {
        for predicate in UNSIGNED {
            assert_eq!(kind_of(operand::INT, predicate), Kind::U64, "{predicate}");
        }
        for predicate in SIGNED.chain([INTEGER_EQ, INTEGER_NE]) {
            assert_eq!(kind_of(operand::INT, predicate), Kind::I64, "{predicate}");
        }
    }

    #[test]
    fn floats_of_both_sizes_are_written_as_doubles() {
        for predicate in 0..16 {
            let kinds = [operand::F32, operand::F64].map(|o| kind_of(o, predicate));
            assert_eq!(kinds, [Kind::F64; 2], "{predicate}");
        }
    }
}
