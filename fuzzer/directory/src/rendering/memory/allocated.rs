//! The variables that a call frees or reallocates, or tries to: a test allocates them with `malloc`.

use penfuzz_executor::blocks::Blocks;
use penfuzz_report::Arg;
use penfuzz_target::program::Function;

use super::variable;

/// The names of the variables that must be from `malloc` for what the last run has done.
#[must_use]
pub fn from_malloc(function: &Function, blocks: &Blocks) -> Vec<String> {
    let model = blocks.model();
    let all = model.blocks.iter().enumerate().filter(|(i, _)| blocks.is_from_malloc(*i));
    all.map(|(_, block)| variable(function, model, block)).collect()
}

/// Allocates the named variables. One that is no array becomes an array of one element, so that its name is an address.
pub fn allocate(args: &mut [Arg], names: &[String]) {
    let is_named = |name: &str| names.iter().any(|n| n == name);
    let mut addresses = Vec::new();
    for m in args.iter_mut().flat_map(|a| &mut a.memory).filter(|m| is_named(&m.name)) {
        m.is_allocated = true;
        if m.elements.is_none() {
            m.elements = Some(1);
            for value in core::iter::once(&mut m.value).chain(&mut m.object) {
                *value = format!("{{{value}}}");
            }
            addresses.push(m.name.clone());
        }
    }
    for name in &addresses {
        for arg in &mut *args {
            for text in [&mut arg.hex, &mut arg.decimal] {
                *text = without_ampersand(text, name);
            }
            for m in &mut arg.memory {
                let expressions = m.addresses.iter_mut().map(|(_, e)| e);
                for text in expressions.chain([&mut m.value]).chain(&mut m.object) {
                    *text = without_ampersand(text, name);
                }
            }
        }
    }
}

/// The text with `name` instead of `&name`.
fn without_ampersand(text: &str, name: &str) -> String {
    let address = format!("&{name}");
    let mut parts = text.split(&address);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_longer = part.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        out.extend([if is_longer { "&" } else { "" }, name, part]);
    }
    out
}

#[cfg(test)]
mod tests {
    use penfuzz_report::Memory;

    use super::*;

    #[test]
    fn the_name_of_an_allocated_object_is_its_address() {
        let memory =
            |name: &str, value: &str| Memory { name: name.to_owned(), value: value.to_owned(), ..Memory::default() };
        let memory = vec![memory("in1_p_next", "{.n = 1}"), memory("in1_p", "{.next = &in1_p_next}")];
        let mut args = [Arg { hex: "&in1_p".to_owned(), memory, ..Arg::default() }];
        allocate(&mut args, &["in1_p".to_owned()]);
        let [next, p] = &args[0].memory[..] else { panic!("two variables") };
        assert_eq!((args[0].hex.as_str(), p.value.as_str()), ("in1_p", "{{.next = &in1_p_next}}"));
        assert_eq!((p.elements, p.is_allocated), (Some(1), true));
        assert_eq!((next.elements, next.is_allocated), (None, false));
    }
}
