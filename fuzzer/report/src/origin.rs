//! Where a report comes from.

use serde::{Deserialize, Serialize};

/// What made a report, and when. The hashes of the sources are in
/// [`Report::source_hashes`](crate::Report::source_hashes), the options of the compiler in
/// [`Report::flags`](crate::Report::flags) and [`Report::compilations`](crate::Report::compilations).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The program with its version: `penfuzz 0.1.0`.
    pub program: String,
    /// The compiler that built the target: `clang 22`.
    pub compiler: String,
    /// The command line.
    pub command: Vec<String>,
    /// The commit of the git repository that contains the first source; `None` outside of repositories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Date and time of the report in UTC, by RFC 3339: `2026-11-30T12:00:00Z`.
    pub date: String,
}
