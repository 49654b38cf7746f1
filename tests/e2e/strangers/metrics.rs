//! Hostile clients of the metrics server.
