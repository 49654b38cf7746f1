//! End-to-end tests of the built programs; see `tests/`.
