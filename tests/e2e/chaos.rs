//! Runs `tests/chaos/chaos.py` for half a minute, and for a shorter time with an attacker and a hostile target. Long
//! runs are started by hand.

use std::{path::Path, process::Command};

use crate::support::skip;

fn disturb(arguments: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/chaos/chaos.py");
    let work = tempfile::tempdir().expect("a temporary directory can be made");
    let run = Command::new("python3")
        .arg("-B")
        .arg(script)
        .args(arguments.split_whitespace())
        .args(["--pause", "2", "--penfuzz", env!("CARGO_BIN_EXE_penfuzz"), "--work"])
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

#[test]
#[ignore = "nightly"]
fn a_disturbed_farm_recovers_and_loses_nothing() {
    disturb("--minutes 0.5 --seed 7");
}

#[test]
#[ignore = "nightly"]
fn an_attacked_farm_with_a_hostile_target_loses_nothing_and_believes_nothing() {
    disturb("--minutes 0.3 --seed 8 --hostile");
}
