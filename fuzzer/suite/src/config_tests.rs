//! Tests of suite files, in temporary directories.

use std::{fs, os::unix::fs::PermissionsExt};

use super::*;

const SUITE: &str = r#"
name = "s"
fetch = "fetch.sh"
sources = "../src [1]"
[build]
flags = ["-I{sources}/i", "-DA"]
support = ["k_*.c", "b.c"]
libs = ["-lm"]
[[published]]
tool = "AFL"
branches = 72.9
[[target]]
name = "b"
file = "b.c"
function = "f"
flags = ["-DB"]
paper = { branches = 4, seconds = 0.5, rand = 1, coverme = 3 }
"#;

/// A suite directory with a fetch script.
fn write(suite: &str, script: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("suite");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("fetch.sh"), script).unwrap();
    fs::set_permissions(inner.join("fetch.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(inner.join("suite.toml"), suite).unwrap();
    (dir, inner.join("suite.toml"))
}

const FETCH: &str = "#!/bin/sh\nmkdir '../src [1]' && cd '../src [1]' && touch b.c k_1.c k_2.c other.c\n";

fn error(suite: &str, script: &str) -> String {
    load(&write(suite, script).1).unwrap_err().to_string()
}

#[test]
fn a_suite_is_fetched_once_and_its_files_are_found() {
    let (dir, path) = write(SUITE, FETCH);
    let suite = load(&path).unwrap();
    let sources = dir.path().join("src [1]");
    assert_eq!(suite.sources, sources);
    let target = &suite.targets[0];
    assert_eq!(suite.file_of(target), sources.join("b.c"));
    assert_eq!(suite.support_of(target), [sources.join("k_1.c"), sources.join("k_2.c")], "without its own file");
    assert_eq!(suite.flags_of(target), [format!("-I{}/i", sources.display()), "-DA".into(), "-DB".into()]);
    assert_eq!(target.paper.unwrap().branches, Some(4));
    let published = PublishedMeans { tool: "AFL".to_owned(), branches: Some(72.9), ..PublishedMeans::default() };
    assert_eq!(suite.published, [published]);
    fs::write(dir.path().join("suite/fetch.sh"), "#!/bin/sh\nexit 1\n").unwrap();
    assert_eq!(load(&path).unwrap(), suite, "sources that are there are not fetched again");
}

#[test]
fn a_failed_fetch_is_an_error_and_leaves_no_partial_sources() {
    let (dir, path) = write(SUITE, "#!/bin/sh\nmkdir '../src [1]'; exit 3\n");
    let message = load(&path).unwrap_err().to_string();
    assert!(message.contains("fetch.sh failed") && message.contains('3'), "{message}");
    assert!(!dir.path().join("src [1]").exists());
}

#[test]
fn errors_have_a_hint_what_to_do() {
    assert!(error(SUITE, "#!/bin/sh\n").contains("did not make"));
    assert!(error(&SUITE.replace("fetch = \"fetch.sh\"", ""), "").contains("no `fetch` script"));
    assert!(error(&SUITE.replace("k_*", "z_*"), FETCH).contains("\"z_*.c\" matches no file"));
    assert!(error(&SUITE.replace("k_*", "k_[*"), FETCH).contains("malformed"));
    assert!(error(&SUITE.replace("file = \"b.c\"", "file = \"x.c\""), FETCH).contains("target b: there is no file"));
    assert!(error("name = \"s\"\nsources = \"x\"\n", "").contains("no target"));
    let twice = format!("{SUITE}\n[[target]]\nname = \"b\"\nfile = \"b.c\"\nfunction = \"g\"\n");
    assert!(error(&twice, FETCH).contains("two targets are named b"));
    assert!(error(&SUITE.replace("name = \"b\"", "name = \"../b\""), FETCH).contains("cannot name a directory"));
    let typo = error(&SUITE.replace("libs", "libraries"), FETCH);
    assert!(typo.contains("suite.toml") && typo.contains("libraries") && typo.contains("line 8"), "{typo}");
}

#[test]
fn a_missing_suite_is_named() {
    let message = load(Path::new("/nonexistent/suite.toml")).unwrap_err().to_string();
    assert!(message.contains("/nonexistent/suite.toml"), "{message}");
}
