//! Fuzz target for `campaign.json`: no bytes cause a panic, limits and options can be derived from any content, and
//! reading what was written gives the same manifest.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use penfuzz_directory::output::manifest;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("campaign.json");
    let Ok(found) = manifest::parse(bytes, path) else { return };
    let _ = found.settings.limits();
    let text = serde_json::to_vec(&found).expect("a manifest is plain data");
    assert_eq!(manifest::parse(&text, path).ok().as_ref(), Some(&found));
});
