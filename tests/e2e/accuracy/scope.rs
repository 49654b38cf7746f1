//! Which functions' branches divide the map of errors into parts.

use super::json;
use crate::support::Dir;

/// A function without branches, and a function with two that it calls.
const WRAPPED: &str = "static double parts(double x) { return x < 1 ? x / 3 : x < 2 ? x * x / 3 : x + 0.1; }
double wrapper(double x) { return parts(x); }
long double exact(double x) { return x < 1 ? x / 3.0L : x < 2 ? (long double)x * x / 3 : x + 0.1L; }
";

#[test]
fn the_map_is_of_called_functions_with_scope_calls() {
    let dir = Dir::new();
    dir.file("wrapped.c", WRAPPED);
    let with = |scope| {
        let options = "accuracy wrapped.c -f wrapper --reference wrapped.c:exact --max-evals 20000 --arg";
        dir.penfuzz(options).arg("x: 0.5..4").args(scope)
    };
    let usual = with("").exits(0);
    usual.expect(
        usual.stdout.contains("--scope calls also counts those of called functions"),
        "where there is more to see",
    );
    let none = dir.penfuzz("differ wrapped.c:wrapper wrapped.c:wrapper --max-evals 2000").exits(0);
    none.expect(!none.stdout.contains("one set of branches"), "nothing was found, so there is no set");
    let map = with("--scope calls").exits(0);
    map.expect(
        map.stdout.contains("worst input of each of 3 sets of branches:"),
        "three ways through the called function",
    );
    let answer = json(&with("--scope calls --json").exits(0));
    let regions = answer["regions"].as_array().expect("a list");
    let branches = |region: &serde_json::Value| region["branches"].as_array().map_or(0, Vec::len);
    assert_eq!(regions.iter().map(branches).sum::<usize>(), 2 + 2 + 1, "{regions:?}");
}

#[test]
fn a_directory_has_runs_of_one_scope() {
    let dir = Dir::new();
    dir.file("wrapped.c", WRAPPED);
    let options = "accuracy wrapped.c -f wrapper --reference wrapped.c:exact --max-evals 2000 -o out";
    dir.penfuzz(options).exits(0);
    let other = dir.penfuzz(options).args("--scope calls").exits(1);
    other.expect(other.stderr.contains("--scope function; give another -o"), "what it holds");
    dir.penfuzz(options).args("--scope function").exits(0);
}
