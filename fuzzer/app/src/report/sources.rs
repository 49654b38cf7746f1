//! Source lines of conditions, for reports that show them.

use std::{collections::HashMap, fs};

use super::model::Site;

/// Characters of a source line that are shown.
const LINE_WIDTH: usize = 60;

/// Source files, each read once. A file that cannot be read has no text, and reports do without it.
#[derive(Default)]
pub(super) struct Sources<'a> {
    texts: HashMap<&'a str, Option<String>>,
}

impl<'a> Sources<'a> {
    /// The text of a file; `None` when it cannot be read.
    pub fn text(&mut self, file: &'a str) -> Option<&str> {
        let read = || fs::read(file).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.texts.entry(file).or_insert_with(read).as_deref()
    }

    /// The source line of a site, cut after 60 characters; without its source, the kind of condition and its predicate.
    pub fn condition(&mut self, site: &'a Site) -> String {
        let line = self.text(&site.file).and_then(|t| t.lines().nth((site.line as usize).checked_sub(1)?));
        match line.map(str::trim).filter(|l| !l.is_empty()) {
            Some(line) if line.chars().count() > LINE_WIDTH => line.chars().take(LINE_WIDTH - 1).chain(['…']).collect(),
            Some(line) => line.to_owned(),
            None => format!("{} {}", site.kind, site.predicate).trim_end().to_owned(),
        }
    }
}
