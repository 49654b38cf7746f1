//! What a function takes besides numbers: structures, arrays, strings, and what they lead to, made from the bytes of an input.
//!
//! An input stays a sequence of bytes, and its numbers a [`Layout`](penfuzz_mutators::view::Layout): first those that are passed by
//! value, then those of each *block* of memory that a pointer leads to. A [`Model`] describes where each number lies in memory. Before
//! a call, the blocks are written anew ([`penfuzz_executor`] has their memory, with guard pages behind it), and the function gets a
//! *frame*: the arguments as they lie in memory, with the addresses of the blocks.
//!
//! | file | holds |
//! | --- | --- |
//! | `types` | the types of parameters, read from the function table |
//! | `model` | blocks, and what lies where in them |
//! | `calls` | from a signature to its model: the calls of an evaluation |
//! | `build` | the same: the memory of one call |
//! | `makers` | functions that make an object, and what the user says about calls |
//! | `draft` | blocks that are being made |
//! | `declared` | the sizes in the text of a declaration |
//! | `macros` | the constants in such a text |
//! | `library` | the classes of the C++ library whose objects are made |
//! | `paths` | how C writes what lies where |
//! | `describe` | a model in words |
//! | `decoding` | a model as data, for programs that decode inputs by themselves |
//! | `extended` | a `long double` of x86 in an input |
//! | `image` | writes a block from an input |
//! | `sizes` | how many elements a block has, and how that is known |
//! | `probe` | finds sizes out by calls |
//! | `said`, `range` | what the user says about arguments |
//! | `fit` | finds the integer that a size follows |
//! | `voids` | what `void *` point to |

mod build;
pub mod calls;
mod declared;
mod decoding;
mod describe;
mod draft;
pub mod extended;
pub mod fit;
mod image;
pub mod library;
mod macros;
mod makers;
pub mod model;
pub mod paths;
mod range;
mod said;
pub mod sizes;
pub mod types;
pub(crate) mod voids;

pub use calls::{build, is_of_globals};
pub use decoding::{Decoding, Memory};
pub use describe::Described;
pub use makers::{Calls, MOST_CALLS, initialisers, set_calls};
pub use model::{
    Block, Call, Converted, Copy, File, Form, Handle, Model, NO_FILE, Nondet, Owner, PROGRAM, Pointer, Sequence, Stub,
    Target, Variable,
};
pub use said::{Said, Statement, say};
pub use sizes::{Origin, Rule, Size, Sizes};
pub(crate) use types::numbers_behind;
