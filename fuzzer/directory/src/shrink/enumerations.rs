//! Numbers of an input whose type is an enumeration, and whose value is none of its enumerators.

use penfuzz_executor::Evaluator;
use penfuzz_mutators::view::Slot;
use penfuzz_target::{inputs::Model, program::Function};

/// A number whose type is an enumeration.
pub struct Enumeration {
    /// The number in C notation.
    pub path: String,
    /// Its place in an input.
    pub slot: Slot,
    /// Its value.
    pub value: i64,
    /// The values of the enumerators.
    pub valid: Vec<i64>,
}

/// The numbers of an input with a value that no enumerator has. Sums of flags have enumerators for their parts.
pub fn invalid(evaluator: &Evaluator, x: &[u8]) -> Vec<Enumeration> {
    let f = evaluator.function();
    let all = f.model.as_ref().map_or_else(|| of_parameters(f), |model| of_model(model));
    let invalid = all.into_iter().filter_map(|(path, slot, enumerators)| {
        let valid: Vec<i64> = enumerators.iter().map(|(_, value)| *value).collect();
        let value = slot.kind.to_integer(slot.get(x)).filter(|value| !valid.contains(value))?;
        (!is_sum_of_flags(value, &valid)).then_some(Enumeration { path, slot, value, valid })
    });
    invalid.collect()
}

type Enumerators = Vec<(String, i64)>;

fn of_parameters(f: &Function) -> Vec<(String, Slot, Enumerators)> {
    let all = f.parameters.iter().enumerate().filter_map(|(i, p)| {
        let enumerators = Some(f.enumerators(i)).filter(|all| !all.is_empty())?;
        Some((p.name.clone(), Slot { kind: p.kind?, offset: p.offset }, enumerators))
    });
    all.collect()
}

fn of_model(model: &Model) -> Vec<(String, Slot, Enumerators)> {
    let all = model.enumerations.iter().filter_map(|(number, of)| {
        let (path, _) = model.numbers.iter().find(|(_, other)| other == number)?;
        Some((path.clone(), model.layout.slots()[*number], model.types[*of].enumerators.clone()))
    });
    all.collect()
}

/// Whether enumerators are flags, and a value is a sum of them. Values without gaps are no flags.
fn is_sum_of_flags(value: i64, valid: &[i64]) -> bool {
    let are_flags = valid.iter().all(|v| *v == 0 || v.count_ones() == 1);
    let has_gaps = valid.iter().max().is_some_and(|most| *most >= valid.len() as i64);
    are_flags && has_gaps && value & !valid.iter().fold(0, |all, v| all | v) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_flags_are_valid() {
        assert!(is_sum_of_flags(5, &[1, 2, 4]));
        assert!(!is_sum_of_flags(8, &[1, 2, 4]));
        assert!(!is_sum_of_flags(3, &[0, 1, 2]), "a list of names");
        assert!(!is_sum_of_flags(6, &[2, 3, 4]));
    }
}
