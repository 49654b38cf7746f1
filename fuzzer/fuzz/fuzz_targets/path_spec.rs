//! Fuzz target for paths as text: no text causes a panic, and the number of repetitions is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penfuzz_questions::reach::syntax::{self, Item, MOST};

fuzz_target!(|text: &str| {
    for text in syntax::items(text) {
        let Ok((item, times)) = syntax::item(text) else { continue };
        assert!((1..=MOST + 1).contains(&times));
        let Item::Branch(branch) = item else { continue };
        let Ok((place, _)) = syntax::branch(branch) else { continue };
        assert!(place.ordinal != Some(0));
        let _ = place.is_in(branch);
    }
});
