//! What penfuzz claims about a program holds outside penfuzz, too.

#[path = "truth/conditions.rs"]
mod conditions;
