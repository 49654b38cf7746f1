//! Bits of the action byte of a branch. The fuzzer writes the byte; the hook at the site reads it.

/// Taking this branch sets its byte in [`State::outcomes`](super::State::outcomes), and appends the branch to
/// [`State::taken`](super::State::taken) unless the byte was set.
pub const RECORD: u8 = 0x01;
/// This branch is wanted: `r` becomes its branch distance, 0 if it is taken.
pub const WANT: u8 = 0x02;
/// The smallest branch distance of all evaluations is stored in [`State::best`](super::State::best) of this branch. For
/// a `switch`, see [`NEAR`].
pub const TRACK: u8 = 0x04;
/// A sibling of this branch is wanted or tracked: taking this branch computes the sibling's distance. For a
/// `switch`, the bit is in its first byte only. It means that some branch is tracked, and that the cases next to
/// the operand store it in [`State::near`](super::State::near); so a pass costs the same with one case as with
/// thousands.
pub const NEAR: u8 = 0x08;
/// On every branch of a site: each pass of the site is compared with the next step of
/// [`State::path`](super::State::path), and `r` is the distance to the rest of the path (path reachability: ME,
/// Sect. 4.4.1).
pub const STEP: u8 = 0x10;
/// With [`WANT`]: `r = min(r, d)`, the smallest distance of all passes of the site in one evaluation.
pub const MIN: u8 = 0x20;
/// This branch leads to the wanted one: if it is not taken, `r = min(r, lead[branch] + d')`, where `d'` is the distance
/// `d` compressed into [`LEAD_BITS`](super::LEAD_BITS). In the metric [`ULP`](super::metric::ULP) only.
pub const LEAD: u8 = 0x40;
/// In the first byte of a site: some byte of the site is not zero. Without it the hook ignores the site.
pub const ARMED: u8 = 0x80;
