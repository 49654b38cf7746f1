//! The names of the files and directories of a campaign in its output directory.

/// The lock file.
pub const LOCK: &str = ".lock";

/// What a campaign must remember besides its inputs.
pub const STATE: &str = "state.json";

/// The directories of inputs.
pub const DIRECTORIES: [&str; 4] = ["queue", "pending", "crashes", "hangs"];

/// The directories of inputs that crash or hang.
pub const FAULTS: [&str; 2] = ["crashes", "hangs"];

/// The files by which the directory of a campaign is recognised.
pub const CAMPAIGN_MARKS: [&str; 3] = [LOCK, STATE, "queue"];
