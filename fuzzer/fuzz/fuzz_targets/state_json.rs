//! `state.json`: no bytes panic, a state that was read is written and read alike, and any two can be added.
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
