//! Half a minute of `tests/chaos/chaos.py`; the run of half an hour is started by hand.

use std::{path::Path, process::Command};

use crate::support::skip;

#[test]
fn a_disturbed_farm_recovers_and_loses_nothing() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/chaos/chaos.py");
    let work = tempfile::tempdir().expect("a temporary directory can be made");
    let run = Command::new("python3")
        .arg(script)
        .args(["--minutes", "0.5", "--pause", "2", "--seed", "7", "--penfuzz", env!("CARGO_BIN_EXE_penfuzz"), "--work"])
        .arg(work.path())
        .output();
    match run {
        Err(e) => skip("the program python3 (package python3)", &e.to_string()),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
            assert!(text.contains("back after"), "something was disturbed:\n{text}");
        }
    }
}
