//! Computes the layouts of the types of a model, for test programs that have no definition of these types.

use penfuzz_abi::type_flag;
use penfuzz_target::inputs::{
    Model,
    types::{Form, Member, Number, TypeId},
};

use penfuzz_report::{Layout, literal};

/// Maximum nesting depth of structures; deeper ones are represented as bytes.
const DEEPEST: usize = 8;

/// The types that need a layout, in the order of [`all`]: types that pointers refer to, and types passed or returned by
/// value. C's own number types need none.
#[must_use]
pub fn types(model: &Model) -> Vec<TypeId> {
    let calls = model.sequence.iter().flat_map(|s| s.constructors.iter().chain(&s.steps));
    let passed = calls.flat_map(|call| &call.parameters).chain(&model.parameters).map(|(of, _)| *of);
    let behind = model.blocks.iter().skip(1).map(|b| b.element);
    let result = model.result.map(|(of, _)| of);
    let mut found = Vec::new();
    for of in behind.chain(passed).chain(result) {
        let of = element(model, of).0;
        let t = &model.types[of];
        let is_result = Some(of) == result;
        let is_needed = matches!(t.form, Form::Struct(_) | Form::Union(_) | Form::Pointer(_))
            || t.has(type_flag::COMPLEX)
            || is_result && matches!(t.form, Form::Library(_));
        if is_needed && !found.contains(&of) {
            found.push(of);
        }
    }
    found
}

/// The layouts of these types.
#[must_use]
pub fn all(model: &Model) -> Vec<Layout> {
    types(model).into_iter().map(|of| layout(model, of, 0)).collect()
}

/// The number of the layout of the result, if it is a structure.
#[must_use]
pub fn of_result(model: &Model) -> Option<usize> {
    let (result, _) = model.result?;
    types(model).iter().position(|of| *of == result)
}

/// The type of the innermost elements of an array, and the dimensions of the array.
#[must_use]
pub fn element(model: &Model, mut of: TypeId) -> (TypeId, Vec<usize>) {
    let mut dimensions = Vec::new();
    while let Form::Array(inner, n) = model.types[of].form {
        if model.types[of].has(type_flag::COMPLEX) {
            break;
        }
        dimensions.push(n);
        of = inner;
    }
    (of, dimensions)
}

fn layout(model: &Model, of: TypeId, depth: usize) -> Layout {
    let (of, elements) = element(model, of);
    let t = &model.types[of];
    let all = |members: &[Member]| -> Vec<Layout> { members.iter().map(|m| member(model, m, depth)).collect() };
    let (kind, members) = match &t.form {
        Form::Number(number) => (kind_of(*number, t.has(type_flag::CHAR)), Vec::new()),
        Form::Pointer(_) => ("pointer", Vec::new()),
        Form::Array(part, _) if model.types[*part].size == 4 => ("complex f32", Vec::new()),
        Form::Array(part, _) if model.types[*part].size == 8 => ("complex f64", Vec::new()),
        Form::Struct(members) if depth < DEEPEST => ("structure", all(members)),
        Form::Union(members) if depth < DEEPEST => ("union", all(members)),
        Form::Library(_) if depth == 0 => ("library", Vec::new()),
        _ => ("", Vec::new()),
    };
    let is_number = matches!(t.form, Form::Number(_)) && t.enumerators.is_empty() && !t.has(type_flag::ENUM);
    let is_own = |m: &Layout| m.is_plain && !m.name.is_empty();
    let is_structure = kind == "structure" && !t.has(type_flag::CLASS) && members.iter().all(is_own);
    let type_name = match &t.form {
        Form::Library(class) if depth == 0 => class.spelled(|of| model.types[of].name.clone()),
        _ if members.is_empty() => String::new(),
        _ => t.name.clone(),
    };
    Layout {
        type_name,
        kind: kind.to_owned(),
        size: t.size,
        elements,
        is_plain: is_number || is_structure,
        is_foreign: t.is_foreign && !members.is_empty(),
        members,
        ..Layout::default()
    }
}

fn member(model: &Model, m: &Member, depth: usize) -> Layout {
    Layout { name: m.name.clone(), offset: m.offset, bits: m.bits, ..layout(model, m.of, depth + 1) }
}

fn kind_of(number: Number, is_char: bool) -> &'static str {
    match number {
        Number::Plain(_) if is_char => "char",
        Number::Plain(kind) => literal::kind_name(kind),
        Number::F16 => "f16",
        Number::F80 => "f80",
        Number::F128 => "f128",
        Number::Wide { signed: true } => "i128",
        Number::Wide { signed: false } => "u128",
    }
}
