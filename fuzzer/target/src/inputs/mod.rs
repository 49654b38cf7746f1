//! Inputs of a function besides numbers: structures, arrays, strings, and the memory that they lead to, built from the
//! bytes of an input.
//!
//! An input remains a sequence of bytes, and a [`Layout`](penfuzz_mutators::view::Layout) describes its numbers: first
//! those that are passed by value, then those of each *block* of memory that a pointer leads to. A [`Model`] describes
//! the position of each number in memory. Before a call, the blocks are rewritten (`penfuzz-executor` holds their
//! memory, followed by guard pages). The function gets a *frame*: its arguments as they lie in memory, with the
//! addresses of the blocks.
//!
//! | file | holds |
//! | --- | --- |
//! | `types` | the types of parameters, read from the function table |
//! | `model` | blocks, and the positions of numbers and pointers in them |
//! | `calls` | builds the model from a signature: the calls of an evaluation |
//! | `build` | the same for the memory of one call |
//! | `constructors` | constructors of objects, and the options for calls |
//! | `block_builder` | blocks under construction |
//! | `declared` | array sizes in the text of a declaration |
//! | `macros` | the values of macros in such a text |
//! | `library` | the classes of the C++ library whose objects can be built |
//! | `paths` | paths of numbers and blocks in C notation |
//! | `describe` | a textual description of a model |
//! | `decoding` | a model as data, for programs that decode inputs by themselves |
//! | `extended` | a `long double` of x86 in an input |
//! | `image` | writes a block from an input |
//! | `buffers` | which pointers lead into one buffer |
//! | `sizes` | the number of elements of a block, and how it is known |
//! | `constraints`, `range` | constraints on arguments |
//! | `fit` | finds the integer that a size depends on |
//! | `voids` | the types that `void *` point to |

mod block_builder;
mod buffers;
mod build;
pub mod calls;
mod constraints;
mod constructors;
mod declared;
mod decoding;
mod describe;
pub mod extended;
pub mod fit;
mod image;
pub mod library;
mod macros;
pub mod model;
pub mod paths;
mod planned;
mod pointer;
mod range;
pub mod sizes;
pub mod types;
pub(crate) mod voids;

pub use calls::{build, is_of_globals};
pub use constraints::{ArgConstraint, ArgConstraints, apply_constraints};
pub(crate) use constructors::constructors_of;
pub use constructors::{Calls, MOST_CALLS, initialisers, set_calls};
pub use decoding::{Decoding, Memory};
pub use describe::Described;
pub use model::{
    Block, Call, ConstructedObject, Converted, Copy, File, Form, Model, NO_FILE, Nondet, Owner, PROGRAM, Sequence,
    Stub, Variable,
};
pub use pointer::{Alternative, Pointer, Target, Within};
pub use sizes::{Origin, Rule, Size, Sizes};
pub(crate) use types::{enumerator_of, enumerators_of, numbers_behind};
