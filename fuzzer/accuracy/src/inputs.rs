//! The arguments that the search varies, and those that it holds. If all arguments except one have a single value, the
//! function is treated as a function of this argument.

use penfuzz_mutators::{
    domain::Domain,
    line,
    view::{Kind, Layout, Slot},
};

/// The arguments of a function, some of which may have a single value.
#[derive(Debug, Clone)]
pub struct Inputs {
    all: Layout,
    /// The arguments with more than one value; all arguments if none has.
    free: Layout,
    /// An input in which the other arguments have their values.
    held: Vec<u8>,
}

impl Inputs {
    /// Divides the arguments by their domains. An argument whose only values are zeros is held at +0.
    #[must_use]
    pub fn of(all: Layout) -> Self {
        let domain = |slot: &Slot| all.domains().find(|(s, _)| s == slot).map(|(_, domain)| domain);
        let value = |slot: &Slot| domain(slot).and_then(|domain| only_value(slot.kind, domain));
        let mut held = vec![0; all.size()];
        let free: Vec<Slot> = all.slots().iter().filter(|slot| value(slot).is_none()).copied().collect();
        if free.is_empty() {
            return Self { free: all.clone(), all, held };
        }
        for slot in all.slots() {
            if let Some(raw) = value(slot) {
                slot.set(&mut held, raw);
            }
        }
        let domains = free.iter().enumerate().filter_map(|(i, slot)| Some((i, domain(slot)?))).collect();
        Self { free: Layout::of_slots(free).with_domains(domains), all, held }
    }

    /// All arguments.
    #[must_use]
    pub fn all(&self) -> &Layout {
        &self.all
    }

    /// The arguments that vary, at their offsets in an input.
    #[must_use]
    pub fn free(&self) -> &Layout {
        &self.free
    }

    /// An input in which the held arguments have their values.
    #[must_use]
    pub fn held(&self) -> &[u8] {
        &self.held
    }
}

/// Returns the raw bits of the only value of a domain; `None` if there are several.
fn only_value(kind: Kind, domain: Domain) -> Option<u64> {
    let (least, greatest) = domain.positions();
    let (low, high) = (line::raw(kind, least), line::raw(kind, greatest));
    let are_zeros = kind.is_float() && kind.to_real(low) == 0.0 && kind.to_real(high) == 0.0;
    (low == high || are_zeros).then_some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(kind: Kind, least: f64, greatest: f64) -> Domain {
        Domain::new(kind, kind.from_real(least), kind.from_real(greatest)).expect("a range")
    }

    #[test]
    fn arguments_with_one_value_are_held() {
        let all = Layout::packed(&[Kind::F64, Kind::F64, Kind::I32, Kind::F32]);
        let domains =
            vec![(0, domain(Kind::F64, 0.0, 0.0)), (1, domain(Kind::F64, 1.0, 2.0)), (2, domain(Kind::I32, 7.0, 7.0))];
        let inputs = Inputs::of(all.clone().with_domains(domains));
        assert_eq!(inputs.free().slots(), [all.slots()[1], all.slots()[3]]);
        let kept: Vec<_> = inputs.free().domains().map(|(slot, _)| slot).collect();
        assert_eq!(kept, [all.slots()[1]], "domains stay");
        assert_eq!(inputs.all().reals(inputs.held()), [0.0, 0.0, 7.0, 0.0]);
        assert_eq!(all.slots()[0].get(inputs.held()), 0, "+0");
    }

    #[test]
    fn something_always_varies() {
        let all = Layout::packed(&[Kind::F64]).with_domains(vec![(0, domain(Kind::F64, 3.0, 3.0))]);
        assert_eq!(Inputs::of(all.clone()).free(), &all);
    }
}
