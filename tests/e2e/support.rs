//! A temporary directory, and penfuzz run in it. A failed expectation prints the directory's listing, the status and
//! both streams.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fmt::Write,
    fs::{self, File},
    io::{Read, Seek},
    os::unix::{
        fs::{FileExt, PermissionsExt},
        process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use penfuzz_report::{Branch, Report, Status, json};
use tempfile::TempDir;

/// Set: emitted tests are not compiled and run.
const NO_CHECK_TESTS: &str = "PENFUZZ_NO_CHECK_TESTS";

/// Time limit of a run of penfuzz; on a loaded machine the slowest run needs a few seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// Skips a test that cannot run because something is missing. `what` names a package or a privilege, and the second
/// argument why it is missing. With `CI` set in the environment the test fails; otherwise the message is printed, and
/// the test returns.
#[track_caller]
pub fn skip(what: &str, why: &str) {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(!is_ci, "this test must run in CI, but {what} is missing: {}", why.trim());
    eprintln!("skipped: {what} is missing: {}", why.trim());
}

/// Returns the path of a file of `tests/fixtures`. It is not copied, so that all tests share what is compiled from it.
pub fn fixture(name: &str) -> PathBuf {
    workspace().join("tests/fixtures").join(name)
}

/// Returns the path of a file of `harnesses/quickstart`.
pub fn quickstart(name: &str) -> PathBuf {
    workspace().join("harnesses/quickstart").join(name)
}

/// Returns the directory of the repository.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

/// Returns the first line, from 1, that contains `text`.
pub fn line_of(file: &Path, text: &str) -> usize {
    let all = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let found = all.lines().position(|l| l.contains(text));
    found.unwrap_or_else(|| panic!("{} has no line with `{text}`", file.display())) + 1
}

/// The compiler wrapper of the same build.
pub fn pen_cc() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_penfuzz")).with_file_name("pen-cc");
    assert!(path.is_file(), "{} is missing: build the whole workspace first", path.display());
    path
}

/// A temporary directory.
pub struct Dir(TempDir);

impl Dir {
    /// Creates an empty directory.
    pub fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory can be made"))
    }

    /// Returns the path of a file in the directory.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file in the directory, and creates its parent directories.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file lies in a directory")).expect("directories can be made");
        fs::write(&path, content).expect("a file in a temporary directory can be written");
        path
    }

    /// Writes a file in the directory that only this user can read.
    pub fn secret(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.file(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("the mode of an own file can be set");
        path
    }

    /// Prepares a run of penfuzz with `arguments` separated by white space. The emitted tests are not compiled, which
    /// takes longer than most campaigns.
    pub fn penfuzz(&self, arguments: &str) -> Penfuzz<'_> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_penfuzz"));
        command
            .current_dir(self.0.path())
            // All tests share a cache, so that each fixture is compiled once.
            .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            // Holds the key that marks campaigns as the user's own.
            .env("XDG_STATE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("state"))
            // No solver: reports must not depend on the installed solvers.
            .env("PENFUZZ_SOLVERS", "")
            .env(NO_CHECK_TESTS, "1")
            .env_remove("PEN_CC_CLANG")
            .env_remove("PEN_CC_CLANGXX")
            .env_remove("RUST_BACKTRACE")
            .args(arguments.split_whitespace());
        Penfuzz { dir: self, command }
    }

    /// Prepares a run of penfuzz on a target, with the output in `out`.
    pub fn fuzz(&self, target: impl AsRef<OsStr>, arguments: &str) -> Penfuzz<'_> {
        self.penfuzz("").arg(target).args("-o out").args(arguments)
    }

    /// As [`Dir::fuzz`], and the emitted tests are compiled and run.
    pub fn fuzz_and_check(&self, target: impl AsRef<OsStr>, arguments: &str) -> Penfuzz<'_> {
        let mut run = self.fuzz(target, arguments);
        run.command.env_remove(NO_CHECK_TESTS);
        run
    }

    /// Runs another program in the directory, which must succeed; returns its standard output.
    pub fn other(&self, command: &mut Command) -> String {
        let shown = format!("{command:?}");
        let output = command.current_dir(self.0.path()).output().unwrap_or_else(|e| panic!("{shown}: {e}"));
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        assert!(
            output.status.success(),
            "{shown}: {}\n{}{}",
            output.status,
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    /// Returns the report in the output directory `name`.
    pub fn report(&self, name: &str) -> Report {
        json::read(&self.path(name).join(json::FILE)).unwrap_or_else(|e| panic!("{e}\n{}", self.listing()))
    }

    /// Returns the names and contents of the files in a directory.
    pub fn files(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let path = self.path(name);
        let entries = fs::read_dir(&path).unwrap_or_else(|e| panic!("{}: {e}\n{}", path.display(), self.listing()));
        entries
            .flatten()
            .map(|e| (e.file_name().to_string_lossy().into_owned(), fs::read(e.path()).unwrap_or_default()))
            .collect()
    }

    /// Waits until no process holds the lock of the output directory `name`; killed processes take a moment to end.
    pub fn until_unlocked(&self, name: &str) {
        let path = self.path(name).join(".lock");
        let lock = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let deadline = Instant::now() + Duration::from_secs(5);
        while lock.try_lock().is_err() {
            assert!(Instant::now() < deadline, "{name} is still locked\n{}", self.listing());
            sleep(Duration::from_millis(2));
        }
    }

    fn listing(&self) -> String {
        let mut out = format!("in {}:\n", self.0.path().display());
        list(self.0.path(), 1, &mut out);
        out
    }
}

fn list(dir: &Path, depth: usize, out: &mut String) {
    let mut entries: Vec<_> = fs::read_dir(dir).map(|d| d.flatten().collect()).unwrap_or_default();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let size = entry.metadata().map_or(0, |m| m.len());
        let _ = writeln!(out, "{:width$}{} {size}", "", entry.file_name().to_string_lossy(), width = 2 * depth);
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            list(&entry.path(), depth + 1, out);
        }
    }
}

/// Returns the process ids and names of the children of a process.
pub fn children(of: u32) -> Vec<(u32, String)> {
    let child = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(") ")?;
        let mut rest = rest.split(' ');
        let (state, parent) = (rest.next()?, rest.next()?);
        (parent.parse() == Ok(of) && state != "Z").then(|| (pid, name.to_owned()))
    };
    fs::read_dir("/proc").expect("there is /proc").flatten().filter_map(child).collect()
}

/// Returns the number of System V segments that one of these processes created.
pub fn shared_memory_of(pids: &[u32]) -> usize {
    let text = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let maker = |line: &str| line.split_whitespace().nth(4)?.parse::<u32>().ok();
    text.lines().filter(|line| maker(line).is_some_and(|pid| pids.contains(&pid))).count()
}

/// A run of penfuzz that is not yet started.
pub struct Penfuzz<'a> {
    dir: &'a Dir,
    command: Command,
}

impl<'a> Penfuzz<'a> {
    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments, separated by white space.
    pub fn args(mut self, arguments: &str) -> Self {
        self.command.args(arguments.split_whitespace());
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the umask.
    pub fn umask(mut self, mask: libc::mode_t) -> Self {
        // SAFETY: umask may be called between fork and exec.
        unsafe {
            self.command.pre_exec(move || {
                libc::umask(mask);
                Ok(())
            });
        }
        self
    }

    /// Runs it in a network namespace.
    pub fn within(mut self, namespace: &str) -> Self {
        let inner = &self.command;
        let mut outer = Command::new("ip");
        outer.args(["netns", "exec", namespace]).arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        if let Some(dir) = inner.get_current_dir() {
            outer.current_dir(dir);
        }
        self.command = outer;
        self
    }

    /// Starts it in its own process group.
    pub fn start(mut self) -> Running<'a> {
        let stream = || tempfile::tempfile().expect("a temporary file can be made");
        let (stdout, stderr) = (stream(), stream());
        let line = format!("{:?}", self.command);
        let same = |f: &File| Stdio::from(f.try_clone().expect("a descriptor can be copied"));
        // The tests may have been started with signals ignored: SIGINT by a shell that runs them in the background,
        // SIGHUP by nohup. SAFETY: signal may be called between fork and exec.
        unsafe {
            self.command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                libc::signal(libc::SIGHUP, libc::SIG_DFL);
                Ok(())
            });
        }
        let child = self
            .command
            .stdin(Stdio::null())
            .stdout(same(&stdout))
            .stderr(same(&stderr))
            .process_group(0)
            .spawn()
            .unwrap_or_else(|e| panic!("{line}: {e}"));
        Running { dir: self.dir, line, child, stdout, stderr }
    }

    /// Runs it and waits for its end.
    pub fn run(self) -> Run<'a> {
        self.start().wait()
    }

    /// Runs it and waits for its end; the exit status must be `status`.
    pub fn exits(self, status: i32) -> Run<'a> {
        let run = self.run();
        run.expect(run.status.code() == Some(status), &format!("exit status {status}"));
        run
    }
}

impl From<Penfuzz<'_>> for Command {
    /// For tests that redirect the standard streams themselves.
    fn from(penfuzz: Penfuzz<'_>) -> Self {
        penfuzz.command
    }
}

/// A running penfuzz.
pub struct Running<'a> {
    dir: &'a Dir,
    line: String,
    child: Child,
    stdout: File,
    stderr: File,
}

impl<'a> Running<'a> {
    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the process only.
    pub fn signal(&self, signal: i32) {
        self.kill(self.child.id().cast_signed(), signal);
    }

    /// Sends a signal to the process group, as a terminal does.
    pub fn signal_group(&self, signal: i32) {
        self.kill(-self.child.id().cast_signed(), signal);
    }

    fn kill(&self, to: i32, signal: i32) {
        // SAFETY: a plain system call on our own process, which has not been waited for yet.
        let answer = unsafe { libc::kill(to, signal) };
        assert_eq!(answer, 0, "{}: has ended before signal {signal}", self.line);
    }

    /// Waits until `holds` returns true.
    pub fn until(&mut self, what: &str, mut holds: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds() {
            let ended = self.child.try_wait().expect("our own child can be waited for");
            assert!(ended.is_none(), "{}: ended before {what}\n{}", self.line, self.dir.listing());
            if Instant::now() > deadline {
                self.signal_group(libc::SIGKILL);
                panic!("{}: {what} did not come\n{}", self.line, self.dir.listing());
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// Waits until standard error contains this text.
    pub fn until_said(&mut self, text: &str) {
        let stderr = self.stderr.try_clone().expect("a descriptor can be copied");
        self.until(&format!("`{text}` on standard error"), || {
            let mut said = vec![0; 64 * 1024];
            // Reads at an explicit offset: the child shares the descriptor's own offset.
            let n = stderr.read_at(&mut said, 0).expect("a temporary file can be read");
            String::from_utf8_lossy(&said[..n]).contains(text)
        });
    }

    /// Waits for the end of the process.
    pub fn wait(mut self) -> Run<'a> {
        let deadline = Instant::now() + PATIENCE;
        let mut late = false;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our own child can be waited for") {
                break status;
            }
            if Instant::now() > deadline && !late {
                late = true;
                self.signal_group(libc::SIGKILL);
            }
            sleep(Duration::from_millis(2));
        };
        let run = Run {
            dir: self.dir,
            line: self.line,
            status,
            stdout: content(&mut self.stdout),
            stderr: content(&mut self.stderr),
        };
        run.expect(!late, &format!("an end within {PATIENCE:?}"));
        run.expect(!run.stderr.contains("panicked") && !run.stderr.contains("backtrace"), "no panic");
        run
    }
}

fn content(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a temporary file can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A finished run: its exit status and its output.
pub struct Run<'a> {
    dir: &'a Dir,
    line: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Run<'_> {
    /// Panics with the status, the output and the directory listing unless `holds`.
    #[track_caller]
    pub fn expect(&self, holds: bool, what: &str) {
        assert!(
            holds,
            "expected: {what}\n{}\n{} (signal {:?})\n{}--- stdout\n{}\n--- stderr\n{}",
            self.line,
            self.status,
            self.status.signal(),
            self.dir.listing(),
            self.stdout,
            self.stderr
        );
    }

    /// Standard error must contain this text.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        self.expect(self.stderr.contains(text), &format!("`{text}` on standard error"));
        self
    }
}

/// Whether any evaluation has taken the branch.
pub fn is_covered(branch: &Branch) -> bool {
    matches!(branch.status, Status::Covered | Status::Saturated | Status::CoveredByCrash)
}

/// Returns the branches that were not taken, as `line outcome`.
pub fn open_branches(report: &Report) -> Vec<String> {
    let of = |s: &penfuzz_report::Site| -> Vec<String> {
        s.branches.iter().filter(|b| !is_covered(b)).map(|b| format!("{} {}", s.line, b.outcome)).collect()
    };
    report.sites.iter().flat_map(of).collect()
}
