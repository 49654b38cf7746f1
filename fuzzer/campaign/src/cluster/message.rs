//! The messages between clients.
//!
//! A client evaluates every input that it receives, also the failing ones: what covers a branch, and what fails, is never taken over
//! without its input. Branches given up and evaluations spent cannot be evaluated again. They count only when they come from a
//! client of the same campaign on the same machine ([`Origin::Local`]), which is a process of the same supervisor; those of other
//! machines lower the priority of a branch, and no more.

use serde::{Deserialize, Serialize};

/// Where a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A client of the same supervisor.
    Local,
    /// A client on another machine.
    Remote,
}

/// Branches in one [`Body::Spent`]: with eight bytes for the count and four for the branch, longer by a part when encoded, they
/// fit into a packet.
pub const BRANCHES: usize = 3000;

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
    /// An input that fails.
    Failing {
        /// The input.
        bytes: Vec<u8>,
        /// It may kill the process that evaluates it, or takes as long as the time limit allows.
        is_costly: bool,
    },
    /// A branch whose budget is spent.
    GivenUp(u32),
    /// Evaluations that one client has spent on branches so far.
    Spent {
        /// A number that identifies the client on all machines.
        client: u64,
        /// Branches and evaluations, at most [`BRANCHES`].
        branches: Vec<(u32, u64)>,
    },
}

impl Body {
    /// Does it mean something also to a client with other sites?
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Failing { .. })
    }
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
    use super::{super::sockets::LONGEST, *};

    #[test]
    fn messages_are_read_back_from_bytes() {
        for body in [
            Body::Input(vec![1, 2, 3]),
            Body::Failing { bytes: vec![4], is_costly: true },
            Body::GivenUp(7),
            Body::Spent { client: 1, branches: vec![(2, 3)] },
        ] {
            let message = Message { function: 1, sites: 2, body };
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
        assert_eq!(Message::decode(&[]), None);
        assert_eq!(Message::decode(&[1, 2, 99]), None);
    }

    #[test]
    fn the_longest_message_fits_into_a_packet() {
        let branches = vec![(u32::MAX, u64::MAX); BRANCHES];
        let message = Message { function: u64::MAX, sites: u64::MAX, body: Body::Spent { client: u64::MAX, branches } };
        assert!(message.encode().len() < LONGEST, "{}", message.encode().len());
    }
}
