//! Property tests of everything that reads an output directory: no bytes cause a panic, and written data is read back.

use std::{collections::BTreeMap, path::Path};

use penfuzz_executor::{Fault, FaultKind};
use penfuzz_report::history;
use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    test_runner::RngSeed,
};

use super::{afl_files, manifest, recovery, state};
use crate::{output::state::LongRun, shrink::Closest};

/// Generates the same cases at every run: the fuzz targets search with random cases.
pub fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() }
}

fn fault() -> impl Strategy<Value = Fault> {
    (any::<bool>(), any::<u64>(), any::<String>(), any::<String>(), vec(any::<String>(), 0..3), any::<bool>()).prop_map(
        |(is_crash, key, reason, place, stack, is_cheap)| {
            let kind = if is_crash { FaultKind::Crash } else { FaultKind::Hang };
            Fault { kind, key, reason, place, stack, is_cheap, is_out_of_fuel: !is_crash }
        },
    )
}

fn closest() -> impl Strategy<Value = BTreeMap<u32, Closest>> {
    let one = (any::<u64>(), vec(any::<u8>(), 0..20)).prop_map(|(distance, bytes)| Closest { distance, bytes });
    btree_map(any::<u32>(), one, 0..4)
}

fn long() -> impl Strategy<Value = BTreeMap<String, LongRun>> {
    let one =
        (any::<u64>(), vec(any::<u32>(), 0..5)).prop_map(|(milliseconds, covers)| LongRun { milliseconds, covers });
    btree_map(any::<String>(), one, 0..3)
}

prop_compose! {
    fn saved()(
        (fingerprint, evaluations, milliseconds, workers) in any::<(String, u64, u32, u32)>(),
        (given_up, by_crash) in (vec(any::<u32>(), 0..5), vec(any::<u32>(), 0..5)),
        (spent, evaluated) in (vec(any::<u64>(), 0..5), vec(any::<u64>(), 0..5)),
        (attempts, taken_at) in (vec(any::<u32>(), 0..5), vec(any::<u64>(), 0..5)),
        starts: u32,
        faults in btree_map(any::<String>(), fault(), 0..3),
        closest in closest(),
        fatal_inputs in vec(any::<u64>(), 0..3),
        long in long(),
    ) -> state::SavedState {
        state::SavedState {
            version: state::VERSION,
            fingerprint,
            evaluations,
            // Exactly representable in binary, and therefore in JSON.
            seconds: f64::from(milliseconds) / 1024.0,
            workers,
            given_up,
            by_crash,
            unconfirmed: BTreeMap::from([(3, 8)]),
            uninitialized: vec![3],
            improved: vec![0, 7],
            spent,
            evaluated,
            attempts,
            starts,
            faults,
            closest,
            taken_at,
            fatal_inputs,
            long,
        }
    }
}

/// The bytes of a JSON file that was edited or damaged: some are replaced, and the end may be missing.
fn damaged(whole: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let n = whole.len();
    (vec((0..n, any::<u8>()), 0..4), 0..=n).prop_map(move |(changes, end)| {
        let mut bytes = whole.clone();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        bytes.truncate(end);
        bytes
    })
}

fn old(name: &str) -> Vec<u8> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/old-campaign");
    std::fs::read(dir.join(name)).unwrap()
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn a_state_is_read_as_it_was_written(saved in saved()) {
        let text = serde_json::to_vec_pretty(&saved).unwrap();
        prop_assert_eq!(state::parse(&text), Some(saved));
    }

    #[test]
    fn states_of_any_clients_can_be_added(mut one in saved(), other in saved()) {
        one.add(&other);
        prop_assert!(one.taken_at.len() >= other.taken_at.len() && one.spent.len() >= other.spent.len());
    }

    #[test]
    fn no_state_panics(bytes in damaged(old("state.json"))) {
        let _ = state::parse(&bytes);
    }

    #[test]
    fn no_manifest_panics_and_what_is_read_is_written_alike(bytes in damaged(old(manifest::FILE))) {
        let read = |bytes: &[u8]| manifest::parse(bytes, Path::new("x")).ok();
        if let Some(found) = read(&bytes) {
            // Whatever the numbers are, limits and options can be derived from them.
            let _ = found.settings.limits();
            prop_assert_eq!(read(&serde_json::to_vec(&found).unwrap()), Some(found));
        }
    }

    #[test]
    fn figures_of_a_name_are_read_as_they_were_written(
        id in 0u32..2_000_000,
        time: u64,
        execs: u64,
        op in "[a-z]{1,9}"
    ) {
        let name = format!("id:{id:06},time:{time},execs:{execs},op:{op}");
        prop_assert_eq!(recovery::id_of(&name), Some(id));
        prop_assert_eq!(recovery::figure(&name, "time"), Some(time));
        prop_assert_eq!(recovery::figure(&name, "execs"), Some(execs));
    }

    #[test]
    fn no_name_panics(names in vec("(id:)?[0-9]{0,12}[,:a-z\\PC]{0,12}", 0..5)) {
        let next = recovery::next_id(names.iter().map(String::as_str));
        let ids: Vec<u32> = names.iter().filter_map(|name| recovery::id_of(name)).collect();
        prop_assert!(ids.iter().all(|id| *id < next || *id == u32::MAX));
        for name in &names {
            let _ = recovery::figure(name, "time");
        }
    }

    #[test]
    fn statistics_are_read_as_they_were_written(
        (evaluations, kept, crashes, covered) in (1u64.., 1usize..1000, 0usize..9, 0usize..99),
        seconds in 0f64..1e7,
        target in "\\PC{0,12}",
    ) {
        let moment = afl_files::CampaignFigures {
            seconds, evaluations, kept, imported: 0, pending: 0, crashes, hangs: 0, covered, total: 99, rounds: 0,
            timeout: 9,
        };
        let dir = tempfile::tempdir().unwrap();
        afl_files::Statistics::begin(dir.path()).write(dir.path(), Path::new(&target), &moment, true);
        let text = std::fs::read_to_string(dir.path().join("fuzzer_stats")).unwrap();
        let number = |key| afl_files::number(&text, key);
        prop_assert_eq!((number("execs_done"), number("corpus_count")), (evaluations, kept as u64));
        prop_assert_eq!((number("saved_crashes"), number("edges_found")), (crashes as u64, covered as u64));
        let curve = history::read(dir.path()).curves.remove(0);
        prop_assert_eq!(curve.points, [(seconds.floor(), covered as f64)]);
    }

    #[test]
    fn no_statistics_panic(text in "((last_find|last_crash)? *: *[-0-9a-z]{0,22}\n|\\PC{0,9}){0,6}") {
        for key in ["last_find", "last_crash", ""] {
            let _ = afl_files::number(&text, key);
        }
    }

    #[test]
    fn no_plot_panics(head: bool, lines in vec("[-0-9a-z., \\PC]{0,60}", 0..20)) {
        let dir = tempfile::tempdir().unwrap();
        let head = if head { "# relative_time, cycles_done, edges_found\n" } else { "" };
        std::fs::write(dir.path().join("plot_data"), format!("{head}{}", lines.join("\n"))).unwrap();
        for curve in history::read(dir.path()).curves {
            prop_assert!(curve.points.iter().all(|(s, c)| *s >= 0.0 && *c >= 0.0 && s.is_finite() && c.is_finite()));
        }
    }
}
