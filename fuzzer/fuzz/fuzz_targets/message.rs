//! Messages of other clients: no bytes panic, and a message is sent as it was received.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penfuzz_campaign::cluster::message::Message;

fuzz_target!(|bytes: &[u8]| {
    let Some(message) = Message::decode(bytes) else { return };
    assert_eq!(Message::decode(&message.encode()), Some(message));
});
