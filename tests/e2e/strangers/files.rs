//! Files that are no regular files, or endless, or huge.
