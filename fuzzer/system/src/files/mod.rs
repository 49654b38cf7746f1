//! Opens files safely that other programs or users may have created.
//!
//! A file given to penfuzz may be a pipe without a writer, an endless device, or larger than the memory. An output
//! directory may hold symbolic links to files of the user. A plain `read` then blocks for ever or fills the memory, and
//! a plain `create` overwrites the target of the link. Therefore every read of a file that this process has not just
//! written uses [`foreign`]. Every file or directory in an output directory is created by [`own`] or
//! [`crate::files::atomic`].

pub mod atomic;
pub mod destination;
pub mod foreign;
pub mod inputs;
pub mod lock;
pub mod own;
pub mod reserve;
mod tidy;
mod unfit;
pub mod walk;

pub use tidy::tidy;
pub use unfit::{Unfit, unfit};
