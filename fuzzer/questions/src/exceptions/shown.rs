//! Finds out whether the results of a function show that an exception occurred.

use penfuzz_mutators::view::Kind;
use penfuzz_target::program::Function;

use penfuzz_report::{Arg, Exception, ResultEvidence, literal};

/// The results of a call, by name: `returned`, `*name`, and for structures that the function fills in `*name+8`, word
/// by word as doubles. `cells` is the output as in [`penfuzz_executor::Evaluator::output`]. For functions that
/// take more than numbers, only the returned value.
#[must_use]
pub fn output(function: &Function, cells: &[u128]) -> Vec<Arg> {
    values(function, cells).iter().map(|v| literal::arg(&v.name, v.type_name, v.kind, v.bits)).collect()
}

/// The floating-point numbers among the results, in the same order: their kind (`double` or `float`), and their value.
#[must_use]
pub fn floats(function: &Function, cells: &[u128]) -> Vec<(Kind, f64)> {
    let number = |v: &Value| match v.kind {
        Kind::F64 => Some((v.kind, f64::from_bits(v.bits))),
        Kind::F32 => Some((v.kind, f64::from(f32::from_bits(v.bits as u32)))),
        _ => None,
    };
    values(function, cells).iter().filter_map(number).collect()
}

/// The name of the returned value.
const RETURNED: &str = "returned";

struct Value<'a> {
    name: String,
    type_name: &'a str,
    kind: Kind,
    bits: u64,
}

fn values<'a>(function: &'a Function, cells: &[u128]) -> Vec<Value<'a>> {
    let mut all = Vec::new();
    let mut add = |name, type_name, kind: Kind, word| {
        all.push(Value { name, type_name, kind, bits: word & kind.mask() });
    };
    if let Some(kind) = function.result_kind {
        add(RETURNED.to_owned(), &function.result_type, kind, cells[0] as u64);
    }
    // With an input model, the memory behind pointers is in blocks, not in cells.
    let has_cells = !function.is_harness() && function.model.is_none();
    for p in function.parameters.iter().filter(|p| p.pointer && has_cells) {
        let first = p.cell / size_of::<u128>();
        if let Some(kind) = p.kind {
            add(format!("*{}", p.name), p.value_type(), kind, cells[first] as u64);
        } else if p.is_output() {
            let words = cells[first..].iter().flat_map(|c| [*c as u64, (*c >> 64) as u64]);
            for (i, word) in words.take(p.output_size / size_of::<u64>()).enumerate() {
                add(format!("*{}+{}", p.name, i * size_of::<u64>()), "double", Kind::F64, word);
            }
        }
    }
    all
}

/// Where `output` shows the exception. A value that comes unchanged from `args` is not a result.
#[must_use]
pub fn shown(function: &Function, args: &[Arg], output: &[Arg], exception: Exception) -> ResultEvidence {
    let was_put_in = |o: &Arg| args.iter().any(|a| o.name.strip_prefix('*') == Some(&a.name) && a.bits == o.bits);
    let value =
        output.iter().find(|o| !was_put_in(o) && value_of(o).is_some_and(|(kind, x)| is_sign_of(kind, x, exception)));
    if let Some(value) = value {
        return ResultEvidence::Value { place: value.name.clone(), value: value.decimal.clone() };
    }
    let has_outputs = output.iter().any(|o| o.name != RETURNED);
    let is_status = has_outputs && function.result_kind == Some(Kind::I32);
    match output.first().filter(|_| is_status).and_then(|o| o.decimal.parse().ok()) {
        Some(code) if code != 0 => ResultEvidence::Status(code),
        _ if output.is_empty() => ResultEvidence::NoResult,
        _ => ResultEvidence::Nowhere,
    }
}

/// The type and value of a floating-point number; `None` for other kinds.
fn value_of(arg: &Arg) -> Option<(Kind, f64)> {
    let bits = u64::from_str_radix(arg.bits.strip_prefix("0x")?, 16).ok()?;
    match arg.bits.len() {
        // Tell the type by the number of digits, since C has many names for types.
        18 if is_float(arg) => Some((Kind::F64, f64::from_bits(bits))),
        10 if is_float(arg) => Some((Kind::F32, f64::from(f32::from_bits(bits as u32)))),
        _ => None,
    }
}

/// Returns true for floats: their decimals have a point or an exponent, or are not numbers; those of integers have only
/// digits and a sign.
fn is_float(arg: &Arg) -> bool {
    !arg.decimal.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}

/// Returns true for subnormal numbers of the type. An integer in a structure, read as a double, is none.
fn is_subnormal(kind: Kind, x: f64) -> bool {
    match kind {
        Kind::F32 => (x as f32).is_subnormal(),
        _ => x.is_subnormal() && x.to_bits() & !(1 << 63) > u64::from(u32::MAX),
    }
}

/// Returns true if the value can result from the exception.
fn is_sign_of(kind: Kind, x: f64, exception: Exception) -> bool {
    match exception {
        Exception::Underflow => x == 0.0 || is_subnormal(kind, x),
        Exception::Subnormal => is_subnormal(kind, x),
        _ => !x.is_finite(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penfuzz_target::program::{Edges, function::Parameter};

    fn function(result: Option<Kind>, pointer: bool) -> Function {
        let parameter = Parameter {
            name: "r".to_owned(),
            type_name: "double *".to_owned(),
            kind: Some(Kind::F64),
            pointer,
            offset: 0,
            cell: 16,
            place: 16,
            output_size: 0,
        };
        Function::without_code(result, vec![parameter], Edges::default())
    }

    fn shows(result: Option<Kind>, cells: [u128; 2], exception: Exception) -> ResultEvidence {
        let f = function(result, true);
        let args = [literal::arg("r", "double", Kind::F64, f64::INFINITY.to_bits())];
        shown(&f, &args, &output(&f, &cells), exception)
    }

    fn cell(x: f64) -> u128 {
        u128::from(x.to_bits())
    }

    #[test]
    fn nan_output_is_shown_and_unchanged_argument_is_not() {
        let at = |x| shows(None, [0, cell(x)], Exception::Overflow);
        assert_eq!(at(f64::NAN), ResultEvidence::Value { place: "*r".to_owned(), value: "nan".to_owned() });
        assert_eq!(at(f64::INFINITY), ResultEvidence::Nowhere, "the argument was infinite before the call");
    }

    #[test]
    fn a_code_of_an_int_function_with_outputs_is_a_status() {
        let code = |c| shows(Some(Kind::I32), [c, cell(1.0)], Exception::Overflow);
        assert_eq!((code(16), code(0)), (ResultEvidence::Status(16), ResultEvidence::Nowhere));
    }

    #[test]
    fn a_subnormal_float_shows_a_subnormal_sum() {
        let cells = [u128::from(1e-40f32.to_bits()), cell(1.0)];
        let shown = shows(Some(Kind::F32), cells, Exception::Subnormal);
        assert!(matches!(&shown, ResultEvidence::Value { place, .. } if place == "returned"), "{shown:?}");
        let cells = [u128::from(1e-30f32.to_bits()), cell(1.0)];
        assert_eq!(shows(Some(Kind::F32), cells, Exception::Subnormal), ResultEvidence::Nowhere, "a normal float");
    }

    #[test]
    fn zero_shows_an_underflow_and_no_overflow() {
        let at = |e| shows(Some(Kind::F64), [cell(0.0), cell(1.0)], e);
        assert_eq!(
            at(Exception::Underflow),
            ResultEvidence::Value { place: "returned".to_owned(), value: "0.0".to_owned() }
        );
        assert_eq!(at(Exception::Overflow), ResultEvidence::Nowhere);
    }
}
