//! What penfuzz claims must hold outside penfuzz: small programs, each of which was once judged wrongly.

#[path = "truth/arguments.rs"]
mod arguments;
#[path = "truth/long.rs"]
mod long;
#[path = "truth/names.rs"]
mod names;
#[path = "truth/outside.rs"]
mod outside;
