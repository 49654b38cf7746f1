//! Converts models of solvers to inputs, for functions that take numbers and pointers.

use penfuzz_target::inputs::{Converted, Decoding, Form as Conversion, Memory, Target, extended};

use penfuzz_report::{
    OUTPUT_KIND, Parameter, Report, Signature,
    literal::kind_named,
    proof::{Proof, Verdict},
};

/// Size in bytes of a pointer, and of a `long double` of x86.
const POINTER: usize = 8;
const EXTENDED: usize = 10;

/// The inputs of the models in `proofs`, for the arguments of a function.
#[must_use]
pub fn inputs_of<'a>(signature: &Signature, proofs: impl Iterator<Item = &'a Proof>) -> Vec<Vec<u8>> {
    let Some(form) = Form::of(signature) else { return Vec::new() };
    proofs.filter(|p| has_model(p)).map(|p| form.input(p)).collect()
}

/// The inputs of the models in a report, without duplicates. Only branches of the function under test have usable
/// models, and exceptions in the context of its calls.
#[must_use]
pub fn inputs(report: &Report) -> Vec<Vec<u8>> {
    let own = report.sites.iter().flat_map(|s| {
        let is_own = s.code.as_ref().is_some_and(|code| code.symbol == report.signature.symbol);
        s.branches.iter().filter_map(move |b| b.proof.as_ref().filter(|proof| is_own || !proof.within.is_empty()))
    });
    let mut all = inputs_of(&report.signature, own);
    all.sort();
    all.dedup();
    all
}

/// Returns true if each parameter is a number that is passed by value.
#[must_use]
pub fn are_numbers(signature: &Signature) -> bool {
    let is_wide = |number: usize| extended_at(signature, number).is_some();
    let is_number = |(n, p): (usize, &Parameter)| is_wide(n) || !p.kind.is_empty() && !p.type_name.contains("omplex");
    signature.parameters.iter().enumerate().all(is_number)
}

fn has_model(proof: &Proof) -> bool {
    matches!(proof.verdict, Verdict::Satisfiable | Verdict::SatisfiableIfFree) && !proof.model.is_empty()
}

/// The offset in an input of a parameter that is a `long double` of x86; `None` for other parameters.
fn extended_at(signature: &Signature, number: usize) -> Option<usize> {
    let decoding = signature.decoding.as_ref()?;
    let (_, at) = decoding.parameters.get(number)?;
    let is_there = |c: &&Converted| c.to == *at && c.form == Conversion::Extended;
    decoding.blocks.first()?.converted.iter().find(is_there).map(|c| c.from)
}

/// The name of a value in a model: an argument, or bytes behind pointers. For example, `arg0.8x8.0x4` is reached in two
/// steps: argument 0 points to a memory that has a pointer of 8 bytes at offset 8; the value is the first 4 bytes of
/// the memory that this pointer points to.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    argument: usize,
    /// For each step the offset and the size in bytes.
    steps: Vec<(usize, usize)>,
}

impl Name {
    /// Parses a name; `None` if it is not that of an input value.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.strip_prefix("arg")?.split('.');
        let argument = words.next()?.parse().ok()?;
        let step =
            |word: &str| word.split_once('x').and_then(|(at, size)| Some((at.parse().ok()?, size.parse().ok()?)));
        Some(Self { argument, steps: words.map(step).collect::<Option<_>>()? })
    }
}

/// Returns true if this is the name of a value that inputs contain.
#[must_use]
pub fn is_input(name: &str) -> bool {
    Name::parse(name).is_some()
}

/// How the values of a model are stored in an input.
enum Form<'a> {
    /// The bytes of the arguments, or of what they point to. Each part has the number, offset and size of an argument,
    /// and whether it is a pointer.
    Packed { size: usize, parts: Vec<(usize, usize, usize, bool)> },
    /// Bytes that are decoded to arguments. `places` has for each parameter its offset in the frame and its size in
    /// bytes.
    Decoded { decoding: &'a Decoding, frame: &'a Memory, places: Vec<(usize, usize)> },
}

impl<'a> Form<'a> {
    /// `None` if an argument is neither a number nor a pointer, or if an input makes several calls: queries then number
    /// the arguments in another way.
    fn of(signature: &'a Signature) -> Option<Self> {
        if !signature.makers.is_empty() || signature.calls > 0 {
            return None;
        }
        match &signature.decoding {
            Some(decoding) => Self::decoded(signature, decoding),
            None => Self::packed(signature),
        }
    }

    /// A structure that is only written has no bytes in an input.
    fn packed(signature: &Signature) -> Option<Self> {
        let (mut all, mut parts) = (0, Vec::new());
        for (number, p) in signature.parameters.iter().enumerate().filter(|(_, p)| p.kind != OUTPUT_KIND) {
            let size = kind_named(&p.kind)?.size();
            parts.push((number, all, size, p.pointer));
            all += size;
        }
        Some(Self::Packed { size: all, parts })
    }

    fn decoded(signature: &Signature, decoding: &'a Decoding) -> Option<Self> {
        let frame = decoding.blocks.first().filter(|_| !decoding.is_partial && decoding.result.is_none())?;
        let mut places = Vec::new();
        for (number, (p, (_, at))) in signature.parameters.iter().zip(&decoding.parameters).enumerate() {
            let size = match extended_at(signature, number) {
                _ if p.pointer => POINTER,
                Some(_) => EXTENDED,
                None => kind_named(&p.kind)?.size(),
            };
            places.push((*at, size));
        }
        Some(Self::Decoded { decoding, frame, places })
    }

    /// The input of a model. Values that the query does not contain are free, and become 0.
    fn input(&self, proof: &Proof) -> Vec<u8> {
        let size = match self {
            Self::Packed { size, .. } => *size,
            Self::Decoded { decoding, .. } => decoding.input_size(),
        };
        let mut x = vec![0; size];
        for (name, digits) in &proof.model {
            if let (Some(name), Ok(bits)) = (Name::parse(name), u128::from_str_radix(digits, 16)) {
                self.store(&name, bits, &mut x);
            }
        }
        x
    }

    /// Writes a value to an input, if the input contains it.
    fn store(&self, name: &Name, bits: u128, x: &mut [u8]) {
        match self {
            Self::Packed { parts, .. } => {
                let found = parts.iter().find(|part| part.0 == name.argument);
                let Some((_, at, size, is_pointer)) = found else { return };
                let behind: &[_] = if *is_pointer { &[(0, *size)] } else { &[] };
                if name.steps == behind {
                    x[*at..at + size].copy_from_slice(&bits.to_le_bytes()[..*size]);
                }
            }
            Self::Decoded { decoding, frame, places } => {
                let Some(&(mut at, mut size)) = places.get(name.argument) else { return };
                let mut memory = *frame;
                for step in &name.steps {
                    let Some(next) = block_at(decoding, memory, at) else { return };
                    let alternative = memory.pointers.iter().find(|p| p.at == at).and_then(|p| p.alternative);
                    if let Some(alternative) = alternative {
                        alternative.choice.set(x, alternative.number.into());
                    }
                    memory = next;
                    (at, size) = *step;
                }
                store(memory, (at, size), bits, x);
            }
        }
    }
}

/// The block that a pointer at offset `at` of `memory` points to, if it points to the first element of a block.
fn block_at<'a>(decoding: &'a Decoding, memory: &Memory, at: usize) -> Option<&'a Memory> {
    match memory.pointers.iter().find(|p| p.at == at)?.target {
        Target::Block(number) => decoding.blocks.get(number),
        // The number of the element is 0 in the input of a model.
        Target::Within(place) if !place.is_end => decoding.blocks.get(place.block),
        _ => None,
    }
}

/// Writes bits to those bytes of an input that the `size` bytes at offset `at` of `memory` are decoded from.
fn store(memory: &Memory, (at, size): (usize, usize), bits: u128, x: &mut [u8]) {
    // The bytes of a union may also be a number.
    if let Some(pointer) = memory.pointers.iter().find(|p| p.at == at && p.alternative.is_none()) {
        if let Some(null) = pointer.null {
            x[null.offset] = u8::from(bits == 0);
        }
        return;
    }
    if let Some(converted) = memory.converted.iter().find(|c| c.to == at) {
        match converted.form {
            Conversion::Bool => x[converted.from] = bits as u8 & 1,
            Conversion::Extended => extended::store(bits, &mut x[converted.from..]),
            _ => {}
        }
        return;
    }
    for (place, byte) in (at..at + size).zip(bits.to_le_bytes()) {
        let copy = memory.copies.iter().find(|c| (c.to..c.to + c.size).contains(&place));
        if let Some(copy) = copy {
            x[copy.from + place - copy.to] = byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use penfuzz_mutators::{
        group::Length,
        view::{Kind, Slot},
    };
    use penfuzz_target::inputs::{Copy, Pointer};

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
        let signature = Signature { parameters, ..Signature::default() };
        let form = Form::of(&signature).expect("numbers");
        assert_eq!(form.input(&proof), expected);
    }

    #[test]
    fn a_name_says_where_a_value_lies() {
        assert_eq!(Name::parse("arg1"), Some(Name { argument: 1, steps: vec![] }));
        assert_eq!(Name::parse("arg0.8x8.0x4"), Some(Name { argument: 0, steps: vec![(8, 8), (0, 4)] }));
        assert!(
            ["arg", "args", "arg0.", "arg0.8", "u0", "arg0.-8x8"].into_iter().all(|text| Name::parse(text).is_none())
        );
    }

    fn block(copies: Vec<Copy>, pointers: Vec<Pointer>) -> Memory {
        let (length, converted) = (Length::Fixed(1), Vec::new());
        let (is_sure, is_string, is_of_numbers) = (true, false, false);
        Memory { stride: 24, capacity: 1, length, is_sure, is_string, is_of_numbers, copies, converted, pointers }
    }

    #[test]
    fn values_behind_pointers_go_to_the_bytes_that_their_memory_is_made_of() {
        let to = |at, block, null| Pointer { null, ..Pointer::new(at, Target::Block(block)) };
        let null = Some(Slot { kind: Kind::Bool, offset: 4 });
        let decoding = Decoding {
            kinds: vec![(Kind::U8, 9)],
            domains: Vec::new(),
            blocks: vec![
                block(vec![], vec![to(0, 1, None)]),
                block(vec![Copy { from: 0, to: 16, size: 4 }], vec![to(8, 2, null)]),
                block(vec![Copy { from: 5, to: 0, size: 4 }], vec![]),
            ],
            stubs: Vec::new(),
            input: None,
            is_partial: false,
            types: String::new(),
            parameters: vec![("void *".to_owned(), 0)],
            result: None,
        };
        let parameters = vec![Parameter { pointer: true, ..Parameter::default() }];
        let signature = Signature { parameters, decoding: Some(decoding), ..Signature::default() };
        let input = |values: &[(&str, &str)]| {
            let model = values.iter().map(|(name, digits)| ((*name).to_owned(), (*digits).to_owned())).collect();
            Form::of(&signature).expect("pointers").input(&Proof { model, ..Proof::missing("") })
        };
        let far = ("arg0.8x8.2x2", "abcd");
        assert_eq!(input(&[("arg0", "1000"), ("arg0.17x2", "102"), far]), [0, 2, 1, 0, 0, 0, 0, 0xcd, 0xab]);
        assert_eq!(input(&[("arg0.8x8", "0")]), [0, 0, 0, 0, 1, 0, 0, 0, 0], "a null pointer");
        assert_eq!(input(&[("arg0.8x8", "9"), ("arg0.100x4", "1"), ("arg2", "1")]), [0; 9]);
    }
}
