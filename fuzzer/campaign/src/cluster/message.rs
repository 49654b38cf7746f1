//! The messages between clients.
//!
//! A client evaluates every input that it receives, also failing ones: coverage and faults are never accepted without
//! their input. Branches given up and evaluations spent cannot be verified by evaluating an input. They are trusted
//! only from a client of the same campaign on the same machine ([`Origin::Local`]), which is a process of the same
//! supervisor; those of other machines only lower the priority of a branch.

use serde::{Deserialize, Serialize};

/// The origin of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A client of the same supervisor.
    Local,
    /// A client on another machine.
    Remote,
}

/// Maximum number of branches in one [`Body::Spent`], so that the message fits into a packet: 8 bytes for the count and
/// 4 for the branch, plus the overhead of the encoding.
pub const BRANCHES: usize = 3000;

/// A message between clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Hash of the function and of the input format. Messages about another function are ignored.
    pub function: u64,
    /// Hash of the sites. If it differs, branch numbers are meaningless, and only inputs are used.
    pub sites: u64,
    /// The content.
    pub body: Body,
}

/// The content of a [`Message`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// An input that covered or saturated a new branch.
    Input(Vec<u8>),
    /// An input that crashes or hangs.
    Failing {
        /// The input.
        bytes: Vec<u8>,
        /// Whether it may kill the process that evaluates it, or takes the whole time limit.
        is_costly: bool,
    },
    /// A branch whose search budget is spent.
    GivenUp(u32),
    /// Evaluations that one client has spent on branches so far.
    Spent {
        /// A number that identifies the client on all machines.
        client: u64,
        /// Pairs of branch and evaluations, at most [`BRANCHES`].
        branches: Vec<(u32, u64)>,
    },
}

impl Body {
    /// Whether it is also meaningful to a client with other sites.
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Failing { .. })
    }
}

impl Message {
    /// Encodes the message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // Writing to a vector cannot fail.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// Decodes a message; `None` if the bytes are not a message of this version.
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
