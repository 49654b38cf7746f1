//! Where the worst error comes from: what the rounding of each operation adds to it.

use serde::{Deserialize, Serialize};

use super::{Found, Message, Options, aside::aside, pair::Pair};

/// What the roundings of one operation add to an error.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Source {
    /// The first branch of its site in the function with its operations as sites ([`Pair::set_twin`]).
    pub branch: usize,
    /// In units of the last place of the exact value, with the sign of the error.
    pub ulp: f64,
}

/// The parts of an error, to first order in the roundings. Their sum is the error.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Sources {
    /// The result less the exact value, in units of the last place of the exact value.
    pub error: f64,
    /// Of each operation, the largest first.
    pub operations: Vec<Source>,
    /// What is left: what would be wrong without any rounding, as in an approximation or a constant; and errors of functions that are not known.
    pub rest: f64,
}

impl Sources {
    /// From what each run of an operation adds, and the error.
    pub(super) fn of(error: f64, all: impl Iterator<Item = Source>) -> Self {
        let mut operations: Vec<Source> = Vec::new();
        for source in all {
            match operations.iter_mut().find(|known| known.branch == source.branch) {
                Some(known) => known.ulp += source.ulp,
                None => operations.push(source),
            }
        }
        operations.sort_by(|a, b| b.ulp.abs().total_cmp(&a.ulp.abs()).then(a.branch.cmp(&b.branch)));
        let rest = error - operations.iter().map(|source| source.ulp).sum::<f64>();
        Self { error, operations, rest }
    }
}

/// Those of an input's error. `None` where the operations of the function are not known, or how its result depends on them.
pub(super) fn find(pair: &mut Pair, options: &Options, found: &Found) -> Option<Sources> {
    pair.twin.as_ref()?;
    let mut sources = None;
    aside(
        pair,
        options,
        |objective| objective.send_sources(&found.bytes),
        |message| {
            if let Message::Sources(found) = message {
                sources = Some(found);
            }
        },
    );
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_operation_are_added_and_the_rest_is_what_is_left() {
        let all = [(8, 0.25), (3, -0.5), (8, 0.5)].map(|(branch, ulp)| Source { branch, ulp });
        let sources = Sources::of(1.0, all.into_iter());
        let parts: Vec<_> = sources.operations.iter().map(|s| (s.branch, s.ulp)).collect();
        assert_eq!((parts, sources.rest), (vec![(8, 0.75), (3, -0.5)], 0.75));
    }
}
