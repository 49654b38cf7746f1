//! Numbers of an input whose type is an enumeration, and whose value is none of its enumerators.

use penfuzz_executor::Evaluator;
use penfuzz_mutators::view::Slot;

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
    let mut all = Vec::new();
    let mut add = |path: String, slot: Slot, enumerators: &[(String, i64)]| {
        let valid: Vec<i64> = enumerators.iter().map(|(_, value)| *value).collect();
        let value = slot.kind.to_integer(slot.get(x)).filter(|value| !valid.is_empty() && !valid.contains(value));
        if let Some(value) = value.filter(|value| !is_sum_of_flags(*value, &valid)) {
            all.push(Enumeration { path, slot, value, valid });
        }
    };
    let f = evaluator.function();
    match &f.model {
        Some(model) => {
            for (number, of) in &model.enumerations {
                let path = model.numbers.iter().find(|(_, other)| other == number).map(|(path, _)| path.clone());
                let slot = model.layout.slots()[*number];
                path.into_iter().for_each(|path| add(path, slot, &model.types[*of].enumerators));
            }
        }
        None => {
            for (i, p) in f.parameters.iter().enumerate() {
                let slot = p.kind.map(|kind| Slot { kind, offset: p.offset });
                slot.into_iter().for_each(|slot| add(p.name.clone(), slot, &f.enumerators(i)));
            }
        }
    }
    all
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
