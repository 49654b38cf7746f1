//! Targets that attack the process that runs them.
