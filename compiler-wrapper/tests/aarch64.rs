//! Targets for aarch64: results and distances are the same as on x86-64.
//!
//! The clang of pen-cc cross-compiles the targets, and qemu runs them. `driver/driver.c` loads a target and prints
//! distances for the same inputs on both machines. The tests need an aarch64 C library, its linker and qemu-user
//! (`./setup --peers`). If these are missing they pass and print why they did nothing, unless `CI` or
//! `PENFUZZ_ALL_PEERS` is set.

mod common;

use std::{
    collections::BTreeSet,
    env,
    fmt::Write as _,
    fs,
    path::PathBuf,
    process::{Command, Output},
    sync::OnceLock,
};

use common::{CC, Dir, PROGRAM, fixture};

const TARGET: &str = "--target=aarch64-linux-gnu";
const QEMU: &str = "qemu-aarch64";
/// Contraction into fused operations and the signedness of `char` differ by default; everything else must be equal.
const SAME_MEANING: &str = "-w -g -ffp-contract=off -fsigned-char";

/// The cross tools.
struct Aarch64 {
    clang: String,
    /// Where the C library of the machine is installed.
    sysroot: PathBuf,
}

impl Aarch64 {
    /// The tools, or `None` after a message.
    ///
    /// # Panics
    /// If they are missing and `CI` or `PENFUZZ_ALL_PEERS` is set.
    fn find() -> Option<&'static Self> {
        static FOUND: OnceLock<Result<Aarch64, String>> = OnceLock::new();
        if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            eprintln!("skipped: this machine is not x86-64 Linux, with which aarch64 is compared");
            return None;
        }
        let missing = match FOUND.get_or_init(Self::look_for) {
            Ok(tools) => return Some(tools),
            Err(missing) => missing,
        };
        let needed = ["CI", "PENFUZZ_ALL_PEERS"].iter().any(|name| env::var_os(name).is_some());
        assert!(!needed, "{missing}: run ./setup --peers");
        eprintln!("skipped: {missing} (./setup --peers installs what is needed)");
        None
    }

    fn look_for() -> Result<Self, String> {
        Command::new(QEMU).arg("--version").output().map_err(|e| format!("{QEMU} does not run: {e}"))?;
        let clang = common::clang();
        let output = Command::new(&clang).args([TARGET, "-print-file-name=Scrt1.o"]).output();
        let start_file = output.map_err(|e| format!("{clang} does not run: {e}"))?.stdout;
        let start_file = PathBuf::from(String::from_utf8_lossy(&start_file).trim());
        let Some(library) = start_file.canonicalize().ok().and_then(|path| Some(path.parent()?.to_path_buf())) else {
            return Err("there is no C library for aarch64".to_owned());
        };
        let sysroot = library.parent().unwrap_or(&library).to_path_buf();
        let tools = Self { clang, sysroot };
        let dir = Dir::new().file("x.c", "#include <stdio.h>\nint main(void) { puts(\"runs\"); }\n");
        let compiled = dir.run(&tools.clang, &format!("{TARGET} x.c -o x"));
        let runs = compiled.status.success() && tools.run(&dir, "x", &[]).stdout == b"runs\n";
        if runs { Ok(tools) } else { Err(dir.report("no program for aarch64 can be built and run", &compiled)) }
    }

    fn run(&self, dir: &Dir, program: &str, args: &[&str]) -> Output {
        let mut command = dir.command(QEMU);
        command.arg("-L").arg(&self.sysroot).arg(dir.path(program)).args(args);
        command.output().unwrap_or_else(|e| panic!("{QEMU}: {e}"))
    }

    /// Compiles the runtime with the options of `build.rs`.
    fn runtime(&self, dir: &Dir) {
        let options = "-O2 -fPIC -fvisibility=hidden -Wall -Werror -c -o pen.o";
        dir.quietly(&self.clang, &format!("{TARGET} {options} {}", common::runtime().display()));
    }

    /// Builds the target `name`.aarch64 of a source.
    fn build(dir: &Dir, name: &str, options: &str) {
        dir.quietly(CC, &format!("{TARGET} {options} -c {name} -o {name}.o"));
        common::link_with(dir, "pen.o", TARGET, &format!("{name}.o"), &format!("{name}.aarch64"));
    }

    fn driver(&self, dir: &Dir) {
        dir.quietly(
            &self.clang,
            &format!("{TARGET} -O1 -Wall {} -lm -ldl -o driver.aarch64", common::driver().display()),
        );
    }

    fn drive(&self, dir: &Dir, args: &[&str]) -> String {
        checked(dir, &self.run(dir, "driver.aarch64", args))
    }
}

/// The lines of the driver, which succeeds only if what must hold on each machine holds.
fn checked(dir: &Dir, output: &Output) -> String {
    assert!(output.status.success(), "{}", dir.report("the driver found nothing wrong", output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Each predicate of LLVM alone in a function, as a branch and as a select.
fn predicates() -> String {
    const FLOAT: &str = "oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une";
    const INTEGER: &str = "eq ne ugt uge ult ule sgt sge slt sle";
    let mut text = String::new();
    for (types, instruction, names) in [("float double", "fcmp", FLOAT), ("i8 i16 i32 i64", "icmp", INTEGER)] {
        for (ty, p) in types.split(' ').flat_map(|ty| names.split(' ').map(move |p| (ty, p))) {
            write!(
                text,
                "define i32 @branch_{p}_{ty}({ty} %a, {ty} %b) {{\n  %c = {instruction} {p} {ty} %a, %b\n  \
                 br i1 %c, label %t, label %f\nt:\n  ret i32 1\nf:\n  ret i32 0\n}}\n\
                 define i32 @select_{p}_{ty}({ty} %a, {ty} %b) {{\n  %c = {instruction} {p} {ty} %a, %b\n  \
                 %r = select i1 %c, i32 1, i32 0\n  ret i32 %r\n}}\n"
            )
            .expect("a String takes it");
        }
    }
    text
}

/// A source, its levels of optimization, and the functions that differ between the machines, with the reason.
struct Source {
    name: &'static str,
    text: String,
    levels: &'static [&'static str],
    differ: &'static [(&'static str, &'static str)],
}

fn sources() -> Vec<Source> {
    const FORMAT: &str = "long double has 80 bits there and 128 bits here";
    const ADDRESS: &str = "compares addresses";
    const RESULT: &str = "the number that strcmp returns is up to the C library";
    // Without optimization the conditions are the same, so two sources are enough.
    let (both, optimized): (&[_], &[_]) = (&["-O0", "-O2"], &["-O2"]);
    let source = |name, path, differ| Source { name, text: fixture(path), levels: optimized, differ };
    vec![
        Source { name: "predicates.ll", text: predicates(), levels: both, differ: &[] },
        Source {
            levels: both,
            ..source("conditions.c", "semantics/conditions.c", &[("half_and_long", FORMAT), ("pointers", ADDRESS)])
        },
        source(
            "bytes.c",
            "semantics/bytes.c",
            &[
                ("freed", ADDRESS),
                ("order", RESULT),
                ("last_of_several", RESULT),
                ("wrapped", RESULT),
                ("g_strcmp0", RESULT),
            ],
        ),
        source("sides.c", "semantics/sides.c", &[("pointer", ADDRESS), ("wide_float", FORMAT)]),
        source("written.c", "fixtures/written.c", &[("whole", "converts to int what does not fit")]),
        source("boundaries.c", "fixtures/boundaries.c", &[]),
        source("floats.c", "fixtures/floats.c", &[]),
        source("ints.c", "fixtures/ints.c", &[]),
    ]
}

/// The functions whose lines differ, and the first two such lines.
fn differences<'a>(here: &'a str, there: &'a str) -> (BTreeSet<&'a str>, Option<(&'a str, &'a str)>) {
    let pairs = || here.lines().zip(there.lines()).filter(|(a, b)| a != b);
    (pairs().map(|(a, _)| a.split(' ').next().unwrap_or_default()).collect(), pairs().next())
}

fn compare(tools: &Aarch64, dir: &Dir, source: &Source, level: &str) {
    let name = source.name;
    fs::write(dir.path(name), &source.text).expect("the source is written");
    let options = format!("{level} {SAME_MEANING}");
    dir.quietly(CC, &format!("{options} {name} -lm -o {name}.x86_64"));
    Aarch64::build(dir, name, &options);
    let native =
        dir.command(dir.path("driver.x86_64")).arg(format!("./{name}.x86_64")).output().expect("the driver runs");
    let here = checked(dir, &native);
    let there = tools.drive(dir, &[&format!("./{name}.aarch64")]);
    assert!(here.lines().count() > 30, "{name} {level}: the functions are called:\n{here}");
    assert_eq!(here.lines().count(), there.lines().count(), "{name} {level}: the same functions are called");
    let (found, first) = differences(&here, &there);
    let expected: BTreeSet<&str> = source.differ.iter().map(|(function, _)| *function).collect();
    assert_eq!(
        found, expected,
        "{name} {level}: functions that differ, right with a reason; x86-64 and aarch64: {first:#?}"
    );
}

#[test]
fn distances_and_results_are_those_of_x86_64() {
    let Some(tools) = Aarch64::find() else { return };
    let dir = Dir::new();
    tools.runtime(&dir);
    tools.driver(&dir);
    dir.quietly(&tools.clang, &format!("-O1 -Wall {} -lm -ldl -o driver.x86_64", common::driver().display()));
    for source in sources() {
        for level in source.levels {
            compare(tools, &dir, &source, level);
        }
    }
}

#[test]
fn operations_raise_what_the_hardware_says() {
    let Some(tools) = Aarch64::find() else { return };
    let text = fixture("semantics/operations.c") + "THREE(contracted, double, a * b + c)\n";
    let functions =
        text.lines().filter(|l| ["ONE(", "TWO(", "THREE(", "RANGE("].iter().any(|m| l.starts_with(m))).count();
    let dir = Dir::new().file("operations.c", &text);
    tools.runtime(&dir);
    tools.driver(&dir);
    for level in ["-O0", "-O2"] {
        Aarch64::build(&dir, "operations.c", &format!("{level} -w -g -fpen-exceptions"));
        let text = tools.drive(&dir, &["./operations.c.aarch64", "flags"]);
        assert_eq!(text.lines().count(), functions, "{level}: every operation is compared with its flags:\n{text}");
        let contracted = text.lines().find(|line| line.starts_with("contracted"));
        assert!(contracted.is_some_and(|line| line.contains(" fma ")), "{level}: one instruction, {contracted:?}");
    }
}

#[test]
fn a_dual_file_runs() {
    let Some(tools) = Aarch64::find() else { return };
    let dir = Dir::new().file("x.c", PROGRAM).file("y.c", "int y(int a) { return a ? 2 : 3; }\n");
    tools.runtime(&dir);
    Aarch64::build(&dir, "x.c", "-O2");
    let output = tools.run(&dir, "x.c.aarch64", &["argument"]);
    assert_eq!(output.status.code(), Some(3), "{}", dir.report("its own exit status", &output));
    assert_eq!(output.stdout, b"begin errno argument value 0 atexit end", "{}", dir.report("its output", &output));
    Aarch64::build(&dir, "y.c", "-O2");
    let output = tools.run(&dir, "y.c.aarch64", &[]);
    assert_eq!(output.status.code(), Some(2), "{}", dir.report("functions without main", &output));
}
