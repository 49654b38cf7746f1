//! One exception at one site, what its operands are, and what was observed of it.

use penfuzz_abi::{self as abi, exception};
use penfuzz_mutators::view::Kind;
use penfuzz_report::{Arg, Exception, exceptions::Precise};
use penfuzz_target::program::{Site, Target};
use serde::{Deserialize, Serialize};

use super::conversion;

/// Where the result stands in what was seen.
pub const RESULT: usize = 3;

/// One exception at one site, with an input that raises it.
#[derive(Debug, Clone)]
pub struct Job {
    /// The branch of the operation.
    pub branch: usize,
    /// What it stands for.
    pub exception: Exception,
    /// The input.
    pub bytes: Vec<u8>,
    /// Why the function does not return then; `None` when it does.
    pub fault: Option<String>,
}

/// What was seen of one job.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Observed {
    /// The simpler input.
    pub bytes: Vec<u8>,
    /// Operands and result as bits, and how often; `None` when the exception was not raised again.
    pub seen: Option<([u64; 4], u64)>,
    /// Result and pointees, two words per cell; `None` when the function does not return.
    pub output: Option<Vec<u64>>,
    /// What the call left behind pointers, and the numbers of a result that is a structure; of a function that gets more than numbers.
    #[serde(default)]
    pub left: Vec<Arg>,
    /// Whether an overflow or underflow could be avoided, and its precise values; `None` when it was not computed.
    pub judged: Option<(Option<bool>, Precise)>,
}

/// The exception that branch `k` of an operation stands for.
#[must_use]
pub fn class(site: &Site, k: usize) -> Exception {
    match k {
        exception::OVERFLOW => Exception::Overflow,
        exception::UNDERFLOW => Exception::Underflow,
        exception::DIVIDE_BY_ZERO => Exception::DivideByZero,
        exception::INEXACT => Exception::Inexact,
        _ if conversion::integer_type(site).is_some() => Exception::Conversion,
        _ => Exception::Invalid,
    }
}

/// The cells of an output that came through a pipe.
#[must_use]
pub fn cells(words: &[u64]) -> Vec<u128> {
    words.chunks(2).map(|w| u128::from(w[0]) | w.get(1).map_or(0, |high| u128::from(*high) << 64)).collect()
}

/// What branch `b` of an operation stands for.
#[must_use]
pub fn exception_of(target: &Target, b: usize) -> Exception {
    let site = &target.sites[target.site_of(b)];
    class(site, b - site.first_branch)
}

/// What the operands of an operation are, and its result. Floats come as bits of doubles.
#[must_use]
pub fn kinds(site: &Site) -> (&'static [Kind], Kind) {
    let result = conversion::integer_type(site).map(|(_, signed)| if signed { Kind::I64 } else { Kind::U64 });
    (operands_of(site.operation), result.unwrap_or(Kind::F64))
}

/// What the operands of an operation are, one of [`abi::operation`].
#[must_use]
pub fn operands_of(operation: u32) -> &'static [Kind] {
    use abi::operation as op;
    match operation {
        op::FMA => &[Kind::F64; 3],
        op::ADD..=op::FMOD | op::POW | op::REMAINDER | op::HYPOT | op::NEXTAFTER | op::ATAN2 => &[Kind::F64; 2],
        op::LDEXP | op::SCALBN | op::SCALBLN => &[Kind::F64, Kind::I64],
        op::YN => &[Kind::I64, Kind::F64],
        op::FROM_SIGNED => &[Kind::I64],
        op::FROM_UNSIGNED => &[Kind::U64],
        _ => &[Kind::F64],
    }
}
