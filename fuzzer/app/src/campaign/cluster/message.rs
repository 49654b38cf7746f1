//! The messages between clients. A client evaluates every input that it receives, so a wrong message can only cost search: by
//! branches given up, faults and budgets, which are taken over as they are.

use libafl_bolts::llmp::Tag;
use serde::{Deserialize, Serialize};

/// The tag of our messages among LLMP's.
pub const TAG: Tag = Tag(0x5045_4e31);

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Hash of function and form of the inputs. Messages about another function are ignored.
    pub function: u64,
    /// Hash of the sites. With other sites, branch numbers mean nothing, and only inputs are used.
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
        /// A number that identifies the client on all machines.
        client: u64,
        /// Branches and evaluations.
        branches: Vec<(u32, u64)>,
    },
}

impl Message {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // Writing to a vector cannot fail.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// From bytes; `None` when they are no message of this version.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_back_from_bytes() {
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
