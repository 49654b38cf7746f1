//! Fuzz target for `report.json`: no text causes a panic, reading what was written gives the same report, and every
//! derived format can be produced from any content.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use penfuzz_report::{history::History, html, json, lcov, summary};

fuzz_target!(|text: &str| {
    let path = Path::new("report.json");
    let Ok(report) = json::parse(text, path) else { return };
    let written = json::to_string(&report);
    let again = json::parse(&written, path).expect("what was written is read");
    assert_eq!(json::to_string(&again), written);
    let _ = (penfuzz_testgen::program(&report), lcov::tracefile(&report));
    // These formats show source lines: reading a device would never end.
    if report.sites.iter().all(|s| Path::new(&s.file).is_relative()) {
        let _ = (summary::text(&report, Path::new("out")), html::page(&report, &History::default()));
    }
});
