//! Follows pointers that a function passes to functions of other translation units. The compiler pass sees one unit,
//! and records which functions a parameter is passed to; here all units of the target are loaded. A library that is not
//! instrumented is assumed to read the pointee.

use penfuzz_abi as abi;

/// Does the function, or a function that it passes the pointer to, read the pointee of the parameter before writing it?
pub(super) fn is_read(p: &abi::Param) -> bool {
    let mut seen = Vec::new();
    is_read_by(p, &mut seen)
}

fn is_read_by(p: &abi::Param, seen: &mut Vec<*const abi::Param>) -> bool {
    if p.reads != 0 {
        return true;
    }
    let this = core::ptr::from_ref(p);
    if seen.contains(&this) {
        return false;
    }
    seen.push(this);
    let mut first = slice(p.passed, p.n_passed).iter().filter(|to| to.is_first != 0);
    first.any(|to| {
        // SAFETY: null, or a record of the loaded file, which stays loaded.
        let Some(function) = (unsafe { to.function.as_ref() }) else { return true };
        let mut its = slice(function.params, function.n_params).iter();
        its.find(|p| p.argument == to.argument && p.pointer != 0).is_some_and(|next| is_read_by(next, seen))
    })
}

fn slice<T>(first: *const T, n: u32) -> &'static [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: an array of the loaded file with its length.
    unsafe { core::slice::from_raw_parts(first, n as usize) }
}
