//! Pointers that a function only passes on to functions of other translation units.

use std::process::Command;

use crate::{
    outputs::{build_line, gcov},
    support::{Dir, open_branches},
};

/// The caller uses neither pointer itself. `norm` reads its array, through another function; `fill` only writes it.
const CALLER: &str = "double norm(double *v, int n);
void fill(double *v, int n);
int judge(double *v, double *scratch, int n)
{
    fill(scratch, n);
    double length = norm(v, n);
    if (length > 3 && length < 3.5) return 1;
    if (length == 25) return 2;
    return 0;
}
";

const CALLEES: &str = "double square(double *x) { return *x * *x; }
double norm(double *v, int n)
{
    double sum = 0;
    for (int i = 0; i < n && i < 4; i++) sum += square(v + i);
    return sum;
}
void fill(double *v, int n)
{
    for (int i = 0; i < n && i < 4; i++) v[i] = i;
}
";

#[test]
fn memory_read_by_another_unit_is_an_input() {
    let dir = Dir::new();
    dir.file("caller.c", CALLER);
    dir.file("callees.c", CALLEES);
    let run = dir.fuzz("caller.c", "-f judge --with callees.c --max-evals 100000 --seed 1").exits(0);
    run.expect(open_branches(&dir.report("out")).is_empty(), "all branches");
    let total = dir.report("out").branches.total;
    let shown = dir.penfuzz("functions caller.c --with callees.c").exits(0);
    let judge = shown.stdout.split("int judge(").nth(1).unwrap_or_default();
    shown.expect(judge.contains("v: double\n") && judge.contains("scratch: double (only written)\n"), "one result");
    let programs = dir.files("out/tests");
    let (_, text) = programs.iter().find(|(name, _)| name.starts_with("test_")).expect("a test program");
    let text = String::from_utf8_lossy(text).into_owned();
    dir.other(Command::new("sh").args(["-c", &format!("cd out/tests && {}", build_line(&text))]));
    run.expect(gcov(&dir, "judge") == (total, total), "gcov's count");
}

/// The C library reads `s`, a string, and the arrays `v` and `w`. It only writes `whole`.
const LIBRARY: &str = "#include <math.h>
#include <stdlib.h>
#include <string.h>
int by_library(char *s, double *v, double *w, double x, double *whole)
{
    int code = 0;
    if (strlen(s) > 3) code += 1;
    if (atof(s) == 42) code += 2;
    if (memcmp(v, w, 3 * sizeof *v) == 0) code += 4;
    if (modf(x, whole) == 0.25) code += 8;
    return code;
}
";

#[test]
fn memory_read_by_the_c_library_is_an_input() {
    let dir = Dir::new();
    dir.file("library.c", LIBRARY);
    let run = dir.fuzz("library.c", "--max-evals 100000 --seed 1").exits(0);
    run.expect(open_branches(&dir.report("out")).is_empty(), "all branches");
    let shown = dir.penfuzz("functions library.c").exits(0);
    let written: Vec<_> = shown.stdout.lines().filter(|line| line.contains("(only written)")).collect();
    shown.expect(written.len() == 1 && written[0].contains("whole: "), "one result");
}
