//! What functions take besides numbers.

#[path = "inputs/made.rs"]
mod made;
