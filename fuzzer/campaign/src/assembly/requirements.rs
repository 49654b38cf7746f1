//! Traces required tags in comments to the source lines that contain them, and to the tests that execute these lines.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use penfuzz_report::requirements::{Place, Requirement, tagged};
use penfuzz_system::files::foreign;
use penfuzz_target::program::Target;

use super::criteria::Lines;

/// Traces `tags` in the source files of `functions` (indices of functions). `executed` has the lines of each test.
#[must_use]
pub(super) fn trace(
    target: &Target,
    functions: &BTreeSet<usize>,
    tags: &[String],
    executed: &[Lines],
) -> Vec<Requirement> {
    let wanted: BTreeSet<String> = tags.iter().cloned().collect();
    let mut places: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    let files: BTreeSet<&str> = functions.iter().map(|f| target.functions[*f].file.as_str()).collect();
    for file in files {
        let Ok(text) = foreign::read(Path::new(file), foreign::LONGEST_TEXT) else { continue };
        for (tag, line) in tagged(&String::from_utf8_lossy(&text), &wanted) {
            let place = (file.to_owned(), line);
            let tests = executed.iter().enumerate().filter(|(_, lines)| lines.contains(&place)).map(|(i, _)| i + 1);
            places.entry(tag).or_default().push(Place { file: file.to_owned(), line, tests: tests.collect() });
        }
    }
    let requirement = |tag: &String| {
        let places = places.get(tag).cloned().unwrap_or_default();
        let tests: BTreeSet<usize> = places.iter().flat_map(|p| p.tests.iter().copied()).collect();
        Requirement { tag: tag.clone(), places, tests: tests.into_iter().collect() }
    };
    tags.iter().map(requirement).collect()
}
