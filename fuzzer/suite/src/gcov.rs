//! Reads the branch counts from gcov's JSON (`gcov --json-format`, format version 1; gcc 9 to 14).

use serde::Deserialize;

/// One side of a conditional as gcov counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TakenBranch {
    /// Source line, from 1.
    pub line: u32,
    /// Index among the branches of the line, from 0. Branches of exceptions do not count.
    pub index: usize,
    /// The branch was executed at least once.
    pub taken: bool,
}

#[derive(Deserialize)]
struct Output {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    functions: Vec<Function>,
    lines: Vec<Line>,
}

#[derive(Deserialize)]
struct Function {
    name: String,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "line_number")]
    number: u32,
    #[serde(default)]
    function_name: Option<String>,
    #[serde(default)]
    branches: Vec<Branch>,
}

#[derive(Clone, Copy, Deserialize)]
struct Branch {
    count: u64,
    #[serde(default)]
    fallthrough: bool,
    #[serde(default)]
    throw: bool,
}

/// Returns the branches of the function with this linker name, by line; `None` when gcov has no such function.
///
/// # Errors
/// The text is not gcov's JSON.
pub fn branches_of(symbol: &str, json: &[u8]) -> serde_json::Result<Option<Vec<TakenBranch>>> {
    let output: Output = serde_json::from_slice(json)?;
    if !output.files.iter().flat_map(|f| &f.functions).any(|f| f.name == symbol) {
        return Ok(None);
    }
    let mut all = Vec::new();
    // For a function that a header declares, gcov may list the name in one file and the lines in another.
    let lines = output.files.iter().flat_map(|f| &f.lines);
    for line in lines.filter(|l| l.function_name.as_deref() == Some(symbol)) {
        let kept = without_exceptions(&line.branches);
        all.extend(kept.into_iter().enumerate().map(|(index, branch)| TakenBranch {
            line: line.number,
            index,
            taken: branch.count > 0,
        }));
    }
    // The sort is stable: for equal lines of two files gcov's order remains, which does not depend on the counts.
    all.sort_by_key(|b: &TakenBranch| (b.line, b.index));
    Ok(Some(all))
}

/// Removes the branches of calls that may throw. gcov lists two adjacent branches for such a call: it returns
/// (`fallthrough`) or throws. Neither is a conditional of the source.
fn without_exceptions(branches: &[Branch]) -> Vec<Branch> {
    let mut kept: Vec<Branch> = Vec::new();
    let mut skip = false;
    for (i, branch) in branches.iter().enumerate() {
        if std::mem::take(&mut skip) {
            continue;
        }
        if !branch.throw {
            kept.push(*branch);
        } else if i > 0 && branches[i - 1].fallthrough && !branches[i - 1].throw {
            kept.pop();
        } else {
            skip = branches.get(i + 1).is_some_and(|next| next.fallthrough && !next.throw);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch(count: u64, fallthrough: bool, throw: bool) -> Branch {
        Branch { count, fallthrough, throw }
    }

    #[test]
    fn a_call_that_may_throw_is_no_conditional() {
        let call = [branch(1, true, false), branch(0, false, true)];
        let condition = [branch(5, true, false), branch(6, false, false)];
        let counts = |b: &[Branch]| without_exceptions(b).iter().map(|b| b.count).collect::<Vec<_>>();
        assert_eq!(counts(&[call, condition].concat()), [5, 6]);
        assert_eq!(counts(&[condition, call].concat()), [5, 6]);
        assert_eq!(counts(&[condition, [call[1], call[0]], condition].concat()), [5, 6, 5, 6]);
        assert_eq!(counts(&[call, call].concat()), [0_u64; 0]);
    }

    #[test]
    fn only_the_lines_of_the_function_count() {
        let json = br#"{"files": [{"file": "a.c", "functions": [{"name": "f"}, {"name": "g"}], "lines": [
            {"line_number": 9, "function_name": "g", "branches": [{"count": 1, "fallthrough": true, "throw": false}]},
            {"line_number": 3, "function_name": "f", "branches": [{"count": 7, "fallthrough": true, "throw": false},
             {"count": 0, "fallthrough": false, "throw": false}]},
            {"line_number": 1, "branches": []}]}]}"#;
        let f = branches_of("f", json).unwrap().unwrap();
        assert_eq!(
            f,
            [TakenBranch { line: 3, index: 0, taken: true }, TakenBranch { line: 3, index: 1, taken: false }]
        );
        assert_eq!(branches_of("h", json).unwrap(), None);
        assert!(branches_of("f", b"gcov: error").is_err());
    }
}
