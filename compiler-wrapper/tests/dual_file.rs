//! The dual file: what pen-cc links runs as a program, and can be loaded with the tables that penfuzz reads.

mod common;

use common::{CC, CXX, Dir, Loaded, PROGRAM};
use penfuzz_cc::{Compile, Error, Language};

const ABOVE: &str = "int above(double x) { if (x > 3.0) return 1; return 0; }\n";

fn functions(loaded: &Loaded) -> Vec<&str> {
    loaded.functions.iter().map(String::as_str).collect()
}

#[test]
fn one_file_runs_and_loads() {
    let dir = Dir::new().file("x.c", PROGRAM);
    dir.quietly(CC, "-O2 x.c -o x");
    assert_eq!(dir.program("x", &["a"]), ("begin errno a value 0 atexit end".to_owned(), 3));
    let loaded = dir.load("x");
    assert_eq!(functions(&loaded), ["above", "at_exit", "begin", "end", "main"]);
    assert_eq!(loaded.sites, 4, "x > 3, strtol && errno, argc > 2");
    assert!(loaded.guards > 0, "SanCov is on");
}

#[test]
fn compiling_and_linking_may_be_two_steps() {
    let dir = Dir::new().file("x.c", PROGRAM);
    dir.quietly(CC, "-O1 -c x.c -o x.o");
    dir.quietly(CC, "x.o -o x");
    assert_eq!(dir.program("x", &["a", "b"]).1, 4);
    assert_eq!(dir.load("x").sites, 4);
}

#[test]
fn functions_without_main_load() {
    let dir = Dir::new().file("x.c", ABOVE);
    dir.quietly(CC, "x.c -o x");
    assert_eq!(functions(&dir.load("x")), ["above"]);
    assert_eq!(dir.program("x", &[]).1, 2, "run as a program it only prints a message");
}

#[test]
fn main_may_come_from_a_static_library() {
    let dir =
        Dir::new().file("m.c", "int above(double);\nint main(void) { return above(4) ? 9 : 8; }\n").file("x.c", ABOVE);
    dir.quietly(CC, "-c m.c x.c");
    dir.quietly("ar", "rcs libx.a m.o x.o");
    dir.quietly(CC, "-o x -L. -lx");
    assert_eq!(dir.program("x", &[]).1, 9);
    assert_eq!(functions(&dir.load("x")), ["above", "main"]);
}

#[test]
fn partial_links_and_archives_keep_their_sites() {
    let dir = Dir::new()
        .file("m.c", "int above(double);\nint y(int);\nint main(void) { return above(4) + y(0); }\n")
        .file("x.c", ABOVE)
        .file("y.c", "int y(int a) { return a ? 20 : 30; }\n");
    dir.quietly(CC, "-Werror -r x.c y.c -o xy.o");
    dir.quietly("ar", "rcs libxy.a xy.o");
    dir.quietly(CC, "-O2 -ffunction-sections -Wl,--gc-sections m.c libxy.a -o x");
    assert_eq!(dir.program("x", &[]).1, 31);
    assert_eq!(functions(&dir.load("x")), ["above", "main", "y"]);
}

#[test]
fn a_shared_library_has_its_own_runtime() {
    let dir = Dir::new()
        .file("m.c", "int above(double);\nint main(int c, char **v) { return v && c > 0 ? above(4) : 0; }\n")
        .file("x.c", ABOVE);
    dir.quietly(CC, "-Werror -fPIC -shared -Wl,-soname,libx.so.1 x.c -o libx.so");
    dir.quietly("ln", "-s libx.so libx.so.1");
    dir.quietly(CC, "-Werror m.c -L. -lx -Wl,-rpath,$ORIGIN -o x");
    assert_eq!(dir.program("x", &[]).1, 1);
    assert_eq!(functions(&dir.load("x")), ["main"]);
    assert_eq!(functions(&dir.load("libx.so")), ["above"]);
}

#[test]
fn variables_and_types_of_cxx_are_unique_across_files() {
    let shared = "#include <stdexcept>\n\
        inline int &count() { static int value = 0; return value; }\n\
        struct Refused : std::runtime_error { using std::runtime_error::runtime_error; };\n\
        void refuse();\n";
    let dir = Dir::new()
        .file("shared.h", shared)
        .file("x.cpp", "#include \"shared.h\"\nvoid refuse() { count()++; throw Refused(\"x\"); }\n")
        .file(
            "m.cpp",
            "#include \"shared.h\"\n\
             int main() { count()++; try { refuse(); } catch (Refused &) { return 10 + count(); } }\n",
        );
    dir.quietly(CXX, "-Werror -shared x.cpp -o libx.so");
    dir.quietly(CXX, "-Werror m.cpp -L. -lx -Wl,-rpath,$ORIGIN -o x");
    assert_eq!(
        dir.program("x", &[]).1,
        12,
        "the exception is caught by its type, and both files count in one variable"
    );
}

#[test]
fn bitcode_is_instrumented_once() {
    let dir = Dir::new().file("x.c", PROGRAM);
    dir.quietly(CC, "-O2 x.c -o direct");
    let direct = dir.load("direct");
    dir.quietly(CC, "-O2 -c -emit-llvm x.c -o ours.bc");
    dir.quietly(CC, "-O2 -S -emit-llvm x.c -o ours.ll");
    // clang itself, so that this bitcode is not instrumented.
    let clang = dir.quietly(CC, "-print-prog-name=clang").trim().to_owned();
    dir.quietly(&clang, "-g -O0 -Xclang -disable-O0-optnone -c -emit-llvm x.c -o plain.bc");
    dir.quietly(&clang, "-g -O0 -Xclang -disable-O0-optnone -S -emit-llvm x.c -o plain.ll");
    for input in ["ours.bc", "ours.ll", "plain.bc", "plain.ll"] {
        let output = input.replace('.', "-");
        dir.quietly(CC, &format!("-Werror -O2 {input} -o {output}"));
        assert_eq!(dir.program(&output, &["a"]).1, 3, "{input}");
        let loaded = dir.load(&output);
        assert_eq!((loaded.sites, loaded.functions), (direct.sites, direct.functions.clone()), "{input}");
        assert!(loaded.guards > 0, "{input}");
    }
}

#[test]
fn cxx_programs_run_and_load() {
    let dir = Dir::new().file(
        "x.cpp",
        r#"
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>
static std::string greeting = "constructed";
struct Refused : std::runtime_error { using std::runtime_error::runtime_error; };
template <class T> T checked(T x) { if (x > 1) throw Refused("thrown"); return x; }
int main(int argc, char **) {
  thread_local std::vector<int> numbers{1, 2, 3};
  std::cout << greeting << ' ' << numbers.size() << ' ';
  try { checked(argc); } catch (const std::exception &e) { std::cout << e.what(); return 5; }
  return 0;
}
"#,
    );
    for level in ["-O0", "-O2"] {
        dir.quietly(CXX, &format!("-Werror {level} x.cpp -o x{level}"));
        let name = format!("x{level}");
        assert_eq!(dir.program(&name, &["a"]), ("constructed 3 thrown".to_owned(), 5), "{level}");
        assert_eq!(dir.program(&name, &[]).1, 0, "{level}");
        assert!(dir.load(&name).sites > 0, "{level}");
    }
}

#[test]
fn exit_in_any_form_ends_the_program() {
    let dir = Dir::new().file(
        "x.c",
        "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
         int main(int c, char **v) {\n  (void)v;\n  fputs(\"out\", stdout);\n  if (c == 1) exit(11);\n  \
         if (c == 2) _exit(12);\n  if (c == 3) _Exit(13);\n  quick_exit(14);\n}\n",
    );
    dir.quietly(CC, "-O2 x.c -o x");
    assert_eq!(dir.program("x", &[]), ("out".to_owned(), 11), "exit flushes");
    assert_eq!(dir.program("x", &["a"]), (String::new(), 12), "_exit does not");
    assert_eq!(dir.program("x", &["a", "b"]), (String::new(), 13));
    assert_eq!(dir.program("x", &["a", "b", "c"]), (String::new(), 14));
}

#[test]
fn static_programs_are_ordinary_and_a_note_explains_it() {
    let dir = Dir::new().file("x.c", PROGRAM);
    let output = dir.run(CC, "-static -Werror x.c -o x");
    assert!(output.status.success(), "{}", dir.report("-static", &output));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.starts_with("pen-cc: note: ") && text.lines().count() == 1, "{text}");
    assert_eq!(dir.program("x", &["a"]).1, 3);
}

#[test]
fn a_program_without_the_c_library_starts_itself() {
    let dir = Dir::new().file(
        "x.c",
        "void _start(void) {\n\
           __asm__ volatile(\"syscall\" : : \"a\"(231), \"D\"(6));\n\
           __builtin_unreachable();\n\
         }\n",
    );
    if cfg!(target_arch = "x86_64") {
        dir.quietly(CC, "-Werror -nostdlib -ffreestanding x.c -o x");
        assert_eq!(dir.program("x", &[]).1, 6);
    }
}

#[test]
fn the_library_compiles_and_returns_the_compilers_messages() {
    let dir = Dir::new()
        .file("x.cpp", ABOVE)
        .file("bad.c", "int x = ;\n")
        .file("warn.c", "int f(void) { int unused; return 0; }\n");
    let output = dir.path("x.pen");
    let warnings = Compile::new(&output).source(dir.path("x.cpp")).flag("-O2").run().expect("it compiles");
    assert_eq!(warnings, "");
    assert_eq!(functions(&dir.load("x.pen")), ["above"]);

    let warnings = Compile::new(&output).source(dir.path("warn.c")).flags(["-Wall"]).run().expect("it compiles");
    assert!(warnings.contains("unused variable"), "{warnings}");

    let error = Compile::new(&output).source(dir.path("bad.c")).language(Language::C).run().expect_err("it is wrong");
    let Error::Compiler { status: 1, stderr } = error else { panic!("the compiler's error expected, not {error}") };
    assert!(stderr.contains("bad.c:1:9: error: expected expression"), "{stderr}");
}
