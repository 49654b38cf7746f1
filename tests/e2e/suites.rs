//! Suites generated from a function table, and structures that a function fills in.

use std::fs;

use serde_json::Value;

use crate::support::{Dir, fixture};

const RECIPE: &str = r#"name = "fixtures"
sources = "sources"
[build]
support = ["*.c", "!broken.c"]
setup = ["setup.c"]
[generate]
files = ["*.c", "!broken.c"]
"#;

/// Creates a directory with sources, a recipe, and the suite that penfuzz generates from it.
fn generated() -> Dir {
    let dir = Dir::new();
    for name in ["result_struct.c", "floats.c", "unsupported.c", "broken.c"] {
        dir.file(&format!("sources/{name}"), fs::read(fixture(name)).expect("a fixture"));
    }
    dir.file("sources/ready.c", "int ready;\nint when_ready(int n)\n{\n  return n * ready == 77 ? 1 : 0;\n}\n");
    dir.file("setup.c", "extern int ready;\n__attribute__((constructor)) static void set(void) { ready = 1; }\n");
    dir.file("recipe.toml", RECIPE);
    dir.penfuzz("generate recipe.toml").exits(0);
    dir
}

#[test]
fn a_suite_is_generated_run_and_judged() {
    let dir = generated();
    let run = dir.penfuzz("suite suite.toml -o out --max-evals 50000 --seed 1 --referee gcov --json -q").exits(0);
    let suite: Value = serde_json::from_str(&run.stdout).expect("--json prints JSON");
    let row = |name: &str| {
        let rows = suite["targets"].as_array().expect("targets");
        let row = rows.iter().find(|t| t["name"] == name).unwrap_or_else(|| panic!("no target {name}: {suite}"));
        let n = |v: &Value| v.as_u64().expect("a count");
        let (own, gcov) = (&row["branches"], &row["referee"]);
        [n(&own["covered"]), n(&own["total"]), n(&gcov["covered"]), n(&gcov["total"])]
    };
    assert_eq!(row("root_e"), [6, 6, 6, 6], "the first condition reads what the structure holds before the call");
    assert_eq!(row("when_ready")[0], row("when_ready")[1], "the constructor of the setup has run");
    let rows = suite["targets"].as_array().expect("targets");
    let referee = &rows.iter().find(|t| t["name"] == "root_e").expect("root_e")["referee"];
    assert_eq!(referee["conditions"], serde_json::json!({ "total": 6, "covered": 6 }), "{referee}");
    assert_eq!(referee["lines"]["total"], referee["lines"]["covered"], "{referee}");
    assert!(referee["calls"]["total"].is_u64(), "{referee}");
}

#[test]
fn only_the_named_targets_run() {
    let dir = generated();
    let run = dir.penfuzz("suite suite.toml -o out --max-evals 100 --only root* --json -q").exits(0);
    let suite: Value = serde_json::from_str(&run.stdout).expect("--json prints JSON");
    assert_eq!(suite["totals"]["targets"], 1, "{suite}");
    dir.penfuzz("suite suite.toml -o out2 --only nothing").exits(1).says("no target of that name");
}

#[test]
fn a_suite_that_is_out_of_date_is_told() {
    let dir = generated();
    dir.penfuzz("generate recipe.toml --check").exits(0);
    let text = fs::read_to_string(dir.path("suite.toml")).expect("the suite");
    dir.file("suite.toml", text.replace("root_e", "root_f"));
    dir.penfuzz("generate recipe.toml --check").exits(1).says("differs from the suite that recipe.toml generates");
}

#[test]
fn a_recipe_is_no_suite() {
    let dir = generated();
    dir.penfuzz("suite recipe.toml -o out").exits(1).says("penfuzz generate");
}

#[test]
fn functions_are_listed_with_their_obstacles() {
    let dir = Dir::new();
    let run = dir.penfuzz("functions --json").arg(fixture("unsupported.c")).exits(0);
    let all: Value = serde_json::from_str(&run.stdout).expect("--json prints JSON");
    let norm = &all[0];
    assert_eq!((norm["name"].as_str(), norm["branches"].as_u64()), (Some("norm1"), Some(4)));
    let why = norm["obstacle"].as_str().unwrap_or_default();
    assert!(why.contains("`list`") && why.contains("a list of arguments"), "{why}");
}
