//! Calls are followed within the target file; functions outside of it are listed.

use std::process::Command;

use crate::support::Dir;

fn wrapper() -> Dir {
    let dir = Dir::new();
    dir.file("helper.c", "int helper(int n) { return n > 3; }\n");
    dir.other(Command::new("gcc").args(["-shared", "-fPIC", "helper.c", "-o", "libhelper.so.1"]));
    let source = "#include <math.h>
int helper(int n);
double wrapper(double x) { return x > 1 ? sin(x) : helper((int)(x > 0)); }
";
    dir.file("wrapper.c", source);
    dir
}

#[test]
fn a_shared_library_that_is_not_followed_is_named() {
    let dir = wrapper();
    let library = dir.path("libhelper.so.1");
    let run = dir.fuzz("wrapper.c", "--lib=-lm --scope calls --max-evals 1000").arg("--lib").arg(&library).exits(0);
    run.says("penfuzz: calls into libhelper.so.1 are not followed: link the static library to search them too");
    run.expect(!run.stderr.contains("libm"), "libraries of the system are not named");
    run.expect(dir.report("out").not_followed == ["libhelper.so.1"], "not_followed in report.json");
}

#[test]
fn nothing_is_said_where_calls_are_not_followed_anyway() {
    let dir = wrapper();
    let library = dir.path("libhelper.so.1");
    let run = dir.fuzz("wrapper.c", "--lib=-lm --max-evals 1000").arg("--lib").arg(&library).exits(0);
    run.expect(
        !run.stderr.contains("not followed") && dir.report("out").not_followed.is_empty(),
        "no library is named",
    );
}
