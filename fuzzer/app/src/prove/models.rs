//! The arguments of models as inputs, for functions that take numbers, and pointers to what is 0.

use penfuzz_engine::inputs::{Converted, Decoding, Form as Conversion, Memory, extended};

use crate::report::{
    OUTPUT_KIND, Parameter, Report, Signature,
    literal::kind_named,
    proof::{Proof, Verdict},
};

/// The inputs of models for the arguments of a function.
#[must_use]
pub fn inputs_of<'a>(signature: &Signature, proofs: impl Iterator<Item = &'a Proof>) -> Vec<Vec<u8>> {
    let Some(form) = Form::of(signature) else { return Vec::new() };
    proofs.filter(|p| has_model(p)).map(|p| form.input(p)).collect()
}

/// The inputs of the models in a report, each once.
#[must_use]
pub fn inputs(report: &Report) -> Vec<Vec<u8>> {
    let own = report.sites.iter().flat_map(|s| {
        let is_own = s.code.as_ref().is_some_and(|code| code.symbol == report.signature.symbol);
        s.branches.iter().filter_map(move |b| b.proof.as_ref().filter(|_| is_own))
    });
    let mut all = inputs_of(&report.signature, own);
    all.sort();
    all.dedup();
    all
}

/// Is each parameter a number that is passed by value?
#[must_use]
pub fn are_numbers(signature: &Signature) -> bool {
    let is_wide = |number: usize| extended_at(signature, number).is_some();
    let is_number = |(n, p): (usize, &Parameter)| is_wide(n) || !p.kind.is_empty() && !p.type_name.contains("omplex");
    signature.parameters.iter().enumerate().all(is_number)
}

fn has_model(proof: &Proof) -> bool {
    matches!(proof.verdict, Verdict::Satisfiable | Verdict::SatisfiableIfFree) && !proof.model.is_empty()
}

/// The place in an input of a parameter that is a `long double` of x86.
fn extended_at(signature: &Signature, number: usize) -> Option<usize> {
    let decoding = signature.decoding.as_ref()?;
    let (_, at) = decoding.parameters.get(number)?;
    let is_there = |c: &&Converted| c.to == *at && c.form == Conversion::Extended;
    decoding.blocks.first()?.converted.iter().find(is_there).map(|c| c.from)
}

/// An argument in an input.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// So many bytes from this place on.
    Bytes(usize, usize),
    /// A `long double` of x86.
    Extended(usize),
}

/// Where the arguments that are numbers lie in an input.
struct Form {
    size: usize,
    /// Each with the number of its parameter.
    parts: Vec<(usize, Part)>,
}

impl Form {
    /// `None` if an argument is neither a number nor a pointer, or if there is more than one call: the numbers in queries are others then.
    fn of(signature: &Signature) -> Option<Self> {
        if !signature.makers.is_empty() || signature.calls > 0 {
            return None;
        }
        match &signature.decoding {
            Some(decoding) => Self::decoded(signature, decoding),
            None => Self::packed(signature),
        }
    }

    /// An input is the bytes of the arguments. A structure that is only written has none.
    fn packed(signature: &Signature) -> Option<Self> {
        let mut form = Self { size: 0, parts: Vec::new() };
        for (number, p) in signature.parameters.iter().enumerate() {
            match (p.kind.as_str(), p.pointer) {
                (OUTPUT_KIND, true) => {}
                (_, true) => return None,
                (kind, false) => {
                    let size = kind_named(kind)?.size();
                    form.parts.push((number, Part::Bytes(form.size, size)));
                    form.size += size;
                }
            }
        }
        Some(form)
    }

    /// What pointers lead to is 0.
    fn decoded(signature: &Signature, decoding: &Decoding) -> Option<Self> {
        let frame = decoding.blocks.first().filter(|_| !decoding.is_partial && decoding.result.is_none())?;
        let mut parts = Vec::new();
        for (number, (p, (_, at))) in signature.parameters.iter().zip(&decoding.parameters).enumerate() {
            if p.pointer {
                continue;
            }
            parts.push((
                number,
                match extended_at(signature, number) {
                    Some(from) => Part::Extended(from),
                    None => part_of_frame(frame, *at, kind_named(&p.kind)?.size())?,
                },
            ));
        }
        Some(Self { size: decoding.input_size(), parts })
    }

    /// The bytes of the arguments. One that is not in the query can have any value.
    fn input(&self, proof: &Proof) -> Vec<u8> {
        let mut x = vec![0; self.size];
        for (number, part) in &self.parts {
            let name = format!("arg{number}");
            let value = proof.model.iter().find(|(n, _)| *n == name);
            let bits = value.and_then(|(_, digits)| u128::from_str_radix(digits, 16).ok()).unwrap_or(0);
            match *part {
                Part::Bytes(at, size) => x[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]),
                Part::Extended(at) => extended::store(bits, &mut x[at..]),
            }
        }
        x
    }
}

/// The bytes of an input that go to this place of the frame.
fn part_of_frame(frame: &Memory, at: usize, size: usize) -> Option<Part> {
    let copied = frame.copies.iter().find(|c| c.to <= at && at + size <= c.to + c.size).map(|c| c.from + at - c.to);
    let converted = frame.converted.iter().find(|c| c.to == at && c.form == Conversion::Bool).map(|c| c.from);
    copied.or(converted).map(|from| Part::Bytes(from, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_the_bytes_of_the_arguments() {
        let model = vec![("arg2".to_owned(), "5".to_owned()), ("arg0".to_owned(), "3ff0000000000000".to_owned())];
        let proof = Proof { verdict: Verdict::Satisfiable, model, ..Proof::missing("") };
        let mut expected = 1.0_f64.to_le_bytes().to_vec();
        expected.extend(5_i32.to_le_bytes());
        expected.extend([0]);
        let parameter = |kind: &str, pointer| Parameter { kind: kind.to_owned(), pointer, ..Parameter::default() };
        let parameters = vec![
            parameter("f64", false),
            parameter(OUTPUT_KIND, true),
            parameter("i32", false),
            parameter("u8", false),
        ];
        let form = Form::of(&Signature { parameters, ..Signature::default() }).expect("numbers");
        assert_eq!(form.input(&proof), expected);
    }
}
