//! Bitcode and textual IR as inputs. Those that pen-cc has emitted (`-emit-llvm`) are not instrumented a second time.

use std::{fs, path::Path};

use crate::Error;

/// A symbol of every instrumented module, found in the text and in the string table of bitcode.
const MARK: &[u8] = b"__pen_state";

/// Whether the inputs are instrumented bitcode.
///
/// # Errors
/// If there are other inputs to compile, too: one run of clang has one set of passes.
pub(crate) fn is_instrumented(args: &[String]) -> Result<bool, Error> {
    let done: Vec<&String> = args.iter().filter(|arg| is_ir(arg) && has_mark(arg)).collect();
    let Some(first) = done.first() else {
        return Ok(false);
    };
    if args.iter().any(|arg| is_compiled(arg) && !done.contains(&arg)) {
        let option = format!("{first} (instrumented bitcode) together with sources");
        return Err(Error::Unsupported { option, reason: "compile each to an object file first, with -c" });
    }
    Ok(true)
}

fn extension(arg: &str) -> &str {
    if arg.starts_with('-') {
        return "";
    }
    Path::new(arg).extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

fn is_ir(arg: &str) -> bool {
    matches!(extension(arg), "bc" | "ll")
}

fn is_compiled(arg: &str) -> bool {
    is_ir(arg) || matches!(extension(arg), "c" | "cc" | "cp" | "cpp" | "cxx" | "c++" | "C" | "i" | "ii")
}

fn has_mark(path: &str) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.windows(MARK.len()).any(|window| window == MARK))
}
