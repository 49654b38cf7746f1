//! The emitted tests include the project's own header that declares the function, if there is one that can be included.

use penfuzz_report::Header;

use crate::support::Dir;

/// Returns the header of the emitted tests of `lib.c`, which must build and pass.
fn header_of(files: &[(&str, &str)], target: &str, arguments: &str) -> Option<Header> {
    let dir = Dir::new();
    for (name, content) in files {
        dir.file(name, content);
    }
    let run = dir.fuzz(dir.path(target), arguments).exits(0);
    let report = dir.report("out");
    let commands = report.test_program.expect("the report has commands");
    for command in [&commands.build, &commands.run, &commands.coverage] {
        let output = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(dir.path("out"))
            .output()
            .expect("sh runs");
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        run.expect(output.status.success(), &format!("success of {command}\n{printed}"));
    }
    report.header
}

fn included(files: &[(&str, &str)], arguments: &str) -> Vec<String> {
    header_of(files, "src/lib.c", arguments).map_or_else(Vec::new, |h| h.includes)
}

const BODY: &str = "double lib_f(double x) { if (x > 3.5) return 1; return x; }\n";

#[test]
fn as_the_source_writes_it() {
    let source = format!("#include <project/lib.h>\n{BODY}");
    let files = [("inc/project/lib.h", "double lib_f(double);\n"), ("src/lib.c", source.as_str())];
    assert_eq!(included(&files, "--cflag -Iinc"), ["<project/lib.h>"]);
}

/// A header that needs another before it, and a header that another one includes.
#[test]
fn with_what_it_needs() {
    let source = format!("#include \"config.h\"\n#include \"lib.h\"\n{BODY}");
    let files = [
        ("src/config.h", "#define REAL double\n"),
        ("src/inner.h", "REAL lib_f(REAL);\n"),
        ("src/lib.h", "#include \"inner.h\"\n"),
        ("src/lib.c", source.as_str()),
    ];
    assert_eq!(included(&files, ""), ["\"config.h\"", "\"lib.h\""]);
}

/// A test has a variable of each type, so the header must define all of them. Here only the source defines a part of
/// the structure.
#[test]
fn types_that_only_the_source_defines_need_the_source() {
    let declared = "struct part;\nstruct whole { struct part *part; int n; };\nint lib_p(const struct whole *w);\n";
    let body = "struct part { double a; };\nint lib_p(const struct whole *w) { \
                return w && w->n == 3 && w->part->a > 2 ? 1 : 0; }\n";
    let source = format!("#include \"lib.h\"\n{body}");
    assert_eq!(included(&[("src/lib.h", declared), ("src/lib.c", source.as_str())], ""), Vec::<String>::new());
}

/// A source that another source includes, and a header with definitions: a second file must not include them.
#[test]
fn not_with_definitions() {
    let body = "#include \"table.c\"\n#include \"lib.h\"\n".to_owned() + BODY;
    let files = [
        ("src/table.c", "#include \"lib.h\"\ndouble scale = 2;\n"),
        ("src/lib.h", "#ifndef LIB\n#define LIB\nextern double scale;\ndouble lib_f(double);\n#endif\n"),
        ("src/lib.c", body.as_str()),
    ];
    assert_eq!(included(&files, ""), ["\"lib.h\""]);
    let body = format!("#include \"lib.h\"\n{BODY}");
    let files = [("src/lib.h", "double scale = 2;\ndouble lib_f(double);\n"), ("src/lib.c", body.as_str())];
    assert!(included(&files[..], "").is_empty());
}

/// The header defines the structure that is returned; without the header, the source must be included.
#[test]
fn structures_come_from_it() {
    let declared = "typedef struct { double a; } one;\none lib_s(double x);\n";
    let body = "one lib_s(double x) { one o = {x}; if (x > 2) o.a = 1; return o; }\n";
    let source = format!("#include \"lib.h\"\n{body}");
    assert_eq!(included(&[("src/lib.h", declared), ("src/lib.c", source.as_str())], ""), ["\"lib.h\""]);
}

/// Text that looks like a declaration but is not: a comment, a macro for another function, a `static inline` function,
/// a wrong overload.
#[test]
fn not_where_it_declares_another() {
    for declared in [
        "/* lib_f(double) */\n",
        "double lib_other(double);\n#ifndef LIB\n#define lib_f(x) lib_other(x)\n#endif\n",
        "#ifndef LIB\nstatic inline double lib_f(double x) { return x; }\n#endif\n",
        "#ifndef LIB\n#error not for others\n#endif\ndouble lib_f(double);\n",
    ] {
        let source = format!("#define LIB\n#include \"lib.h\"\n{BODY}");
        let files = [("src/lib.h", declared), ("src/lib.c", source.as_str())];
        assert!(included(&files, "").is_empty(), "{declared}");
    }
    let body = "#include \"lib.h\"\nint f(int x) { return x; }\nint f(double x) { return x > 2.5 ? 1 : 0; }\n";
    let files = [("src/lib.h", "int f(int);\n"), ("src/lib.cc", body)];
    assert_eq!(header_of(&files, "src/lib.cc", "--function _Z1fd"), None);
}

/// Otherwise the tests would include the project's own `stdio.h`, too.
#[test]
fn not_with_standard_headers_of_its_own() {
    let source = format!("#include <lib.h>\n{BODY}");
    let files = [
        ("inc/lib.h", "double lib_f(double);\n"),
        (
            "inc/stdio.h",
            "int puts(const char *);\nint printf(const char *, ...);\nint snprintf(char *, unsigned long, const char \
             *, ...);\n",
        ),
        ("src/lib.c", source.as_str()),
    ];
    assert!(included(&files, "--cflag -Iinc").is_empty());
}

/// A header with an enumeration, as a project has it.
const LIGHT: &str = "enum light { STOP, READY = 4, GO };\nenum light next(enum light now, double waited);\n";

const LIGHTS: &str = "#include \"light.h\"
enum light next(enum light now, double waited)
{
  if (waited < 2.5) return now;
  if (waited != waited) return STOP;
  if (now == GO) return READY;
  return GO;
}
";

/// The text has names of cases and enumerators, and values in the calls.
#[test]
fn tests_read_as_the_project_does() {
    let dir = Dir::new();
    dir.file("light.h", LIGHT);
    let run = dir.fuzz(dir.file("light.c", LIGHTS), "").exits(0);
    let text = String::from_utf8(dir.files("out/tests")["test_next.c"].clone()).expect("a text");
    for part in ["_when_now_is_GO(", "next(GO, ", "waited_is_nan(", "next(STOP, NAN), "] {
        run.expect(text.contains(part), &format!("`{part}` in\n{text}"));
    }
    dir.other(std::process::Command::new("make").args(["-C", "out/tests", "check"]));
}
