//! pen-cc as the compiler of a build: the options and the output of clang, and no messages of its own.

mod common;

use std::process::Stdio;

use common::{CC, CXX, Dir, PROGRAM, clang};

const FUNCTION: &str = "int above(double x) { if (x > 3.0) return 1; return 0; }\n";

#[test]
fn queries_are_answered_by_clang() {
    let dir = Dir::new().file("x.c", "#include \"x.h\"\nint x;\n").file("x.h", "");
    let clang = clang();
    for line in [
        "--version",
        "-v",
        "-print-prog-name=ld",
        "-print-search-dirs",
        "-print-file-name=crt1.o",
        "-print-multi-os-directory",
        "--print-target-triple",
        "-dumpmachine",
        "-dumpversion",
        "--print-search-dirs",
        "-print-multiarch",
        "-print-libgcc-file-name",
        "-print-resource-dir",
        // Build systems find out the linker by these.
        "-Wl,--version",
        "-Wl,-v",
        "-Xlinker --version",
        "-Wl,--version -O2 -fPIC -Wl,-O1",
        "-fuse-ld=bfd -Wl,--version",
        "-E x.c",
        "-E -dM x.c",
        "-M x.c",
        "-MM x.c",
        "-fsyntax-only x.c",
        "-v -E x.c",
    ] {
        let (ours, its) = (dir.run(CC, line), dir.run(&clang, line));
        assert_eq!(ours.status, its.status, "{}", dir.report(line, &ours));
        assert_eq!(ours.stdout, its.stdout, "{}", dir.report(line, &ours));
    }
}

#[test]
fn every_level_of_optimization_builds_a_working_program() {
    let dir = Dir::new().file("x.c", PROGRAM);
    for level in ["", "-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Og", "-O3 -ffast-math -march=native"] {
        dir.quietly(CC, &format!("{level} -Wall -Wextra -Werror x.c -o x"));
        let (text, code) = dir.program("x", &["argument"]);
        assert_eq!((text.as_str(), code), ("begin errno argument value 0 atexit end", 3), "{level}");
    }
}

/// Every line succeeds, although `-Werror` turns each warning into an error.
#[test]
fn compiling_is_silent_in_every_form() {
    let dir = Dir::new()
        .file("x.c", FUNCTION)
        .file("y.c", "int y(int a) { return a ? 2 : 3; }\n")
        .file("z.cpp", "int z(int a) { return a ? 2 : 3; }\n")
        .file("a.s", ".text\n.globl a\na: ret\n.section .note.GNU-stack\n")
        .file("b.S", "#define NAME b\n.text\n.globl NAME\nNAME: ret\n.section .note.GNU-stack\n")
        .file("c.i", FUNCTION)
        .file("p.h", "int p;\n")
        .file("line", "-c 'x.c' -o\nresponse.o");
    for line in [
        "-c x.c",
        "-c x.c y.c",
        "-c x.c -o x1.o",
        "-ox2.o -c x.c",
        "-O2 -flto -c x.c",
        "-flto=thin -c x.c",
        "-g -c x.c",
        "-g3 -O1 -c x.c",
        "-fPIE -c x.c",
        "-fno-pic -c x.c",
        "-std=c11 -pedantic-errors -Wall -Wextra -c x.c",
        "-MD -MF x.d -c x.c",
        "-MMD -MP -MT x.o -c x.c",
        "-pipe -pthread -c x.c",
        "-S x.c -o x.s",
        "-S -emit-llvm x.c",
        "-c -emit-llvm x.c",
        "-c a.s",
        "-c b.S",
        "-c c.i",
        "-Wa,--noexecstack -c a.s",
        "-c a.s x.c",
        "-x c++ -c x.c",
        "-xc -c c.i",
        "-c p.h",
        "-fvisibility=hidden -ffunction-sections -fdata-sections -c x.c",
        "@line",
    ] {
        dir.quietly(CC, &format!("-Werror {line}"));
    }
    dir.quietly(CXX, "-Werror -std=c++17 -c z.cpp");
    for file in ["x.o", "y.o", "x1.o", "x2.o", "x.d", "x.s", "x.ll", "x.bc", "a.o", "b.o", "c.o", "z.o", "response.o"] {
        assert!(dir.path(file).exists(), "{file} was expected");
    }
}

#[test]
fn linking_is_silent_in_every_form() {
    let dir = Dir::new().file("x.c", PROGRAM).file("y.c", FUNCTION).file("void.c", "int main(void) { return 0; }\n");
    dir.quietly(CC, "-c x.c");
    for line in [
        "x.o -o x",
        "x.c -o x",
        "-pie x.c -o x",
        "-no-pie x.c -o x",
        "-fPIE -pie x.c -o x",
        "-fno-PIE -no-pie x.c -o x",
        "-flto -O2 x.c -o x",
        "-rdynamic x.o -o x",
        "-s x.o -o x",
        "-O2 -ffunction-sections -Wl,--gc-sections x.c -o x",
        "-Wl,-z,now -Wl,-z,relro -Wl,--as-needed x.o -o x",
        "-Wl,--no-undefined x.o -o x",
        "-Wl,-rpath,/tmp -L. x.o -lm -ldl -lpthread -o x",
        "-static-libgcc x.o -o x",
        "-pthread x.o -o x",
        "-fvisibility=hidden x.c -o x",
        "-fsanitize=undefined -fsanitize-trap=undefined x.c -o x",
        "-fsanitize=fuzzer-no-link x.c -o x",
    ] {
        dir.quietly(CC, &format!("-Werror {line}"));
        let (text, code) = dir.program("x", &["argument", "b"]);
        assert_eq!((text.as_str(), code), ("begin errno argument value 0 atexit end", 4), "{line}");
    }
}

#[test]
fn a_source_may_come_from_standard_input() {
    let dir = Dir::new();
    for line in ["-x c - -o x", "-xc - -o x -lm", "-x c -c - -o x.o"] {
        let mut child = dir
            .command(CC)
            .args(line.split_whitespace())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("pen-cc runs");
        let mut input = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut input, b"int main(void) { return 7; }\n").expect("pen-cc reads its input");
        drop(input);
        let output = child.wait_with_output().expect("pen-cc ends");
        assert!(output.status.success() && output.stderr.is_empty(), "{}", dir.report(line, &output));
    }
    assert_eq!(dir.program("x", &[]).1, 7);
}

const INLINE: &str = r"
#include <algorithm>
template <typename T> T limited(T x, T low, T high) {
  switch (int(x)) { case 1: return low; case 7: return high; case 12: return x; }
  if (!(x > low)) return low;
  return x > high && high != low ? high : x;
}
inline int counted(int a) {
  static int calls;
  calls++;
#ifdef CHECKS
  if (a < -1000 || a > 1000) return calls;
#endif
  return a > 3 ? a * 2 : std::min(a, calls);
}
struct Shape {
  int n;
  Shape(int n) : n(n) { if (n > 5) this->n = 5; }
  virtual ~Shape() { if (n < 0) n = 0; }
  virtual int corners() const { return n > 2 ? n : 2; }
};
inline int all(int a, int b) {
  Shape shape(a);
  int both[] = {a, b};
  std::sort(both, both + 2);
  return std::min(limited(a, 1, b), counted(b)) + std::max(shape.corners(), both[0]);
}
";

/// Each file has a copy of the functions, of which the linker keeps one, and the optimizer copies them into their
/// callers. The two files may also be compiled differently, as with and without NDEBUG.
#[test]
fn inline_functions_and_templates_in_two_files_link() {
    let dir = Dir::new()
        .file("inline.h", INLINE)
        .file("a.cc", "#include \"inline.h\"\nint first(int a) { return all(a, 3); }\n")
        .file(
            "b.cc",
            "#include \"inline.h\"\nint first(int);\nint second(int b) { return counted(b) + all(b, 4); }\n\
             int main() { return first(2) + second(5); }\n",
        );
    for (first, second) in [
        ("-O0", "-O0"),
        ("-O1", "-O1"),
        ("-O2 -DNDEBUG", "-O2 -DNDEBUG"),
        ("-O0 -ffunction-sections", "-O3 -fvisibility-inlines-hidden"),
        ("-O2", "-O2 -DCHECKS"),
        ("-O2 -DCHECKS", "-O1"),
    ] {
        dir.quietly(CXX, &format!("-fPIC {first} -c a.cc"));
        dir.quietly(CXX, &format!("-fPIC {second} -c b.cc"));
        dir.quietly(CXX, "-shared a.o b.o -o both.so");
        dir.quietly(CXX, "a.o b.o -o program");
        dir.quietly(CXX, "-Wl,--gc-sections a.o b.o -o small");
        let archive = dir.run("ar", "rcs both.a b.o a.o");
        assert!(archive.status.success(), "{}", dir.report("ar", &archive));
        dir.quietly(CXX, "both.a -o archived");
        for name in ["program", "small", "archived"] {
            assert_eq!(dir.program(name, &[]).1, 22, "{name} of {first} and {second}");
        }
        for name in ["both.so", "program"] {
            let loaded = dir.load(name);
            let n = |name: &str| loaded.functions.iter().filter(|f| *f == name).count();
            assert_eq!((n("counted"), n("limited<int>"), n("first")), (1, 1, 1), "{name} of {first} and {second}");
        }
    }
}

const MESON: &str = "project('m', 'c', 'cpp', default_options: ['buildtype=release', 'werror=true'])\n\
    m = meson.get_compiler('c').find_library('m')\n\
    l = shared_library('l', 'a.cc', 'b.cc')\n\
    executable('p', 'x.c', link_with: l, dependencies: m)\n";

#[test]
fn meson_builds_with_it() {
    let dir = Dir::new()
        .file("meson.build", MESON)
        .file("inline.h", INLINE)
        .file("a.cc", "#include \"inline.h\"\nextern \"C\" int first(int a) { return all(a, 3); }\n")
        .file("b.cc", "#include \"inline.h\"\nextern \"C\" int second(int b) { return counted(b) + all(b, 4); }\n")
        .file("x.c", "int first(int); int second(int);\nint main(void) { return first(2) + second(5); }\n");
    if std::process::Command::new("meson").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "meson is missing: ./setup --peers installs it");
        eprintln!("skipped: meson is missing");
        return;
    }
    let setup =
        dir.command("meson").env("CC", CC).env("CXX", CXX).args(["setup", "build"]).output().expect("meson runs");
    assert!(setup.status.success(), "{}", dir.report("meson setup", &setup));
    let build = dir.run("ninja", "-C build");
    assert!(build.status.success(), "{}", dir.report("ninja", &build));
    assert_eq!(dir.program("build/p", &[]).1, 22);
    assert!(dir.load("build/libl.so").functions.contains(&"first".to_owned()));
}

/// `AC_CHECK_FUNC`, `AC_CHECK_LIB` and `CMake`'s checks test whether a program links.
#[test]
fn a_missing_function_or_library_is_an_error_of_the_link() {
    let call = |name: &str| format!("char {name}();\nint main(void) {{ return {name}(); }}\n");
    let dir = Dir::new()
        .file("missing.c", &call("no_such_function"))
        .file("printf.c", &call("abort"))
        .file("math.c", "double atan2(double, double);\nint main(int c, char **v) { return v && atan2(c, 2) > 9; }\n");
    for (line, links) in [
        ("-w missing.c -o x", false),
        ("-w printf.c -o x", true),
        ("-w -fno-builtin math.c -o x", false),
        ("-w -fno-builtin math.c -o x -lm", true),
        ("-w printf.c -lno_such_library -o x", false),
        ("-w missing.c -shared -o x.so", true),
        ("-w missing.c -shared -Wl,-z,defs -o x.so", false),
        ("-w missing.c -shared -Wl,--no-undefined -o x.so", false),
        ("-w missing.c -shared -z defs -o x.so", false),
        ("--no-such-option printf.c -o x", false),
    ] {
        let output = dir.run(CC, line);
        assert_eq!(output.status.success(), links, "{}", dir.report(line, &output));
    }
}

#[test]
fn code_for_fuzzing_is_left_out() {
    let dir = Dir::new().file(
        "x.c",
        "int main(void) {\n#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION\nreturn 1;\n#else\nreturn 0;\n#endif\n}\n",
    );
    dir.quietly(CC, "x.c -o x");
    assert_eq!(dir.program("x", &[]).1, 0, "the macro is not defined");
    dir.quietly(CC, "-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION x.c -o x");
    assert_eq!(dir.program("x", &[]).1, 1, "the user defines it");
}

#[test]
fn errors_are_those_of_clang_or_one_sentence() {
    let dir = Dir::new().file("bad.c", "int x = ;\n").file("x.c", FUNCTION).file("file", "");
    let output = dir.run(CC, "-c bad.c");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("bad.c:1:9: error:"),
        "{}",
        dir.report("clang's", &output)
    );

    for line in ["-c x.c -o", "-c x.c --libafl"] {
        let (ours, its) = (dir.run(CC, line), dir.run(&clang(), line));
        let text = String::from_utf8_lossy(&ours.stderr);
        assert_eq!((ours.status.code(), &ours.stderr), (Some(1), &its.stderr), "{}", dir.report("clang's", &ours));
        assert!(text.contains("error: "), "{}", dir.report("clang's", &ours));
    }

    let blocked = dir.path("file").display().to_string();
    for (variable, value, line, expected) in [
        ("NOTHING", "", "-c", "no input files"),
        ("NOTHING", "", "", "no input files"),
        ("NOTHING", "", "-m32 x.c", "-m32 is not supported"),
        ("PEN_CC_CLANG", "/no/such/clang", "-c x.c", "cannot run /no/such/clang"),
        ("PEN_CC_CLANG", "/bin/true", "-c x.c", "PEN_CC_CLANG=/bin/true is of an unknown version"),
        ("XDG_CACHE_HOME", blocked.as_str(), "-c x.c", "cannot write"),
    ] {
        let output = dir.command(CC).env(variable, value).args(line.split_whitespace()).output().expect("pen-cc runs");
        let text = String::from_utf8_lossy(&output.stderr);
        let sentence = text.strip_prefix("pen-cc: error: ").unwrap_or_default();
        assert!(sentence.starts_with(expected) && text.lines().count() == 1, "{}", dir.report(expected, &output));
        assert_eq!(output.status.code(), Some(1), "{}", dir.report(expected, &output));
    }
}

#[test]
fn a_home_directory_that_cannot_be_written_is_skipped() {
    let dir = Dir::new().file("x.c", FUNCTION).file("home", "");
    let temporary = dir.path("");
    let output = dir
        .command(CC)
        .env_remove("XDG_CACHE_HOME")
        .env("HOME", dir.path("home"))
        .env("TMPDIR", &temporary)
        .args(["-c", "x.c"])
        .output()
        .expect("pen-cc runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", dir.report("the fallback", &output));
}
