//! Why a file is not opened though the system would open it.

use std::{
    fs::FileType,
    io::{self, ErrorKind},
    os::unix::fs::FileTypeExt,
};

/// A file that is not read or written, as a clause that follows its name and what was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A directory where a file must be.
    #[error("it is a directory")]
    Directory,
    /// Neither a regular file nor a directory: what it is.
    #[error("it is {0}, not a regular file")]
    Irregular(&'static str),
    /// A link where only a file or directory of our own may be.
    #[error("it is a symbolic link, which penfuzz does not follow there; remove it")]
    Link,
    /// A file where a directory must be.
    #[error("it is no directory")]
    NoDirectory,
    /// More bytes than this.
    #[error("it is longer than {}", size(*.0))]
    TooLong(u64),
    /// More bytes than this in all files together.
    #[error("the files together are longer than {}", size(*.0))]
    TooMuch(u64),
    /// More entries in a directory than this.
    #[error("there are more than {0} files")]
    TooMany(usize),
    /// More directories within one another than this.
    #[error("there are more than {0} directories within one another")]
    TooDeep(usize),
    /// Bytes that are no UTF-8.
    #[error("it is no text in UTF-8")]
    NoText,
}

impl Unfit {
    /// For a file of this type that should be a regular one.
    pub(super) fn of(found: FileType) -> Self {
        if found.is_dir() {
            return Self::Directory;
        }
        let kinds = [
            (found.is_fifo(), "a pipe"),
            (found.is_socket(), "a socket"),
            (found.is_char_device() || found.is_block_device(), "a device"),
        ];
        Self::Irregular(kinds.iter().find(|(is, _)| *is).map_or("something else", |(_, name)| name))
    }
}

impl From<Unfit> for io::Error {
    fn from(unfit: Unfit) -> Self {
        let kind = match unfit {
            Unfit::TooLong(_) | Unfit::TooMuch(_) | Unfit::TooMany(_) | Unfit::TooDeep(_) => ErrorKind::FileTooLarge,
            Unfit::NoText => ErrorKind::InvalidData,
            Unfit::Directory => ErrorKind::IsADirectory,
            Unfit::Irregular(_) | Unfit::Link | Unfit::NoDirectory => ErrorKind::InvalidInput,
        };
        Self::new(kind, unfit)
    }
}

/// The reason why a file was not opened, if it was not the system that refused it.
#[must_use]
pub fn unfit(e: &io::Error) -> Option<Unfit> {
    e.get_ref()?.downcast_ref::<Unfit>().copied()
}

/// Bytes for people: `1 MiB`, or the number if it is no whole one.
fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 && bytes.trailing_zeros() >= 20 {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{bytes} bytes")
    }
}
