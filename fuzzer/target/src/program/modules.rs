//! The files that the dynamic linker has loaded into this process, by the addresses that they contain.
//!
//! `dladdr` answers the same questions, but also searches all exported symbols of the file for the nearest one. It took
//! 7 % of the processor time of the end-to-end tests, because it is asked about each frame of each crash.

use core::ffi::{CStr, c_void};
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// Returns the base address of the loaded file that contains an address: offsets in the file's address space count from
/// there.
#[must_use]
pub fn base_of(address: u64) -> Option<u64> {
    find(address, |base, _| base)
}

/// Returns the base address and the path of the loaded file that contains an address.
#[must_use]
pub fn module_of(address: u64) -> Option<(u64, PathBuf)> {
    let (base, path) = find(address, |base, path| (base, path.to_owned()))?;
    // The dynamic linker has no name for the program itself.
    let is_program = path.as_os_str().is_empty();
    Some((base, if is_program { std::env::current_exe().unwrap_or(path) } else { path }))
}

/// Returns the exported function that contains an address.
#[must_use]
pub fn symbol_of(address: u64) -> Option<String> {
    // SAFETY: dladdr only looks the address up; the structure is plain data.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(address as *const c_void, &raw mut info) == 0 || info.dli_sname.is_null() {
            return None;
        }
        Some(CStr::from_ptr(info.dli_sname).to_string_lossy().into_owned())
    }
}

/// Returns what `describe` makes of the base and the path of the file that contains `address`.
fn find<T>(address: u64, describe: fn(u64, &Path) -> T) -> Option<T> {
    struct Search<T> {
        address: u64,
        describe: fn(u64, &Path) -> T,
        found: Option<T>,
    }
    unsafe extern "C" fn look<T>(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> i32 {
        // SAFETY: the dynamic linker describes a loaded file, whose headers and name stay valid during the call;
        // `search` is the pointer from the call below.
        unsafe {
            let (info, search) = (&*info, &mut *search.cast::<Search<T>>());
            let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let loaded = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
            let offset = search.address.wrapping_sub(info.dlpi_addr);
            if !loaded().any(|h| (h.p_vaddr..h.p_vaddr + h.p_memsz).contains(&offset)) {
                return 0;
            }
            // A program at fixed addresses is not moved, but its first segment does not start at 0.
            let first = loaded().map(|h| h.p_vaddr & !(h.p_align.max(1) - 1)).min().unwrap_or(0);
            let name = if info.dlpi_name.is_null() { &[] } else { CStr::from_ptr(info.dlpi_name).to_bytes() };
            search.found = Some((search.describe)(info.dlpi_addr + first, Path::new(OsStr::from_bytes(name))));
            1
        }
    }
    let mut search = Search { address, describe, found: None };
    // SAFETY: `look` gets `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look::<T>), (&raw mut search).cast()) };
    search.found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The base and the path of the file that contains an address, as the dynamic linker's own function gives them.
    fn by_dladdr(address: u64) -> (u64, PathBuf) {
        // SAFETY: as in `symbol_of`. The callers pass addresses of loaded files, so `dladdr` sets the name.
        unsafe {
            let mut info: libc::Dl_info = core::mem::zeroed();
            assert_ne!(libc::dladdr(address as *const c_void, &raw mut info), 0);
            let name = CStr::from_ptr(info.dli_fname).to_bytes();
            (info.dli_fbase as u64, PathBuf::from(OsStr::from_bytes(name)))
        }
    }

    #[test]
    fn files_are_those_of_dladdr() {
        let in_libc = libc::getppid as *const () as u64;
        assert_eq!(module_of(in_libc), Some(by_dladdr(in_libc)));
        let in_program = files_are_those_of_dladdr as *const () as u64;
        let program = std::env::current_exe().expect("the path of the tests");
        assert_eq!(module_of(in_program), Some((by_dladdr(in_program).0, program)));
        assert_eq!(base_of(in_program), Some(by_dladdr(in_program).0));
    }

    #[test]
    fn addresses_outside_of_files_have_no_file() {
        let on_heap = Box::new(0);
        assert_eq!(base_of(&raw const *on_heap as u64), None);
        assert_eq!(base_of(0), None);
        assert_eq!(base_of(u64::MAX), None);
    }
}
