//! The names of the files and directories of a campaign in its output directory.

use penfuzz_system::files::lock::LOCK;

/// What a campaign must remember besides its inputs.
pub const STATE: &str = "state.json";

/// The directories of inputs.
pub const DIRECTORIES: [&str; 4] = ["queue", "pending", "crashes", "hangs"];

/// The directories of inputs that crash or hang.
pub const FAULTS: [&str; 2] = ["crashes", "hangs"];

/// The name that a damaged [`STATE`] gets.
pub const STATE_ASIDE: &str = "state.json.unreadable";

/// Where files go that are no inputs, under the name of their directory.
pub const ASIDE: &str = "set-aside";

/// The directory of the emitted tests.
pub const TESTS: &str = "tests";

/// All other files that a campaign makes in its output directory.
pub const FILES: [&str; 12] = [
    LOCK,
    STATE,
    STATE_ASIDE,
    "campaign.json",
    "status.json",
    "report.json",
    "report.html",
    "coverage.lcov",
    "coverage.xml",
    "fuzzer_setup",
    "fuzzer_stats",
    "plot_data",
];
