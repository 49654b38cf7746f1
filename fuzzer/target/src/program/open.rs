//! Opens a target file with the loader, and reads its ELF format, before its tables are read.

use core::ffi::{CStr, c_void};
use std::{ffi::CString, os::unix::ffi::OsStrExt, path::Path};

use object::{Object, ObjectSection, ObjectSymbol, SectionKind};
use penfuzz_abi as abi;
use penfuzz_error::{Error, at};

use super::mapped::MappedFile;

/// Returns the tables in a loaded file; null if it has none. A version script with `local: *` hides them from the
/// loader. The file's own symbol table still has them, unless `strip` removed it.
#[must_use]
pub fn tables(handle: *mut c_void, path: &Path) -> *const abi::Tables {
    // SAFETY: `handle` is open; the name is a C string.
    let exported = unsafe { libc::dlsym(handle, abi::TABLES_SYMBOL.as_ptr()) };
    if !exported.is_null() {
        return exported.cast();
    }
    let Some(offset) = address_in(path) else { return core::ptr::null() };
    let mut map: *const LinkMap = core::ptr::null();
    // SAFETY: an open handle, and room for the pointer that the request writes.
    let failed = unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) } != 0;
    if failed || map.is_null() {
        return core::ptr::null();
    }
    // SAFETY: the loader's own entry of the file, which begins with this member.
    let base = unsafe { (*map).base };
    base.wrapping_add(offset) as *const abi::Tables
}

/// The beginning of glibc's `struct link_map`.
#[repr(C)]
struct LinkMap {
    /// The difference between addresses in memory and in the file.
    base: usize,
}

/// The address of the tables in the file.
fn address_in(path: &Path) -> Option<usize> {
    let bytes = MappedFile::open(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let name = abi::TABLES_SYMBOL.to_bytes();
    let found = file.symbols().find(|s| s.is_definition() && s.name_bytes().is_ok_and(|n| n == name))?;
    usize::try_from(found.address()).ok()
}

/// Does the file read the floating-point exception flags, or change the environment of later computations? Both require
/// a function of the C library, or an instruction that sets the control word of SSE.
pub fn uses_environment(path: &Path) -> bool {
    const READ_OR_CHANGE: [&[u8]; 11] = [
        b"fetestexcept",
        b"fegetexceptflag",
        b"fegetenv",
        b"feholdexcept",
        b"feupdateenv",
        b"fesetround",
        b"fesetenv",
        b"fesetmode",
        b"feenableexcept",
        b"fedisableexcept",
        b"__setfpucw",
    ];
    let Ok(bytes) = MappedFile::open(path) else { return false };
    let Ok(file) = object::File::parse(&*bytes) else { return false };
    file.dynamic_symbols().any(|s| s.is_undefined() && s.name_bytes().is_ok_and(|n| READ_OR_CHANGE.contains(&n)))
        || file.sections().filter(|s| s.kind() == SectionKind::Text).any(|s| s.data().is_ok_and(sets_control_word))
}

/// Does the code contain `ldmxcsr` from memory, or its AVX encoding? False positives are possible and only cost time.
fn sets_control_word(code: &[u8]) -> bool {
    let is_operand = |modrm: u8| modrm >> 3 & 7 == 2 && modrm >> 6 != 3;
    cfg!(target_arch = "x86_64")
        && code.windows(4).any(|w| match *w {
            [0x0f, 0xae, modrm, _] | [0xc5, 0xf8, 0xae, modrm] => is_operand(modrm),
            _ => false,
        })
}

/// Loads a file. This runs its constructors.
///
/// # Errors
/// If the loader refuses it.
pub fn open(path: &Path) -> Result<*mut c_void, Error> {
    let absolute = super::kind::absolute(path)?;
    let name = CString::new(absolute.as_os_str().as_bytes())
        .map_err(|_| at(path, "has a zero byte in its name and cannot be loaded"))?;
    let own = std::process::id();
    // SAFETY: loading runs the target's constructors, which the user requested.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if std::process::id() != own {
        // A constructor has forked, and this is the child: it must not do the same work as its parent.
        // SAFETY: `_exit` takes no pointers and runs no destructors of this program.
        unsafe { libc::_exit(0) };
    }
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: dlerror returns a C string after a failure.
    let reason = unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned();
    let reason = reason.strip_prefix(&format!("{}: ", absolute.display())).unwrap_or(&reason);
    let hint = if reason.contains("position-independent executable") || reason.contains("only ET_DYN") {
        "; it is an ordinary program: link it with pen-cc"
    } else {
        ""
    };
    Err(at(path, format!("cannot be loaded: {reason}{hint}")))
}
