//! What clients tell each other. Whoever receives an input evaluates it himself, so nothing in a message need be believed but
//! what only costs search: verdicts and budgets.

use std::hash::{DefaultHasher, Hash, Hasher};

use libafl_bolts::llmp::Tag;
use serde::{Deserialize, Serialize};

/// The tag of our messages among LLMP's.
pub const TAG: Tag = Tag(0x5045_4e31);

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Hash of function and form of the inputs: of another one, nothing is of use.
    pub function: u64,
    /// Hash of the sites: from another one, branch numbers are of no use, inputs are.
    pub sites: u64,
    /// The content.
    pub body: Body,
}

/// The content of a [`Message`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// An input that covered or saturated a new branch.
    Input(Vec<u8>),
    /// A branch whose budget is spent.
    GivenUp(u32),
    /// A place where the target fails, by [`penfuzz_engine::executor::Fault::key`].
    Fault(u64),
    /// A branch that only failing inputs took.
    CoveredByCrash(u32),
    /// Evaluations that one client has spent on branches so far.
    Spent {
        /// A number that tells clients apart, on all machines.
        client: u64,
        /// Branches and evaluations.
        branches: Vec<(u32, u64)>,
    },
}

impl Message {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // A vector grows; there is nothing that can fail.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// From bytes; `None` when they are none of this version.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

/// Tells contents apart.
#[must_use]
pub fn hash<T: Hash + ?Sized>(content: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parcels_come_back_from_bytes() {
        for body in [
            Body::Input(vec![1, 2, 3]),
            Body::GivenUp(7),
            Body::Fault(u64::MAX),
            Body::Spent { client: 1, branches: vec![(2, 3)] },
        ] {
            let message = Message { function: 1, sites: 2, body };
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
        assert_eq!(Message::decode(&[]), None);
        assert_eq!(Message::decode(&[1, 2, 99]), None);
    }
}
