//! Properties of the parser of paths, on a real target: no text panics, and printed paths are parsed back.

use std::path::Path;

use penfuzz_compile::{Recipe, build};
use penfuzz_engine::saturation::{Goals, ScopeKind};
use proptest::prelude::*;

use super::{super::syntax, *};

/// The same cases at every run.
fn config(cases: u32) -> ProptestConfig {
    let rng_seed = proptest::test_runner::RngSeed::Fixed(1);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

/// Loads a fixture that has conditionals on one line, loops and a switch.
fn target() -> Target {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/paths.c");
    let recipe = Recipe { sources: vec![source], ..Recipe::default() };
    Target::load(&build(&recipe).unwrap()).unwrap()
}

/// Text that is almost a path, so that most of it is rejected late.
fn nearly() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("paths.c:".to_owned()),
        Just("./".to_owned()),
        (0u32..80).prop_map(|n| format!("{n}:")),
        any::<u64>().prop_map(|n| format!("^{n}")),
        "[TF*$,\n#:^ ]",
        "(case )?-?[0-9]{1,21}",
        "#[0-9]{1,3}",
        "\\PC{0,3}",
    ];
    proptest::collection::vec(token, 0..12).prop_map(|all| all.concat())
}

#[test]
fn no_text_panics_and_printed_paths_parse_back() {
    let target = target();
    let function = 0;
    let scope = Scope::new(&target, function, ScopeKind::All, Goals::Branches);
    let names = Conditionals::new(&target, &scope);
    let branches: Vec<u32> = (0u32..).zip(names.branches()).filter(|(_, is)| *is).map(|(b, _)| b).collect();
    assert!(branches.len() > 4, "the fixture has conditionals");

    proptest!(config(2_000), |(text in nearly())| {
        if let Ok(steps) = names.parse(&text) {
            prop_assert!(steps.len() <= MOST);
            // Repetitions are printed as single steps here; the path stays the same.
            prop_assume!(steps.len() < 1000);
            let again: Vec<String> = steps.iter().map(|s| names.step(*s)).collect();
            prop_assert_eq!(names.parse(&again.join(",")).ok(), Some(steps));
        }
    });
    proptest!(config(256), |(picks in proptest::collection::vec((0..branches.len(), 1usize..5), 0..20))| {
        let path: Vec<u32> = picks.iter().flat_map(|(i, n)| std::iter::repeat_n(branches[*i], *n)).collect();
        let steps: Vec<Step> = path.iter().map(|b| Step::Branch(*b as usize)).collect();
        prop_assert_eq!(names.parse(&names.path(&path, usize::MAX)).ok(), Some(steps));
    });
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn no_step_panics(text in "\\PC{0,40}") {
        for item in syntax::items(&text) {
            if let Ok((Item::Branch(branch), times)) = syntax::item(item) {
                prop_assert!((1..=MOST + 1).contains(&times));
                let _ = syntax::branch(branch);
            }
        }
    }

    #[test]
    fn a_place_is_read_as_it_was_written(
        file in proptest::option::of("[a-z./#]{0,8}[a-z]\\.c"),
        line: u32,
        column: Option<u32>,
        ordinal in proptest::option::of(1usize..),
    ) {
        let file_text = file.as_ref().map_or(String::new(), |f| format!("{f}:"));
        let column_text = column.map_or(String::new(), |c| format!(":{c}"));
        let ordinal_text = ordinal.map_or(String::new(), |k| format!("#{k}"));
        let text = format!("{file_text}{line}{column_text}{ordinal_text}");
        let wanted = Location { file: file.as_deref(), line, column, ordinal };
        // A `#` in a file name is unambiguous only if an ordinal follows.
        prop_assume!(ordinal.is_some() || !file_text.contains('#'));
        prop_assert_eq!(Location::read(&text), Some(wanted));
    }
}
