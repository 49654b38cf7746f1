//! What penfuzz claims is so outside penfuzz: each evaluation is as the first one, the emitted tests take what the report says, and the
//! files for other programs are what their formats ask for.

#[path = "truth/ci.rs"]
mod ci;
#[path = "truth/state.rs"]
mod state;
