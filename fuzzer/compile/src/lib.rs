//! Builds a linked target file from sources, with a cache: a source is compiled again only if its text, its headers or
//! the flags have changed.

pub mod compiler;
mod goal;
pub mod interruptible;

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use penfuzz_cc::{Compile, Language, is_private_file, note_use};
use penfuzz_error::{Error, at, failed};
use penfuzz_target::{
    hash::StableHash,
    program::{
        kind::{absolute, is_archive},
        undefined,
    },
};

pub use compiler::Stop;

/// What to build.
#[derive(Debug, Clone, Default)]
pub struct Recipe {
    /// Sources; the first is the one under test.
    pub sources: Vec<PathBuf>,
    /// Compiler flags.
    pub flags: Vec<String>,
    /// Libraries.
    pub libs: Vec<String>,
    /// Whether the target also fills LibAFL's edge map (`penfuzz_executor::Evaluator::count_edges`). No search of
    /// penfuzz uses that map, and counting costs time.
    pub san_cov: bool,
    /// Whether floating-point operations are sites as well.
    pub exceptions: bool,
    /// Whether decisions of several conditions are sites as well.
    pub decisions: bool,
    /// The symbol of the function to create mutants of; `*` for all functions.
    pub mutants: Option<String>,
    /// The file of a goal of the user's own: it includes `pen_goal.h`, and the conditionals of the sources call it.
    pub goal: Option<PathBuf>,
}

/// Returns the directory in which compiled files are kept between runs.
///
/// # Errors
/// If no such directory can be written.
pub fn cache_directory() -> Result<PathBuf, Error> {
    penfuzz_cc::cache_directory().map_err(Error::from_source)
}

/// Optimization level if the flags name none: that of typical user builds.
const DEFAULT_LEVEL: &str = "-O2";

/// Builds the target file of a recipe, or finds it in the cache.
///
/// # Errors
/// If a source cannot be compiled (with the compiler's messages), or if the cache cannot be written or is writable by
/// other users.
pub fn build(recipe: &Recipe) -> Result<PathBuf, Error> {
    build_with(recipe, None)
}

/// As [`build`], but as soon as `stop` returns true, ends the compilers and removes their partial output. Each compiler
/// runs in its own process group, so a signal from the terminal reaches only the caller, whose `stop` should then
/// return true.
///
/// # Errors
/// Those of [`build`], and if the build was stopped.
pub fn build_until(recipe: &Recipe, stop: &Stop) -> Result<PathBuf, Error> {
    build_with(recipe, Some(stop))
}

/// Can a target that [`build`] linked earlier be loaded? If it is missing, or if other users can write the file or its
/// cache directory, it must be built again.
#[must_use]
pub fn is_usable(linked: &Path) -> bool {
    // The directory `targets`, and the cache directory.
    let directories = || linked.ancestors().skip(1).take(2);
    is_private_file(linked) && directories().all(|directory| penfuzz_cc::private_directory(directory).is_ok())
}

fn build_with(recipe: &Recipe, stop: Option<&Stop>) -> Result<PathBuf, Error> {
    let cache = penfuzz_cc::cache_room("targets").map_err(Error::from_source)?;
    let mut flags = recipe.flags.clone();
    if !flags.iter().any(|f| f.starts_with("-O")) {
        flags.insert(0, DEFAULT_LEVEL.to_owned());
    }
    if recipe.exceptions {
        flags.push(penfuzz_cc::EXCEPTIONS_FLAG.to_owned());
    }
    if recipe.decisions {
        flags.push(penfuzz_cc::DECISIONS_FLAG.to_owned());
    }
    if let Some(function) = &recipe.mutants {
        flags.push(format!("{}={function}", penfuzz_cc::MUTANTS_FLAG));
    }
    if recipe.goal.is_some() {
        flags.push(penfuzz_cc::GOAL_FLAG.to_owned());
    }
    let place = Place { cache, stop };
    let mut objects = objects(&recipe.sources, &flags, recipe.san_cov, &place)?;
    if let Some(goal) = &recipe.goal {
        objects.extend(goal::object(goal, &place)?);
    }
    // Sorted, so that the order does not depend on which source is under test: the functions of a library then share
    // one target file.
    objects.sort();
    let objects: Vec<_> = objects.into_iter().map(|(_, object)| object).collect();
    link(recipe, &objects, &place)
}

/// The error cause: the compiler rejects this source.
#[derive(Debug, thiserror::Error)]
#[error("{0} does not compile")]
struct Rejected(PathBuf);

/// Returns the source that the compiler rejects, if that is the cause of the error.
#[must_use]
pub fn rejected(error: &Error) -> Option<&Path> {
    let cause = std::error::Error::source(error)?.downcast_ref::<Rejected>()?;
    Some(&cause.0)
}

/// The message about a source that the compiler rejects.
const NOT_COMPILED: &str = "does not compile";

/// The directory that a build writes to, and the condition that ends it early.
struct Place<'a> {
    cache: PathBuf,
    stop: Option<&'a Stop<'a>>,
}

impl Place<'_> {
    /// Creates a directory for one compilation that other users cannot read. It is removed when the value is dropped.
    fn temporary(&self) -> Result<tempfile::TempDir, Error> {
        tempfile::tempdir_in(&self.cache).map_err(|e| failed(&self.cache, "cannot be written", e))
    }

    /// Runs the compiler on `source`, with its messages in the directory `temporary`. `what` is the message if the
    /// compiler fails.
    fn run(&self, compile: &Compile, temporary: &Path, source: &Path, what: &str) -> Result<(), Error> {
        compiler::run(compile, &temporary.join("messages"), self.stop).map_err(|e| match e {
            penfuzz_cc::Error::Compiler { stderr, .. } if what == NOT_COMPILED => {
                at(source, what).with_detail(stderr).with_source(Rejected(source.to_path_buf()))
            }
            penfuzz_cc::Error::Compiler { stderr, .. } => at(source, what).with_detail(stderr),
            other => Error::from_source(other),
        })
    }
}

/// Moves a finished file into the cache. Its mode is set independently of the umask, because a file that other users
/// can write is not used ([`is_private_file`]).
fn keep(new: &Path, file: &Path) -> Result<(), Error> {
    fs::set_permissions(new, fs::Permissions::from_mode(0o755))
        .and_then(|()| fs::rename(new, file))
        .map_err(|e| failed(file, "cannot be written", e))
}

/// Compiles the sources in parallel. Returns the absolute path of each source, and its object.
fn objects(
    sources: &[PathBuf],
    flags: &[String],
    san_cov: bool,
    place: &Place,
) -> Result<Vec<(PathBuf, PathBuf)>, Error> {
    let sources = sources.iter().map(|s| absolute(s)).collect::<Result<Vec<_>, _>>()?;
    let stamps = Stamps::default();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = sources.get(index) else { break };
            let object = object(source, flags, san_cov, place, &stamps).map(|object| (source.clone(), object));
            // After a failure no other compilation is started.
            if object.is_err() {
                next.store(sources.len(), Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, object));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(sources.len());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    // If several sources fail, the first one in this order is reported.
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, object)| object).collect()
}

/// Cache of file stamps: the files of a library include the same headers.
#[derive(Default)]
struct Stamps(Mutex<HashMap<PathBuf, String>>);

impl Stamps {
    fn of(&self, file: &Path) -> String {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(file.to_path_buf()).or_insert_with(|| stamp(file)).clone()
    }

    fn is_unchanged(&self, line: &str) -> bool {
        line.splitn(3, ' ').nth(2).is_some_and(|file| self.of(Path::new(file)) == line)
    }
}

fn key(parts: &[&str]) -> String {
    let hash = StableHash::new().texts(parts).text(&penfuzz_cc::fingerprint()).finish();
    format!("{hash:016x}")
}

/// Compiles one source, unless it and all files that it includes are unchanged. An archive is linked unchanged.
fn object(source: &Path, flags: &[String], san_cov: bool, place: &Place, known: &Stamps) -> Result<PathBuf, Error> {
    if is_archive(source) {
        return Ok(source.to_path_buf());
    }
    let stem = source.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let stem: String = stem.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
    let name = format!(
        "{stem}-{}",
        key(&[&source.to_string_lossy(), &flags.join("\u{1}"), if san_cov { "SanCov" } else { "" }])
    );
    let (object, stamps) = (place.cache.join(format!("{name}.o")), place.cache.join(format!("{name}.stamps")));
    if is_private_file(&object)
        && fs::read_to_string(&stamps).is_ok_and(|text| text.lines().all(|l| known.is_unchanged(l)))
    {
        note_use(&object);
        note_use(&stamps);
        return Ok(object);
    }
    let temporary = place.temporary()?;
    let (new, deps) = (temporary.path().join("out.o"), temporary.path().join("out.d"));
    let mut compile = Compile::new(&new).source(source).flags(flags.iter().cloned()).flag("-c").san_cov(san_cov);
    compile.libraries.clear();
    if is_text(source) {
        compile = compile.flags(["-MD".to_owned(), "-MF".to_owned(), deps.to_string_lossy().into_owned()]);
    }
    place.run(&compile, temporary.path(), source, NOT_COMPILED)?;
    let mut files = dependencies(&fs::read_to_string(&deps).unwrap_or_default());
    files.push(source.to_path_buf());
    let text: Vec<String> = files.iter().map(|f| stamp(f)).collect();
    // The object is stored first: stamps without an object would be taken for valid.
    keep(&new, &object)?;
    fs::write(&stamps, text.join("\n")).map_err(|e| failed(&stamps, "cannot be written", e))?;
    Ok(object)
}

fn is_text(source: &Path) -> bool {
    !matches!(source.extension().and_then(|e| e.to_str()), Some("bc" | "ll"))
}

/// Returns the size, modification time and name of a file.
fn stamp(file: &Path) -> String {
    let (size, time) = fs::metadata(file).map_or((0, 0), |m| {
        let time = m.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
        (m.len(), time.map_or(0, |t| t.as_nanos()))
    });
    format!("{size} {time} {}", file.display())
}

/// Returns the files in a make rule written by a compiler.
fn dependencies(rule: &str) -> Vec<PathBuf> {
    let list = rule.split_once(": ").map_or("", |(_, list)| list).replace("\\\n", " ");
    // A space in a name is written `\ `.
    let marked = list.replace("\\ ", "\u{1}");
    marked.split_whitespace().map(|f| PathBuf::from(f.replace('\u{1}', " "))).collect()
}

fn link(recipe: &Recipe, objects: &[PathBuf], place: &Place) -> Result<PathBuf, Error> {
    let contents: Vec<String> = objects.iter().map(|o| stamp(o)).collect();
    let contents = contents.join("\u{1}");
    let linked = place.cache.join(format!("{}.pen", key(&[&contents, &stamped(&recipe.libs).join("\u{1}")])));
    if is_private_file(&linked) {
        note_use(&linked);
        return Ok(linked);
    }
    let temporary = place.temporary()?;
    let new = temporary.path().join("out.pen");
    let mut compile = Compile::new(&new).sources(objects.iter().cloned()).flag("-Wl,--no-demangle");
    let inputs = recipe.sources.iter().chain(&recipe.goal);
    if inputs.clone().any(|s| Language::of(s) == Language::Cxx || is_archive(s) && has_cxx(s)) {
        compile = compile.language(Language::Cxx);
    }
    compile.libraries.splice(0..0, libraries(&recipe.libs));
    if recipe.sources.iter().any(|s| is_archive(s)) {
        // No symbol of the archive is referenced yet, so the linker would skip its members.
        compile = compile.flag("-Wl,--whole-archive");
        compile.libraries.insert(0, "-Wl,--no-whole-archive".to_owned());
    }
    link_with_stubs(compile, recipe, place, temporary.path())?;
    keep(&new, &linked)?;
    Ok(linked)
}

/// Does an archive refer to the C++ support library?
fn has_cxx(archive: &Path) -> bool {
    const PERSONALITY: &[u8] = b"__gxx_personality_v0";
    fs::read(archive).is_ok_and(|bytes| bytes.windows(PERSONALITY.len()).any(|w| w == PERSONALITY))
}

/// Links, with stubs for undefined symbols. A linker may not report all of them at once, so linking is repeated.
fn link_with_stubs(mut compile: Compile, recipe: &Recipe, place: &Place, temporary: &Path) -> Result<(), Error> {
    let (stubs, mut names) = (temporary.join("undefined.s"), BTreeSet::new());
    loop {
        let Err(error) = place.run(&compile, temporary, &recipe.sources[0], "does not link") else { return Ok(()) };
        let found = undefined::named_by_linker(error.detail().unwrap_or_default());
        if let Some(goal) = &recipe.goal {
            goal::check(goal, &found)?;
        }
        if found.is_subset(&names) {
            return Err(error);
        }
        if names.is_empty() {
            compile = compile.source(&stubs);
        }
        names.extend(found);
        fs::write(&stubs, undefined::assembly(&names)).map_err(|e| failed(&stubs, "cannot be written", e))?;
    }
}

/// Returns the linker arguments for libraries. They make the loader find a shared library again that is named by its
/// file, or that was found in a directory of `-L`.
#[must_use]
pub fn libraries(libs: &[String]) -> Vec<String> {
    let directories: BTreeSet<_> = libs.iter().filter_map(|lib| directory_of(lib, libs)).collect();
    let paths = directories.iter().map(|d| format!("-Wl,-rpath,{}", d.display()));
    libs.iter().map(|lib| with_directory(lib)).chain(paths).collect()
}

/// Returns the linker arguments, with size and modification time of the files that they name.
fn stamped(libs: &[String]) -> Vec<String> {
    let directories: Vec<&Path> = libs.iter().filter_map(|lib| lib.strip_prefix("-L")).map(Path::new).collect();
    let of = |lib: &String| match lib.strip_prefix("-l") {
        Some(name) => {
            let files = directories.iter().flat_map(|d| ["so", "a"].map(|e| d.join(format!("lib{name}.{e}"))));
            files.into_iter().find(|file| file.is_file()).map_or_else(|| lib.clone(), |file| stamp(&file))
        }
        None if is_file(lib) => stamp(Path::new(&with_directory(lib))),
        None => lib.clone(),
    };
    libs.iter().map(of).collect()
}

/// Returns the directory in which the loader must look for a library.
fn directory_of(lib: &str, libs: &[String]) -> Option<PathBuf> {
    let Some(directory) = lib.strip_prefix("-L") else {
        let name = Path::new(lib).file_name()?.to_str()?;
        let is_shared = Path::new(name).extension().is_some_and(|e| e == "so") || name.contains(".so.");
        let directory = Path::new(lib).parent().filter(|_| is_shared && is_file(lib))?;
        return std::path::absolute(directory).ok();
    };
    let has = |lib: &String| {
        lib.strip_prefix("-l").is_some_and(|name| Path::new(directory).join(format!("lib{name}.so")).exists())
    };
    libs.iter().any(has).then(|| std::path::absolute(directory).ok())?
}

/// Makes the name of a file absolute: the loader finds a library without a soname by the name of its file.
fn with_directory(lib: &str) -> String {
    let path = is_file(lib).then(|| std::path::absolute(lib).ok()).flatten();
    path.map_or_else(|| lib.to_owned(), |path| path.to_string_lossy().into_owned())
}

fn is_file(lib: &str) -> bool {
    !lib.starts_with('-') && Path::new(lib).is_file()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::{dependencies, libraries, stamped};

    #[test]
    fn the_loader_looks_where_the_linker_found_a_library() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().display();
        for name in ["libone.so", "libtwo.so.2", "libthree.a"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let words = |libs: &[String]| libraries(libs)[libs.len()..].to_vec();
        let path = [format!("-Wl,-rpath,{here}")];
        assert_eq!(words(&[format!("{here}/libone.so")]), path);
        assert_eq!(words(&[format!("{here}/libtwo.so.2"), format!("{here}/libone.so")]), path);
        assert_eq!(words(&[format!("-L{here}"), "-lone".to_owned()]), path);
        for libs in [
            vec![format!("{here}/libthree.a")],
            vec!["-lm".to_owned()],
            vec![format!("-L{here}"), "-lthree".to_owned()],
        ] {
            assert_eq!(libraries(&libs), libs);
        }
    }

    #[test]
    fn a_library_with_other_contents_is_another_one() {
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path().join("libone.a");
        let libs = [
            archive.display().to_string(),
            format!("-L{}", directory.path().display()),
            "-lone".to_owned(),
            "-lm".to_owned(),
        ];
        std::fs::write(&archive, "a").unwrap();
        let before = stamped(&libs);
        std::fs::write(&archive, "ab").unwrap();
        let after = stamped(&libs);
        assert!(before[0] != after[0] && before[2] != after[2], "{after:?}");
        assert_eq!(after[3], "-lm");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read(rule in "(?s).{0,200}") {
            prop_assert!(dependencies(&rule).iter().all(|file| !file.as_os_str().is_empty()));
        }

        #[test]
        fn names_with_spaces_and_broken_lines_are_read_back(
            names in prop::collection::vec("[a-z./]{1,8}( [a-z./]{1,8})?", 0..6),
        ) {
            let list: Vec<String> = names.iter().map(|name| name.replace(' ', "\\ ")).collect();
            let rule = format!("out.o: {}\n", list.join(" \\\n  "));
            prop_assert_eq!(dependencies(&rule), names.iter().map(PathBuf::from).collect::<Vec<_>>());
        }
    }
}
