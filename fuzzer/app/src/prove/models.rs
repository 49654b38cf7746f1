//! The arguments of models as inputs, for functions that take numbers only.

use penfuzz_mutators::view::Kind;

use crate::report::{
    OUTPUT_KIND, Report, Signature,
    literal::kind_named,
    proof::{Proof, Verdict},
};

/// The inputs of models for the arguments of a function.
#[must_use]
pub fn inputs_of<'a>(signature: &Signature, proofs: impl Iterator<Item = &'a Proof>) -> Vec<Vec<u8>> {
    let Some(kinds) = kinds(signature) else { return Vec::new() };
    proofs.filter(|p| has_model(p)).map(|p| input(p, &kinds)).collect()
}

/// The inputs of the models in a report, each once.
#[must_use]
pub fn inputs(report: &Report) -> Vec<Vec<u8>> {
    let Some(kinds) = kinds(&report.signature) else { return Vec::new() };
    let own = report.sites.iter().flat_map(|s| {
        let is_own = s.code.as_ref().is_some_and(|code| code.symbol == report.signature.symbol);
        s.branches.iter().filter_map(move |b| b.proof.as_ref().filter(|_| is_own))
    });
    let mut all: Vec<Vec<u8>> = own.filter(|p| has_model(p)).map(|p| input(p, &kinds)).collect();
    all.sort();
    all.dedup();
    all
}

fn has_model(proof: &Proof) -> bool {
    matches!(proof.verdict, Verdict::Satisfiable | Verdict::SatisfiableIfFree) && !proof.model.is_empty()
}

/// The kinds of the arguments, if an input is nothing but their bytes: `None` of a structure that is only written, which has none.
fn kinds(signature: &Signature) -> Option<Vec<Option<Kind>>> {
    let is_plain = signature.decoding.is_none() && signature.makers.is_empty() && signature.calls == 0;
    let kinds = signature.parameters.iter().map(|p| match (p.kind.as_str(), p.pointer) {
        (OUTPUT_KIND, true) => Some(None),
        (_, true) => None,
        (kind, false) => kind_named(kind).map(Some),
    });
    if is_plain { kinds.collect() } else { None }
}

/// The bytes of the arguments. One that is not in the query can have any value.
fn input(proof: &Proof, kinds: &[Option<Kind>]) -> Vec<u8> {
    let bits = |number: usize| {
        let name = format!("arg{number}");
        let value = proof.model.iter().find(|(n, _)| *n == name);
        value.and_then(|(_, digits)| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
    };
    let size = |kind: &Option<Kind>| kind.map_or(0, Kind::size);
    kinds.iter().enumerate().flat_map(|(n, kind)| bits(n).to_le_bytes().into_iter().take(size(kind))).collect()
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
        assert_eq!(input(&proof, &[Some(Kind::F64), None, Some(Kind::I32), Some(Kind::U8)]), expected);
    }
}
