//! What penfuzz claims must hold outside penfuzz: small programs, each of which was once judged wrongly.

#[path = "truth/arguments.rs"]
mod arguments;
