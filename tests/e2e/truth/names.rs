//! Functions are found by the names that users write, and the messages about them are correct.

use std::{fmt::Write, path::Path, process::Command};

use crate::support::Dir;

#[test]
fn a_name_with_a_prefix_is_offered() {
    let dir = Dir::new();
    dir.file("lib.c", "double lib_hyp2f1(double x) { return x; }\ndouble hyper(double x) { return x; }\n");
    dir.fuzz("lib.c", "-f hyp2f1").exits(1).says("has no function `hyp2f1`; did you mean lib_hyp2f1");
    dir.fuzz("lib.c", "-f my_hyper").exits(1).says("did you mean hyper");
}

#[test]
fn a_static_function_is_chosen_by_its_file() {
    let dir = Dir::new();
    dir.file("a.c", "static int twice(int n) { if (n > 1) return 5; return 0; }\nint a(int n) { return twice(n); }\n");
    dir.file(
        "b.c",
        "static int twice(int n) { if (n > 2) return 5; if (n < -9) return 6; return 0; }\n\
                     int b(int n) { return twice(n); }\n",
    );
    let run = dir.penfuzz("a.c --with b.c -o out -f twice").exits(1);
    run.says("identify one by FILE:NAME");
    for (choice, branches) in [("a.c:twice", 2), ("b.c:twice", 4)] {
        let run = dir.penfuzz("a.c --with b.c --fresh -o out --max-evals 1000 -f").arg(choice).run();
        run.expect(run.status.success(), "a campaign");
        let total = dir.report("out").branches.total;
        run.expect(total == branches, &format!("{branches} branches, are {total}"));
        // The stored campaign identifies its function again.
        dir.penfuzz("merge out -o").arg(format!("merged-{branches}")).exits(0);
    }
}

#[test]
fn a_static_function_of_a_header_is_one() {
    let dir = Dir::new();
    dir.file("inline.h", "static inline int small(int n) { return n < 3 && n > -3; }\n");
    dir.file("a.c", "#include \"inline.h\"\nint a(int n) { return small(n); }\n");
    dir.file("b.c", "#include \"inline.h\"\nint b(int n) { return small(n); }\n");
    dir.penfuzz("a.c --with b.c -o out --max-evals 1000 -f small").exits(0);
}

#[test]
fn unsupported_parameters_are_listed_with_type_and_reason() {
    let dir = Dir::new();
    let source = "#include <stdarg.h>
struct unknown;
int list(va_list l) { return va_arg(l, int) > 1; }
int hidden(struct unknown *u, int n) { return n > 1; }
int many(int n, ...) { return n > 1; }
int none(void) { return 1; }
";
    dir.file("types.c", source);
    for (function, text) in [
        ("list", "(a list of arguments)"),
        ("hidden", "`u` has type `struct unknown *` (the type that it points to has no definition in the target)"),
        ("many", "has type `...` (the number of arguments is not fixed)"),
        ("none", "`int none(void)` takes no arguments"),
    ] {
        dir.fuzz("types.c", "-f").arg(function).exits(1).says(text);
    }
}

/// The list of 300 functions exceeds the capacity of a pipe.
#[test]
fn a_reader_that_leaves_ends_the_list() {
    let dir = Dir::new();
    let mut source = String::new();
    for i in 0..300 {
        let _ =
            writeln!(source, "double a_function_with_quite_a_long_name_{i}(double x, double y) {{ return x + y; }}");
    }
    dir.file("many.c", source);
    let line = format!(
        "XDG_CACHE_HOME={} {} functions many.c --json 2>errors | head -1",
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache").display(),
        env!("CARGO_BIN_EXE_penfuzz")
    );
    assert_eq!(dir.other(Command::new("sh").args(["-c", &line])), "[\n");
    let errors = std::fs::read_to_string(dir.path("errors")).expect("the shell has made it");
    assert_eq!(errors, "", "neither a panic nor a message");
}
