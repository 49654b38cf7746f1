//! What a report claims holds outside penfuzz.

#[path = "truth/ci.rs"]
mod ci;
