//! Files of which only a part is read. The symbols and sections of a target are looked up in several steps when a campaign begins, and a
//! target may have 60 MB, most of it debug information: a copy for each step would take longer than the steps.

use std::{fs::File, io, ops::Deref, os::fd::AsRawFd, path::Path, ptr, slice};

/// The bytes of a file, mapped into memory: only the pages that are read cost time. The file must not get shorter as long as it is mapped,
/// as for one that is loaded.
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
        // SAFETY: the mapping is this one's own, and no slice of it outlives it.
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
