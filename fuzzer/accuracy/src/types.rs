//! Options of a search, and its answer.

use std::time::Duration;

use penfuzz_mutators::extremes::Peak;
use serde::{Deserialize, Serialize};

use super::{controls::Control, errno::Errno, sources::Sources};

/// A difference from the reference that has no size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Exactly one of result and reference is NaN.
    Nan,
    /// Exactly one of result and reference is infinite and they are more than one ulp apart, or they are infinities of
    /// different sign.
    Infinity,
    /// A zero of the wrong sign, where the reference is zero.
    Zero,
    /// Bits that differ from the reference, if every difference counts ([`Options::exact`]).
    Different,
    /// A value in `errno` that differs from that of the standard or of the reference.
    Errno,
}

impl Class {
    const ALL: [Self; 5] = [Self::Nan, Self::Infinity, Self::Zero, Self::Different, Self::Errno];

    /// The number that the comparing function returns for this class.
    #[must_use]
    pub const fn code(self) -> i32 {
        match self {
            Self::Nan => -1,
            Self::Infinity => -2,
            Self::Zero => -3,
            Self::Different => -4,
            Self::Errno => -5,
        }
    }

    pub(super) fn of_code(code: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.code() == code as i32 && code < 0.0)
    }

    /// The name of the class in texts.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Nan => "wrong NaN",
            Self::Infinity => "wrong infinity",
            Self::Zero => "wrong sign of zero",
            Self::Different => "other bits",
            Self::Errno => "wrong errno",
        }
    }
}

/// The outcome of a comparison with the reference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Compared {
    /// The error in the chosen unit: ulps of the exact value, the absolute error, the relative error, or a multiple of
    /// the function's estimate.
    Ulps(f64),
    /// A difference that has no size.
    Wrong(Class),
}

/// A result of the function compared with the exact value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exact {
    /// The comparison.
    pub compared: Compared,
    /// The exact value, rounded to the type of the result; raw bits.
    pub rounded: u64,
    /// The exact value in decimal, with more digits than the type has.
    pub text: String,
    /// The absolute error; `None` if one of the values is NaN, or the error exceeds the largest double.
    pub absolute: Option<f64>,
    /// The relative error; `None` if it is not finite.
    pub relative: Option<f64>,
}

/// Options of the search.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seed of the pseudo-random generator.
    pub seed: u64,
    /// Wall time limit of the search.
    pub max_time: Duration,
    /// CPU time limit of the search.
    pub max_cpu: Duration,
    /// Evaluation limit of the search.
    pub max_evals: u64,
    /// Every difference of bits counts, and the search ends with the first one.
    pub exact: bool,
    /// Compare `errno`, too.
    pub errno: bool,
    /// Try every input of the box instead of searching.
    pub exhaust: bool,
    /// A baseline search that replaces the default one.
    pub control: Option<Control>,
    /// The peaks that an earlier run has stored, from which the search starts. `None` if results are not stored.
    pub kept: Option<Vec<Peak>>,
    /// Number of inputs that an earlier exhaustive search has already tried, counted from the first one.
    pub tried: u64,
}

/// One input and its error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    /// The input.
    pub bytes: Vec<u8>,
    /// The result, raw bits.
    pub result: u64,
    /// The function's own estimate of its error.
    #[serde(default)]
    pub estimate: Option<f64>,
    /// The value in `errno` after the call, if it is compared.
    #[serde(default)]
    pub errno: Option<Errno>,
    /// The error by MPFR if MPFR computes the reference, otherwise by the comparing function; as a multiple of the
    /// estimate if there is one.
    pub compared: Compared,
    /// The comparison by MPFR, if MPFR computes the reference.
    pub exact: Option<Exact>,
    /// The result of a reference that MPFR does not compute, rounded to the type of the result; raw bits.
    #[serde(default)]
    pub of_reference: Option<u64>,
    /// Evaluations before this input was found.
    pub evaluations: u64,
    /// CPU time before this input was found, in seconds.
    pub cpu: f64,
    /// The branches of the function that the input covers; only for entries of [`Answer::regions`].
    pub covers: Vec<u32>,
}

/// The result of the search.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Answer {
    /// Inputs with increasing errors; the last one is the worst.
    pub found: Vec<Found>,
    /// Inputs whose difference has no size: at most one for each class and combination of binades.
    pub wrong: Vec<Found>,
    /// The input with the largest error for each set of branches, in descending order of the error.
    pub regions: Vec<Found>,
    /// The largest error of each region, if it is above 0, in the order of the regions' ends. A region is a part of the
    /// domain of one argument, or a box of several; its ends are positions on the ULP lines of the arguments.
    pub peaks: Vec<Peak>,
    /// Counters of all runs and processes.
    #[serde(flatten)]
    pub counts: Counts,
    /// Number of inputs of the box that were tried by exhaustive search, counted from the first one.
    #[serde(default)]
    pub tried: u64,
    /// For a core: bounds of the error over the box of `:pre`, or the reason why there are none.
    #[serde(skip)]
    pub bound: Option<Result<Bound, String>>,
    /// The contributions of roundings to the worst error, if they are known.
    #[serde(skip)]
    pub sources: Option<Sources>,
    /// For an output directory: the seeds whose runs are merged here.
    #[serde(skip)]
    pub seeds: Vec<u64>,
}

/// Upper bounds of the error over the box of `:pre`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// Bound of the absolute error.
    pub absolute: f64,
    /// Bound in ulps; `None` near a zero of the function.
    pub ulp: Option<f64>,
}

/// Counters of a search, including those of the earlier runs and processes that it continues.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Evaluations.
    pub evaluations: u64,
    /// Evaluations in which the reference faulted.
    pub reference_faults: u64,
    /// Evaluations in which the function faulted.
    pub faults: u64,
    /// Evaluations in which the reference was a number.
    pub compared: u64,
    /// CPU time in seconds.
    pub cpu: f64,
    /// Wall time in seconds, set at the end of a run.
    pub seconds: f64,
    /// Number of processes that function or reference ended.
    pub deaths: u64,
}

impl Counts {
    /// Adds the counters of another run.
    pub(crate) fn add(&mut self, other: Self) {
        self.evaluations += other.evaluations;
        self.reference_faults += other.reference_faults;
        self.faults += other.faults;
        self.compared += other.compared;
        self.cpu += other.cpu;
        self.seconds += other.seconds;
        self.deaths += other.deaths;
    }
}
