//! The reasons for which penfuzz refuses a file that the system would open.

use std::{
    fs::FileType,
    io::{self, ErrorKind},
    os::unix::fs::FileTypeExt,
};

/// Why a file is not read or written, as a clause that follows its name and the attempted operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A directory where a file is required.
    #[error("it is a directory")]
    Directory,
    /// Neither a regular file nor a directory. Holds the name of its type.
    #[error("it is {0}, not a regular file")]
    Irregular(&'static str),
    /// A link where only a file or directory created by penfuzz is allowed.
    #[error("it is a symbolic link, which penfuzz does not follow there; remove it")]
    Link,
    /// A file where a directory is required.
    #[error("it is not a directory")]
    NoDirectory,
    /// More bytes than this limit.
    #[error("it is longer than {}", size(*.0))]
    TooLong(u64),
    /// More bytes than this limit in all files together.
    #[error("the files together are longer than {}", size(*.0))]
    TooMuch(u64),
    /// More entries in a directory than this limit.
    #[error("there are more than {0} files")]
    TooMany(usize),
    /// More nested directories than this limit.
    #[error("there are more than {0} nested directories")]
    TooDeep(usize),
    /// Bytes that are not valid UTF-8.
    #[error("it is not UTF-8 text")]
    NoText,
}

impl Unfit {
    /// The reason for a file of this type where a regular file is required.
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

/// The reason why penfuzz refused a file; `None` if the error came from the system.
#[must_use]
pub fn unfit(e: &io::Error) -> Option<Unfit> {
    e.get_ref()?.downcast_ref::<Unfit>().copied()
}

/// Formats a size: `1 MiB`, or the number of bytes if it is not a whole number of MiB.
fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 && bytes.trailing_zeros() >= 20 {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{bytes} bytes")
    }
}
