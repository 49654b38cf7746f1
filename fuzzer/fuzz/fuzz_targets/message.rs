//! Fuzz target for messages of other clients: no bytes cause a panic, and decoding an encoded message gives the same
//! message.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penfuzz_campaign::cluster::message::Message;

fuzz_target!(|bytes: &[u8]| {
    let Some(message) = Message::decode(bytes) else { return };
    assert_eq!(Message::decode(&message.encode()), Some(message));
});
