//! Reads memory of this process that may not be there.

/// Size of the smallest page.
const PAGE: usize = 4096;

/// Reads bytes from an address, as many as there are up to the length of `into`. Returns their number. No other thread
/// may change the memory meanwhile.
#[must_use]
pub fn read(address: usize, into: &mut [u8]) -> usize {
    let mut done = 0;
    while done < into.len() {
        let at = address.wrapping_add(done);
        if !is_readable(at) {
            break;
        }
        let n = (PAGE - at % PAGE).min(into.len() - done);
        // SAFETY: the page at `at` is readable, and the bytes do not exceed it.
        unsafe { core::ptr::copy_nonoverlapping(at as *const u8, into[done..].as_mut_ptr(), n) };
        done += n;
    }
    done
}

/// Whether the page of an address is readable. The system reads a signal mask from there, and then rejects the request,
/// because no such operation on masks exists.
fn is_readable(address: usize) -> bool {
    let start = address / PAGE * PAGE;
    let (how, none, size) = (-1, core::ptr::null::<u8>(), 8);
    // SAFETY: the call has no effect; the address need not be valid.
    let result = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, start, none, size) };
    result != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_up_to_its_end() {
        let text = *b"some text";
        let mut into = [0; 4];
        assert_eq!((read(text.as_ptr() as usize, &mut into), &into), (4, b"some"));
        assert_eq!(read(16, &mut into), 0);
        // SAFETY: a new mapping, of which the second page is made inaccessible.
        let end = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let pages = libc::mmap(core::ptr::null_mut(), 2 * PAGE, libc::PROT_READ, flags, -1, 0);
            assert_eq!(libc::mprotect(pages.byte_add(PAGE), PAGE, libc::PROT_NONE), 0);
            pages as usize + PAGE
        };
        assert_eq!(read(end - 3, &mut into), 3);
        assert_eq!(read(end + 3, &mut into), 0);
    }
}
