//! Compiles source files that many programs share once, and caches the objects. The programs are those of emitted
//! tests, of gcov, and of other fuzzers.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    time::SystemTime,
};

use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_report::c_text::is_cxx;
use penfuzz_system::files::foreign;
use penfuzz_target::hash::StableHash;

/// Number of lines of a compiler's or linker's messages that an error shows.
const SHOWN_LINES: usize = 6;

/// A compiler with its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// The C driver, which also links.
    pub c: PathBuf,
    /// The driver for C++.
    pub cxx: PathBuf,
    /// Environment variables that are added to the inherited ones.
    pub environment: Vec<(String, String)>,
    /// The version, which is part of the cache key.
    pub version: String,
}

impl Compiler {
    /// The compiler of the referee. gcc recognises C++ by the file name.
    #[must_use]
    pub fn gcc() -> Self {
        Self { c: "gcc".into(), cxx: "gcc".into(), environment: Vec::new(), version: gcc_version().to_owned() }
    }

    /// Starts a cache key; the caller adds what is compiled.
    #[must_use]
    pub fn hash(&self) -> StableHash {
        let mut hash = StableHash::new();
        hash.text(&self.version).bytes(self.c.as_os_str().as_encoded_bytes()).count(self.environment.len());
        for (key, value) in &self.environment {
            hash.text(key).text(value);
        }
        hash
    }

    /// A command with the environment set.
    #[must_use]
    pub fn command(&self, is_cxx: bool) -> Command {
        let mut command = Command::new(if is_cxx { &self.cxx } else { &self.c });
        command.envs(self.environment.iter().map(|(k, v)| (k, v)));
        command
    }

    /// Compiles a file. The level is -O0, at which a compiler emits one branch for each branch in the source. A level
    /// in `options` overrides it, because the last one applies.
    ///
    /// # Errors
    /// The file does not compile; the message contains the compiler's first lines.
    pub fn compile(&self, source: &Path, object: &Path, flags: &[String], options: &[&str]) -> Result<()> {
        let name = self.c.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let command = self.compilation(source, object, flags, options);
        finish(command, || format!("{name} cannot compile {}", source.display())).map(drop)
    }

    fn compilation(&self, source: &Path, object: &Path, flags: &[String], options: &[&str]) -> Command {
        let mut command = self.command(is_cxx(source));
        command.args(flags).args(["-w", "-O0"]).args(options).arg("-c").arg(source).arg("-o").arg(object);
        command
    }

    /// Returns the object of a file. A cached object is used if none of its input files is newer. A `main` in the
    /// source is renamed.
    ///
    /// # Errors
    /// The file does not compile, or the cache cannot be written to.
    pub fn cached(&self, source: &Path, flags: &[String], options: &[&str], cache: &Path) -> Result<PathBuf> {
        let what = || format!("{} cannot compile {}", self.c.display(), source.display());
        self.cached_by(source, flags, options, cache, |command| finish(command, what).map(drop))
    }

    /// As [`cached`](Self::cached); `run` runs the compiler.
    ///
    /// # Errors
    /// Those of `run`, and if the cache cannot be written to.
    pub fn cached_by(
        &self,
        source: &Path,
        flags: &[String],
        options: &[&str],
        cache: &Path,
        run: impl FnOnce(Command) -> Result<()>,
    ) -> Result<PathBuf> {
        fs::create_dir_all(cache).context(|| format!("cannot create {}", cache.display()))?;
        let content =
            foreign::read(source, foreign::LONGEST_TEXT).context(|| format!("cannot read {}", source.display()))?;
        let mut hash = self.hash();
        hash.bytes(source.as_os_str().as_encoded_bytes()).texts(flags).texts(options).bytes(&content);
        let stem = format!("{:016x}", hash.finish());
        let (object, needs) = (cache.join(format!("{stem}.o")), cache.join(format!("{stem}.d")));
        if is_fresh(&object, &needs) {
            return Ok(object);
        }
        // Written elsewhere and renamed, so that other processes see a complete file or none. The list of inputs is
        // renamed first.
        let aside = tempfile::tempdir_in(cache).context(|| format!("cannot write to {}", cache.display()))?;
        let (new_object, new_needs) = (aside.path().join("o"), aside.path().join("d"));
        let list = format!("-MF{}", new_needs.display());
        let options: Vec<_> = options.iter().copied().chain(["-MD", &list]).collect();
        run(self.compilation(source, &new_object, flags, &without_main(source, &options)))?;
        for (from, to) in [(&new_needs, &needs), (&new_object, &object)] {
            fs::rename(from, to).context(|| format!("cannot write {}", to.display()))?;
        }
        Ok(object)
    }
}

/// Adds an option that renames a `main` in the source, because the program has its own.
#[must_use]
pub fn without_main<'a>(source: &Path, options: &[&'a str]) -> Vec<&'a str> {
    let renamed = penfuzz_testgen::defines_main(source).then_some("-Dmain=program_main");
    options.iter().copied().chain(renamed).collect()
}

/// Runs a tool until it ends and returns its standard output.
///
/// # Errors
/// The tool cannot be started or fails; the message begins with `what` and contains the first lines of its standard
/// error.
pub fn finish(mut command: Command, what: impl Fn() -> String) -> Result<Vec<u8>> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .context(|| format!("cannot run {}; is it installed?", command.get_program().to_string_lossy()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let shown: Vec<_> = messages.lines().take(SHOWN_LINES).collect();
    bail!("{}: {}", what(), shown.join("; "))
}

/// The first line of `gcc --version`; empty when there is no gcc.
pub fn gcc_version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let output = Command::new("gcc").arg("--version").output();
        output
            .map(|o| String::from_utf8_lossy(&o.stdout).lines().next().unwrap_or_default().to_owned())
            .unwrap_or_default()
    })
}

/// Returns whether the object is newer than all files in its dependency list. If a file in the list cannot be read (a
/// name with a space, for example), the object is not fresh.
fn is_fresh(object: &Path, needs: &Path) -> bool {
    let modified = |path: &Path| -> Option<SystemTime> { fs::metadata(path).ok()?.modified().ok() };
    let (Some(made), Ok(text)) = (modified(object), foreign::read_text(needs)) else {
        return false;
    };
    let Some((_, files)) = text.split_once(':') else {
        return false;
    };
    files.split_whitespace().filter(|word| *word != "\\").all(|f| modified(Path::new(f)).is_some_and(|m| m < made))
}
