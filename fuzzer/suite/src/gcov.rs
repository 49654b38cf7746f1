//! Reads the counts of one function from gcov's JSON (`gcov --json-format`, format version 1; gcc 9 to 14), and from
//! its annotated source, which alone has calls and says which branches were reached.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Options of gcov for its JSON on standard output.
pub const JSON: [&str; 3] = ["--json-format", "--stdout", "-b"];
/// Options of gcov for the annotated source on standard output, with branches and calls as counts.
pub const ANNOTATED: [&str; 3] = ["--stdout", "-b", "-c"];

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

/// How many of some items were executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// Number of items.
    pub total: usize,
    /// Number of those that were executed.
    pub covered: usize,
}

impl Executed {
    fn add(&mut self, executed: bool) {
        self.total += 1;
        self.covered += usize::from(executed);
    }

    /// Sums, item by item.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { total: self.total + other.total, covered: self.covered + other.covered }
    }

    /// The share in percent; 100 if there is no item.
    #[must_use]
    pub fn share(self) -> f64 {
        penfuzz_report::format::share(self.covered, self.total)
    }
}

/// Coverage of a function by gcov's criteria other than the branches taken (`CoverMe`, PLDI 2017, Table 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GcovCriteria {
    /// Lines with code ("Lines executed").
    pub lines: Executed,
    /// Branches whose conditional was evaluated, whichever was taken ("Branches executed").
    pub conditions: Executed,
    /// Calls ("Calls executed").
    pub calls: Executed,
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
        all.extend(kept.into_iter().enumerate().map(|(index, number)| TakenBranch {
            line: line.number,
            index,
            taken: line.branches[number].count > 0,
        }));
    }
    // The sort is stable: for equal lines of two files gcov's order remains, which does not depend on the counts.
    all.sort_by_key(|b: &TakenBranch| (b.line, b.index));
    Ok(Some(all))
}

/// The numbers of the branches of a line without those of calls that may throw. gcov lists two adjacent branches for
/// such a call: it returns (`fallthrough`) or throws. Neither is a conditional of the source.
fn without_exceptions(branches: &[Branch]) -> Vec<usize> {
    let mut kept = Vec::new();
    let mut skip = false;
    for (i, branch) in branches.iter().enumerate() {
        if std::mem::take(&mut skip) {
            continue;
        }
        if !branch.throw {
            kept.push(i);
        } else if i > 0 && branches[i - 1].fallthrough && !branches[i - 1].throw {
            kept.pop();
        } else {
            skip = branches.get(i + 1).is_some_and(|next| next.fallthrough && !next.throw);
        }
    }
    kept
}

/// Returns the criteria of the function with this linker name, from gcov's JSON and its annotated source for the same
/// counters; `None` when gcov has no such function.
///
/// # Errors
/// The first text is not gcov's JSON.
pub fn criteria_of(symbol: &str, json: &[u8], annotated: &str) -> serde_json::Result<Option<GcovCriteria>> {
    let output: Output = serde_json::from_slice(json)?;
    let Some(mut read) = Annotations::read(symbol, annotated) else { return Ok(None) };
    let lines = output.files.iter().flat_map(|f| &f.lines);
    for line in lines.filter(|l| l.function_name.as_deref() == Some(symbol)) {
        // The annotated source says of no branch that was not reached whether it belongs to an exception.
        let Some(reached) = read.reached.get(&line.number) else { continue };
        for number in without_exceptions(&line.branches) {
            read.criteria.conditions.add(reached.get(number).copied().unwrap_or_default());
        }
    }
    Ok(Some(read.criteria))
}

/// What the annotated source says of one function.
#[derive(Default)]
struct Annotations {
    /// Lines and calls.
    criteria: GcovCriteria,
    /// For each line, which of its branches were reached.
    reached: HashMap<u32, Vec<bool>>,
}

impl Annotations {
    /// Reads the part from `function SYMBOL called …` to the next function. A line of the source has a count, a colon
    /// and its number; the branches and calls of a line follow it.
    fn read(symbol: &str, annotated: &str) -> Option<Self> {
        let mut all = None;
        let mut is_inside = false;
        let mut number = 0;
        for text in annotated.lines() {
            if let Some(function) = text.strip_prefix("function ") {
                is_inside = function.split(" called ").next() == Some(symbol);
                if is_inside {
                    all.get_or_insert_with(Self::default);
                }
            } else if text.starts_with("-----") {
                // Around each instance of a template.
                is_inside = false;
            }
            let Some(read) = all.as_mut().filter(|_| is_inside) else { continue };
            let executed = !text.contains("never executed");
            if text.starts_with("branch ") {
                read.reached.entry(number).or_default().push(executed);
            } else if text.starts_with("call ") {
                read.criteria.calls.add(executed);
            } else if let Some((count, line)) = source_line(text) {
                number = line;
                // "-": no code; "#####" and "=====": code that was not executed.
                if count != "-" {
                    read.criteria.lines.add(count.starts_with(|c: char| c.is_ascii_digit()));
                }
            }
        }
        all
    }
}

/// The count and the number of a line of the annotated source.
fn source_line(text: &str) -> Option<(&str, u32)> {
    let mut parts = text.splitn(3, ':');
    let (count, number) = (parts.next()?.trim(), parts.next()?.trim().parse().ok()?);
    parts.next()?;
    Some((count, number))
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
        let counts = |b: &[Branch]| without_exceptions(b).iter().map(|i| b[*i].count).collect::<Vec<_>>();
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
    /// The output of gcov 12 for two functions, one of them with an exception that no run reached.
    const ANNOTATED_SOURCE: &str = "        -:    0:Source:a.cc
        -:    1:#include <stdio.h>
function g called 1 returned 100% blocks executed 100%
        1:    2:int g(int x){return x;}
function f called 2 returned 100% blocks executed 88%
       2*:    3:int f(int x){ if(x>3) { g(x); return 1;} if (x==77) {g(2);}
branch  0 taken 1 (fallthrough)
branch  1 taken 1
call    2 returned 1
branch  3 never executed
branch  4 never executed
call    5 never executed
branch  6 never executed
branch  7 never executed
    #####:    4: function(x);
        1:    5: return 0;}
function main called 1 returned 100% blocks executed 100%
        1:    6:int main(void){ f(2); return 0; }
call    0 returned 1
";

    #[test]
    fn lines_reached_branches_and_calls_are_those_of_the_function() {
        let json = br#"{"files": [{"file": "a.cc", "functions": [{"name": "f"}], "lines": [
            {"line_number": 3, "function_name": "f", "branches": [
             {"count": 1, "fallthrough": true, "throw": false}, {"count": 1, "fallthrough": false, "throw": false},
             {"count": 0, "fallthrough": true, "throw": false}, {"count": 0, "fallthrough": false, "throw": false},
             {"count": 0, "fallthrough": true, "throw": false}, {"count": 0, "fallthrough": false, "throw": true}
            ]}]}]}"#;
        let found = criteria_of("f", json, ANNOTATED_SOURCE).unwrap().unwrap();
        let expected = GcovCriteria {
            lines: Executed { total: 3, covered: 2 },
            conditions: Executed { total: 4, covered: 2 },
            calls: Executed { total: 2, covered: 1 },
        };
        assert_eq!(found, expected, "the last two branches are those of a call that may throw");
        assert_eq!(criteria_of("h", json, ANNOTATED_SOURCE).unwrap(), None);
    }
}
