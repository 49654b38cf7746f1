//! Names of functions as users write them: `FILE:NAME`, where `NAME` may contain the `::` of C++.

/// Prefix of the function whose condition `r == 0` is the goal of a file that includes `pen_goal.h`. A hash of that
/// file follows.
pub const GOAL_END: &str = "pen_goal_end_";

/// Returns the positions of colons in a text that are not part of a `::`.
#[must_use]
pub fn single_colons(text: &str) -> impl DoubleEndedIterator<Item = usize> {
    let is_single = |at: &usize| !text[..*at].ends_with(':') && !text[at + 1..].starts_with(':');
    text.match_indices(':').map(|(at, _)| at).filter(is_single)
}
