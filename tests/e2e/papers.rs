//! Each row of docs/papers.md has a command, and the commands run.

use std::fs;

use crate::support::{Dir, workspace};

/// The rows of the tables: the cells, without heads and rules.
fn rows() -> Vec<Vec<String>> {
    let text = fs::read_to_string(workspace().join("docs/papers.md")).expect("docs/papers.md");
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    let cells = lines.map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect());
    cells.filter(|row: &Vec<String>| row[0] != "item").collect()
}

/// The first command in a cell.
fn command(cell: &str) -> Option<&str> {
    cell.split('`').nth(1)
}

#[test]
fn each_row_has_a_command_whose_files_exist() {
    let all = rows();
    assert!(all.len() > 40, "the rows are found: {}", all.len());
    for row in all {
        assert_eq!(row.len(), 4, "item, command, the paper's figure and ours: {row:?}");
        let is_same = row[1].starts_with("the same");
        let command = command(&row[1]).unwrap_or_default();
        let known = ["penfuzz ", "cargo test ", "harnesses/lib/"];
        assert!(is_same || known.iter().any(|start| command.starts_with(start)), "a command: {row:?}");
        for word in command.split_whitespace().filter(|w| w.starts_with("harnesses/") || w.starts_with("tests/")) {
            assert!(workspace().join(word).exists(), "{word} of {row:?} exists");
        }
    }
}

/// The commands on one function. Suites, comparisons and measurements take longer, and names in capitals stand for
/// files of the reader.
#[test]
fn the_short_commands_run() {
    let dir = Dir::new();
    let mut n = 0;
    for row in rows() {
        let Some(arguments) = command(&row[1]).and_then(|c| c.strip_prefix("penfuzz ")) else { continue };
        let is_long = ["suite ", "compare ", "prove "].iter().any(|start| arguments.starts_with(start));
        if is_long || arguments.contains("SPEC") || arguments.contains("ei_dead") {
            continue;
        }
        let is_local = |word: &str| word.starts_with("harnesses/") || word.starts_with("tests/");
        let absolute = |word: &str| {
            let word = word.trim_matches('\'');
            if is_local(word) { workspace().join(word).display().to_string() } else { word.to_owned() }
        };
        let arguments: Vec<String> = arguments.split_whitespace().map(absolute).collect();
        let mut run = dir.penfuzz("");
        for argument in &arguments {
            run = run.arg(argument);
        }
        let run = run.run();
        run.expect(matches!(run.status.code(), Some(0 | 3)), &format!("a command that runs: {arguments:?}"));
        n += 1;
    }
    assert!(n >= 12, "{n} commands were run");
}
