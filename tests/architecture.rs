//! The structure of the workspace: which crate imports which, how large crates are, how wide lines are.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use toml::{Table, Value};

/// Lines of a crate without its tests, at most.
const MAX_LINES: usize = 12_000;

/// Characters of a line of Rust, C or C++, at most. Snapshots are not limited.
const MAX_WIDTH: usize = 120;

/// The extensions of Rust, C and C++ files.
const SOURCES: &[&str] = &["rs", "c", "cc", "cpp", "cxx", "h", "hh", "hpp"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn table(path: &Path) -> Table {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The names in an array of strings.
fn names(rule: &Value, key: &str) -> Vec<String> {
    let all = rule.get(key).and_then(Value::as_array).map_or(&[][..], |all| all);
    all.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The packages of the workspace: name, directory, and the names of the dependencies of the ordinary build.
fn packages() -> Vec<(String, PathBuf, BTreeSet<String>)> {
    let workspace = table(&root().join("Cargo.toml"));
    let members = names(&workspace["workspace"], "members");
    let package = |member: &String| {
        let directory = root().join(member);
        let manifest = table(&directory.join("Cargo.toml"));
        let name = manifest["package"]["name"].as_str().expect("a package has a name").to_owned();
        let dependencies = manifest.get("dependencies").and_then(Value::as_table);
        (name, directory, dependencies.into_iter().flat_map(Table::keys).cloned().collect())
    };
    members.iter().map(package).collect()
}

fn is_own(name: &str) -> bool {
    name.starts_with("penfuzz")
}

#[test]
fn each_crate_imports_only_what_its_rule_allows() {
    let rules = table(&root().join("tests/architecture.toml"));
    let packages = packages();
    let direct: BTreeMap<&str, &BTreeSet<String>> = packages.iter().map(|(n, _, d)| (n.as_str(), d)).collect();
    for (name, _, dependencies) in &packages {
        if name == "penfuzz" {
            continue;
        }
        let rule = rules.get(name).unwrap_or_else(|| panic!("{name} has no rule in tests/architecture.toml"));
        let allowed: BTreeSet<String> = names(rule, "imports").into_iter().collect();
        let own: BTreeSet<String> = dependencies.iter().filter(|d| is_own(d)).cloned().collect();
        assert_eq!(own, allowed, "{name}: what it imports (left) is what tests/architecture.toml lists (right)");
        let (mut all, mut next) = (BTreeSet::new(), vec![name.as_str()]);
        while let Some(one) = next.pop() {
            for dependency in direct.get(one).into_iter().copied().flatten() {
                if all.insert(dependency.as_str()) {
                    next.push(dependency);
                }
            }
        }
        for never in names(rule, "never") {
            assert!(!all.contains(never.as_str()), "{name} must not depend on {never}");
        }
    }
}

#[test]
fn rules_are_listed_lowest_first() {
    let text = fs::read_to_string(root().join("tests/architecture.toml")).expect("the rules can be read");
    let order: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')).filter(|n| is_own(n)).collect();
    let rules = table(&root().join("tests/architecture.toml"));
    for (i, name) in order.iter().enumerate() {
        for import in names(&rules[*name], "imports") {
            assert!(order[..i].contains(&import.as_str()), "{name} is listed before {import}, which it imports");
        }
    }
    let guide = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the guide can be read");
    let rows: Vec<&str> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("| `penfuzz-")?.split('`').next())
        .filter(|name| order.contains(&format!("penfuzz-{name}").as_str()))
        .collect();
    let expected: Vec<&str> = order.iter().filter_map(|n| n.strip_prefix("penfuzz-")).collect();
    assert_eq!(rows, expected, "the table of crates in ARCHITECTURE.md (left) has the order of the rules (right)");
}

/// Files of a directory whose name has one of the extensions.
fn files(directory: &Path, extensions: &[&str], into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if !matches!(name.to_str(), Some("target" | ".git" | "sources" | "snapshots")) {
                files(&path, extensions, into);
            }
        } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e)) {
            into.push(path);
        }
    }
}

#[test]
fn no_crate_is_larger_than_a_reader_can_survey() {
    for (name, directory, _) in packages() {
        let mut all = Vec::new();
        files(&directory.join("src"), &["rs"], &mut all);
        let is_test = |path: &Path| {
            let name = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
            name.ends_with("tests") || name.ends_with("props") || path.iter().any(|part| part == "tests")
        };
        let lines_of = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap_or_default();
            text.lines().take_while(|line| *line != "#[cfg(test)]").count()
        };
        let lines: usize = all.iter().filter(|path| !is_test(path)).map(lines_of).sum();
        assert!(lines <= MAX_LINES, "{name} has {lines} lines; split it, at most {MAX_LINES}");
    }
}

/// The tracked files of the repository with one of the extensions; all such files if this is no git repository.
fn tracked(extensions: &[&str]) -> Vec<PathBuf> {
    let list = Command::new("git").arg("ls-files").arg("-z").current_dir(root()).output();
    let mut all = Vec::new();
    match list {
        Ok(list) if list.status.success() => {
            let names = String::from_utf8_lossy(&list.stdout);
            all.extend(names.split_terminator('\0').map(|name| root().join(name)));
            all.retain(|path| path.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e)));
        }
        _ => files(&root(), extensions, &mut all),
    }
    all
}

#[test]
fn no_line_is_wider_than_the_limit() {
    let mut wide = Vec::new();
    let all = tracked(SOURCES);
    assert!(all.len() > 100, "the sources are found: {}", all.len());
    for path in all {
        // A tracked file may be deleted in the working tree.
        let Ok(bytes) = fs::read(&path) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let name = path.strip_prefix(root()).unwrap_or(&path).display();
        let widths = (1..).zip(text.lines().map(|line| line.chars().count()));
        let too_wide = widths.filter(|(_, width)| *width > MAX_WIDTH);
        wide.extend(too_wide.map(|(line, width)| format!("{name}:{line}: {width} characters")));
    }
    assert!(wide.is_empty(), "lines of more than {MAX_WIDTH} characters:\n{}", wide.join("\n"));
}
