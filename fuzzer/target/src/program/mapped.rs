//! Memory-mapped files, for files of which only a part is read. Several steps at the start of a campaign read symbols
//! and sections of a target, which may have 60 MB, most of it debug information. To copy the file in each step would
//! take longer than the steps.

use std::{fs::File, io, ops::Deref, os::fd::AsRawFd, path::Path, ptr, slice};

/// The bytes of a file, mapped into memory: only pages that are accessed are read. The file must not be truncated while
/// it is mapped; the same holds for a loaded file.
#[derive(Debug)]
pub struct MappedFile {
    at: *mut libc::c_void,
    size: usize,
}

impl MappedFile {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// Those of the system; also for an empty file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let size = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // SAFETY: a new private mapping at an address of the system's choice.
        let at = unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { at, size }) }
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `size` bytes are mapped at `at` as long as this lives, and nothing in this process writes to them.
        unsafe { slice::from_raw_parts(self.at.cast(), self.size) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and no slice of it outlives the value.
        unsafe { libc::munmap(self.at, self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_mapped_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let content: Vec<u8> = (0..10_000_u32).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &content).unwrap();
        assert_eq!(*MappedFile::open(&path).unwrap(), content[..]);
        std::fs::write(&path, []).unwrap();
        for none in [path, dir.path().join("none"), dir.path().to_path_buf()] {
            assert!(MappedFile::open(&none).is_err());
        }
    }
}
