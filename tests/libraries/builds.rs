//! Projects built as their users build them, by `autotools`, `CMake`, Meson and `make`, with pen-cc as the compiler.
//! Their functions are listed, one is tested, and the emitted test is built by the printed command and passes.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::{penfuzz, programs, root, run};

/// Builds a project of `harnesses/builds` into `directory`, and runs the project's own tests.
fn build(project: &str, directory: &Path) {
    run(Command::new(root().join("harnesses/builds/build.sh"))
        .arg(project)
        .arg(directory)
        .env("PEN_CC", programs().join("pen-cc"))
        .env("PEN_CXX", programs().join("pen-c++")));
}

/// Runs a short campaign on a function of a built file, and builds and runs the tests that it emits.
pub fn function_is_tested(target: &Path, function: &str, least_covered: u64) {
    let listed = run(penfuzz().arg("functions").arg(target).arg("--json"));
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("--json prints JSON");
    let is_listed = |f: &Value| f["name"] == function && f["obstacle"].is_null();
    assert!(listed.as_array().is_some_and(|all| all.iter().any(is_listed)), "{function} is listed: {listed}");

    let directory = tempfile::tempdir().expect("a temporary directory");
    let out = directory.path().join("out");
    let output = run(penfuzz()
        .arg(target)
        .args(["--function", function, "--max-evals", "20000", "--json", "-q", "-o"])
        .arg(&out));
    let report: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let covered = report["branches"]["covered"].as_u64();
    assert!(covered >= Some(least_covered), "{function}: {} covered", report["branches"]);
    assert!(report["tests"].as_array().is_some_and(|tests| !tests.is_empty()), "{function} has tests");
    for command in ["build", "run"] {
        let command = report["test_program"][command].as_str().expect("a command");
        run(Command::new("sh").args(["-c", command]).current_dir(&out));
    }
    let counted = report["test_program"]["coverage"].as_str().expect("a command");
    run(Command::new("sh").args(["-c", counted]).current_dir(&out));
    let has_counts = |entry: fs::DirEntry| entry.path().extension().is_some_and(|e| e == "gcov");
    let mut files = fs::read_dir(&out).expect("the output directory").map_while(Result::ok);
    assert!(files.any(has_counts), "{counted} leaves gcov's files");
}

fn cjson_is_built(project: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    build(project, directory.path());
    function_is_tested(&directory.path().join("libcjson.so"), "cJSON_CreateNumber", 5);
    function_is_tested(&directory.path().join("libcjson.a"), "cJSON_CreateNumber", 5);
}

#[test]
fn cjson_is_built_by_cmake_for_release() {
    cjson_is_built("cjson-release");
}

#[test]
#[ignore = "nightly"]
fn cjson_is_built_by_cmake_for_debugging() {
    cjson_is_built("cjson-debug");
}

#[test]
fn speexdsp_is_built_by_autotools() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    build("speexdsp", directory.path());
    let libraries = directory.path().join("libspeexdsp/.libs");
    function_is_tested(&libraries.join("libspeexdsp.so"), "speex_resampler_strerror", 6);
    // The function is static.
    function_is_tested(&libraries.join("libspeexdsp.a"), "sinc", 4);
}

#[test]
fn double_conversion_is_built_by_cmake_for_release() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    build("double-conversion", directory.path());
    // The function is static and in a namespace.
    function_is_tested(&directory.path().join("libdouble-conversion.so"), "double_conversion::HexCharValue", 6);
}

#[test]
fn serd_is_built_by_meson() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    build("serd", directory.path());
    let library = directory.path().join("libserd-0.so");
    function_is_tested(&library, "serd_node_new_decimal", 10);
    // The function is static.
    function_is_tested(&library, "serd_digits", 2);
}

/// The library's version script hides every symbol that is not the library's own.
#[test]
fn libmseed_is_built_by_make() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    build("libmseed", directory.path());
    function_is_tested(&directory.path().join("libmseed.so"), "ms_doy2md", 10);
}
