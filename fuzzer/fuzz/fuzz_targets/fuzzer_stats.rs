//! Fuzz target for `fuzzer_stats`: no bytes cause a panic, and each number that is read is 0 or occurs in the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penfuzz_directory::output::afl_files;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for key in ["last_find", "last_crash", "last_hang", "execs_done"] {
        let number = afl_files::number(&text, key);
        assert!(number == 0 || text.contains(&number.to_string()));
    }
});
