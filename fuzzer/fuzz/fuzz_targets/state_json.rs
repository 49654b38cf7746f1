//! Fuzz target for `state.json`: no bytes cause a panic, reading a written state gives the same state, and a state can
//! be added to another.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penfuzz_directory::output::state;

fuzz_target!(|bytes: &[u8]| {
    let Some(saved) = state::parse(bytes) else { return };
    let text = serde_json::to_vec(&saved).expect("a state is plain data");
    assert_eq!(state::parse(&text).as_ref(), Some(&saved));
    let mut sum = saved.clone();
    sum.add(&saved);
});
