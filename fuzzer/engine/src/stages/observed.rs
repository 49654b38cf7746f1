//! The operands of a run as observations for a minimizer: which passes concern the target branch.

use penfuzz_abi::{Compared, predicate};
use penfuzz_mutators::{
    distance::Relation,
    observe::{Observation, Operands},
};

use crate::saturation::Saturation;
use penfuzz_executor::PenEvaluator;

/// The conditions on the way to one branch.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    /// Branches that lead to the target, with their levels, in ascending order. The target has level 0.
    levels: Vec<(usize, u32)>,
}

impl Chain {
    /// The chain of the branches that lead to `target`, and of `target` itself. The conditions of a decision replace
    /// its vector.
    #[must_use]
    pub fn new(target: usize, saturation: &Saturation) -> Self {
        let own = [target as u32];
        let steps = saturation.steps_of_vector(target).unwrap_or(&own);
        let n = steps.len() as u32;
        let mut levels: Vec<_> = saturation.leads(target).into_iter().map(|(b, level)| (b, level + n)).collect();
        levels.extend(steps.iter().rev().zip(0..).map(|(b, level)| (*b as usize, level)));
        levels.sort_unstable();
        Self { levels }
    }

    /// The chain of the steps of a path, in order; the last step is the target.
    #[must_use]
    pub fn of_steps(steps: &[usize]) -> Self {
        let mut levels: Vec<_> = steps.iter().rev().enumerate().map(|(level, b)| (*b, level as u32)).collect();
        levels.sort_unstable();
        Self { levels }
    }

    /// Collects what an evaluation has compared on the way, from the condition farthest from the target to the target
    /// itself. Ends the measuring of `evaluator`.
    pub fn take<V: PenEvaluator>(&self, evaluator: &mut V, seen: &mut Vec<Observation>) {
        evaluator.take_compared(|taken, other, pass| self.add(seen, taken, other, pass));
        evaluator.set_measuring(false);
        seen.sort_by_key(|o| core::cmp::Reverse(o.level));
    }

    fn level(&self, branch: usize) -> Option<u32> {
        self.levels.binary_search_by_key(&branch, |l| l.0).ok().map(|i| self.levels[i].1)
    }

    /// Adds a pass in which the branch `taken` was taken, and not `other`.
    fn add(&self, seen: &mut Vec<Observation>, taken: usize, other: usize, pass: &Compared) {
        for (branch, holds) in [(taken, true), (other, false)] {
            let Some(level) = self.level(branch) else { continue };
            let is_true = branch < taken.max(other);
            let new = observation(branch, level, is_true, holds, pass);
            match seen.iter_mut().find(|o| o.condition as usize == branch) {
                // Once the relation has held, later passes do not matter.
                Some(known) if !known.holds => *known = new,
                Some(_) => {}
                None => seen.push(new),
            }
        }
    }
}

fn observation(branch: usize, level: u32, is_true: bool, holds: bool, pass: &Compared) -> Observation {
    let code = u8::try_from(pass.predicate).unwrap_or(u8::MAX);
    let (relation, operands) = match code {
        predicate::ICMP_EQ..=predicate::ICMP_SLE => {
            let is_unsigned = (predicate::ICMP_UGT..=predicate::ICMP_ULE).contains(&code);
            let wide = |v: u64| if is_unsigned { i128::from(v) } else { i128::from(v as i64) };
            (integers(code), Operands::Integers(wide(pass.a), wide(pass.b)))
        }
        _ => match floats(code) {
            Some(relation) => (relation, Operands::Floats(f64::from_bits(pass.a), f64::from_bits(pass.b))),
            None => (Relation::Eq, Operands::None),
        },
    };
    let relation = if is_true { relation } else { negation(relation) };
    Observation { condition: branch as u32, level, relation, operands, holds }
}

fn integers(code: u8) -> Relation {
    match code {
        predicate::ICMP_EQ => Relation::Eq,
        predicate::ICMP_NE => Relation::Ne,
        predicate::ICMP_UGT | predicate::ICMP_SGT => Relation::Gt,
        predicate::ICMP_UGE | predicate::ICMP_SGE => Relation::Ge,
        predicate::ICMP_ULT | predicate::ICMP_SLT => Relation::Lt,
        _ => Relation::Le,
    }
}

/// The relation between numbers, without the part of a predicate that concerns NaN. `None` for predicates without such
/// a relation.
fn floats(code: u8) -> Option<Relation> {
    Some(match code {
        predicate::FCMP_OEQ | predicate::FCMP_UEQ => Relation::Eq,
        predicate::FCMP_ONE | predicate::FCMP_UNE => Relation::Ne,
        predicate::FCMP_OGT | predicate::FCMP_UGT => Relation::Gt,
        predicate::FCMP_OGE | predicate::FCMP_UGE => Relation::Ge,
        predicate::FCMP_OLT | predicate::FCMP_ULT => Relation::Lt,
        predicate::FCMP_OLE | predicate::FCMP_ULE => Relation::Le,
        _ => return None,
    })
}

const fn negation(relation: Relation) -> Relation {
    match relation {
        Relation::Eq => Relation::Ne,
        Relation::Ne => Relation::Eq,
        Relation::Lt => Relation::Ge,
        Relation::Le => Relation::Gt,
        Relation::Gt => Relation::Le,
        Relation::Ge => Relation::Lt,
    }
}
