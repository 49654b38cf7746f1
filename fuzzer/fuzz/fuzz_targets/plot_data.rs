//! Fuzz target for `plot_data`: no bytes cause a panic, and every point can be drawn.
#![no_main]

use std::io::{Seek, SeekFrom, Write};

use libfuzzer_sys::fuzz_target;
use penfuzz_report::history;

fuzz_target!(|bytes: &[u8]| {
    FILE.with(|file| {
        let mut file = file.as_file();
        file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).expect("a temporary file");
        file.write_all(bytes).expect("room for an input");
    });
    let curve = FILE.with(|file| history::curve(file.path(), ""));
    let points = curve.map(|c| c.points).unwrap_or_default();
    assert!(points.iter().all(|(s, c)| s.is_finite() && c.is_finite() && *s >= 0.0 && *c >= 0.0));
    assert!(points.is_sorted_by(|a, b| a.0 <= b.0));
});

thread_local! {
    static FILE: tempfile::NamedTempFile = tempfile::NamedTempFile::new().expect("a temporary file");
}
