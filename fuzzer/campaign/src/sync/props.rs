//! Property tests of foreign names: whatever they are, our names stay readable.

use penfuzz_directory::output::recovery;
use proptest::prelude::*;

use super::root::{Naming, fit, source_of};

/// The same cases at every run.
fn config(cases: u32) -> ProptestConfig {
    let rng_seed = proptest::test_runner::RngSeed::Fixed(1);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn a_foreign_name_cannot_break_ours(name in "(id[:_])?[0-9]{0,30}[,:/~.\\PC\n]{0,60}", is_afl: bool) {
        let naming = if is_afl { Naming::Afl } else { Naming::Any };
        if let Some(source) = source_of(&name, naming) {
            let ours = format!("id:000007,time:5,execs:9,op:targeted,sync:{},src:{source}", fit(&name));
            prop_assert!(ours.len() <= 250 && !ours.contains(['/', '\n', '\0', '~']), "{ours}");
            prop_assert_eq!(recovery::id_of(&ours), Some(7));
            prop_assert_eq!(recovery::figure(&ours, "time"), Some(5));
            prop_assert_eq!(ours.split(',').count(), 6, "{}", ours);
        }
    }
}
