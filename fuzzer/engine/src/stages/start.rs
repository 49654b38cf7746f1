//! Where an attempt at a branch begins, and along what it goes.

/// Where an attempt begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// The input that came closest so far.
    Closest,
    /// The closest input, and from there by what the operands of the conditions before the branch show.
    Chain,
    /// Some kept or pending input.
    Known,
    /// The closest input, and from there along the approach level.
    Approach,
    /// A new point from which first a way to the target's site is searched.
    ViaParent,
    /// A new point.
    Fresh,
}

/// Each way soon and in turn: which one leads on depends on the code, and later attempts are long.
const TURNS: [Start; 14] = [
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

/// The same without chain search, for other minimizers than the default: they are compared with it.
const TURNS_WITHOUT_CHAIN: [Start; 8] = [
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
    /// At first the closest input; later others in turn with it, since it may be stuck.
    pub(super) fn of_attempt(attempt: u32, has_chain: bool) -> Self {
        let turns: &[Self] = if has_chain { &TURNS } else { &TURNS_WITHOUT_CHAIN };
        turns[attempt as usize % turns.len()]
    }
}
