//! Functions of shared libraries that pen-cc did not link. They are black boxes without branches: a C function of the
//! same name is compiled like a target and calls the symbol of the library. The symbol is looked up with `dlsym` in
//! that library, because linking by name would bind to the function of the library that penfuzz itself is linked with.

use core::ffi::CStr;
use std::{
    ffi::CString,
    io::Read,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use object::{Object, ObjectKind, ObjectSymbol};
use penfuzz_abi as abi;
use penfuzz_directory::replay::generated;
use penfuzz_error::{Error, at, failed};

use super::{libm, pair::REFERENCES};

/// C types of parameters and results.
const TYPES: [&str; 15] = [
    "double",
    "float",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "unsigned int",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "_Bool",
];

/// Returns whether the path is a shared library without the tables that pen-cc adds. A name without a directory that is
/// no existing file is a name for the loader, like libm.so.6.
#[must_use]
pub fn is_library(path: &Path) -> bool {
    if is_name(path) {
        return true;
    }
    let mut magic = [0; 4];
    let is_elf = std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut magic)).is_ok() && &magic == b"\x7fELF";
    is_elf && std::fs::read(path).is_ok_and(|bytes| is_foreign(&bytes))
}

fn is_name(path: &Path) -> bool {
    let text = path.to_string_lossy();
    !text.contains('/') && text.contains(".so") && !path.exists()
}

fn is_foreign(bytes: &[u8]) -> bool {
    let Ok(file) = object::File::parse(bytes) else { return false };
    let tables = abi::TABLES_SYMBOL.to_bytes();
    let has_tables = || file.symbols().chain(file.dynamic_symbols()).any(|s| s.name_bytes().is_ok_and(|n| n == tables));
    file.kind() == ObjectKind::Dynamic && !has_tables()
}

/// Returns a generated C file with a function `name` that calls the one of the library. `signature` is its type, such
/// as `double(double, int)`; by default that of `<math.h>`.
///
/// # Errors
/// When the library cannot be loaded or has no such function, or its type is unknown or not of numbers.
pub fn source(library: &Path, name: Option<&str>, signature: Option<&str>) -> Result<PathBuf, Error> {
    let name = name.ok_or_else(|| at(library, "is a shared library; name its function with --function"))?;
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.starts_with(|c: char| is_letter(c) && !c.is_ascii_digit()) || !name.chars().all(is_letter) {
        return Err(Error::new(format!("--function {name}: a function of a shared library is named by its symbol")));
    }
    let (result, parameters) = match signature {
        Some(text) => parse(text)?,
        None => known(name).ok_or_else(|| {
            Error::new(format!(
                "`{name}` is not a known function of <math.h>; give its type with --signature, e.g. 'double(double)'"
            ))
        })?,
    };
    let path = if is_name(library) {
        library.to_path_buf()
    } else {
        library.canonicalize().map_err(|e| failed(library, "cannot be resolved", e))?
    };
    look_up(&path, name)?;
    generated::source(REFERENCES, &text(&path, name, &result, &parameters))
}

fn text(path: &Path, name: &str, result: &str, parameters: &[String]) -> String {
    let quoted = path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    let names: Vec<String> = match parameters.len() {
        1 => vec!["x".to_owned()],
        n => (0..n).map(|i| format!("x{i}")).collect(),
    };
    let declared: Vec<String> = parameters.iter().zip(&names).map(|(t, n)| format!("{t} {n}")).collect();
    let (types, declared, names) = (parameters.join(", "), declared.join(", "), names.join(", "));
    format!(
        "extern void *dlopen(const char *, int);
extern void *dlsym(void *, const char *);
static {result} (*penfuzz_called)({types});
__attribute__((constructor)) static void penfuzz_open(void) {{
    void *library = dlopen(\"{quoted}\", {flags});
    if (library) penfuzz_called = ({result} (*)({types}))dlsym(library, \"{name}\");
}}
{result} {name}({declared}) {{ return penfuzz_called({names}); }}
",
        flags = libc::RTLD_NOW,
    )
}

/// Returns the type of a function of `<math.h>`.
fn known(name: &str) -> Option<(String, Vec<String>)> {
    let of = |name: &str, kind: &str| {
        let types = libm::find(name)?.parameters;
        Some((kind.to_owned(), types.iter().map(|t| t.replace("double", kind)).collect()))
    };
    of(name, "double").or_else(|| of(name.strip_suffix('f')?, "float"))
}

/// Parses `RESULT(PARAMETER, …)`.
fn parse(text: &str) -> Result<(String, Vec<String>), Error> {
    let wrong = || {
        Error::new(format!(
            "--signature {text}: write the types of numbers, as 'double(double)' or 'float(float, int)'"
        ))
    };
    let of = |word: &str| {
        let word = word.split_whitespace().collect::<Vec<_>>().join(" ");
        TYPES.contains(&word.as_str()).then_some(word).ok_or_else(wrong)
    };
    let (result, rest) = text.split_once('(').ok_or_else(wrong)?;
    let inner = rest.trim_end().strip_suffix(')').ok_or_else(wrong)?;
    Ok((of(result)?, inner.split(',').map(of).collect::<Result<_, _>>()?))
}

/// Checks that the library loads and has the function.
fn look_up(library: &Path, name: &str) -> Result<(), Error> {
    let c_string = |bytes: &[u8]| CString::new(bytes).map_err(|_| at(library, "has a NUL in its name"));
    let (path, symbol) = (c_string(library.as_os_str().as_bytes())?, c_string(name.as_bytes())?);
    // SAFETY: the path is a C string. The library's constructors run as they do in every program that loads it.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    if handle.is_null() {
        // SAFETY: `dlerror` returns the text of the latest error: a C string or null.
        let why = unsafe { libc::dlerror().as_ref().map(|text| CStr::from_ptr(text).to_string_lossy().into_owned()) };
        return Err(at(library, format!("cannot be loaded: {}", why.unwrap_or_default())));
    }
    // SAFETY: the handle is open.
    let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
    if found.is_null() {
        return Err(at(library, format!("has no function `{name}`")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_types_of_numbers() {
        let of = |text| parse(text).map(|(r, p)| format!("{r}({})", p.join(","))).ok();
        assert_eq!(of("double(double)").as_deref(), Some("double(double)"));
        assert_eq!(of(" float ( float,  unsigned   int )").as_deref(), Some("float(float,unsigned int)"));
        for wrong in ["double", "double()", "double(double", "double(double *)", "void(double)", "double(double, ...)"]
        {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn types_of_math_are_known_by_name() {
        assert_eq!(known("pow"), Some(("double".to_owned(), vec!["double".to_owned(); 2])));
        assert_eq!(known("sinf"), Some(("float".to_owned(), vec!["float".to_owned()])));
        assert_eq!(known("jnf"), Some(("float".to_owned(), vec!["int".to_owned(), "float".to_owned()])));
        assert_eq!(known("strlen"), None);
    }
}
