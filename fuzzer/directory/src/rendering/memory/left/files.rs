//! What a function wrote to the stream or the file that it was given.

use penfuzz_executor::blocks::Blocks;
use penfuzz_mutators::view::Kind;
use penfuzz_report::{Arg, Place, WRITTEN, c_text::string_of, literal};

use super::{super::text_of, Renderer};

/// Maximum number of bytes that are compared.
const LONGEST: usize = 256;

/// The contents of the file after the call. A function with several files has no such check.
pub(super) fn written(renderer: &Renderer, blocks: &Blocks) -> Option<Arg> {
    let [file] = renderer.model.files.as_slice() else { return None };
    if file.is_missing(renderer.x) {
        return None;
    }
    let contents = blocks.file_contents(0).filter(|contents| contents.len() <= LONGEST)?;
    let text = string_of(&contents);
    let place = Place {
        expression: format!("penfuzz_contains({text}, {})", contents.len()),
        variable: WRITTEN.to_owned(),
        kind: literal::kind_name(Kind::I32).to_owned(),
        only_if_changed: contents == text_of(&renderer.images[file.block]).unwrap_or_default(),
        ..Place::default()
    };
    let name = format!("{} contains {text}", renderer.model.blocks[file.block].path);
    Some(Arg { place: Some(place), ..literal::arg(&name, "int", Kind::I32, 1) })
}
