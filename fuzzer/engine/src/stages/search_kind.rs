//! The searches that a campaign can make.

/// The kinds of search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchKind {
    /// Minimizes each uncovered branch's own distance by basinhopping, alternating with havoc.
    Targeted,
    /// `CoverMe`'s Algorithm 1 as written: one representing function, squared distances, Powell.
    Paper,
    /// `CoverMe`'s public program: linear, amplified distances, long steps, start points of Hypothesis.
    PaperAsRun,
    /// Special values and their neighbours, bit patterns, small exponents, related arguments.
    Structured,
    /// Uniform bit patterns.
    Random,
    /// Uniform values over the whole range of each type.
    Uniform,
    /// Stock `LibAFL` mutators only.
    Havoc,
}

impl SearchKind {
    /// The name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Targeted => "targeted",
            Self::Paper => "paper",
            Self::PaperAsRun => "paper-as-run",
            Self::Structured => "structured",
            Self::Random => "random",
            Self::Uniform => "uniform",
            Self::Havoc => "havoc",
        }
    }
}
