//! The file of a query: it states its question and result in comments, and any solver of `QF_BVFP` can check it again.

use std::fmt::Write;

use penfuzz_report::proof::Proof;
use penfuzz_target::program::Rounding;

use super::slice::Slice;

/// A query: can an execution fulfil the goal of a slice?
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The definitions that the query needs, and its goal.
    pub slice: &'a Slice,
    /// Rounding modes in which the function is called.
    pub rounding: Rounding,
}

impl Query<'_> {
    /// The query in SMT-LIB. It is unsatisfiable if no execution takes the branch.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}(assert {})\n(check-sat)\n", self.definitions(), self.slice.goal)
    }

    /// The part of the query before the assertion of its goal.
    #[must_use]
    pub fn definitions(&self) -> String {
        let mut out = String::from("(set-logic QF_BVFP)\n");
        out += match self.rounding {
            Rounding::Nearest => "(define-fun mode () RoundingMode RNE)\n",
            Rounding::All => "(declare-fun mode () RoundingMode)\n(assert (not (= mode RNA)))\n",
        };
        for line in &self.slice.lines {
            out += line;
            out.push('\n');
        }
        out
    }

    /// The query, extended to print the values of the arguments in a model.
    #[must_use]
    pub fn with_values(&self) -> String {
        self.with_values_of(&self.slice.arguments.join(" "))
    }

    /// The query, extended to print the values of `names` (separated by spaces) in a model.
    #[must_use]
    pub fn with_values_of(&self, names: &str) -> String {
        format!("(set-option :produce-models true)\n{}(get-value ({names}))\n", self.text())
    }
}

/// What the comments of the file state.
#[derive(Debug)]
pub struct About<'a> {
    /// The question, its place in the source, and the meaning of the answers, one line each.
    pub question: &'a [String],
    /// The hash of the code, in hexadecimal digits.
    pub hash: &'a str,
    /// Options of the compiler.
    pub flags: &'a [String],
    /// The result.
    pub proof: &'a Proof,
}

/// The contents of the file: comments, then the query.
#[must_use]
pub fn text(about: &About, query: &Query) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        // A control character, such as a newline, would end the comment.
        let _ = writeln!(out, "; {}", text.replace(|c: char| c.is_control(), " "));
    };
    about.question.iter().for_each(|text| line(text.clone()));
    line(format!("Compiled with: {}", about.flags.join(" ")));
    line(format!("MD5 of the code in LLVM's representation: {}", about.hash));
    let mode = if query.rounding.is_nearest() { "to nearest, ties to even" } else { "any of the processor's" };
    line(format!("Rounding mode at the call: {mode}"));
    for assumption in &about.proof.assumptions {
        line(format!("Assumption: {assumption}"));
    }
    for invariant in &about.proof.invariants {
        line(format!("Invariant: {invariant}"));
    }
    for free in &about.proof.free {
        line(format!("Free value: {free}"));
    }
    for a in &about.proof.answers {
        line(format!("{} {}: {} in {:.3} s", a.solver, a.version, a.answer, a.seconds));
    }
    out + &query.text()
}

/// Parses the values of arguments that a solver prints: pairs of a name and hexadecimal digits.
#[must_use]
pub fn values_of(text: &str) -> Vec<(String, String)> {
    let spaced = text.replace(['(', ')'], " ");
    let mut words = spaced.split_whitespace();
    let mut all = Vec::new();
    while let Some(name) = words.next() {
        if !name.starts_with("arg") {
            continue;
        }
        let value = match words.next() {
            // (_ bv12 64)
            Some("_") => words.next().and_then(|v| v.strip_prefix("bv")?.parse::<u128>().ok()),
            Some(v) => match v.get(..2) {
                Some("#x") => u128::from_str_radix(&v[2..], 16).ok(),
                Some("#b") => u128::from_str_radix(&v[2..], 2).ok(),
                _ => None,
            },
            None => None,
        };
        if let Some(value) = value {
            all.push((name.to_owned(), format!("{value:x}")));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_each_notation() {
        let text = "((arg0 #x3ff0000000000000)\n (arg1 (_ bv10 32)) (arg2 #b101))";
        let expected = [("arg0", "3ff0000000000000"), ("arg1", "a"), ("arg2", "5")];
        assert_eq!(values_of(text), expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
        assert!(values_of("(error \"no model\")").is_empty());
    }
}
