//! The pointer that a function returns: whether it is null, the variable of the test that it points to, and its text.

use penfuzz_executor::blocks::Blocks;
use penfuzz_mutators::view::Kind;
use penfuzz_report::{ADDRESS, Arg, Place, RESULT, TEXT, c_text, literal};
use penfuzz_system::process::own_memory;
use penfuzz_target::program::Function;

use super::super::Renderer;

/// Maximum length of a text that is checked, with its end.
const LONGEST_TEXT: usize = 200;

/// What is known of the pointer that `function` returned. `memory` has the blocks of the call and its input.
#[must_use]
pub fn returned(function: &Function, memory: Option<(&Blocks, &[u8])>, address: usize) -> Vec<Arg> {
    let Some(pointee) = function.result_type.strip_suffix('*') else { return Vec::new() };
    if ["(", "volatile", "*"].iter().any(|part| pointee.contains(part)) {
        return Vec::new();
    }
    if let Some(variable) = memory.and_then(|(blocks, x)| variable_at(function, blocks, x, address)) {
        return vec![value(&format!("result is {variable}"), &variable, ADDRESS, true)];
    }
    let mut found = vec![value("result is null", "0", ADDRESS, address == 0)];
    if matches!(pointee.trim(), "char" | "const char")
        && let Some(text) = text_at(address)
    {
        found.push(value(&format!("result is {text}"), &text, TEXT, true));
    }
    found
}

fn value(name: &str, expression: &str, kind: &str, holds: bool) -> Arg {
    let place = Place {
        expression: expression.to_owned(),
        variable: RESULT.to_owned(),
        kind: kind.to_owned(),
        ..Place::default()
    };
    Arg { place: Some(place), ..literal::arg(name, "int", Kind::I32, u64::from(holds)) }
}

/// The variable of the test at this address, as an expression. Variables that are objects of the C++ library have their
/// memory elsewhere, and so have those of the program.
fn variable_at(function: &Function, blocks: &Blocks, x: &[u8], address: usize) -> Option<String> {
    let model = blocks.model();
    let renderer = Renderer::new(function, model, x);
    let reached = super::reached(&renderer);
    for (i, block) in model.blocks.iter().enumerate() {
        let contents = blocks.contents(i).as_ptr_range();
        let is_in = (contents.start as usize..contents.end as usize).contains(&address);
        if !is_in || !reached[i] || block.path.is_empty() || block.is_owned() || blocks.is_freed(i) {
            continue;
        }
        if model.global_of(i).is_some() {
            return None;
        }
        let (name, offset) = (&renderer.names[i], address - contents.start as usize);
        return match (renderer.is_array(i), block.stride) {
            (true, stride) if stride > 0 && offset % stride == 0 => Some(format!("&{name}[{}]", offset / stride)),
            (false, _) if offset == 0 => Some(format!("&{name}")),
            _ => None,
        };
    }
    None
}

/// The text at this address as a C literal; `None` if it is not short, or not plain.
fn text_at(address: usize) -> Option<String> {
    let mut bytes = [0; LONGEST_TEXT];
    let n = own_memory::read(address, &mut bytes);
    let length = bytes[..n].iter().position(|byte| *byte == 0)?;
    let is_plain = |byte: &u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\t');
    bytes[..length].iter().all(is_plain).then(|| c_text::string_of(&bytes[..length]))
}
