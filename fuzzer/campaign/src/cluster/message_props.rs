//! Property tests of messages: decoding never panics, and a decoded message equals the encoded one.

use proptest::{collection::vec, prelude::*};

use super::message::{Body, Message};

/// The same cases at every run.
fn config(cases: u32) -> ProptestConfig {
    let rng_seed = proptest::test_runner::RngSeed::Fixed(1);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        vec(any::<u8>(), 0..64).prop_map(Body::Input),
        any::<u32>().prop_map(Body::GivenUp),
        (vec(any::<u8>(), 0..64), any::<bool>()).prop_map(|(bytes, is_costly)| Body::Failing { bytes, is_costly }),
        (any::<u64>(), vec(any::<(u32, u64)>(), 0..8)).prop_map(|(client, branches)| Body::Spent { client, branches }),
    ]
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn decoded_message_equals_encoded(function: u64, sites: u64, body in body()) {
        let message = Message { function, sites, body };
        prop_assert_eq!(Message::decode(&message.encode()), Some(message));
    }

    #[test]
    fn no_bytes_panic(function: u64, body in body(), at: prop::sample::Index, byte: u8, end: prop::sample::Index) {
        let mut bytes = Message { function, sites: 1, body }.encode();
        let n = bytes.len();
        bytes[at.index(n)] = byte;
        bytes.truncate(end.index(n + 1));
        let _ = Message::decode(&bytes);
    }
}
