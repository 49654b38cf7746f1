//! A temporary directory with sources, in which tests run pen-cc.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

/// `pen-cc`.
pub const CC: &str = env!("CARGO_BIN_EXE_pen-cc");
/// `pen-cxx`.
pub const CXX: &str = env!("CARGO_BIN_EXE_pen-cxx");

/// The clang that pen-cc runs.
pub fn clang() -> String {
    let output = Dir::new().run(CC, "--version");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let directory =
        text.lines().find_map(|line| line.strip_prefix("InstalledDir: ")).expect("clang prints its directory");
    format!("{directory}/clang")
}

fn in_package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The source of the runtime.
pub fn runtime() -> PathBuf {
    in_package("runtime/pen.c")
}

/// The source of a program that loads a target and prints the distances of its branches.
pub fn driver() -> PathBuf {
    in_package("tests/driver/driver.c")
}

/// A fixture that the tests of the fuzzer use, too.
pub fn fixture(name: &str) -> String {
    let path = in_package("../tests").join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Links a target with pen-cc's command, but with another object as the runtime. pen-cc has one for its own machine
/// only.
pub fn link_with(dir: &Dir, runtime: &str, options: &str, object: &str, output: &str) {
    let shown = dir.run(CC, &format!("{options} -### {object} -lm -o {output}"));
    let text = String::from_utf8_lossy(&shown.stderr);
    // The last line is the linker's, each argument in quotes.
    let mut arguments: Vec<&str> = text.lines().last().unwrap_or_default().split('"').skip(1).step_by(2).collect();
    let own: Vec<_> = arguments.iter_mut().filter(|argument| is_runtime(argument)).collect();
    assert_eq!(own.len(), 1, "{}", dir.report("one runtime is linked", &shown));
    for argument in own {
        *argument = runtime;
    }
    let linked = dir.command(arguments[0]).args(&arguments[1..]).output().expect("the linker runs");
    assert!(linked.status.success(), "{}", dir.report("the target is linked", &linked));
}

fn is_runtime(argument: &str) -> bool {
    let path = Path::new(argument);
    let is_ours = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"pen-"));
    is_ours && path.extension().is_some_and(|extension| extension == "o")
}

/// A program with a site, a constructor, a destructor, unflushed output, arguments, environment and exit status.
pub const PROGRAM: &str = r#"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void begin(void) { fputs("begin ", stdout); }
__attribute__((destructor)) static void end(void) { fputs(" end", stdout); }
static void at_exit(void) { fputs(" atexit", stdout); }
int above(double x) { if (x > 3.0) return 1; return 0; }
int main(int argc, char **argv) {
  atexit(at_exit);
  errno = 0;
  char *no_number_end;
  if (strtol("99999999999999999999", &no_number_end, 10) && errno == ERANGE) fputs("errno ", stdout);
  printf("%s %s %d", argv[1], getenv("PEN_TEST"), above(argc));
  if (argc > 2) exit(4);
  return 3;
}
"#;

/// A temporary directory. A failed expectation prints its files.
pub struct Dir(TempDir);

impl Dir {
    /// An empty directory.
    pub fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory"))
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.path(name), text).expect("a file in a temporary directory is written");
        self
    }

    /// Runs a program here.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(self.0.path())
            .env("PEN_TEST", "value")
            .env_remove("PEN_CC_CLANG")
            .env_remove("PEN_CC_CLANGXX");
        command
    }

    /// Runs `tool` with the words of `line`.
    pub fn run(&self, tool: &str, line: &str) -> Output {
        self.command(tool).args(line.split_whitespace()).output().unwrap_or_else(|e| panic!("{tool}: {e}"))
    }

    /// Runs `tool`, which must succeed and write nothing to standard error. Returns standard output.
    pub fn quietly(&self, tool: &str, line: &str) -> String {
        let output = self.run(tool, line);
        let text = self.success(&output, &format!("{tool} {line}"));
        assert!(output.stderr.is_empty(), "{}", self.report(&format!("{tool} {line}: no message expected"), &output));
        text
    }

    /// Runs a program built here; returns standard output and exit code.
    pub fn program(&self, name: &str, args: &[&str]) -> (String, i32) {
        let output = self.command(self.path(name)).args(args).output().unwrap_or_else(|e| panic!("./{name}: {e}"));
        let code = output.status.code();
        let code = code.unwrap_or_else(|| panic!("{}", self.report(&format!("./{name} was killed"), &output)));
        (String::from_utf8_lossy(&output.stdout).into_owned(), code)
    }

    fn success(&self, output: &Output, what: &str) -> String {
        assert!(output.status.success(), "{}", self.report(&format!("{what}: success expected"), output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A text for a failed expectation: the status, the files and both streams.
    pub fn report(&self, what: &str, output: &Output) -> String {
        let listing: Vec<_> = fs::read_dir(self.0.path())
            .map(|entries| entries.flatten().map(|entry| entry.file_name()).collect())
            .unwrap_or_default();
        format!(
            "{what}\n{}\nin {} {listing:?}\n--- stdout\n{}\n--- stderr\n{}",
            output.status,
            self.0.path().display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    }

    /// Loads a file built here as penfuzz does, and reads its tables.
    pub fn load(&self, name: &str) -> Loaded {
        Loaded::open(&self.path(name))
    }
}

/// The contents of the tables of a loaded file.
#[derive(Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Names of the instrumented functions.
    pub functions: Vec<String>,
    /// Number of conditionals.
    pub sites: usize,
    /// For each branch of the source: its function, line and column.
    pub branches: Vec<(String, u32, u32)>,
    /// `SanCov` guards.
    pub guards: u32,
}

impl Loaded {
    fn open(path: &Path) -> Self {
        use std::{
            ffi::{CStr, CString},
            os::unix::ffi::OsStrExt,
        };

        use penfuzz_abi as abi;

        let text = CString::new(path.as_os_str().as_bytes()).expect("a path without NUL");
        // SAFETY: the file was just built by a test, whose constructors only print; it stays loaded for good, so that
        // the tables stay valid; their layout is checked by the version.
        unsafe {
            let handle = libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            assert!(!handle.is_null(), "{}", CStr::from_ptr(libc::dlerror()).to_string_lossy());
            let tables: *const abi::Tables = libc::dlsym(handle, abi::TABLES_SYMBOL.as_ptr()).cast();
            assert!(!tables.is_null(), "{} has no {:?}", path.display(), abi::TABLES_SYMBOL);
            let tables = &*tables;
            assert_eq!(tables.version, abi::VERSION);
            let count = tables.functions_end.offset_from(tables.functions).unsigned_abs();
            let name = |i| CStr::from_ptr((*tables.functions.add(i)).name).to_string_lossy().into_owned();
            let mut functions: Vec<String> = (0..count).map(name).collect();
            functions.sort();
            let count = tables.sites_end.offset_from(tables.sites).unsigned_abs();
            // Comparisons have records of their own.
            let is_conditional = |i: &usize| (*tables.sites.add(*i)).kind <= abi::site_kind::SELECT;
            let sites = (0..count).filter(is_conditional).count();
            let branches = (0..count).filter(is_conditional).flat_map(|i| {
                let site = &*tables.sites.add(i);
                let function = CStr::from_ptr((*site.function).name).to_string_lossy().into_owned();
                let is_in_source = |k: &u32| *k >= 32 || site.possible >> k & 1 == 1;
                let place = (function, site.line, site.column);
                (0..site.n_branches).filter(is_in_source).map(move |_| place.clone()).collect::<Vec<_>>()
            });
            let branches = branches.collect();
            Self { functions, sites, branches, guards: tables.n_guards }
        }
    }
}
