//! Hard goals: the script measures synthetic and harvested ones, and checks their witnesses.

use std::process::Command;

use crate::{penfuzz, programs, root, run};

/// Runs bench.py on the goals whose name contains `only`, and returns what it prints.
fn measured(kind: &str, only: &str, evaluations: &str, searches: &[&str]) -> String {
    let output = run(Command::new("python3")
        .arg("-B")
        .arg(root().join("harnesses/hard/bench.py"))
        .args([evaluations, "1"])
        .args(searches)
        .env("PENFUZZ", penfuzz().get_program())
        .env("PEN_CC", programs().join("pen-cc"))
        .env("GOALS", kind)
        .env("SPLIT", "all")
        .env("ONLY", only));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_synthetic_goal_is_hard_for_sampling_and_solved_by_the_search() {
    let text = measured("synthetic", "linear_3_0", "30000", &["targeted", "structured"]);
    assert!(text.contains("synthetic: 1 goals, 1 hard"), "{text}");
    assert!(text.contains("targeted: 1 of 1 structured: 0 of 1"), "{text}");
}

/// One function of each kind, so that all kinds of witnesses are evaluated.
#[test]
fn harvested_goals_have_witnesses_and_are_measured() {
    for only in ["newlib __ieee754_fmodf path", "newlib atan boundary"] {
        let text = measured("harvested", only, "2000", &["targeted", "structured"]);
        assert!(text.starts_with("harvested: ") && !text.starts_with("harvested: 0"), "{text}");
        assert!(text.contains(&format!("  {only}")) && text.contains("structured: 0 of 1"), "{text}");
    }
}
