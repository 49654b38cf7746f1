//! Which functions keep no state from one evaluation to the next, so that a fresh process makes no difference.

use penfuzz_compile::{Recipe, build};
use penfuzz_target::program::{Target, state::SharedState};

const TEXT: &str = "#include <errno.h>
#include <math.h>
#include <stdlib.h>
static const double table[] = {1, 2};
static int calls;
int plain(double x) { return x > 3; }
int reads_a_table(int i) { return table[i & 1] > 1; }
int mathematics(double x) { return sin(x) + fmaf((float)x, 2, 3) > 1; }
int calls_plain(double x) { return plain(x) + 1; }
int counts(double x) { return ++calls > 3 && x > 3; }
int calls_counts(double x) { return counts(x); }
int draws(double x) { return rand() > x; }
int reads_errno(double x) { return errno && exp(x) > 1; }
int allocates(double x) { int *p = malloc(4); int n = p && *p > x; free(p); return n; }
int through_a_table(double x) { int (*const all[])(double) = {plain, counts}; return all[x > 1](x); }
";

fn is_stateless(target: &Target, name: &str) -> bool {
    let function = target.functions.iter().find(|f| f.name == name).expect("the function is there");
    SharedState::of(target, function).is_stateless()
}

#[test]
fn functions_that_keep_state_are_recognised() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = directory.path().join("state.c");
    std::fs::write(&source, TEXT).expect("the source is written");
    let file = build(&Recipe { sources: vec![source], ..Recipe::default() }).expect("the target compiles");
    let target = Target::load(&file).expect("the target loads");
    for name in ["plain", "reads_a_table", "mathematics", "calls_plain"] {
        assert!(is_stateless(&target, name), "{name}");
    }
    for name in ["counts", "calls_counts", "draws", "reads_errno", "allocates", "through_a_table"] {
        assert!(!is_stateless(&target, name), "{name}");
    }
}
