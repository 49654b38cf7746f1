//! Benchmarks in `FPCore` (`FPBench` 2.0, <https://fpbench.org/spec/fpcore-2.0.html>). The search calls a core compiled
//! to C; the reference is its value over the real numbers, computed by MPFR.
//!
//! Supported: numbers, constants, the functions of `<math.h>`, `let`, `let*`, `if`, `while`, `while*`, `!` and `cast`
//! with the precisions binary64 and binary32, `:pre`, `:name`, `:spec`. Rejected with an error: tensors (`array`,
//! `dim`, `for`, …), other precisions, calls of other cores.
//!
//! A core with a `:spec` is compared with that over the real numbers, any other with itself over the real numbers.

mod bound;
mod constants;
mod emit;
mod parse;
mod value;

use std::path::Path;

use penfuzz_error::{Error, at};
use penfuzz_mutators::view::Kind;

use penfuzz_system::files::foreign;

pub use self::emit::{FUNCTION, reference, source};
pub use self::value::value;
pub use self::{bound::bound, constants::value as constant};

/// One core.
#[derive(Debug, Clone, PartialEq)]
pub struct Core {
    /// Its `:name`, or the symbol after `FPCore`; empty if it has neither.
    pub name: String,
    /// The names of its arguments, with their precisions.
    pub arguments: Vec<(String, Precision)>,
    /// The precision of its result.
    pub precision: Precision,
    /// The relative accuracy that the value should have, `:accuracy`: an extension of penfuzz.
    pub accuracy: Option<f64>,
    /// The precondition, `:pre`.
    pub pre: Option<Expr>,
    /// The specification, `:spec`: the value that the body should compute.
    pub spec: Option<Expr>,
    /// The expression.
    pub body: Expr,
}

impl Core {
    /// Returns the expression that the core should compute, over the real numbers: `:spec`, or else the body.
    #[must_use]
    pub fn ideal(&self) -> &Expr {
        self.spec.as_ref().unwrap_or(&self.body)
    }
}

/// A floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// `binary64`.
    Double,
    /// `binary32`.
    Single,
}

impl Precision {
    /// Returns the type of numbers in this format.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::Double => Kind::F64,
            Self::Single => Kind::F32,
        }
    }
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A number as written: decimal, hexadecimal, or a quotient.
    Number(String),
    /// A constant: `PI`, `E`, `TRUE`, ….
    Constant(String),
    /// A variable.
    Variable(String),
    /// An operation and its operands.
    Apply(String, Vec<Expr>),
    /// Condition, value if true, value if false.
    If(Box<[Expr; 3]>),
    /// True for `let*`; variables with their values; body.
    Let(bool, Vec<(String, Expr)>, Box<Expr>),
    /// True for `while*`; condition; variables with first value and update; body.
    While(bool, Box<Expr>, Vec<(String, Expr, Expr)>, Box<Expr>),
    /// An expression in another precision.
    In(Precision, Box<Expr>),
    /// A value rounded to the precision of the context.
    Cast(Box<Expr>),
}

/// Returns whether the path has the extension of `FPCore` files.
#[must_use]
pub fn is_fpcore(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "fpcore")
}

/// Reads the core with this name or number (from 1), or the only one, of a file.
///
/// # Errors
/// When the file cannot be read, has no such core, or the core uses an unsupported feature.
pub fn read(path: &Path, name: Option<&str>) -> Result<Core, Error> {
    let text = foreign::read_text(path).map_err(|e| at(path, format!("cannot be read: {e}")))?;
    let all = parse::cores(&text).map_err(|why| at(path, why))?;
    let is_wanted = |(i, core): &(usize, &parse::Item)| match name {
        Some(name) => parse::name(core) == name || name.parse() == Ok(i + 1),
        None => all.len() == 1,
    };
    let Some((_, item)) = all.iter().enumerate().find(is_wanted) else {
        let names: Vec<String> = all.iter().enumerate().map(|(i, c)| format!("{} {}", i + 1, parse::name(c))).collect();
        let what = name.map_or_else(|| "has several cores".to_owned(), |name| format!("has no core `{name}`"));
        return Err(at(path, format!("{what}; give one of them by --function NAME or NUMBER: {}", names.join(", "))));
    };
    parse::core(item).map_err(|why| at(path, why))
}

/// The name or number of a core in its file, and the core or the reason why it is not supported.
pub type Named = (String, Result<Core, String>);

/// Reads all cores of a file.
///
/// # Errors
/// When the file cannot be read.
pub fn read_all(path: &Path) -> Result<Vec<Named>, Error> {
    let text = foreign::read_text(path).map_err(|e| at(path, format!("cannot be read: {e}")))?;
    let all = parse::cores(&text).map_err(|why| at(path, why))?;
    let named = |(i, item): (usize, &parse::Item)| match parse::name(item) {
        "" => (i + 1).to_string(),
        name => name.to_owned(),
    };
    Ok(all.iter().enumerate().map(|(i, item)| (named((i, item)), parse::core(item))).collect())
}

/// Parses the first core of a text.
///
/// # Errors
/// When it is not a supported core.
#[cfg(test)]
pub fn parsed(text: &str) -> Result<Core, String> {
    parse::cores(text).and_then(|all| parse::core(&all[0]))
}

/// Returns the bounds of single arguments, by `:pre` or by the user's `statements`, as statements about the function of
/// [`source`]. Everything else in `:pre` is checked for each input.
#[must_use]
pub fn domains(core: &Core, statements: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for (name, _) in &core.arguments {
        let own = |s: &&String| s.split_once(':').is_some_and(|(n, _)| n.trim() == name);
        if let Some((_, domain)) = statements.iter().find(own).and_then(|s| s.split_once(':')) {
            all.push(format!("{}:{domain}", emit::plain(name)));
            continue;
        }
        let (least, greatest) = bounds(core, name);
        if least.is_some() || greatest.is_some() {
            let (low, high) = (least.unwrap_or(f64::MIN), greatest.unwrap_or(f64::MAX));
            all.push(format!("{}: {low:e}..{high:e}", emit::plain(name)));
        }
    }
    all
}

/// Returns the bounds of an argument that `:pre` states, if any.
#[must_use]
pub fn bounds(core: &Core, name: &str) -> (Option<f64>, Option<f64>) {
    let (mut least, mut greatest) = (None, None);
    for (a, b) in core.pre.iter().flat_map(ordered) {
        match (&a, &b) {
            (Expr::Variable(v), bound) if v == name => greatest = greatest.or_else(|| number(bound)),
            (bound, Expr::Variable(v)) if v == name => least = least.or_else(|| number(bound)),
            _ => {}
        }
    }
    (least, greatest)
}

/// Returns the comparisons of a conjunction as pairs; the first of a pair is at most the second.
fn ordered(pre: &Expr) -> Vec<(Expr, Expr)> {
    let Expr::Apply(op, args) = pre else { return Vec::new() };
    let pairs = || args.windows(2).map(|w| (w[0].clone(), w[1].clone()));
    match op.as_str() {
        "and" => args.iter().flat_map(ordered).collect(),
        "<" | "<=" => pairs().collect(),
        ">" | ">=" => pairs().map(|(a, b)| (b, a)).collect(),
        _ => Vec::new(),
    }
}

/// Returns the value of a literal, rounded to a double.
fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Number(text) => match text.split_once('/') {
            Some((a, b)) => Some(a.parse::<f64>().ok()? / b.parse::<f64>().ok()?),
            None => text.parse().ok(),
        },
        Expr::Apply(op, args) if op == "-" && args.len() == 1 => number(&args[0]).map(|x| -x),
        _ => None,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
