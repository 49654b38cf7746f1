//! The program under test: from a source file to a loaded target file and the function to call in it.

pub mod catalog;
pub mod decision;
pub mod edges;
pub mod environment;
pub mod function;
pub mod globals;
mod heap;
pub mod kind;
pub mod load;
pub mod mapped;
pub mod modules;
pub mod names;
mod open;
pub mod outside;
mod passed;
pub mod program_constants;
pub mod rounding;
pub mod script;
pub mod select;
mod site;
pub mod state;
mod stateless;
pub mod symbols;
pub mod undefined;
pub mod units;

pub use decision::{Decision, Vector};
pub use edges::Edges;
pub use function::{Function, Parameter};
pub use load::Target;
pub use rounding::Rounding;
pub use site::Site;
