//! Reading files whose names or contents are a stranger's: a FIFO or a terminal is not waited for, and an endless file does
//! not fill the memory.

use std::{
    fs::OpenOptions,
    io::{Error, ErrorKind, Read, Result},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The content of a regular file of at most `most` bytes. Symbolic links are followed.
///
/// # Errors
/// When it is no regular file, is larger, or cannot be read.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let other = |what: &str| Error::new(ErrorKind::InvalidData, what);
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(other("it is too large"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_bounded_size_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, [7; 10]).unwrap();
        assert_eq!(read(&file, 10).unwrap(), [7; 10]);
        assert_eq!(read(&file, 9).unwrap_err().to_string(), "it is too large");
        assert_eq!(read(Path::new("/dev/zero"), 9).unwrap_err().to_string(), "it is no regular file");
        assert!(read(dir.path(), 9).is_err() && read(&dir.path().join("none"), 9).is_err());
    }

    #[test]
    fn a_fifo_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        let name = std::ffi::CString::new(fifo.to_str().unwrap()).unwrap();
        // SAFETY: a system call with the address of a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(read(&fifo, 9).is_err());
    }
}
