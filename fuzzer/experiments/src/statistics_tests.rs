//! Tests against published values and those of other implementations.

use super::*;

#[track_caller]
fn close(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() < 1e-9, "{ours}, expected {theirs}");
}

/// Permeability of the human chorioamnion at term and at 12 to 26 weeks: Hollander and Wolfe, Nonparametric Statistical
/// Methods, 1973, p. 69 f., the example of R's `wilcox.test`, which prints W = 35 and a one-sided p of 0.1272.
const TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
const EARLY: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

/// Age at diagnosis: the example of `scipy.stats.mannwhitneyu`.
const MALE: [f64; 5] = [19.0, 22.0, 16.0, 29.0, 24.0];
const FEMALE: [f64; 4] = [20.0, 11.0, 17.0, 12.0];

#[test]
fn quartiles_are_those_of_numpy_percentile() {
    // numpy.percentile(x, [25, 50, 75]), default method.
    for (x, expected) in [
        (&[4.0, 1.0, 3.0, 2.0][..], [1.75, 2.5, 3.25]),
        (&[7.0, 15.0, 36.0, 39.0, 40.0, 41.0], [20.25, 37.5, 39.75]),
        (&[6.0, 7.0, 15.0, 36.0, 39.0, 40.0, 41.0, 42.0, 43.0, 47.0, 49.0], [25.5, 40.0, 42.5]),
        (&[3.0], [3.0, 3.0, 3.0]),
    ] {
        let s = Spread::of(x).unwrap();
        assert_eq!([s.q1, s.median, s.q3], expected, "{x:?}");
    }
    let s = Spread::of(&[4.0, 1.0, 3.0]).unwrap();
    assert_eq!((s.n, s.min, s.max), (3, 1.0, 4.0));
}

#[test]
fn nothing_has_no_figures() {
    assert_eq!(Spread::of(&[]), None);
    assert_eq!((median(&[]), mean(&[]), a12(&[], &[1.0]), mann_whitney(&[1.0], &[])), (None, None, None, None));
}

#[test]
fn a12_is_that_of_the_literature() {
    // The example of Hess and Kromrey (2004) in R's effsize: Cliff's delta is -0.25, which is 2 A12 - 1 (Vargha and
    // Delaney 2000).
    let treatment = [10.0, 10.0, 20.0, 20.0, 20.0, 30.0, 30.0, 30.0, 40.0, 50.0];
    let control = [10.0, 20.0, 30.0, 40.0, 40.0, 50.0];
    close(2.0 * a12(&treatment, &control).unwrap() - 1.0, -0.25);
    // U / (m n): 35 of R's example, 17 of SciPy's.
    close(a12(&TERM, &EARLY).unwrap(), 35.0 / 50.0);
    close(a12(&MALE, &FEMALE).unwrap(), 17.0 / 20.0);
    close(a12(&FEMALE, &MALE).unwrap(), 3.0 / 20.0);
    close(a12(&[1.0, 1.0], &[1.0]).unwrap(), 0.5);
}

#[test]
fn the_words_are_those_of_vargha_and_delaney_in_both_directions() {
    use Magnitude::{Large, Medium, Negligible, Small};
    for (a, word) in [
        (0.5, Negligible),
        (0.55, Negligible),
        (0.56, Small),
        (0.63, Small),
        (0.64, Medium),
        (0.70, Medium),
        (0.71, Large),
        (1.0, Large),
    ] {
        assert_eq!((Magnitude::of(a), Magnitude::of(1.0 - a)), (word, word), "{a}");
    }
}

#[test]
fn small_samples_without_ties_are_exact() {
    close(mann_whitney(&TERM, &EARLY).unwrap(), 0.254_412_254_412_254_4); // SciPy 1.17.1, method="exact"
    close(mann_whitney(&MALE, &FEMALE).unwrap(), 0.111_111_111_111_111_1);
    close(mann_whitney(&FEMALE, &MALE).unwrap(), 0.111_111_111_111_111_1);
}

#[test]
fn small_samples_with_ties_are_exact() {
    // SciPy 1.17.1, method=PermutationMethod(n_resamples=inf).
    let (x, y) = ([12.0, 12.0, 11.0, 12.0, 10.0, 9.0], [9.0, 9.0, 10.0, 8.0, 8.0, 12.0]);
    close(mann_whitney(&x, &y).unwrap(), 0.106_060_606_060_606_06);
    close(mann_whitney(&[3.0, 3.0, 5.0], &[1.0, 3.0, 3.0, 2.0, 2.0, 1.0]).unwrap(), 0.142_857_142_857_142_85);
    close(mann_whitney(&[1.0; 3], &[0.0; 3]).unwrap(), 0.1);
}

#[test]
fn large_samples_have_the_corrections_for_ties_and_continuity() {
    // SciPy 1.17.1, method="asymptotic".
    let many = |parts: &[(usize, f64)]| parts.iter().flat_map(|&(n, v)| vec![v; n]).collect::<Vec<_>>();
    let (x, y) = (many(&[(14, 12.0), (6, 11.0)]), many(&[(5, 12.0), (9, 11.0), (6, 10.0)]));
    close(mann_whitney(&x, &y).unwrap(), 0.001_483_031_335_625_707_2);
    let x: Vec<_> = (0..20).map(f64::from).collect();
    let y: Vec<_> = x.iter().map(|v| v + 7.5).collect();
    close(mann_whitney(&x, &y).unwrap(), 0.001_014_098_685_216_043_8);
    let x = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0, 5.0, 6.0, 7.0];
    let y = [2.0, 4.0, 4.0, 5.0, 6.0, 6.0, 7.0, 7.0, 8.0, 8.0, 9.0, 9.0];
    close(mann_whitney(&x, &y).unwrap(), 0.012_115_288_660_538_829);
}

#[test]
fn equal_samples_do_not_differ() {
    for n in [1, 5, 30] {
        close(mann_whitney(&vec![7.0; n], &vec![7.0; n]).unwrap(), 1.0);
    }
}

#[test]
fn the_smallest_p_value_is_that_of_samples_that_do_not_overlap() {
    for n in 1..=10 {
        let low: Vec<_> = (0..n).map(f64::from).collect();
        let high: Vec<_> = (n..=2 * n).map(f64::from).collect();
        close(smallest_p(low.len(), high.len()), mann_whitney(&low, &high).unwrap());
        close(smallest_p(high.len(), low.len()), smallest_p(low.len(), high.len()));
        if low.len() + high.len() == EXACT - 1 {
            break;
        }
    }
    // SciPy 1.17.1, method="exact".
    for (n, p) in [(1, 1.0), (2, 1.0 / 3.0), (3, 0.1), (4, 0.028_571_428_571_428_57)] {
        close(smallest_p(n, n), p);
    }
    close(smallest_p(0, 5), 1.0);
}

#[test]
fn holm_is_that_of_other_implementations() {
    // statsmodels 0.15.0, multipletests(p, method="holm"); the first is Wikipedia's worked example.
    let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (ours, theirs) in corrected.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        close(*ours, theirs);
    }
    // The p-values of Benjamini and Hochberg (1995), Table 1's example.
    let p = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590,
        1.0,
    ];
    let expected = [0.0015, 0.0056, 0.0247, 0.114, 0.2211, 0.278, 0.278, 0.278, 0.3213, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    for (ours, theirs) in holm(&p).iter().zip(expected) {
        close(*ours, theirs);
    }
    assert!(holm(&[]).is_empty());
}
