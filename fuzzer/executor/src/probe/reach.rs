//! Array sizes from the loops of the function: scalar evolution in the compiler pass derives them from trip counts.
//!
//! Such a size is a hypothesis. If calls access more elements, it is dropped. If they access fewer, because a loop ends
//! early or stands under a condition that no call meets, it is the size of the array.

use std::rc::Rc;

use penfuzz_target::{
    inputs::{
        fit::Sample,
        paths::any_index,
        sizes::{Origin, Rule},
    },
    program::{Function, function::Reach},
};

use crate::probe::{CALLS, Calls, Inputs};

/// An iteration must advance by at least the size of an element divided by this number.
const MOST_PARTS: i64 = 4;

/// The rule for the block that a parameter leads to, with elements of this many bytes. `None` if the path is no
/// parameter, or if there is no rule.
pub(super) fn rule(f: &Function, path: &str, stride: usize) -> Option<Rule> {
    let parameter = f.parameters.iter().position(|p| p.name == path)?;
    let reach = f.shapes().get(parameter)?.reach?;
    of(reach, i64::try_from(stride).ok()?, |i| Some(f.parameters.get(i)?.name.clone()))
}

fn of(reach: Reach, stride: i64, name: impl Fn(usize) -> Option<String>) -> Option<Rule> {
    // A loop over parts of one structure does not show how many structures there are.
    if reach.times < stride / MOST_PARTS {
        return None;
    }
    let up = |bytes: i64| bytes.div_euclid(stride) + i64::from(bytes.rem_euclid(stride) > 0);
    let (times, plus) = (up(reach.times), up(reach.plus));
    let first = name(reach.parameters.0)?;
    match reach.parameters.1 {
        None => Some(Rule::Linear(first, times, plus)),
        Some(second) => (times == 1).then_some(Rule::Product(first, name(second)?, plus)),
    }
}

/// Whether no call accessed more elements than the rule yields.
pub(super) fn holds(rule: &Rule, names: &[String], samples: &[Sample]) -> bool {
    samples.iter().all(|s| {
        let integer = |name: &str| s.integers.get(names.iter().position(|n| n == name)?).copied();
        rule.value(integer).is_some_and(|n| usize::try_from(n.max(0)).is_ok_and(|n| n >= s.elements))
    })
}

/// A block whose length comes from the loops, and which a call exceeds. Calls for which the rule yields no element, or
/// at least as many as there is memory for, show nothing.
pub(super) fn refuted(calls: &mut Calls) -> Option<String> {
    let model = Rc::clone(calls.evaluator.blocks()?.model());
    if !model.blocks.iter().any(|b| b.origin == Origin::Loop) {
        return None;
    }
    let (mut inputs, mut x) = (Inputs::new(), vec![0; model.layout.size()]);
    for _ in 0..CALLS {
        inputs.next(&model, &mut x);
        let Some((i, at)) = calls.run(&x) else { continue };
        let (block, n) = (&model.blocks[i], model.blocks[i].len(&x));
        let is_behind = usize::try_from(at).is_ok_and(|at| at / block.stride >= n);
        if block.origin == Origin::Loop && is_behind && (1..block.capacity).contains(&n) {
            return Some(any_index(&block.path));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule_of(parameters: (usize, Option<usize>), times: i64, plus: i64, stride: i64) -> Option<String> {
        let name = |i: usize| ["n", "m"].get(i).map(|n| (*n).to_owned());
        of(Reach { parameters, times, plus }, stride, name).map(|rule| rule.to_string())
    }

    #[test]
    fn bytes_become_elements() {
        assert_eq!(rule_of((0, None), 8, 0, 8).as_deref(), Some("n"));
        assert_eq!(rule_of((1, None), 16, -8, 8).as_deref(), Some("2*m - 1"));
        assert_eq!(rule_of((0, Some(1)), 4, 8, 4).as_deref(), Some("n*m + 2"));
        // Half an element for each n and one and a half elements are both rounded up.
        assert_eq!(rule_of((0, None), 2, 6, 4).as_deref(), Some("n + 2"));
        assert_eq!(rule_of((0, Some(1)), 16, 0, 8), None, "there is no rule with a factor");
        assert_eq!(rule_of((2, None), 8, 0, 8), None, "no such parameter");
        assert_eq!(rule_of((0, None), 8, 0, 272), None, "a table in one structure");
    }

    #[test]
    fn a_rule_holds_that_nothing_exceeds() {
        let names = ["n".to_owned()];
        let samples = [(1, 1), (3, 3), (5, 0)].map(|(n, elements)| Sample { integers: vec![n], elements });
        assert!(holds(&Rule::Linear("n".to_owned(), 1, 0), &names, &samples));
        assert!(!holds(&Rule::Linear("n".to_owned(), 1, -1), &names, &samples));
        assert!(!holds(&Rule::Linear("m".to_owned(), 1, 0), &names, &samples), "m is unknown");
    }
}
