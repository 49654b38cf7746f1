//! What a function takes besides numbers, and what the user says about it.

#[path = "inputs/assumed.rs"]
mod assumed;
#[path = "inputs/said.rs"]
mod said;
