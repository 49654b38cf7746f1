//! How files are opened that somebody else may have put there.
//!
//! A file that is given to penfuzz may be a pipe that nobody writes to, a device without end, or larger than the memory; an output
//! directory may hold symbolic links to files of the user. A plain `read` then waits for ever or fills the memory, and a plain
//! `create` writes over what the link points to. So every read of a file that this process has not just written goes through
//! [`foreign`], and every file or directory that is made in an output directory goes through [`own`] or
//! [`crate::files::atomic`].

pub mod atomic;
pub mod destination;
pub mod foreign;
pub mod inputs;
pub mod lock;
pub mod own;
mod tidy;
mod unfit;
pub mod walk;

pub use tidy::tidy;
pub use unfit::{Unfit, unfit};
