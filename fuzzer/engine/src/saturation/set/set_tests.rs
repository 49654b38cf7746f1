//! Tests when branches are saturated, and which inputs are promoted.

use super::*;

/// Sites of two branches each; `edges` go from a branch to a site.
fn set(sites: usize, edges: &[(u32, u32)]) -> Saturation {
    Saturation::new(BranchGraph::two_way(sites, edges))
}

#[test]
fn a_leaf_is_saturated_when_covered() {
    let mut s = set(1, &[]);
    assert_eq!(s.cover(&[0], false), 1);
    assert!(s.is_saturated(0) && !s.is_saturated(1));
}

#[test]
fn the_input_that_covers_a_branch_given_up_saturates_it() {
    let mut s = set(1, &[]);
    s.cover(&[0], false);
    s.give_up(1);
    assert_eq!(s.cover(&[1], false), 1);
}

#[test]
fn nothing_is_spent_on_an_excluded_branch_and_an_input_that_takes_it_counts() {
    let mut s = set(1, &[]);
    s.cover(&[0], false);
    assert!(!s.is_settled(1) && !s.is_done());
    s.exclude(&[1]);
    assert!(s.is_settled(1) && s.is_done() && !s.is_covered(1));
    assert_eq!(s.cover(&[1], false), 1);
    assert!(s.is_covered(1));
}

#[test]
fn many_ways_to_a_site_cost_no_more_than_one() {
    // A chain of decisions whose branches join again: 2^n ways lead through n of them.
    let edges: Vec<_> = (0..199).flat_map(|site| [(2 * site, site + 1), (2 * site + 1, site + 1)]).collect();
    let s = set(200, &edges);
    assert!(s.leads(398).is_empty(), "every branch leads there, so none decides");
    let s = set(200, &[&edges[..], &[(0, 199)]].concat());
    assert_eq!(s.leads(398), [(0, 0)], "branch 0 is nearer than its sibling");
}

#[test]
fn a_parent_waits_for_its_descendants() {
    let mut s = set(2, &[(0, 1)]);
    assert_eq!(s.cover(&[0, 2], false), 1, "only 2 is saturated");
    assert!(!s.is_saturated(0));
    assert_eq!(s.cover(&[3], false), 2, "3 and its parent 0");
    assert!(s.is_saturated(0));
}

#[test]
fn a_loop_is_saturated_as_a_whole() {
    // Branch 0 of site 0 leads to site 1, whose both branches lead back to site 0.
    let mut s = set(2, &[(0, 1), (2, 0), (3, 0)]);
    assert_eq!(s.cover(&[0, 2, 1], false), 1, "only the exit");
    assert_eq!(s.cover(&[3], false), 3);
}

#[test]
fn giving_up_releases_what_waited_and_its_pending_inputs() {
    let mut s = set(2, &[(0, 1), (2, 0), (3, 0)]);
    s.cover(&[0, 2, 1], false);
    s.pending.push(PendingInput { bytes: vec![1], covers: vec![0, 2] });
    assert_eq!(s.give_up(3).len(), 1);
    assert!(s.is_saturated(0) && s.is_saturated(2) && s.is_done());
}

#[test]
fn branches_only_after_a_given_up_branch_do_not_block_saturation() {
    // 0 -> site 1; branch 2 -> site 2. 2 is given up, so 4 and 5 cannot be reached.
    let mut s = set(3, &[(0, 1), (2, 2)]);
    s.cover(&[0, 3], false);
    s.give_up(2);
    assert!(s.is_saturated(0));
}

#[test]
fn covering_a_given_up_branch_takes_the_verdict_back() {
    let mut s = set(3, &[(0, 1), (2, 2)]);
    s.cover(&[0, 3], false);
    s.give_up(2);
    s.cover(&[2], false);
    assert!(!s.is_given_up(2) && !s.is_saturated(0), "the sites behind it are open again");
}

#[test]
fn leads_are_listed_with_the_number_of_sites_between() {
    // 0 -> site 1, 2 -> site 2; 1 and 3 return. Nothing leads to site 3, and both its branches lead to site 2.
    let s = set(4, &[(0, 1), (2, 2), (6, 2), (7, 2)]);
    assert_eq!(s.leads(5), [(0, 1), (2, 0)]);
    assert_eq!(s.leads(0), [], "nothing decides whether the first site is reached");
}

#[test]
fn in_a_loop_the_shorter_way_leads() {
    // 0 -> site 1; 2 -> site 2; all others lead back to site 0, except 1, which leaves the loop.
    let s = set(3, &[(0, 1), (2, 2), (3, 0), (4, 0), (5, 0)]);
    assert_eq!(s.leads(4), [(0, 1), (2, 0)], "3 leads there too, by another round");
}

#[test]
fn a_branch_taken_by_a_crash_counts_until_a_returning_input_takes_it() {
    let mut s = set(1, &[]);
    s.cover(&[0], true);
    assert!(s.is_covered(0) && s.is_covered_by_crash(0));
    s.cover(&[0], false);
    assert!(!s.is_covered_by_crash(0));
}
