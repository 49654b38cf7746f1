//! The output area of a call: the result and what parameters point to, in cells of 16 bytes.
//!
//! A function may write more than one value behind a pointer. What leaves the area must not reach memory of ours, so the
//! area ends where a page begins that faults when it is touched; the page before its first faults as well.

use core::ptr::NonNull;

use crate::error::Error;

/// Bytes of a cell.
pub const CELL: usize = size_of::<u128>();

/// Where the area lies if nothing else does: a fault behind it then has the same address in every process. Far from what
/// the system places by itself, and from the shadow memory of sanitizers.
const PREFERRED: usize = 0x2000_0000_0000;

/// Zeroed cells between two pages that cannot be touched.
#[derive(Debug)]
pub struct Cells {
    map: NonNull<libc::c_void>,
    mapped: usize,
    first: *mut u128,
    n: usize,
}

impl Cells {
    /// Room for `bytes` (a multiple of 16, at least one cell).
    ///
    /// # Errors
    /// When the system gives no memory.
    pub fn new(bytes: usize) -> Result<Self, Error> {
        let n = bytes.div_ceil(CELL).max(1);
        // SAFETY: asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let room = (n * CELL).next_multiple_of(page);
        let mapped = room + 2 * page;
        let (none, anonymous) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let place = core::ptr::without_provenance_mut(PREFERRED);
        // SAFETY: a new mapping; the place is a wish, which never takes memory from others.
        let map = unsafe { libc::mmap(place, mapped, none, anonymous, -1, 0) };
        let failed = || Error::new(format!("no memory for the {bytes} bytes that the function may write"));
        let map = NonNull::new(map).filter(|m| m.as_ptr() != libc::MAP_FAILED).ok_or_else(failed)?;
        // SAFETY: the pages between the first and the last are part of the mapping, as are the cells at their end.
        let (opened, first) = unsafe {
            let inside = map.as_ptr().byte_add(page);
            let opened = libc::mprotect(inside, room, libc::PROT_READ | libc::PROT_WRITE) == 0;
            (opened, inside.byte_add(room - n * CELL).cast())
        };
        let cells = Self { map, mapped, first, n };
        if opened { Ok(cells) } else { Err(failed()) }
    }

    /// For a call: good for the length of the area.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut u128 {
        self.first
    }

    /// The cells.
    #[must_use]
    pub fn as_slice(&self) -> &[u128] {
        // SAFETY: `first` points to `n` initialized cells of our mapping.
        unsafe { core::slice::from_raw_parts(self.first, self.n) }
    }
}

impl Drop for Cells {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone and nothing of it is used any more.
        unsafe { libc::munmap(self.map.as_ptr(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_ends_at_a_page() {
        let mut cells = Cells::new(48).expect("there is memory");
        assert_eq!(cells.as_slice(), [0; 3]);
        let end = cells.as_mut_ptr() as usize + 48;
        assert_eq!(end % 4096, 0, "the byte behind the area is the first of a page");
    }
}
