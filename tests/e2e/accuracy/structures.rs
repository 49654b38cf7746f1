//! Functions that fill in structures, and functions that return integers: comparisons, and the tests that are emitted.

use super::{accuracy, emitted::check, json, own};
use crate::support::Dir;

const TYPES: &str = "typedef struct { int order; double val, err; } outcome;\n";

/// A function that fills in a structure and returns a status.
fn root(name: &str, value: &str) -> String {
    format!(
        "{TYPES}int {name}(double x, outcome *r) {{\n  if (x < 0) {{ r->val = 7; return 4; }}\n  \
         r->order = 2; r->val = {value}; r->err = 0;\n  return 0;\n}}\n"
    )
}

const WRONG: &str = "x > 2 && x < 3 ? 1 / x + 0x1p-40 : 1 / x";
const RIGHT: &str = "1 / x";

#[test]
fn tests_of_two_functions_that_fill_in_structures_assert_the_difference_away() {
    for file in ["new.c", "new.cc"] {
        let dir = Dir::new();
        dir.file("old.c", root("f", RIGHT));
        dir.file(file, root("f", WRONG));
        let run =
            dir.penfuzz("differ").arg(format!("{file}:f")).args("old.c:f --max-evals 100000 --json -o out").exits(0);
        let worst = &json(&run)["worst"];
        let ulp = worst["ulp"].as_f64().expect("they differ");
        // 2^-40 is 2^14 ulps of results in [1/4, 1/2), the largest number for any result.
        run.expect((ulp - 16384.0).abs() <= 1.0, &format!("2^-40 of results below 1/2: {ulp}"));
        run.expect(worst["result"]["name"] == "r->val", "the first float, not the integer before it");
        let (passed, text) = check(&dir);
        run.expect(!passed && text.contains("FAILED: r->val is "), &format!("the values of old.c: {text}"));
        dir.file(file, root("f", RIGHT));
        let (passed, text) = check(&dir);
        run.expect(passed && text.contains("r->val = "), &format!("nothing differs now: {text}"));
        dir.file(file, root("f", RIGHT).replace("return 0", "return 1"));
        let (passed, text) = check(&dir);
        run.expect(!passed && text.contains("FAILED: result is not 0"), &format!("a status is not 0: {text}"));
    }
}

#[test]
fn a_test_has_the_types_of_a_header() {
    let dir = Dir::new();
    dir.file("f.h", format!("{TYPES}int f(double x, outcome *r);\n"));
    let text = |value: &str| root("f", value).replace(TYPES, "#include \"f.h\"\n");
    dir.file("f.c", text(WRONG));
    dir.file("exact.c", "long double exact(double x) { return 1 / (long double)x; }\n");
    let run = dir.penfuzz("accuracy f.c -f f --reference exact.c:exact --max-evals 100000 -o out --ulp 1").exits(0);
    let program = std::fs::read_to_string(dir.path("out/tests/test_f.c")).expect("there are tests");
    run.expect(program.contains("#include \"f.h\"") && program.contains(".val"), &program);
    let (passed, text) = check(&dir);
    run.expect(!passed && text.contains("FAILED: r->val is "), &text);
}

#[test]
fn another_member_and_the_status_are_compared_if_they_are_named() {
    let dir = Dir::new();
    dir.file("a.c", root("f", RIGHT));
    dir.file("b.c", root("f", RIGHT).replace("x < 0", "x < 1e-3").replace("r->err = 0", "r->err = 0x1p-60"));
    let differ =
        |options: &str, status| dir.penfuzz("differ a.c:f b.c:f --max-evals 100000").args(options).exits(status);
    differ("--exact", 0).expect(true, "where one has another status than 0, values are not compared");
    let of_errors = differ("--result err --error absolute --json", 0);
    of_errors.expect(json(&of_errors)["worst"]["absolute"] == 2f64.powi(-60), "the other member");
    let of_status = differ("--result returned --exact --json", 3);
    let wrong = &json(&of_status)["wrong"][0];
    of_status
        .expect(wrong["result"]["decimal"] == "0" && wrong["reference"]["rounded"]["decimal"] == "4", "the status");
    dir.file("c.c", "int f(double x, double y) { return x < y; }\n");
    dir.penfuzz("differ a.c:f c.c:f").exits(1).says("the reference");
}

#[test]
fn integers_differ_by_numbers() {
    let dir = Dir::new();
    let of = |name: &str, at: &str, by: &str| {
        dir.file(
            name,
            format!("unsigned long f(double x, int n) {{ return n == {at} ? 0xfffffffffffffff0ul - {by} : x > n; }}\n"),
        );
    };
    of("a.c", "-77", "5");
    of("b.c", "-77", "0");
    let run = dir.penfuzz("differ a.c:f b.c:f --arg n:-100..100 --max-evals 300000 --json -o out").exits(0);
    let answer = json(&run);
    let worst = &answer["worst"];
    run.expect(worst["absolute"] == 5.0 && worst["ulp"].is_null(), &format!("the difference: {worst}"));
    run.expect(worst["reference"]["rounded"]["bits"] == "0xfffffffffffffff0", "all digits of the other");
    let (passed, text) = check(&dir);
    run.expect(!passed && text.contains("FAILED: result is not 18446744073709551600"), &text);
    let text = dir.penfuzz("differ a.c:f b.c:f --arg n:-100..100 --max-evals 300000").exits(0);
    text.expect(text.stdout.contains("worst 5 absolute"), "a number without fractions");
    of("b.c", "-77", "5");
    let same = dir.penfuzz("differ a.c:f b.c:f --arg n:-100..100 --max-evals 100000 --exact").exits(0);
    same.expect(same.stdout.contains("no difference was found"), "they are the same");
    let text = accuracy(&dir, "integer", &["--reference", &own("same"), "--max-evals", "10000"], 0).stdout;
    let is_listed = |class: &str| text.contains(class);
    assert!(is_listed("wrong infinity ") && is_listed("wrong NaN "), "an integer is neither: {text}");
    dir.penfuzz("accuracy a.c -f f --reference mpfr:fmod").exits(1).says("takes (double, double)");
}
