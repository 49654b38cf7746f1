//! Shared libraries that a target calls. Calls are followed within the target file only, so code of such a library is
//! never in scope.

use std::{collections::BTreeSet, ffi::CString, os::unix::ffi::OsStrExt, path::Path};

use object::{Object, ObjectSymbol, SymbolKind};

use super::{Target, mapped::MappedFile, modules::module_of};

/// Libraries of the compiler and the C library, which users do not expect to be searched: file names up to the first
/// dot after `.so`.
const SYSTEM_LIBRARIES: [&str; 13] = [
    "libc.so",
    "libm.so",
    "libmvec.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "libresolv.so",
    "libstdc++.so",
    "libc++.so",
    "libgcc_s.so",
    "ld-linux-x86-64.so",
    "ld-linux-aarch64.so",
    "linux-vdso.so",
];

/// Returns the file names of the shared libraries that define a function to which the target file refers, in
/// alphabetical order, without those of the system. It is unknown which functions of the target refer to them. Empty if
/// the file cannot be read.
#[must_use]
pub fn libraries(target: &Target) -> Vec<String> {
    let Some(names) = undefined_functions(&target.path) else { return Vec::new() };
    let Ok(path) = super::kind::absolute(&target.path) else { return Vec::new() };
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return Vec::new() };
    // SAFETY: a C string; the file is loaded already, so no code runs.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return Vec::new();
    }
    let own = target.base();
    let home = |name: &CString| {
        // SAFETY: an open handle and a C string.
        let address = unsafe { libc::dlsym(handle, name.as_ptr()) } as u64;
        module_of(address).filter(|(base, _)| *base != own).map(|(_, file)| file)
    };
    let found: BTreeSet<String> = names.iter().filter_map(home).filter_map(|file| file_name(file.as_ref())).collect();
    // SAFETY: opened above; the target stays loaded by its first handle.
    unsafe { libc::dlclose(handle) };
    found.into_iter().filter(|name| !is_system_library(name)).collect()
}

/// The type of `operator delete`.
pub type Delete = unsafe extern "C" fn(*mut core::ffi::c_void);

impl Target {
    /// The `operator delete` of the target; `None` if the target contains no C++.
    #[must_use]
    pub fn operator_delete(&self) -> Option<Delete> {
        let path = super::kind::absolute(&self.path).ok()?;
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: a C string; the file is loaded already, so no code runs.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            return None;
        }
        // SAFETY: an open handle and a C string.
        let address = unsafe { libc::dlsym(handle, c"_ZdlPv".as_ptr()) };
        // SAFETY: opened above; the target stays loaded by its first handle.
        unsafe { libc::dlclose(handle) };
        // SAFETY: a function with this name has this type in every program; null is no function.
        unsafe { core::mem::transmute::<*mut core::ffi::c_void, Option<Delete>>(address) }
    }
}

/// Returns the functions to which a file refers without defining them.
fn undefined_functions(path: &Path) -> Option<Vec<CString>> {
    let bytes = MappedFile::open(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let is_function = |kind| matches!(kind, SymbolKind::Text | SymbolKind::Unknown);
    let undefined = file.dynamic_symbols().filter(|s| s.is_undefined() && is_function(s.kind()));
    Some(undefined.filter_map(|s| CString::new(s.name_bytes().ok()?).ok()).filter(|n| n.as_c_str() != c"").collect())
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

fn is_system_library(name: &str) -> bool {
    SYSTEM_LIBRARIES
        .iter()
        .any(|system| name.strip_prefix(system).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_libraries_are_recognized_by_name() {
        for name in ["libc.so.6", "libm.so.6", "libstdc++.so.6.0.30", "ld-linux-x86-64.so.2", "libgcc_s.so.1"] {
            assert!(is_system_library(name), "{name}");
        }
        for name in ["libh3.so.1", "libcjson.so.1", "libmpfr.so.6", "libc.something"] {
            assert!(!is_system_library(name), "{name}");
        }
    }
}
