//! Sorts finds for reports.

use std::collections::{BTreeMap, BTreeSet};

use super::Find;

/// Sorts the finds by site, the worst site first: the rank of a site is that of its worst find. Exceptions are in the
/// order of [`Exception`]; within one exception, finds that the result does not show come first; then finds are sorted
/// by place.
///
/// [`Exception`]: super::Exception
pub fn sort(finds: &mut [Find]) {
    let rank = |f: &Find| (f.exception, !f.is_silent());
    let place = |f: &Find| (f.file.clone(), f.line, f.column, f.operation.clone(), f.function.clone());
    let mut worst = BTreeMap::new();
    for f in finds.iter() {
        let known = worst.entry(place(f)).or_insert_with(|| rank(f));
        *known = rank(f).min(*known);
    }
    finds.sort_by_cached_key(|f| (worst[&place(f)], place(f), rank(f)));
}

/// Number of distinct sites among the finds. Sites that a macro or an inlined function puts at one place count once.
#[must_use]
pub fn places<'a>(finds: impl Iterator<Item = &'a Find>) -> usize {
    let place = |f: &'a Find| (&f.file, f.line, f.column, &f.operation, &f.function);
    finds.map(place).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exceptions::{
        Exception, ResultEvidence,
        example::{find, shown},
    };

    #[test]
    fn the_worst_site_comes_first_and_silent_before_shown() {
        use Exception::{Conversion, DivideByZero, Invalid, Overflow, Underflow};
        let of = |e, line, s| find(e, line, "/", &[1.0, 2.0], 3.0, s);
        let mut finds = vec![
            of(Underflow, 1, ResultEvidence::Nowhere),
            of(Conversion, 2, ResultEvidence::Nowhere),
            of(Overflow, 3, shown()),
            of(Overflow, 4, ResultEvidence::Nowhere),
            of(Underflow, 5, shown()),
            of(Invalid, 5, shown()),
            of(DivideByZero, 6, ResultEvidence::Status(1)),
        ];
        sort(&mut finds);
        let order: Vec<_> = finds.iter().map(|f| (f.line, f.exception)).collect();
        assert_eq!(
            order,
            [
                (5, Invalid),
                (5, Underflow),
                (6, DivideByZero),
                (4, Overflow),
                (3, Overflow),
                (2, Conversion),
                (1, Underflow)
            ]
        );
    }
}
