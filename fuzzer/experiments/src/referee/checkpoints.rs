//! The order in which inputs are replayed, and the inputs after which the counters are read.

use std::{collections::HashSet, time::Duration};

use super::super::corpus::Stamped;

/// Time spans end at 1, 2 and 5 times a power of ten of this: gcov takes about a millisecond for each.
const FIRST: Duration = Duration::from_millis(1);

/// Sorts the inputs by their stamps; of those with the same bytes only the earliest is kept.
pub(super) fn ordered(corpus: &[Stamped]) -> Vec<&Stamped> {
    let mut all: Vec<_> = corpus.iter().collect();
    // The order includes the bytes, so that it does not depend on that of the files.
    all.sort();
    let mut seen = HashSet::new();
    all.retain(|input| seen.insert(&input.bytes));
    all
}

/// Returns the last input of each time span that has any, ascending; the last one is the last input of all.
pub(super) fn ends(inputs: &[&Stamped]) -> Vec<usize> {
    let mut ends = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        if inputs.get(i + 1).is_none_or(|next| span(next.at) != span(input.at)) {
            ends.push(i);
        }
    }
    ends
}

/// Returns the end of the time span of a stamp; zero for the seeds.
fn span(at: Duration) -> Duration {
    let mut end = if at.is_zero() { Duration::ZERO } else { FIRST };
    let mut factors = [(2, 1), (5, 2), (2, 1)].into_iter().cycle();
    while end < at
        && let Some((by, of)) = factors.next()
    {
        end = end * by / of;
    }
    end
}

/// Encodes the request; `replay.c` describes its format.
pub(super) fn request(counters: &[(i64, u64)], inputs: &[&Stamped], ends: &[usize]) -> Vec<u8> {
    let mut words = vec![counters.len() as u64];
    words.extend(counters.iter().flat_map(|(offset, size)| [offset.cast_unsigned(), *size]));
    words.push(inputs.len() as u64);
    let mut ends = ends.iter().peekable();
    for (i, input) in inputs.iter().enumerate() {
        words.extend([input.bytes.len() as u64, u64::from(ends.next_if(|end| **end == i).is_some())]);
    }
    let words = words.into_iter().flat_map(u64::to_ne_bytes);
    words.chain(inputs.iter().flat_map(|input| input.bytes.iter().copied())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamped(ms: u64, bytes: &[u8]) -> Stamped {
        Stamped { at: Duration::from_millis(ms), bytes: bytes.to_vec() }
    }

    #[test]
    fn the_earliest_of_the_same_bytes_stays() {
        let corpus = [stamped(9, b"a"), stamped(5, b"b"), stamped(3, b"a"), stamped(5, b"")];
        let order: Vec<_> = ordered(&corpus).into_iter().cloned().collect();
        assert_eq!(order, [stamped(3, b"a"), stamped(5, b""), stamped(5, b"b")]);
    }

    #[test]
    fn spans_end_at_one_two_and_five() {
        let ends: Vec<_> =
            [0, 1, 2, 3, 5, 6, 10, 11, 20, 50, 51, 1001, 9999].map(|ms| span(Duration::from_millis(ms))).into();
        let expected: Vec<_> = [0, 1, 2, 5, 5, 10, 10, 20, 20, 50, 100, 2000, 10000].map(Duration::from_millis).into();
        assert_eq!(ends, expected);
        assert_eq!(span(Duration::from_nanos(1)), FIRST);
    }

    #[test]
    fn the_counters_are_read_after_the_last_input_of_a_span() {
        let corpus: Vec<_> = [0, 0, 1, 3, 4, 600, 700].map(|ms| stamped(ms, b"")).into();
        assert_eq!(ends(&corpus.iter().collect::<Vec<_>>()), [1, 2, 4, 6]);
    }
}
