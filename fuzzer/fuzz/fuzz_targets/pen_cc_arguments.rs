//! The command line of `pen-cc`: no arguments panic, nor does any response file. The input is one argument per line; what
//! follows a line `@` is the content of a response file, which takes the place of that line.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (line, response) = text.split_once("\n@\n").unwrap_or((text, ""));
    // Other response files are not ours to read: one of them may be a device that never ends.
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
