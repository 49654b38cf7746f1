//! Names of functions as users write them: `FILE:NAME`, where `NAME` may contain the `::` of C++.

/// Returns the positions of colons in a text that are not part of a `::`.
#[must_use]
pub fn single_colons(text: &str) -> impl DoubleEndedIterator<Item = usize> {
    let is_single = |at: &usize| !text[..*at].ends_with(':') && !text[at + 1..].starts_with(':');
    text.match_indices(':').map(|(at, _)| at).filter(is_single)
}
