//! Sources of the worst error: the contribution of each operation's rounding.

use serde::{Deserialize, Serialize};

use super::{Found, Options, aside::aside, pair::Pair, worker::Message};

/// Contribution of the roundings of one operation to an error.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Source {
    /// The first branch of the operation's site in the twin ([`Pair::set_twin`]).
    pub branch: usize,
    /// In units in the last place of the exact value, with the sign of the error.
    pub ulp: f64,
}

/// The parts of an error, to first order in the roundings. Their sum is the error.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Sources {
    /// The result minus the exact value, in units in the last place of the exact value.
    pub error: f64,
    /// Contributions of the operations, in descending order of magnitude.
    pub operations: Vec<Source>,
    /// The remaining error: of approximations and constants, which is there without any rounding, and of functions with
    /// unknown errors.
    pub rest: f64,
}

impl Sources {
    /// Adds up the contributions of all executions of each operation.
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

/// Computes the sources of an input's error. `None` if the operations of the function cannot be recorded, or the
/// dependence of its result on them is not known.
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
