//! Semantics tests.
