//! Recorded calls: the arguments that a program passes to a function when it runs its own tests.
//!
//! A recorded call has the arguments, and the memory that they lead to. It does not depend on an input model:
//! [`input_of`] converts it to an input of the model that a campaign uses.
//!
//! | file | holds |
//! | --- | --- |
//! | `calls` | a recorded call, and the files of a recording |
//! | `arguments` | reads arguments from registers, by the calling convention |
//! | `encode` | an input from arguments and memory |
//! | `needed` | the memory that a model needs for recorded calls |
//! | `preconditions` | conditions that hold for all recorded calls |
//! | `conditions_file` | the file of these conditions, which the user can edit |

mod arguments;
mod calls;
mod conditions_file;
mod encode;
mod needed;
mod preconditions;

use std::path::Path;

pub use arguments::{Registers, Signature};
pub use calls::{ADDRESSES, Bytes, CALLS, Origin, Piece, Places, RecordedCall, RecordedMemory, of_symbol, read};
pub use conditions_file::{PRECONDITIONS, Stated, merged, stated};
pub use encode::input_of;
pub use needed::extend_sizes;
pub use preconditions::{Precondition, UnknownForm, likely};

/// Whether a file in a directory of seeds belongs to a recording, and is no input.
#[must_use]
pub fn is_of_recording(file: &Path) -> bool {
    file.extension().is_some_and(|e| e == CALLS) || file.file_name().is_some_and(|name| name == PRECONDITIONS)
}
