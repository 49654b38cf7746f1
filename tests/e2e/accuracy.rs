//! `penfuzz accuracy` and `penfuzz differ`: the largest errors, compared with references of the user and with MPFR.

use serde_json::Value;

use crate::support::{Dir, Run, fixture};

#[path = "accuracy/cancellation.rs"]
mod cancellation;
#[path = "accuracy/cores.rs"]
mod cores;
#[path = "accuracy/directory.rs"]
mod directory;
#[path = "accuracy/emitted.rs"]
mod emitted;
#[path = "accuracy/held.rs"]
mod held;
#[path = "accuracy/mathematics.rs"]
mod mathematics;
#[path = "accuracy/measures.rs"]
mod measures;
#[path = "accuracy/scope.rs"]
mod scope;
#[path = "accuracy/structures.rs"]
mod structures;

fn accuracy<'a>(dir: &'a Dir, function: &str, arguments: &[&str], status: i32) -> Run<'a> {
    let mut run = dir.penfuzz("accuracy").arg(fixture("accuracy.c")).arg("-f").arg(function);
    for a in arguments {
        run = run.arg(a);
    }
    run.exits(status)
}

/// Returns `FILE.c:NAME` for a function of the fixture.
fn own(name: &str) -> String {
    format!("{}:{name}", fixture("accuracy.c").display())
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stdout))
}

fn bits(arg: &Value) -> u64 {
    let text = arg["bits"].as_str().expect("a value has bits");
    u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("bits are hex")
}

/// Returns the error of `cubic` in ulps. The exact cube has 72 bits; rounding it to a double changes the error by about
/// 2^-29 ulp of the result.
fn error_of_cubic(x: f32) -> f64 {
    let y = x * x * x - x;
    let wide = f64::from(x);
    let exact = wide * wide * wide - wide;
    let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023 - 23).max(-149);
    ((f64::from(y) - exact) / 2f64.powi(exponent)).abs()
}

#[test]
fn the_worst_of_a_small_box_is_that_of_all_its_floats() {
    let dir = Dir::new();
    let (least, greatest) = (1.5f32, 1.51f32);
    let all = (least.to_bits()..=greatest.to_bits()).map(f32::from_bits);
    let worst = all.map(error_of_cubic).fold(0.0, f64::max);
    for seed in ["1", "2", "3"] {
        let reference = own("cubic_wide");
        let args =
            ["--reference", &reference, "--arg", "x: 1.5..1.51", "--max-evals", "2000000", "--seed", seed, "--json"];
        let run = accuracy(&dir, "cubic", &args, 0);
        let found = json(&run)["worst"]["ulp"].as_f64().expect("there is a worst");
        run.expect((found - worst).abs() < 1e-6 * worst, &format!("{found} is the worst of all floats, {worst}"));
    }
}

#[test]
fn every_input_of_a_small_box_is_tried() {
    let dir = Dir::new();
    let (least, greatest) = (1.5f32, 1.51f32);
    let all = (least.to_bits()..=greatest.to_bits()).map(f32::from_bits);
    let worst = all.clone().map(error_of_cubic).fold(0.0, f64::max);
    let reference = own("cubic_wide");
    let run = accuracy(&dir, "cubic", &["--reference", &reference, "--arg", "x: 1.5..1.51", "--exhaust", "--json"], 0);
    let answer = json(&run);
    let found = answer["worst"]["ulp"].as_f64().expect("there is a worst");
    run.expect((found - worst).abs() < 1e-6 * worst, &format!("{found} is the worst of all floats, {worst}"));
    run.expect(answer["exhausted"].as_u64() == Some(all.count() as u64), "their number");
    let cut = ["--reference", &reference, "--exhaust", "--max-time", "200ms", "--json"];
    let run = accuracy(&dir, "cubic", &cut, 0);
    run.expect(json(&run)["exhausted"].is_null(), "not all floats in that time");
    let reference = own("same");
    accuracy(&dir, "narrow_fault", &["--reference", &reference, "--exhaust"], 1).says("at most 2^32 inputs");
}

#[test]
fn simpler_searches_find_no_more_than_there_is() {
    let dir = Dir::new();
    let worst = (1.5f32.to_bits()..=1.51f32.to_bits()).map(f32::from_bits).map(error_of_cubic).fold(0.0, f64::max);
    let reference = own("cubic_wide");
    for search in ["moves", "structured", "uniform"] {
        let args =
            ["--reference", &reference, "--arg", "x: 1.5..1.51", "--max-evals", "20000", "--search", search, "--json"];
        let run = accuracy(&dir, "cubic", &args, 0);
        let answer = json(&run);
        let found = answer["worst"]["ulp"].as_f64().expect("there is a worst");
        run.expect(found > 0.0 && found <= worst + 1e-6, &format!("{search}: {found} of {worst}"));
        run.expect(answer["evaluations"] == 20000, "all evaluations");
    }
}

/// `root` returns a value with an estimate of its error, and a status. `thirds` fills in three floats that end where
/// their memory ends.
const ESTIMATED: &str = "#include <math.h>
struct result { double val, err; };
int root(double x, struct result *r) {
  if (x < 0) { r->val = 7; r->err = 1e-300; return 1; }
  r->val = sqrt(x);
  if (x > 3 && x < 3.0001) r->val *= 1 + 1e-12;
  r->err = 1e-14 * r->val;
  return 0;
}
struct three { float a, b, c; };
void thirds(float x, struct three *t) { t->a = t->b = 0; t->c = x / 3; }
long double exact_root(double x) { return sqrtl(x); }
double exact_third(float x) { return x / 3.0; }
";

fn estimated<'a>(dir: &'a Dir, function: &str, arguments: &str, status: i32) -> Run<'a> {
    dir.file("estimated.c", ESTIMATED);
    dir.penfuzz("accuracy estimated.c --lib -lm --max-evals 300000 -f").arg(function).args(arguments).exits(status)
}

#[test]
fn an_error_is_found_that_is_larger_than_the_function_says() {
    let dir = Dir::new();
    let options = "--reference estimated.c:exact_root --arg x:-10..10 --json";
    let run = estimated(&dir, "root", &format!("{options} --estimate err"), 0);
    let worst = &json(&run)["worst"];
    let times = worst["times_estimate"].as_f64().expect("a multiple");
    // The tolerance covers a rounding error of the result and that of the factor 1 + 1e-12.
    run.expect((times - 100.0).abs() < 0.1, &format!("100 times the estimate, and not where the status is 1: {times}"));
    run.expect(worst["result"]["name"] == "r->val", "the first number of the structure is the result");
    let x = f64::from_bits(bits(&worst["args"][0]));
    run.expect(x > 3.0 && x < 3.0001, &format!("where it is: {x}"));
    let text = estimated(&dir, "root", "--reference estimated.c:exact_root --estimate r->err", 0);
    text.expect(text.stdout.contains(" times its estimate"), "the unit");
}

#[test]
fn a_member_of_a_structure_is_compared() {
    let dir = Dir::new();
    let run = estimated(&dir, "thirds", "--reference estimated.c:exact_third --result c --json", 0);
    let ulp = json(&run)["worst"]["ulp"].as_f64().expect("an error");
    // Before rounding to nearest, a division by 3 truncates 1/3 or 2/3 of a unit.
    run.expect((ulp - 1.0 / 3.0).abs() < 1e-3, &format!("a third of a unit: {ulp}"));
    let reference = "--reference estimated.c:exact_third";
    for (arguments, message) in [
        (format!("{reference} --result d"), "--result d: "),
        (format!("{reference} --estimate d"), "there are t->a, t->b, t->c"),
    ] {
        estimated(&dir, "thirds", &arguments, 1).says(message);
    }
}

#[test]
fn an_error_on_few_doubles_behind_a_branch_is_found() {
    let dir = Dir::new();
    let reference = own("same");
    let args = ["--reference", &reference, "--arg", "x: 1..100", "--max-evals", "3000000", "--json"];
    let run = accuracy(&dir, "narrow_fault", &args, 0);
    let answer = json(&run);
    let x = f64::from_bits(bits(&answer["worst"]["args"][0]));
    run.expect((10.5..=10.500_000_01).contains(&x), "the interval is 10.5 to 10.5 + 2^-37");
    run.expect(answer["worst"]["ulp"] == 3.0, "3 ulps");
    run.expect(answer["regions"][0]["branches"].as_array().is_some_and(|b| b.len() == 2), "with its branches");
}

#[test]
fn a_function_that_remembers_its_calls_is_as_wrong_as_after_loading() {
    let dir = Dir::new();
    let reference = own("same");
    let args = ["--reference", &reference, "--arg", "x: 1..1000", "--max-evals", "500000", "--json"];
    let answer = json(&accuracy(&dir, "remembers", &args, 0));
    assert!(answer["worst"]["ulp"].as_f64().unwrap_or(0.0) == 0.0, "each call is the first: {}", answer["worst"]);
    let parts = answer["parts"].as_array().expect("parts");
    assert!(parts.iter().all(|p| p["ulp"] == 0.0), "no part has an error: {parts:?}");
}

#[test]
fn wrong_nan_infinity_and_zero_are_listed_first() {
    let dir = Dir::new();
    let reference = own("same");
    let run = accuracy(&dir, "classes", &["--reference", &reference, "--max-evals", "200000"], 0);
    let places = ["wrong NaN", "wrong infinity", "wrong sign of zero"].map(|c| run.stdout.find(c));
    run.expect(places.iter().all(Option::is_some) && places.is_sorted(), "all classes, in this order");
    run.expect(places[2] < run.stdout.find("evaluations,"), "before the rest");
}

#[test]
fn a_wrong_errno_is_a_class() {
    let dir = Dir::new();
    let errnos = |run: &Run| {
        let all = json(run)["wrong"].as_array().expect("a list").clone();
        let of = |item: Value| {
            let at = f64::from_bits(bits(&item["args"][0]));
            let text = |key: &str| item["errno"][key].as_str().unwrap_or_default().to_owned();
            (at, item["class"] == "errno", text("left"), text("expected"))
        };
        all.into_iter().map(of).collect::<Vec<_>>()
    };
    let reference = own("root_with_errno");
    let options = ["--reference", &reference, "--max-evals", "50000", "--json"];
    let silent = accuracy(&dir, "root_without_errno", &options, 0);
    silent.expect(errnos(&silent).is_empty(), "without --errno nothing is said of it");
    let options = [&options[..], &["--errno"]].concat();
    let run = accuracy(&dir, "root_without_errno", &options, 0);
    let found = errnos(&run);
    let is_right = |(at, is_errno, left, expected): &(f64, bool, String, String)| {
        *is_errno && *at < 0.0 && left == "0" && expected == "EDOM"
    };
    run.expect(!found.is_empty() && found.iter().all(is_right), &format!("at negative numbers alone: {found:?}"));
    let same = accuracy(&dir, "root_with_errno", &options, 0);
    same.expect(errnos(&same).is_empty(), "the same errno is right");
    let first = format!("{}:root_without_errno", fixture("accuracy.c").display());
    let run = dir.penfuzz("differ").arg(first).arg(&reference).args("--errno --exact --max-evals 50000").exits(3);
    run.expect(run.stdout.contains("wrong errno") && run.stdout.contains("errno 0, not EDOM"), "in words");
}

#[test]
fn cancellation_is_found_where_it_is() {
    let dir = Dir::new();
    let reference = own("cancelling_wide");
    let args = ["--reference", &reference, "--arg", "x: 1e-6..1", "--max-evals", "1000000", "--json"];
    let run = accuracy(&dir, "cancelling", &args, 0);
    let answer = json(&run);
    // The result is about x * x / 2 = 5e-13, with ulps of 2^-93. The ulp of 1 is 2^-52, which is 2^41 of them.
    let ulp = answer["worst"]["ulp"].as_f64().expect("there is a worst");
    run.expect((2e11..2.3e12).contains(&ulp), "an ulp of 1 is 2^41 ulps of the result");
    run.expect(f64::from_bits(bits(&answer["worst"]["args"][0])) < 1.1e-6, "at the small end of the box");
}

#[test]
fn operations_that_make_the_worst_error_are_named() {
    let dir = Dir::new();
    let reference = own("cancelling_wide");
    let args = ["--reference", &reference, "--arg", "x: 1e-6..1", "--max-evals", "100000"];
    let run = accuracy(&dir, "cancelling", &[&args[..], &["--json"]].concat(), 0);
    let answer = json(&run);
    let number = |of: &Value| of.as_f64().expect("a number");
    let (worst, error) = (number(&answer["worst"]["ulp"]), number(&answer["sources"]["error"]));
    run.expect((error.abs() - worst).abs() <= 1e-3 * worst, "the parts are those of the worst error");
    let operations = answer["sources"]["operations"].as_array().expect("there are operations");
    let mut sum = number(&answer["sources"]["rest"]);
    run.expect(sum.abs() < 0.01 * worst, "all of it is from roundings");
    for operation in operations {
        sum += number(&operation["ulp"]);
        run.expect(operation["line"] == 25, "in the only line");
        run.expect(operation["file"].as_str().is_some_and(|f| f.ends_with("accuracy.c")), "of the source");
    }
    run.expect((sum - error).abs() <= 1e-9 * worst, "they add up to the error");
    let names: Vec<_> = operations.iter().take(2).map(|o| o["operation"].as_str().unwrap_or("")).collect();
    run.expect(names.contains(&"+"), "what is added to x * x is far below an ulp of it");
    let text = accuracy(&dir, "cancelling", &args, 0);
    text.expect(
        text.stdout.contains("contributions of roundings:") && text.stdout.contains("accuracy.c:25:"),
        "in the text, too",
    );
    let of_two = accuracy(&dir, "sum", &["--reference", &own("sum_swapped"), "--max-evals", "1000", "--json"], 0);
    of_two.expect(json(&of_two)["sources"].is_null(), "of functions of several arguments it is not known");
}

#[test]
fn a_seed_and_a_number_of_evaluations_give_the_same_report() {
    let dir = Dir::new();
    let reference = own("cubic_wide");
    let report = |seed: &str| {
        let args = ["--reference", &reference, "--max-evals", "300000", "--seed", seed, "--json"];
        let mut answer = json(&accuracy(&dir, "cubic", &args, 0));
        for time in ["seconds", "cpu_seconds", "progress", "seed"] {
            answer[time] = Value::Null;
        }
        answer
    };
    assert_eq!(report("7"), report("7"));
    assert_ne!(report("7")["parts"], report("8")["parts"], "another seed samples other points");
}

/// The library defines its own `sin`, which must be used instead of the C library's.
#[test]
fn a_function_of_a_shared_library_is_a_black_box() {
    let dir = Dir::new();
    let text = "double sin(double x) { return x > 0.25 && x < 0.250001 ? x + 0x1p-50 : x; }\n\
                double half(double x, int n) { return n > 3 ? x / 2 : x; }";
    let file = dir.file("own.c", text);
    let library = dir.path("libown.so");
    let built = std::process::Command::new("gcc")
        .args(["-shared", "-fPIC", "-fno-builtin", "-o"])
        .arg(&library)
        .arg(file)
        .status();
    assert!(built.is_ok_and(|s| s.success()), "gcc builds the library");
    let reference =
        dir.file("same.c", "double same(double x) { return x; }\ndouble same2(double x, int n) { return x; }");
    let run = |function: &str, arguments: &[&str], status| {
        let mut run = dir.penfuzz("accuracy").arg(&library).arg("-f").arg(function).arg("--json");
        for a in arguments {
            run = run.arg(a);
        }
        run.exits(status)
    };
    let (one, two) = (format!("{}:same", reference.display()), format!("{}:same2", reference.display()));
    let found = run("sin", &["--reference", &one, "--arg", "x: 0.1..1", "--max-evals", "400000"], 0);
    let answer = json(&found);
    found.expect(answer["worst"]["ulp"] == 16.0, "2^-50 is 16 ulps of 0.25");
    let x = f64::from_bits(bits(&answer["worst"]["args"][0]));
    found.expect((0.25..=0.250_001).contains(&x), "in the interval");
    let as_lib = dir.penfuzz("accuracy").arg("--lib").arg(&library).args("-f sin --reference").arg(&one);
    let as_lib = as_lib.args("--arg x:0.1..1 --max-evals 400000 --json").exits(0);
    as_lib.expect(json(&as_lib)["worst"]["ulp"] == 16.0, "the library in the place of a target");
    let words = "name the file or what the loader finds";
    dir.penfuzz("accuracy").args("--lib -lm -f sin").exits(1).says(words);
    let found = run("half", &["--signature", "double(double, int)", "--reference", &two, "--max-evals", "100000"], 0);
    found.expect(json(&found)["worst"]["ulp"].as_f64().is_some_and(|e| e > 1e15), "half of the value");
    for (function, arguments, words) in [
        ("half", vec!["--reference", two.as_str()], "give its type with --signature"),
        ("cos", vec!["--reference", one.as_str()], "has no function `cos`"),
        ("half", vec!["--signature", "double(char *)", "--reference", &two], "write the types of numbers"),
    ] {
        let failed = run(function, &arguments, 1);
        failed.expect(failed.stderr.contains(words), words);
    }
}

#[test]
fn incomparable_references_are_refused_in_one_sentence() {
    let dir = Dir::new();
    for (function, reference, words) in [
        ("cubic", own("integer"), "does not return a floating-point number"),
        ("integer", own("never"), "is NaN in all of"),
        ("array", own("same"), "functions of numbers, passed by value"),
        ("sum", own("same"), "too many arguments"),
        ("cancelling", own("narrower"), "returns a narrower type than the function"),
        ("cancelling", own("nowhere"), "undeclared function 'nowhere'"),
        ("cancelling", own("crashing"), "never returned normally: it faulted in"),
        ("cancelling", own("never"), "is NaN in all of"),
        ("crashing", own("same"), "the function never returned normally"),
        ("cancelling", "none.c:f".to_owned(), "none.c cannot be read"),
        ("cancelling", "sin".to_owned(), "write auto, mpfr:NAME (as mpfr:sin) or FILE.c:NAME"),
        ("cancelling", "auto".to_owned(), "`cancelling` is not the name of a function of <math.h>"),
    ] {
        let run = accuracy(&dir, function, &["--reference", &reference, "--max-evals", "20000"], 1);
        let errors = run.stderr.lines().filter(|l| l.starts_with("error: ")).count();
        run.expect(run.stderr.contains(words) && errors == 1, words);
    }
    let run = accuracy(&dir, "cancelling", &["--reference", &own("same"), "--arg", "x: 2..1"], 2);
    run.expect(run.stderr.contains("the range `2..1` has no value"), "an empty box is refused");
}

#[test]
fn two_implementations_are_compared() {
    let dir = Dir::new();
    let differ = |b: &str, more: &str, status| {
        let run = dir.penfuzz("differ").arg(own("sum")).arg(own(b)).args(more).args("--max-evals 100000");
        run.exits(status)
    };
    let same = differ("sum_swapped", "--exact", 0);
    same.expect(same.stdout.contains("no difference was found"), "a + b is b + a");
    let other = differ("sum_of_floats", "--exact", 3);
    other.expect(other.stdout.contains("other bits"), "a rounded to float is another sum");
    let most = differ("sum_of_floats", "", 0);
    most.expect(most.stdout.contains("worst"), "the largest difference is printed");
}

#[test]
fn both_functions_may_call_a_library() {
    let dir = Dir::new();
    dir.file("twice.c", "double twice(double x) { return 2 * x; }\n");
    for command in ["gcc -c twice.c -o twice.o", "ar rcs libtwice.a twice.o"] {
        dir.other(std::process::Command::new("sh").args(["-c", command]));
    }
    let one = dir.file("one.c", "double twice(double);\ndouble f(double x) { return twice(x); }\n");
    let two = dir.file("two.c", "double twice(double);\ndouble f(double x) { return twice(x) + (x > 1000); }\n");
    let named = |file: &std::path::Path| format!("{}:f", file.display());
    let run = dir.penfuzz("differ").arg(named(&one)).arg(named(&two)).args("--lib libtwice.a --exact").exits(3);
    run.expect(run.stdout.contains("other bits"), "above 1000 they differ");
    run.expect(!run.stdout.contains("no difference"), "and so there is a difference");
}

#[test]
fn zeros_of_other_signs_and_equal_arguments_are_tried() {
    let dir = Dir::new();
    let one = dir.file("one.c", "double f(double x, double y) { return x == y ? y : x + y; }\n");
    let two = dir.file("two.c", "double f(double x, double y) { return x == y ? x : x + y; }\n");
    let named = |file: &std::path::Path| format!("{}:f", file.display());
    let run = dir.penfuzz("differ").arg(named(&one)).arg(named(&two)).args("--exact --max-evals 30000").exits(3);
    run.expect(run.stdout.contains("-0"), "only zeros of both signs differ");
}

#[test]
fn a_plot_has_a_bar_for_each_part_of_the_domain() {
    let dir = Dir::new();
    let reference = own("cubic_wide");
    let args =
        ["--reference", &reference, "--arg", "x: 1..8", "--max-evals", "300000", "--json", "--plot", "error.svg"];
    let run = accuracy(&dir, "cubic", &args, 0);
    let parts = json(&run)["parts"].as_array().expect("there are parts").clone();
    let picture = std::fs::read_to_string(dir.path("error.svg")).expect("the picture");
    run.expect(!parts.is_empty() && picture.matches("<rect ").count() == parts.len(), "a bar for each part");
    run.expect(picture.starts_with("<svg") && picture.ends_with("</svg>\n"), "a whole picture");
    let worst = parts.iter().filter_map(|p| p["ulp"].as_f64()).fold(0.0, f64::max);
    run.expect(picture.contains(&format!(": {worst:.4} ulp</title>")), "the largest error");
}

#[test]
fn a_plot_that_cannot_be_written_is_refused_before_the_search() {
    let dir = Dir::new();
    let reference = own("cubic_wide");
    for file in [".", "missing/error.svg"] {
        let run = accuracy(&dir, "cubic", &["--reference", &reference, "--max-evals", "1000", "--plot", file], 2);
        run.says("give another file");
        run.expect(!run.stdout.contains("worst"), "nothing was searched");
    }
}
