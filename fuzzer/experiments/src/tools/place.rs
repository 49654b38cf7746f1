//! Locates the other fuzzers: first in the directory of `./setup --peers`, then on the PATH.

use std::{
    env,
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use penfuzz_cc::{Language, find_clang};
use penfuzz_directory::object::Compiler;
use penfuzz_error::context::{Context, Result};

/// The message for a tool that is missing.
pub const MISSING: &str = "not installed: run ./setup --peers";

/// The directory that `./setup --peers` installs into.
#[must_use]
pub fn prefix() -> PathBuf {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    absolute("PENFUZZ_PEERS").unwrap_or_else(|| {
        let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        cache.unwrap_or_else(env::temp_dir).join("penfuzz/peers")
    })
}

/// Returns the absolute path of a program.
#[must_use]
pub fn find(program: &str) -> Option<PathBuf> {
    find_in(&prefix(), &env::var_os("PATH").unwrap_or_default(), program)
}

fn find_in(prefix: &Path, path: &OsStr, program: &str) -> Option<PathBuf> {
    let can_run = |p: &PathBuf| p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    std::iter::once(prefix.join("bin"))
        .chain(env::split_paths(path).filter(|p| p.is_absolute()))
        .map(|directory| directory.join(program))
        .find(can_run)
}

/// Returns the clang that penfuzz compiles with, without penfuzz's pass and flags.
///
/// # Errors
/// The environment selects a clang that does not fit.
pub fn clang() -> Result<Compiler> {
    let of = |language| find_clang(language).context(|| "cannot find clang".to_owned());
    let c = of(Language::C)?;
    let version = first_line(Command::new(&c).arg("--version"));
    Ok(Compiler { c, cxx: of(Language::Cxx)?, environment: Vec::new(), version })
}

/// Returns the first line that a program prints, without colours; empty if it cannot be started.
#[must_use]
pub fn first_line(command: &mut Command) -> String {
    let Ok(output) = command.stdin(Stdio::null()).output() else { return String::new() };
    let printed = [output.stdout, output.stderr].concat();
    plain_text(String::from_utf8_lossy(&printed).lines().next().unwrap_or_default())
}

/// Removes terminal control sequences from a line.
fn plain_text(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.find(|c: char| c.is_ascii_alphabetic()).map_or("", |end| &after[end + 1..]);
    }
    out.push_str(rest);
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn program(directory: &Path, mode: u32) {
        fs::create_dir_all(directory).unwrap();
        let path = directory.join("fuzz");
        fs::write(&path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn setup_prefix_precedes_path() {
        let dir = tempfile::tempdir().unwrap();
        let (prefix, other) = (dir.path().join("prefix"), dir.path().join("other"));
        program(&other, 0o755);
        assert_eq!(find_in(&prefix, other.as_os_str(), "fuzz"), Some(other.join("fuzz")), "only on the PATH");
        program(&prefix.join("bin"), 0o755);
        assert_eq!(find_in(&prefix, other.as_os_str(), "fuzz"), Some(prefix.join("bin/fuzz")), "in both places");
    }

    #[test]
    fn a_file_that_cannot_be_run_is_no_program() {
        let dir = tempfile::tempdir().unwrap();
        program(&dir.path().join("bin"), 0o644);
        assert_eq!(find_in(dir.path(), OsStr::new(""), "fuzz"), None);
    }

    #[test]
    fn colours_are_no_part_of_a_version() {
        assert_eq!(plain_text("\u{1b}[0;36mafl-fuzz++4.40c\u{1b}[0m based on afl"), "afl-fuzz++4.40c based on afl");
    }
}
