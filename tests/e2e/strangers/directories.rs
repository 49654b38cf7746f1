//! Directories that other people own or fill.
