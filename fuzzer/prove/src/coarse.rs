//! A coarser form of a query, which solvers decide faster: products, quotients and square roots are free values, about
//! which only facts of IEEE 754 are stated (special values, signs, bounds). Each execution of the query is one of the
//! coarser form, so a proof of the latter is a proof of the query; a model of it means nothing.
//!
//! Solvers translate these operations to circuits with some thousand gates. Many branches and mutants are impossible
//! for a simpler reason: control reaches them only with NaN, infinities or zeros.

use std::fmt::Write;

use super::slice::Slice;

/// The reason why a value of the coarser form is free.
const FREE: &str = "result of a product, a quotient or a square root: only facts about it";
/// At most this many operations of a kind are compared in pairs: equal operands have equal results.
const MOST_COMPARED: usize = 40;

/// An operation that is the whole value of a definition.
struct Operation<'a> {
    name: &'a str,
    /// The digits of the exponent and of the significand.
    sort: (&'a str, &'a str),
    kind: &'a str,
    operands: Vec<&'a str>,
}

/// The coarser form of a slice; `None` if it has none of these operations.
#[must_use]
pub fn coarser(slice: &Slice) -> Option<Slice> {
    let mut lines = Vec::new();
    let mut earlier: Vec<Operation> = Vec::new();
    for line in &slice.lines {
        let Some(operation) = operation_of(line) else {
            lines.push(line.clone());
            continue;
        };
        let (exponent, significand) = operation.sort;
        lines.push(format!(
            "(declare-fun {} () (_ FloatingPoint {exponent} {significand})) ; free: {FREE}",
            operation.name
        ));
        lines.extend(facts(&operation).into_iter().map(|fact| format!("(assert {fact})")));
        let same = earlier.iter().filter(|e| e.kind == operation.kind && e.sort == operation.sort);
        lines.extend(same.take(MOST_COMPARED).map(|e| congruence(e, &operation)));
        earlier.push(operation);
    }
    if earlier.is_empty() {
        return None;
    }
    let free = slice.free.iter().cloned().chain([FREE.to_owned()]).collect();
    Some(Slice { lines, free, ..slice.clone() })
}

/// Parses `(define-fun NAME () (_ FloatingPoint E S) (fp.KIND mode A …))`.
fn operation_of(line: &str) -> Option<Operation<'_>> {
    let (name, rest) = line.strip_prefix("(define-fun ")?.split_once(" () (_ FloatingPoint ")?;
    let (sort, term) = rest.split_once(") (")?;
    let (exponent, significand) = sort.split_once(' ')?;
    let (kind, operands) = term.split_once(" mode ")?;
    let number = match kind {
        "fp.mul" | "fp.div" => 2,
        "fp.sqrt" => 1,
        _ => return None,
    };
    let operands = split(operands.strip_suffix("))")?)?;
    (operands.len() == number).then_some(Operation { name, sort: (exponent, significand), kind, operands })
}

/// Splits a text into terms at the spaces outside of parentheses; `None` if parentheses do not match.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut all, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            ' ' if depth == 0 => {
                all.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    all.push(&text[start..]);
    (depth == 0).then_some(all)
}

/// The number 1 of a sort.
fn one((exponent, significand): (&str, &str)) -> Option<String> {
    let (e, s): (u32, u32) = (exponent.parse().ok()?, significand.parse().ok()?);
    let bias = 1_u128.checked_shl(e.checked_sub(1)?)? - 1;
    Some(format!("(fp (_ bv0 1) (_ bv{bias} {e}) (_ bv0 {}))", s.checked_sub(1)?))
}

/// Facts that hold for the result of an operation in each rounding mode (IEEE 754-2019, 4.3, 6.1 to 6.3). Bounds hold
/// because rounding is monotone and leaves floats as they are.
fn facts(operation: &Operation) -> Vec<String> {
    let (r, o) = (operation.name, &operation.operands);
    let Some(one) = one(operation.sort) else { return Vec::new() };
    let mut all = Vec::new();
    let mut add = |template: &str| {
        let mut fact = String::new();
        for part in template.split_inclusive(['@', '$', '%', '#']) {
            let text = part.trim_end_matches(['@', '$', '%', '#']);
            let value = match part.chars().last() {
                Some('@') => o[0],
                Some('$') => o[o.len() - 1],
                Some('%') => r,
                Some('#') => &one,
                _ => "",
            };
            let _ = write!(fact, "{text}{value}");
        }
        all.push(fact);
    };
    // `@` and `$` are the operands, `%` is the result, `#` is 1.
    let number = "(not (fp.isNaN %))";
    if operation.kind == "fp.sqrt" {
        add("(= (fp.isNaN %) (or (fp.isNaN @) (and (fp.isNegative @) (not (fp.isZero @)))))");
        add("(=> (fp.isZero @) (= % @))");
        add("(= (fp.isInfinite %) (and (fp.isInfinite @) (fp.isPositive @)))");
        add("(=> (fp.isPositive @) (fp.isPositive %))");
        add("(=> (fp.leq # @) (and (fp.leq # %) (fp.leq % @)))");
        add("(=> (and (fp.isPositive @) (fp.leq @ #)) (and (fp.leq @ %) (fp.leq % #)))");
        return all;
    }
    add(&format!("(=> {number} (= (fp.isNegative %) (xor (fp.isNegative @) (fp.isNegative $))))"));
    let is_one = "(fp.eq $ #)";
    add(&format!("(=> (and {number} {is_one}) (= % @))"));
    let (at_least_1, at_most_1) = ("(fp.leq # (fp.abs $))", "(fp.leq (fp.abs $) #)");
    let (grows, shrinks) = ("(fp.leq (fp.abs @) (fp.abs %))", "(fp.leq (fp.abs %) (fp.abs @))");
    if operation.kind == "fp.mul" {
        add("(= (fp.isNaN %) (or (fp.isNaN @) (fp.isNaN $) (and (fp.isInfinite @) (fp.isZero $)) \
             (and (fp.isZero @) (fp.isInfinite $))))");
        add(&format!("(=> (and {number} (or (fp.isInfinite @) (fp.isInfinite $))) (fp.isInfinite %))"));
        add(&format!("(=> (and {number} (or (fp.isZero @) (fp.isZero $))) (fp.isZero %))"));
        add(&format!("(=> (and {number} {at_least_1}) {grows})"));
        add(&format!("(=> (and {number} {at_most_1}) {shrinks})"));
        add(&format!("(=> (and {number} (fp.eq @ #)) (= % $))"));
        add(&format!("(=> (and {number} (fp.leq # (fp.abs @))) (fp.leq (fp.abs $) (fp.abs %)))"));
        add(&format!("(=> (and {number} (fp.leq (fp.abs @) #)) (fp.leq (fp.abs %) (fp.abs $)))"));
    } else {
        add("(= (fp.isNaN %) (or (fp.isNaN @) (fp.isNaN $) (and (fp.isInfinite @) (fp.isInfinite $)) \
             (and (fp.isZero @) (fp.isZero $))))");
        add(&format!("(=> (and {number} (or (fp.isInfinite @) (fp.isZero $))) (fp.isInfinite %))"));
        add(&format!("(=> (and {number} (or (fp.isZero @) (fp.isInfinite $))) (fp.isZero %))"));
        add(&format!("(=> (and {number} {at_least_1}) {shrinks})"));
        add(&format!("(=> (and {number} {at_most_1}) {grows})"));
        add(&format!("(=> (and {number} (fp.leq (fp.abs @) (fp.abs $))) (fp.leq (fp.abs %) #))"));
        add(&format!("(=> (and {number} (fp.leq (fp.abs $) (fp.abs @))) (fp.leq # (fp.abs %)))"));
    }
    all
}

/// Equal operands have equal results.
fn congruence(a: &Operation, b: &Operation) -> String {
    let pairs: Vec<String> = a.operands.iter().zip(&b.operands).map(|(a, b)| format!("(= {a} {b})")).collect();
    format!("(assert (=> (and true {}) (= {} {})))", pairs.join(" "), a.name, b.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(lines: &[&str]) -> Slice {
        Slice { lines: lines.iter().map(|l| (*l).to_owned()).collect(), goal: "v9".to_owned(), ..Slice::default() }
    }

    #[test]
    fn products_and_quotients_become_free_values_with_facts() {
        let one = "(fp (_ bv0 1) (_ bv1023 11) (_ bv0 52))";
        let all = slice(&[
            "(declare-fun arg0 () (_ BitVec 64))",
            &format!("(define-fun v2 () (_ FloatingPoint 11 53) (fp.div mode {one} v1))"),
            "(define-fun v3 () (_ FloatingPoint 11 53) (fp.add mode v2 v1))",
            "(define-fun v4 () (_ FloatingPoint 11 53) (fp.div mode v3 v1))",
        ]);
        let coarse = coarser(&all).expect("it has quotients");
        let text = coarse.lines.join("\n");
        assert!(text.contains("(declare-fun v2 () (_ FloatingPoint 11 53))"), "{text}");
        assert!(text.contains("(fp.add mode v2 v1)"), "sums stay exact: {text}");
        assert!(text.contains(&format!("(=> (and true (= {one} v3) (= v1 v1)) (= v2 v4))")), "{text}");
        assert_eq!(coarse.goal, "v9");
        assert_eq!(coarse.free.len(), 1);
        assert!(!text.contains(['@', '$', '%', '#']), "{text}");
    }

    #[test]
    fn a_slice_without_such_operations_has_no_coarser_form() {
        assert_eq!(coarser(&slice(&["(define-fun v3 () (_ FloatingPoint 11 53) (fp.add mode v2 v1))"])), None);
        let nested = "(define-fun v3 () (_ FloatingPoint 11 53) (ite c (fp.mul mode v2 v1) v1))";
        assert_eq!(coarser(&slice(&[nested])), None);
    }

    /// The facts hold for the exact operations: in the format of 16 bits, the solvers find no operands and no rounding
    /// mode for which one is false.
    #[test]
    fn facts_hold_for_the_operations() {
        let solvers = crate::solver::find();
        assert!(solvers.len() >= 2, "needs two solvers (./setup)");
        let dir = tempfile::tempdir().unwrap();
        for kind in ["fp.mul", "fp.div", "fp.sqrt"] {
            let operands = if kind == "fp.sqrt" { vec!["a"] } else { vec!["a", "b"] };
            let term = format!("({kind} mode {})", operands.join(" "));
            let operation = Operation { name: "r", sort: ("5", "11"), kind, operands };
            let sort = "(_ FloatingPoint 5 11)";
            let query = format!(
                "(set-logic QF_BVFP)\n(declare-fun mode () RoundingMode)\n(declare-fun a () {sort})\n\
                 (declare-fun b () {sort})\n(define-fun r () {sort} {term})\n\
                 (assert (not (and true {})))\n(check-sat)\n",
                facts(&operation).join(" ")
            );
            let file = dir.path().join("facts.smt2");
            std::fs::write(&file, &query).unwrap();
            for solver in &solvers {
                let (answer, _) = solver.ask(&file, std::time::Duration::from_mins(1));
                assert_eq!(answer, crate::solver::Answer::Unsat, "{}: {query}", solver.name);
            }
        }
    }
}
