//! Fuzz target for the command line of `pen-cc`: no arguments and no response file cause a panic.
//!
//! The input is one argument per line. Lines after a line `@` are the content of a response file, which replaces that
//! line.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (line, response) = text.split_once("\n@\n").unwrap_or((text, ""));
    // Arguments that name other response files are removed: such a file may be a device that never ends.
    let mut args: Vec<String> = line.lines().filter(|a| !a.starts_with('@')).map(str::to_owned).collect();
    if !response.is_empty() && !response.contains('@') {
        let path = FILE.with(|file| file.path().to_path_buf());
        fs::write(&path, response).expect("room for an input");
        args.push(format!("@{}", path.display()));
    }
    let _ = penfuzz_cc::read_arguments(&args);
});

thread_local! {
    static FILE: tempfile::NamedTempFile = tempfile::NamedTempFile::new().expect("a temporary file");
}
