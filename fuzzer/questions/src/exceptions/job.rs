//! A job: one exception at one site, with the types of its operands, and the observation of a run that raises it.

use penfuzz_abi::{self as abi, exception};
use penfuzz_mutators::view::Kind;
use penfuzz_report::{Arg, Exception, exceptions::Precise};
use penfuzz_target::program::{Site, Target};
use serde::{Deserialize, Serialize};

use super::conversion;

/// The index of the result among the observed values.
pub const RESULT: usize = 3;

/// One exception at one site, with an input that raises it.
#[derive(Debug, Clone)]
pub struct Job {
    /// The branch of the operation, by its index in the target.
    pub branch: usize,
    /// The exception that this branch stands for.
    pub exception: Exception,
    /// The input.
    pub bytes: Vec<u8>,
    /// Why the function does not return for this input; `None` if it does.
    pub fault: Option<String>,
}

/// The observation of one job.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Observed {
    /// The simplified input.
    pub bytes: Vec<u8>,
    /// Operands and result as bits, and how often the exception was raised; `None` if it was not raised again.
    pub seen: Option<([u64; 4], u64)>,
    /// Result and pointees, two words per cell; `None` if the function does not return.
    pub output: Option<Vec<u64>>,
    /// The contents of memory behind pointers after the call, and the numbers of a result that is a structure. Only for
    /// functions that take more than numbers.
    #[serde(default)]
    pub left: Vec<Arg>,
    /// Whether an overflow or underflow could be avoided, and its precise values; `None` if this was not computed.
    pub judged: Option<(Option<bool>, Precise)>,
}

/// The exception for which branch `k` of an operation stands.
#[must_use]
pub fn class(site: &Site, k: usize) -> Exception {
    match k {
        exception::OVERFLOW => Exception::Overflow,
        exception::UNDERFLOW if site.is_sum() => Exception::Subnormal,
        exception::UNDERFLOW => Exception::Underflow,
        exception::DIVIDE_BY_ZERO => Exception::DivideByZero,
        exception::INEXACT => Exception::Inexact,
        _ if conversion::integer_type(site).is_some() => Exception::Conversion,
        _ => Exception::Invalid,
    }
}

/// Converts the words of an output, which came through a pipe, back to cells.
#[must_use]
pub fn cells(words: &[u64]) -> Vec<u128> {
    words.chunks(2).map(|w| u128::from(w[0]) | w.get(1).map_or(0, |high| u128::from(*high) << 64)).collect()
}

/// The exception for which branch `b` of the target stands.
#[must_use]
pub fn exception_of(target: &Target, b: usize) -> Exception {
    let site = &target.sites[target.site_of(b)];
    class(site, b - site.first_branch)
}

/// The types of the operands of an operation, and of its result. Floats are recorded as the bits of doubles.
#[must_use]
pub fn kinds(site: &Site) -> (&'static [Kind], Kind) {
    let result = conversion::integer_type(site).map(|(_, signed)| if signed { Kind::I64 } else { Kind::U64 });
    (operands_of(site.operation), result.unwrap_or(Kind::F64))
}

/// The types of the operands of an operation, one of [`abi::operation`].
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
