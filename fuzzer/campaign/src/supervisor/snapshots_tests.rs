//! Tests of the history that is kept between two snapshots.

use super::*;

fn figures(name: &str, covered: usize, evaluations: u64, crashes: u64) -> Figures {
    Figures {
        client: Client { name: name.to_owned(), evaluations, crashes, covered: covered as u64, ..Client::default() },
        branches: Branches { total: 20, covered, ..Branches::default() },
        seconds: 1.0,
    }
}

fn after(begun: Instant, milliseconds: u64) -> Instant {
    begun + Duration::from_millis(milliseconds)
}

#[test]
fn rates_are_those_of_the_last_seconds() {
    let begun = Instant::now();
    let mut rate = Rate::default();
    let counts = (0..400).map(|i| (i * 50, if i < 200 { i * 5000 } else { 1_000_000 }));
    let rates: Vec<f64> = counts.map(|(ms, n)| rate.at(after(begun, ms), n)).collect();
    assert!((rates[100] - 1e5).abs() < 1.0, "100 evaluations per ms at first: {}", rates[100]);
    assert!(rates[399].abs() < 1.0, "nothing in the last five seconds: {}", rates[399]);
    assert!(rate.0.len() < 30, "few counts are kept: {}", rate.0.len());
}

#[test]
fn a_count_that_falls_begins_a_new_rate() {
    let begun = Instant::now();
    let mut rate = Rate::default();
    rate.at(begun, 1000);
    assert!(rate.at(after(begun, 1000), 10).abs() < 1e-9);
    assert!((rate.at(after(begun, 2000), 1010) - 1000.0).abs() < 1e-6);
}

#[test]
fn a_farm_has_the_sum_of_its_clients_and_the_branches_of_the_best() {
    let begun = Instant::now();
    let mut history = History::new("t".to_owned(), Goals::Branches, begun);
    let both = |a, b| vec![figures("c1", 9, a, 1), figures("c0", 7, b, 0)];
    history.snapshot(begun, both(100, 1000), None, 0);
    let now = history.snapshot(after(begun, 2000), both(300, 1400), None, 0);
    assert_eq!((now.evaluations, now.crashes, now.branches.covered), (1700, 1, 9));
    assert_eq!(now.clients.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["c0", "c1"]);
    let rates = now.clients.iter().map(|c| c.evaluations_per_second).collect::<Vec<_>>();
    assert!((rates[0] - 200.0).abs() < 1e-6 && (rates[1] - 100.0).abs() < 1e-6, "{rates:?}");
    assert!((now.evaluations_per_second - 300.0).abs() < 1e-6);
}

#[test]
fn each_find_is_listed_once_with_its_client() {
    let begun = Instant::now();
    let mut history = History::new("t".to_owned(), Goals::Branches, begun);
    history.snapshot(begun, vec![figures("c0", 3, 1, 0), figures("c1", 2, 1, 0)], None, 0);
    history.snapshot(after(begun, 1000), vec![figures("c0", 3, 2, 0), figures("c1", 4, 2, 2)], None, 0);
    // A replacement worker counts from 0 and finds the same branches again.
    history.snapshot(after(begun, 2000), vec![figures("c0", 0, 2, 0), figures("c1", 0, 2, 0)], None, 0);
    let now = history.snapshot(after(begun, 3000), vec![figures("c0", 3, 2, 0), figures("c1", 4, 2, 2)], None, 0);
    let listed: Vec<_> = now.finds.iter().map(|f| (f.client.as_str(), f.what.as_str())).collect();
    assert_eq!(
        listed,
        [("c0", "3 branches, 3 of 20 covered"), ("c1", "1 branch, 4 of 20 covered"), ("c1", "2 crashes")]
    );
    assert!((now.since_last_find - 2.0).abs() < 1e-6, "{}", now.since_last_find);
}

#[test]
fn only_the_last_messages_are_kept() {
    let mut history = History::new("t".to_owned(), Goals::Branches, Instant::now());
    (0..30).for_each(|i| history.warn(&i.to_string()));
    assert_eq!((history.snapshot.messages.len(), history.snapshot.messages[0].as_str()), (20, "10"));
}

#[test]
fn the_last_snapshot_is_that_of_the_report() {
    let mut history = History::new("t".to_owned(), Goals::Branches, Instant::now());
    history.snapshot(Instant::now(), vec![figures("", 3, 1, 0)], None, 0);
    let report = penfuzz_report::example::report();
    history.ended(&report);
    let s = &history.snapshot;
    assert_eq!((s.stop_reason.as_str(), s.branches, s.evaluations), ("saturated", report.branches, report.evaluations));
    assert_eq!((s.clients[0].state.as_str(), s.clients[0].evaluations), ("ended", report.evaluations));
}
