//! Switches: the distance of every branch, and the closest input to every branch that is not taken, compared with a
//! search over all cases. The hook examines two cases only, and the evaluator derives the rest.

use std::{collections::BTreeSet, rc::Rc};

use penfuzz_abi::{action, metric, site_kind};
use penfuzz_executor::Evaluator;
use penfuzz_target::program::Site;

use crate::twin::{Twin, on_target_thread};

/// Switches that are dense, have gaps and several labels for a destination, have cases far apart or at the limits of
/// the type, have one case, or have no default.
const SOURCE: &str = r"
int dense(long x) { switch (x) { case 0: return 3; case 1: return 5; case 2: return 8; case 3: return 9;
  case 4: return 1; case 5: return 4; case 6: return 7; } return 0; }
int shared(long x) { switch (x) { case -3: case 40: return 1; case -2: case -1: return 2; case 0: default: return 0;
  case 1: case 41: case 900: return 3; case 2: return 4; } }
int sparse(long x) { switch (x) { case -1000000007: return 1; case 77: return 2; case 123456789: return 3;
  case 9000000000: return 4; case 9000000001: return 5; case -4: return 6; } return 0; }
int ends(long x) { switch (x) { case -9223372036854775807L - 1: return 1; case 9223372036854775807L: return 2;
  case 0: return 3; } return 0; }
int one(long x) { switch (x) { case 1000: return 1; } return 0; }
";

const FUNCTIONS: [&str; 5] = ["dense", "shared", "sparse", "ends", "one"];

fn branch_of(site: &Site, x: i64) -> usize {
    site.cases.iter().find(|c| c.0 == x).map_or(0, |c| c.1)
}

/// Returns the distance by Definition 4.1 of `CoverMe`, over all cases; 0 for the branch that is taken.
fn distance(site: &Site, k: usize, x: i64) -> u64 {
    if branch_of(site, x) == k {
        return 0;
    }
    if k > 0 {
        let own = site.cases.iter().filter(|c| c.1 == k);
        return own.map(|c| c.0.abs_diff(x).min(u64::MAX - 1)).min().expect("a branch has a case");
    }
    let steps = 1..=site.cases.len() as i64 + 1;
    let free = |n: &i64| branch_of(site, x.wrapping_add(*n)) == 0 || branch_of(site, x.wrapping_sub(*n)) == 0;
    steps.clone().find(free).expect("some value has no case") as u64
}

fn points(site: &Site) -> Vec<i64> {
    let near = site.cases.iter().flat_map(|c| [-9, -2, -1, 0, 1, 2, 30].map(|d| c.0.wrapping_add(d)));
    let far = [i64::MIN, i64::MIN + 5, -(1 << 40), 20, 21, 500, 1 << 33, i64::MAX - 1, i64::MAX];
    near.chain(far).collect::<BTreeSet<_>>().into_iter().collect()
}

fn switch_of(evaluator: &Evaluator) -> Site {
    let target = Rc::clone(evaluator.target());
    let own = evaluator.function().sites.clone();
    let found = own.map(|s| target.sites[s].clone()).find(|s| s.kind == site_kind::SWITCH);
    found.expect("the function has a switch")
}

/// Arms the branch alone, and together with all others tracked.
fn check_distances(evaluator: &mut Evaluator, site: &Site) {
    for k in 0..site.n_branches {
        for others in [0, action::TRACK | action::RECORD] {
            evaluator.set_metric(metric::ULP, u64::MAX);
            evaluator.arm(|b| if b == site.first_branch + k { action::WANT | action::MIN } else { others });
            for x in points(site) {
                evaluator.run(&x.to_le_bytes());
                // With MIN, `r` stays below the levels of LEAD.
                let expected = distance(site, k, x).min(i64::MAX as u64);
                assert_eq!(evaluator.r(), expected, "r of branch {k} at {x} of {:?}", site.cases);
            }
        }
    }
}

/// The closest input to a branch must be the closest of all evaluated inputs, in any order.
fn check_closest(twin: &Twin, index: usize, seed: u64) {
    let mut evaluator = twin.evaluator(index);
    let site = switch_of(&evaluator);
    evaluator.set_metric(metric::ULP, u64::MAX);
    evaluator.arm(|_| action::RECORD | action::TRACK);
    let mut order = points(&site);
    order.sort_by_key(|x| (*x as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut tried: Vec<i64> = Vec::new();
    for x in order {
        evaluator.run(&x.to_le_bytes());
        tried.push(x);
        for k in 0..site.n_branches {
            if tried.iter().any(|x| branch_of(&site, *x) == k) {
                continue;
            }
            let least = tried.iter().map(|x| distance(&site, k, *x)).min().expect("one was tried");
            let (found, bytes) = evaluator.closest(site.first_branch + k).expect("the switch was passed");
            let at = i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            let shown = format!("branch {k} of {:?} after {tried:?}", site.cases);
            assert_eq!((found, distance(&site, k, at)), (least, least), "{shown}: {at}");
        }
    }
}

#[test]
fn distances_and_closest_inputs_are_those_of_a_search_over_all_cases() {
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let twin = Twin::of_text(directory.path(), "switches.c", SOURCE, "-O2");
        for name in FUNCTIONS {
            let index = twin.index_of(name);
            let mut evaluator = twin.evaluator(index);
            let site = switch_of(&evaluator);
            check_distances(&mut evaluator, &site);
            drop(evaluator);
            for seed in 0..20 {
                check_closest(&twin, index, seed);
            }
        }
    });
}

/// A change of the goal writes few bytes; the result must be the table that a full write gives.
#[test]
fn arming_what_changed_equals_arming_everything() {
    use penfuzz_executor::Changes;
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let twin = Twin::of_text(directory.path(), "switches.c", SOURCE, "-O2");
        let mut evaluator = twin.evaluator(twin.index_of("shared"));
        let n = evaluator.target().n_branches;
        let bytes = |evaluator: &Evaluator| -> Vec<u8> {
            // SAFETY: as many action bytes as branches, and the target does not run.
            unsafe { core::slice::from_raw_parts(evaluator.target().actions(), n) }.to_vec()
        };
        let (mut open, mut log, mut random) = (vec![true; n], Vec::new(), 1u64);
        let mut below = |limit: usize| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (random >> 33) as usize % limit
        };
        for round in 0..2000 {
            if round % 3 == 0 {
                let b = below(n);
                open[b] = !open[b];
                log.push(b as u32);
            }
            if round % 5 == 0 {
                evaluator.disarm(&[below(n) as u32]);
            }
            let action_of = |b: usize| if open[b] { action::RECORD | action::TRACK } else { 0 };
            let mut goal = vec![(below(n), action::WANT | action::MIN)];
            let lead = below(n);
            if lead != goal[0].0 {
                goal.push((lead, action::LEAD));
            }
            evaluator.arm_changed(Changes { identity: u64::MAX, branches: &log }, action_of, &goal, true);
            if round % 10 == 9 {
                // A full write forgets the earlier changes, so ten changes lie between two comparisons.
                let few = bytes(&evaluator);
                let of_goal = |b: usize| goal.iter().filter(|g| g.0 == b).fold(0, |all, g| all | g.1);
                evaluator.arm(|b| of_goal(b) | action_of(b));
                assert_eq!(few, bytes(&evaluator), "round {round}");
            }
        }
    });
}
