//! Reads a compiler command line: the action that it requests, and the arguments that are passed to clang.
//!
//! Only the options that decide between a query, compiling and linking are interpreted here. All others are passed on
//! in their order.

use crate::{
    Error,
    assume::{ASSUME, Assumption},
    response,
};

/// What a command line requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Generates no code (`--version`, `-E`, `-print-…`, `-M`): clang gets the line unchanged.
    Query,
    /// Stops before linking (`-c`, `-S`).
    Compile,
    /// Joins objects into one object (`-r`), without the runtime.
    Relocatable,
    /// Links a program, as a dual file.
    Program,
    /// Links a program that cannot be a dual file, for the reason given.
    PlainProgram(&'static str),
    /// Links a shared library.
    Library,
}

/// A parsed command line.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent option")]
pub(crate) struct Arguments {
    pub(crate) action: Action,
    /// The arguments for clang, without those that the wrapper decides itself (`-pie`, `-flto`, a plain `-g`).
    pub(crate) args: Vec<String>,
    /// Undefined symbols of a shared library are errors (`-Wl,-z,defs`).
    pub(crate) no_undefined: bool,
    /// The user links start files of their own: `-nostdlib` or `-nostartfiles`.
    pub(crate) no_start_files: bool,
    /// No C library is linked: `-nostdlib`, `-nodefaultlibs` or `-nolibc`.
    pub(crate) no_libc: bool,
    /// The user sets the entry point (`-e`).
    pub(crate) entry: bool,
    /// Unreferenced sections are dropped (`--gc-sections`).
    pub(crate) drops_sections: bool,
    /// Floating-point operations are sites, too ([`EXCEPTIONS`]).
    pub(crate) exceptions: bool,
    /// The origin of operands is traced, too ([`MOVES`]).
    pub(crate) moves: bool,
    /// Decisions are sites, too ([`DECISIONS`]).
    pub(crate) decisions: bool,
    /// A goal of the user's own is called ([`GOAL`]).
    pub(crate) goal: bool,
    /// The symbol of the function whose mutants are made ([`MUTANTS`]); `*` for all functions.
    pub(crate) mutants: Option<String>,
    /// Assumptions about functions of the sources ([`ASSUME`]).
    pub(crate) assumptions: Vec<Assumption>,
    /// The user requests clang's own counters: coverage or profile-guided optimization.
    pub(crate) counters: bool,
    /// The options that determine where clang finds start files.
    pub(crate) search: Vec<String>,
}

/// Options whose value is the next argument.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-F",
    "-T",
    "-u",
    "-e",
    "-z",
    "-h",
    "-A",
    "-B",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xclang",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xopenmp-target",
    "-mllvm",
    "-target",
    "-arch",
    "-include",
    "-include-pch",
    "-imacros",
    "-isystem",
    "-idirafter",
    "-iquote",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-iwithsysroot",
    "-isysroot",
    "-iframework",
    "-framework",
    "-cxx-isystem",
    "-stdlib++-isystem",
    "-ivfsoverlay",
    "-resource-dir",
    "-gcc-toolchain",
    "-working-directory",
    "--sysroot",
    "--param",
    "--config",
    "-dumpdir",
    "-G",
    "-Tbss",
    "-Tdata",
    "-Ttext",
    "-rpath",
    "-serialize-diagnostics",
    "--serialize-diagnostics",
    "--entry",
    "-dependency-file",
];

/// pen-cc's own option: makes every floating-point operation a site, with a branch for each exception.
pub const EXCEPTIONS: &str = "-fpen-exceptions";
/// pen-cc's own option: writes the origins of operands to traces of operations.
pub const MOVES: &str = "-fpen-moves";

/// pen-cc's own option: makes every decision of several conditions a site, with a branch for each way through it.
pub const DECISIONS: &str = "-fpen-decisions";
/// pen-cc's own option: calls the goal of a file that includes `pen_goal.h`.
pub const GOAL: &str = "-fpen-goal";
/// pen-cc's own option: makes the mutants of all functions, or with `=SYMBOL` of one.
pub const MUTANTS: &str = "-fpen-mutants";

/// Internal tools of clang, if one of these is the first argument.
const TOOL_MODES: &[&str] = &["-cc1", "-cc1as", "-cc1gen-reproducer"];

/// The function whose mutants an option requests; `*` for all functions.
pub(crate) fn mutated(arg: &str) -> Option<&str> {
    match arg.strip_prefix(MUTANTS)? {
        "" => Some("*"),
        rest => rest.strip_prefix('='),
    }
}

/// Options after which clang generates no code.
const QUERIES: &[&str] = &[
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "--analyze",
    "--version",
    "--help",
    "-help",
    "--help-hidden",
    "-dumpversion",
    "-dumpmachine",
    "-dumpfullversion",
    "-dumpspecs",
    "--target-help",
];

fn is_query(arg: &str) -> bool {
    const PREFIXES: &[&str] = &["-print-", "--print-", "--help=", "--autocomplete="];
    QUERIES.contains(&arg) || PREFIXES.iter().any(|prefix| arg.starts_with(prefix))
}

/// Options that the wrapper replaces by its own: code is always position-independent, a dual file is not a PIE, the
/// hooks need code generation before linking, and every line gets a plain `-g`.
fn is_replaced(arg: &str) -> bool {
    const EXACT: &[&str] = &[
        "-g",
        "-pie",
        "-no-pie",
        "-nopie",
        "-flto",
        "-fwhole-program-vtables",
        "-fsanitize=fuzzer",
        "-fsanitize=fuzzer-no-link",
    ];
    EXACT.contains(&arg) || arg.starts_with("-flto=") || arg.starts_with("-flto-")
}

/// Options by which clang counts for the user, or reads such counts.
fn is_about_counters(arg: &str) -> bool {
    const PREFIXES: &[&str] =
        &["-fprofile-instr", "-fprofile-generate", "-fprofile-use", "-fcs-profile-generate", "-fcoverage-m"];
    PREFIXES.iter().any(|prefix| arg.starts_with(prefix))
}

/// Sanitizers with a runtime library, which clang links into programs only.
fn needs_sanitizer_runtime(arg: &str) -> bool {
    arg.starts_with("-fsanitize=") && !is_replaced(arg)
}

/// Whether clang rejects the line, but [`ClangWrapper`](libafl_cc::ClangWrapper) would not: the last option has no
/// value, so the wrapper's next argument would become its value; or an option is one of `ClangWrapper`'s own. clang
/// gets such a line unchanged and prints the error.
fn is_rejected_by_clang(args: &[String]) -> bool {
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg.starts_with("--libafl") || (WITH_VALUE.contains(&arg.as_str()) && rest.next().is_none()) {
            return true;
        }
    }
    false
}

/// What the options have requested so far.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent option")]
struct Seen {
    query: bool,
    compile: bool,
    relocatable: bool,
    shared: bool,
    static_program: bool,
    sanitizer: bool,
    traps: bool,
    verbose: bool,
    linker_option: bool,
    inputs: usize,
}

impl Seen {
    fn note(&mut self, arg: &str) {
        match arg {
            "-c" | "-S" | "--compile" | "--assemble" | "--precompile" => self.compile = true,
            "-r" | "-Wl,-r" | "-Wl,--relocatable" => self.relocatable = true,
            "-shared" | "--shared" => self.shared = true,
            "-static" | "--static" | "-static-pie" => self.static_program = true,
            _ if arg.starts_with("-Wl,") => self.linker_option = true,
            "-v" | "--verbose" | "-###" => self.verbose = true,
            _ if arg.starts_with("-fsanitize-trap") || arg == "-fsanitize-undefined-trap-on-error" => {
                self.traps = true;
            }
            _ if needs_sanitizer_runtime(arg) => self.sanitizer = true,
            _ if is_query(arg) => self.query = true,
            // A library is an input, also if there is no other.
            _ if arg.starts_with("-l") || arg == "-" || !arg.starts_with('-') => self.inputs += 1,
            _ => {}
        }
    }

    fn action(&self) -> Result<Action, Error> {
        // With `-Wl,--version` and no input, clang runs the linker. Build systems use this to identify the linker.
        if self.query || ((self.verbose || self.linker_option) && self.inputs == 0) {
            return Ok(Action::Query);
        }
        if self.inputs == 0 {
            return Err(Error::NoInput);
        }
        Ok(if self.compile {
            Action::Compile
        } else if self.relocatable {
            Action::Relocatable
        } else if self.shared {
            Action::Library
        } else if self.static_program {
            Action::PlainProgram("-static links a program that no other program can load; link without it")
        } else if self.sanitizer && !self.traps {
            Action::PlainProgram(
                "the runtime of a sanitizer works only in the program that starts; link without -fsanitize, or with \
                 -fsanitize-trap",
            )
        } else {
            Action::Program
        })
    }
}

impl Arguments {
    /// Reads the arguments that follow the program's name.
    pub(crate) fn read(args: &[String]) -> Result<Self, Error> {
        if args.first().is_some_and(|first| TOOL_MODES.contains(&first.as_str())) {
            return Ok(Self::new(Action::Query, args.to_vec()));
        }
        let args = response::expand(args)?;
        if is_rejected_by_clang(&args) {
            return Ok(Self::new(Action::Query, args));
        }
        let mut seen = Seen::default();
        let mut line = Self::new(Action::Query, Vec::with_capacity(args.len()));
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            if WITH_VALUE.contains(&arg.as_str()) {
                // A library is an input in this form, too.
                seen.inputs += usize::from(arg == "-l");
                seen.linker_option |= arg == "-Xlinker";
                line.pair(arg, rest.next());
            } else {
                seen.note(arg);
                line.single(arg)?;
            }
        }
        line.action = seen.action()?;
        if line.action == Action::Query {
            line.args = args;
        }
        Ok(line)
    }

    fn new(action: Action, args: Vec<String>) -> Self {
        Self {
            action,
            args,
            no_undefined: false,
            no_start_files: false,
            no_libc: false,
            entry: false,
            drops_sections: false,
            exceptions: false,
            moves: false,
            decisions: false,
            goal: false,
            mutants: None,
            assumptions: Vec::new(),
            counters: false,
            search: Vec::new(),
        }
    }

    fn single(&mut self, arg: &str) -> Result<(), Error> {
        match arg {
            "-m32" | "-mx32" => {
                let reason = "targets are 64-bit programs; compile without it";
                return Err(Error::Unsupported { option: arg.to_owned(), reason });
            }
            "-nostdlib" | "--no-standard-libraries" => (self.no_start_files, self.no_libc) = (true, true),
            EXCEPTIONS => {
                self.exceptions = true;
                return Ok(());
            }
            MOVES => {
                self.moves = true;
                return Ok(());
            }
            DECISIONS => {
                self.decisions = true;
                return Ok(());
            }
            GOAL => {
                self.goal = true;
                return Ok(());
            }
            _ if let Some(function) = mutated(arg) => {
                self.mutants = Some(function.to_owned());
                return Ok(());
            }
            _ if let Some(text) = arg.strip_prefix(ASSUME) => {
                self.assumptions.push(Assumption::parse(text)?);
                return Ok(());
            }
            _ if is_about_counters(arg) => self.counters = true,
            "-nostartfiles" => self.no_start_files = true,
            "-nodefaultlibs" | "-nolibc" => self.no_libc = true,
            _ if arg.starts_with("--sysroot=") || arg.starts_with("-B") => self.search.push(arg.to_owned()),
            _ if arg.starts_with("--target=") || arg.starts_with("--gcc-") => {
                self.search.push(arg.to_owned());
            }
            _ if arg.starts_with("-Wl,") => self.linker_option(arg),
            _ => {}
        }
        if is_replaced(arg) {
            return Ok(());
        }
        // ClangWrapper recognises `-x` only as a separate argument.
        match arg.strip_prefix("-x").filter(|language| !language.is_empty()) {
            Some(language) => self.args.extend(["-x".to_owned(), language.to_owned()]),
            None => self.args.push(arg.to_owned()),
        }
        Ok(())
    }

    fn linker_option(&mut self, arg: &str) {
        let mut options = arg["-Wl,".len()..].split(',');
        while let Some(option) = options.next() {
            match option {
                "-z" => self.no_undefined |= options.next() == Some("defs"),
                "--no-undefined" | "-zdefs" => self.no_undefined = true,
                "-e" | "--entry" => self.entry = true,
                "--gc-sections" => self.drops_sections = true,
                _ if option.starts_with("--entry=") => self.entry = true,
                _ => {}
            }
        }
    }

    fn pair(&mut self, option: &str, value: Option<&String>) {
        let text = value.map_or("", String::as_str);
        match option {
            "-e" | "--entry" => self.entry = true,
            "-z" if text == "defs" => self.no_undefined = true,
            "-Xlinker" => self.linker_option(&format!("-Wl,{text}")),
            "--sysroot" | "-B" | "-target" | "-gcc-toolchain" => {
                self.search.extend([option.to_owned(), text.to_owned()]);
            }
            _ => {}
        }
        match value {
            // ClangWrapper interprets a separate `-o` as a path with a file name. It passes the joined form on.
            Some(value) if option == "-o" && !value.is_empty() => self.args.push(format!("-o{value}")),
            _ => self.args.extend([Some(option.to_owned()), value.cloned()].into_iter().flatten()),
        }
    }
}

#[cfg(test)]
mod tests;
