//! The names of the files and directories of a campaign in its output directory.

use penfuzz_system::files::lock::LOCK;
use penfuzz_target::recorded::PRECONDITIONS;

/// The file of the state that cannot be recomputed from the inputs.
pub const STATE: &str = "state.json";

/// The directories of inputs.
pub const DIRECTORIES: [&str; 4] = ["queue", "pending", "crashes", "hangs"];

/// The directories of inputs that crash or hang.
pub const FAULTS: [&str; 2] = ["crashes", "hangs"];

/// The new name of a damaged [`STATE`].
pub const STATE_ASIDE: &str = "state.json.unreadable";

/// The directory for files that are not inputs, below the name of the directory that they were found in.
pub const ASIDE: &str = "set-aside";

/// The directory of the emitted tests.
pub const TESTS: &str = "tests";

/// All other files that a campaign creates in its output directory.
pub const FILES: [&str; 13] = [
    LOCK,
    STATE,
    STATE_ASIDE,
    "campaign.json",
    PRECONDITIONS,
    "status.json",
    "report.json",
    "report.html",
    "coverage.lcov",
    "coverage.xml",
    "fuzzer_setup",
    "fuzzer_stats",
    "plot_data",
];
