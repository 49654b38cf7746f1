//! Builds the LLVM pass plugin and the runtime objects, all with the clang of one LLVM.
//!
//! LLVM is found as `libafl_build` finds it: by `LLVM_CONFIG`, else the `llvm-config` with the newest version in its
//! name, else a plain `llvm-config`. The results are embedded into the library (`src/artifact.rs`), so an installed
//! pen-cc needs no build directory.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, exit},
    thread,
};

/// The oldest LLVM with the pass plugin interface that the pass uses.
const LLVM_MIN: u32 = 16;

/// The translation units of the plugin. They take about as long as each other.
const UNITS: [&str; 2] = ["formulas", "plugin"];

fn main() {
    for variable in ["LLVM_CONFIG", "LLVM_BINDIR", "LLVM_CXXFLAGS", "LLVM_VERSION"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    for path in ["build.rs", "include", "pass", "runtime"] {
        println!("cargo::rerun-if-changed={path}");
    }
    link_cxx_name();
    if let Err(message) = build() {
        println!("cargo::error={message}");
        exit(1);
    }
}

/// Links `pen-c++` to `pen-cxx` in the directory of the programs, because cargo allows no plus sign in the name of a
/// program. If that fails, there is only `pen-cxx`.
fn link_cxx_name() {
    let Some(out) = env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    // OUT_DIR is <programs>/build/<package>-<hash>/out.
    if let Some(programs) = out.ancestors().nth(3) {
        let _ = std::os::unix::fs::symlink("pen-cxx", programs.join("pen-c++"));
    }
}

fn build() -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?);
    let llvm = Llvm::find()?;
    let mut compilations = UNITS.map(|unit| llvm.compile_unit(&out, unit)).into_iter().collect::<Vec<_>>();
    compilations.push(llvm.compile_runtime(&out, "pen.o", &[]));
    compilations.push(llvm.compile_runtime(&out, "pen-static.o", &["-DPEN_NO_INTERPRETER"]));
    run_all(&mut compilations)?;
    run(&mut llvm.link_pass(&out))?;
    let artifacts = [("PLUGIN", "pen", "so"), ("RUNTIME", "pen", "o"), ("RUNTIME_STATIC", "pen-static", "o")];
    let mut code = llvm.constants(&out);
    for (constant, stem, extension) in artifacts {
        code += &embed(&out, constant, stem, extension)?;
    }
    fs::write(out.join("llvm.rs"), code).map_err(|e| format!("cannot write {}: {e}", out.display()))
}

struct Llvm {
    major: u32,
    clang: PathBuf,
    clangxx: PathBuf,
    cxxflags: Vec<String>,
}

impl Llvm {
    fn find() -> Result<Self, String> {
        let missing = |what: &str| {
            format!(
                "{what}; install clang and the LLVM headers of one version (in penfuzz's source directory, ./setup \
                 does so), or set LLVM_CONFIG to the llvm-config of a complete LLVM"
            )
        };
        let version = env::var("LLVM_VERSION")
            .or_else(|_| libafl_build::exec_llvm_config(&["--version"]))
            .map_err(|_| missing("llvm-config was not found"))?;
        let major = version.split('.').next().and_then(|major| major.parse().ok()).ok_or_else(|| {
            format!(
                "llvm-config --version printed {version:?}, which is not a version; set LLVM_CONFIG to another \
                     llvm-config"
            )
        })?;
        if major < LLVM_MIN {
            return Err(missing(&format!("the newest LLVM found is {major}, but {LLVM_MIN} or newer is needed")));
        }
        let bin = PathBuf::from(libafl_build::llvm_bindir()?);
        let tool = |name: &str| {
            let path = bin.join(name);
            if path.exists() { Ok(path) } else { Err(missing(&format!("LLVM {major} has no {}", path.display()))) }
        };
        let llvm =
            Self { major, clang: tool("clang")?, clangxx: tool("clang++")?, cxxflags: libafl_build::llvm_cxxflags()? };
        if llvm.has_headers() { Ok(llvm) } else { Err(missing(&format!("the headers of LLVM {major} are missing"))) }
    }

    fn has_headers(&self) -> bool {
        let directories = self.cxxflags.iter().filter_map(|flag| flag.strip_prefix("-I"));
        directories.map(Path::new).any(|include| include.join("llvm/IR/Function.h").exists())
    }

    /// Compiles one unit of the plugin. Optimizing takes two thirds of the time, and the plugin is a small part of what
    /// clang does when it compiles a program. So only the release profile optimizes it; what it does to a program is
    /// the same.
    fn compile_unit(&self, out: &Path, unit: &str) -> Command {
        let level = if env::var("PROFILE").is_ok_and(|profile| profile == "release") { "-O2" } else { "-O0" };
        let mut command = Command::new(&self.clangxx);
        command.args(&self.cxxflags).args([level, "-fno-rtti", "-fPIC", "-fvisibility-inlines-hidden", "-Wall", "-c"]);
        // No warnings about LLVM's headers.
        for flag in &self.cxxflags {
            if let Some(include) = flag.strip_prefix("-I") {
                command.arg("-isystem").arg(include);
            }
        }
        command.arg(format!("pass/{unit}.cc")).arg("-o").arg(object(out, unit));
        command
    }

    /// Links the units. Without symbols of functions that only the plugin uses, a plugin of the debug profile has half
    /// the size.
    fn link_pass(&self, out: &Path) -> Command {
        let mut command = Command::new(&self.clangxx);
        command.args(["-shared", "-s"]).args(UNITS.map(|unit| object(out, unit))).arg("-o").arg(out.join("pen.so"));
        command
    }

    fn compile_runtime(&self, out: &Path, name: &str, flags: &[&str]) -> Command {
        let mut command = Command::new(&self.clang);
        command.args(["-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-c"]).args(flags);
        command.args(["runtime/pen.c", "-o"]).arg(out.join(name));
        command
    }

    /// Whether this clang can put a gate before each SanCov callback (LLVM 20 and newer).
    fn gates_callbacks(&self, out: &Path) -> bool {
        Command::new(&self.clang)
            .args(["-fsanitize-coverage=trace-pc-guard", "-mllvm", "-sanitizer-coverage-gated-trace-callbacks"])
            .args(["-x", "c", "-c", "/dev/null", "-o"])
            .arg(out.join("probe.o"))
            .output()
            .is_ok_and(|output| output.status.success())
    }

    /// Whether this clang can count conditions as they are written, `!` included, without MC/DC's limits (LLVM 19 and
    /// newer).
    fn counts_conditions(&self, out: &Path) -> bool {
        Command::new(&self.clang)
            .args(["-Xclang", "-fprofile-instrument=clang", "-Xclang", "-fcoverage-mcdc"])
            .args(["-Xclang", "-fmcdc-max-conditions=0", "-x", "c", "-c", "/dev/null", "-o"])
            .arg(out.join("probe.o"))
            .output()
            .is_ok_and(|output| output.status.success())
    }

    fn constants(&self, out: &Path) -> String {
        let (clang, clangxx) = (self.clang.to_string_lossy(), self.clangxx.to_string_lossy());
        format!(
            "/// LLVM's major version that the pass was built for.\npub const LLVM_MAJOR: u32 = {};\n\
             pub(crate) const CLANG: &str = {clang:?};\n\
             pub(crate) const CLANGXX: &str = {clangxx:?};\n\
             pub(crate) const GATES_CALLBACKS: bool = {};\n\
             pub(crate) const COUNTS_CONDITIONS: bool = {};\n",
            self.major,
            self.gates_callbacks(out),
            self.counts_conditions(out),
        )
    }
}

/// The object file of a translation unit.
fn object(out: &Path, unit: &str) -> PathBuf {
    out.join(format!("{unit}.o"))
}

/// Runs compilers at the same time.
fn run_all(commands: &mut [Command]) -> Result<(), String> {
    thread::scope(|scope| {
        let running: Vec<_> = commands.iter_mut().map(|command| scope.spawn(|| run(command))).collect();
        running.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned())))
    })
}

/// Runs a compiler; its diagnostics go to the build's standard error.
fn run(command: &mut Command) -> Result<(), String> {
    let compiler = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("{compiler} failed (its messages are below): {command:?}")),
        Err(error) => Err(format!("cannot run {compiler}: {error}")),
    }
}

/// The Rust constant of one embedded file. The name of the file contains a hash of its content.
fn embed(out: &Path, constant: &str, stem: &str, extension: &str) -> Result<String, String> {
    let path = out.join(format!("{stem}.{extension}"));
    let bytes = fs::read(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let name = format!("{stem}-{:016x}.{extension}", fnv1a(&bytes));
    Ok(format!(
        "pub(crate) const {constant}: Artifact = Artifact {{ name: {name:?}, bytes: include_bytes!({:?}) }};\n",
        path.to_string_lossy()
    ))
}

/// FNV-1a with 64 bits; offset basis and prime as published.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
