//! Renders as C what a function reads besides its arguments: standard input, files, and results of environment
//! functions.

use penfuzz_report::{Arg, Memory, RESULTS, STANDARD_INPUT, STANDARD_INPUT_FILE, c_text::string_of, literal};
use penfuzz_target::{
    inputs::{File, NO_FILE},
    program::environment::Source,
};
use penfuzz_testgen::environment;

use super::{Renderer, bits, plain, text_of};

/// Size of the name of a temporary file, with its terminator.
const NAME: usize = 32;

impl Renderer<'_> {
    /// The text of standard input.
    pub(super) fn input(&self, block: usize) -> Arg {
        let text = text_of(&self.images[block]).unwrap_or_default();
        let shown = string_of(text);
        Arg {
            name: "stdin".to_owned(),
            type_name: if self.model.is_descriptor { STANDARD_INPUT_FILE } else { STANDARD_INPUT }.to_owned(),
            hex: shown.clone(),
            decimal: shown,
            bits: literal::hex(text),
            ..Arg::default()
        }
    }

    /// The results of an environment function without trailing zeros: after the listed results it returns 0 anyway.
    pub(super) fn results(&self, source: &Source, block: usize) -> Arg {
        let (image, size) = (&self.images[block], source.kind.size());
        let used = image.iter().rposition(|byte| *byte != 0).map_or(0, |last| last / size + 1);
        let values: Vec<_> = (0..used).map(|i| plain(source.kind, bits(image, i * size, size))).collect();
        let shown = values.join(", ");
        let memory = (used > 0).then(|| Memory {
            name: format!("results_{}", environment::suffix(&source.function)),
            type_name: environment::type_of(&source.function).to_owned(),
            elements: Some(used),
            value: format!("{{{shown}}}"),
            bytes: literal::hex(&image[..used * size]),
            addresses: Vec::new(),
            ..Memory::default()
        });
        Arg {
            name: source.function.clone(),
            type_name: RESULTS.to_owned(),
            hex: format!("{{{shown}}}"),
            decimal: shown,
            bits: literal::hex(&image[..used * size]),
            memory: memory.into_iter().collect(),
            ..Arg::default()
        }
    }

    /// The call that creates a file with its text and writes its name into a variable. For a missing file, only the
    /// variable, which already has the name.
    pub(super) fn file_name(&self, file: File) -> String {
        let name = &self.names[file.block];
        if file.is_missing(self.x) {
            return name.clone();
        }
        let text = text_of(&self.images[file.block]).unwrap_or_default();
        format!("penfuzz_file({name}, {}, {})", string_of(text), text.len())
    }

    /// The variable for the name of a file; it is empty until the file is created.
    pub(super) fn name_of(&self, file: File) -> Memory {
        let text = if file.is_missing(self.x) { NO_FILE.to_bytes() } else { b"" };
        Memory {
            name: self.names[file.block].clone(),
            type_name: "char".to_owned(),
            elements: Some(NAME),
            value: string_of(text),
            bytes: literal::hex(text),
            addresses: Vec::new(),
            ..Memory::default()
        }
    }
}
