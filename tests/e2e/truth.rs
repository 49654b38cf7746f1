//! What penfuzz claims is so in a fresh process: each evaluation is as the first one, and the emitted tests take what the report says.

#[path = "truth/state.rs"]
mod state;
