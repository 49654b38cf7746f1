//! Source lines of conditions, for reports that show them.
//!
//! A report may come from an untrusted source and name any file of this machine, and its page may be published. So a
//! file is shown only if its content has the hash that the report contains. The author of a report cannot give the hash
//! of a file that they do not know. The hash has no key, so that equal campaigns have equal reports, and a report of
//! another machine can show the same sources here.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use penfuzz_system::files::foreign;
use penfuzz_target::hash;

use super::{
    condition,
    model::{Report, Site},
};

/// Maximum number of characters that are shown of a source line.
const LINE_WIDTH: usize = 60;

/// Maximum size in bytes of a source file that is read; the largest amalgamations have 10 MB.
const LARGEST: u64 = 1 << 25;

/// Source files, each read once. A file that cannot be read, or that has changed since the report was made, has no
/// text.
pub struct Sources<'a> {
    hashes: &'a BTreeMap<String, String>,
    texts: HashMap<&'a str, Option<String>>,
}

impl<'a> Sources<'a> {
    /// The source files of a report.
    #[must_use]
    pub fn of(report: &'a Report) -> Self {
        Self { hashes: &report.source_hashes, texts: HashMap::new() }
    }

    /// The text of a file; `None` if it cannot be read or has changed.
    pub fn text(&mut self, file: &'a str) -> Option<&str> {
        let hashes = self.hashes;
        let read = || {
            let expected = hashes.get(file)?;
            let bytes = foreign::read(Path::new(file), LARGEST).ok()?;
            (hash_of(&bytes) == *expected).then(|| String::from_utf8_lossy(&bytes).into_owned())
        };
        self.texts.entry(file).or_insert_with(read).as_deref()
    }

    /// The line with this number, from 1, without surrounding blanks; `None` if it is not known or empty.
    pub fn line(&mut self, file: &'a str, line: u32) -> Option<&str> {
        let text = self.text(file)?.lines().nth((line as usize).checked_sub(1)?)?;
        Some(text.trim()).filter(|l| !l.is_empty())
    }

    /// The lines from `first` to `last`, from 1; `None` if they are not known.
    pub fn lines(&mut self, file: &'a str, first: u32, last: u32) -> Option<String> {
        let skipped = (first as usize).checked_sub(1)?;
        let n = (last as usize).checked_sub(skipped)?;
        let lines: Vec<_> = self.text(file)?.lines().skip(skipped).take(n).collect();
        (lines.len() == n).then(|| lines.join("\n"))
    }

    /// The text of the condition at a site, or what [`condition`](Self::condition) shows if it cannot be found.
    pub fn operand(&mut self, site: &'a Site) -> String {
        let found = self.text(&site.file).and_then(|source| condition::text(site, source)).map(cut);
        found.unwrap_or_else(|| self.condition(site))
    }

    /// The source line of a site, cut after 60 characters. Without its source, the kind of the site and its predicate.
    pub fn condition(&mut self, site: &'a Site) -> String {
        match self.line(&site.file, site.line) {
            Some(line) => cut(line),
            None => format!("{} {}", site.kind, site.predicate).trim_end().to_owned(),
        }
    }
}

/// A source line, cut after 60 characters.
pub(super) fn cut(line: &str) -> String {
    if line.chars().count() > LINE_WIDTH {
        return line.chars().take(LINE_WIDTH - 1).chain(['…']).collect();
    }
    line.to_owned()
}

/// Parses file and line of a frame `function (file:line)`; `None` for a frame of a library.
#[must_use]
pub fn place(frame: &str) -> Option<(&str, u32)> {
    let (_, inside) = frame.strip_suffix(')')?.rsplit_once(" (")?;
    let (file, line) = inside.rsplit_once(':')?;
    Some((file, line.parse().ok().filter(|line| *line > 0)?))
}

/// The function of a place `function (file:line)` and the text of its line; `None` if there is no such line.
#[must_use]
pub fn code_at(place_of: &str) -> Option<String> {
    let (file, line) = place(place_of)?;
    let text = foreign::read_text(Path::new(file)).ok()?;
    let function = place_of.split(" (").next().unwrap_or_default();
    Some(format!("{function}: {}", text.lines().nth(line as usize - 1)?.trim()))
}

/// The hashes of the source files of these sites, for [`Report::source_hashes`]. Files that cannot be read have no
/// entry.
#[must_use]
pub fn source_hashes(sites: &[Site]) -> BTreeMap<String, String> {
    let mut files: Vec<&str> = sites.iter().map(|site| site.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let hash = |file: &str| Some((file.to_owned(), hash_of(&foreign::read(Path::new(file), LARGEST).ok()?)));
    files.into_iter().filter_map(hash).collect()
}

fn hash_of(bytes: &[u8]) -> String {
    format!("{:016x}", hash::of_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::{super::example, *};

    /// The example, whose sites are in this file.
    fn with_file(file: &Path) -> Report {
        let mut report = example::report();
        report.sites.iter_mut().for_each(|site| site.file = file.display().to_string());
        report
    }

    #[test]
    fn a_file_is_shown_only_with_the_content_of_the_campaign() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("clamp.c");
        std::fs::write(&file, example::SOURCE).unwrap();
        let mut report = with_file(&file);
        let shown = |report: &Report| Sources::of(report).text(&report.sites[0].file).is_some();
        assert!(!shown(&report), "a file of which the report has no hash");
        report.source_hashes = source_hashes(&report.sites);
        assert_eq!(report.source_hashes.len(), 1);
        assert!(shown(&report));
        std::fs::write(&file, "another text").unwrap();
        assert!(!shown(&report), "it has changed");
        assert_eq!(Sources::of(&report).condition(&report.sites[0]), "branch <");
    }

    #[test]
    fn places_are_read_from_frames() {
        assert_eq!(place("f(int) const (/src/a.c:12)"), Some(("/src/a.c", 12)));
        for frame in ["libm.so.6+0x1", "f (a.c:0)", "f (a.c)", "f", "f (a.c:x)", ""] {
            assert_eq!(place(frame), None, "{frame}");
        }
    }

    #[test]
    fn only_regular_files_are_read() {
        let mut report = with_file(Path::new("/dev/zero"));
        report.source_hashes = source_hashes(&report.sites);
        assert_eq!(report.source_hashes, BTreeMap::new());
        report.source_hashes.insert("/dev/zero".to_owned(), hash_of(&[]));
        assert_eq!(Sources::of(&report).text("/dev/zero"), None);
    }
}
