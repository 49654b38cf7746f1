//! Made-up exceptions for tests and documentation.

use penfuzz_mutators::view::Kind;

use super::{Confirmation, Confirmed, Exception, Find, Number, ResultEvidence};
use crate::literal;

/// A find at a line of `f.c`, confirmed at the site.
#[must_use]
pub fn find(
    exception: Exception,
    line: u32,
    operation: &str,
    operands: &[f64],
    result: f64,
    shown: ResultEvidence,
) -> Find {
    let number = |x: f64| Number {
        hex: literal::c_literal(Kind::F64, x.to_bits()),
        decimal: literal::decimal(Kind::F64, x.to_bits()),
    };
    Find {
        exception,
        operation: operation.to_owned(),
        function: "f".to_owned(),
        file: "src/f.c".to_owned(),
        line,
        column: 12,
        args: vec![literal::arg("x", "double", Kind::F64, operands[0].to_bits())],
        operands: operands.iter().copied().map(number).collect(),
        result: Some(number(result)),
        times: 1,
        output: Vec::new(),
        shown,
        confirmed: Confirmation { by: Confirmed::Site, reason: String::new() },
        avoidable: None,
        precise: None,
    }
}

/// The function returns NaN.
#[must_use]
pub fn shown() -> ResultEvidence {
    ResultEvidence::Value { place: "returned".to_owned(), value: "nan".to_owned() }
}
