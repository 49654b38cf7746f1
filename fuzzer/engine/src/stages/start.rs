//! The start of an attempt at a branch, and the search that follows.

/// The start of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// The closest input so far.
    Closest,
    /// The closest input, then a search by the operands of the conditions before the branch.
    Chain,
    /// A kept or pending input.
    Known,
    /// The closest input, then a search along the approach level.
    Approach,
    /// A new point, from which a way to the target's site is searched first.
    ViaParent,
    /// A new point.
    Fresh,
}

/// The rotation of starts. Each comes soon and repeatedly, because the best one depends on the code, and later attempts
/// are long.
const STARTS_BY_ATTEMPT: [Start; 14] = [
    Start::Closest,
    Start::Chain,
    Start::Approach,
    Start::Chain,
    Start::ViaParent,
    Start::Chain,
    Start::Chain,
    Start::Known,
    Start::Chain,
    Start::Chain,
    Start::Closest,
    Start::Chain,
    Start::Chain,
    Start::Fresh,
];

/// The rotation without chain search, for minimizers other than the default, which are compared with it.
const STARTS_WITHOUT_CHAIN: [Start; 8] = [
    Start::Closest,
    Start::Approach,
    Start::ViaParent,
    Start::Known,
    Start::Approach,
    Start::Closest,
    Start::ViaParent,
    Start::Fresh,
];

impl Start {
    /// The first attempt starts from the closest input. Later ones rotate, because the closest input may be stuck.
    pub(super) fn of_attempt(attempt: u32, has_chain: bool) -> Self {
        let turns: &[Self] = if has_chain { &STARTS_BY_ATTEMPT } else { &STARTS_WITHOUT_CHAIN };
        turns[attempt as usize % turns.len()]
    }
}
