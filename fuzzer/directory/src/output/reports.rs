//! Writes the files that are derived from a report into the output directory.

use std::{fs, io, path::Path};

use penfuzz_report::{
    Report, TESTS, cobertura, criterion_goals, decisions, files, history, html, json, lcov, requirements, source_root,
};
use penfuzz_system::files::{atomic, own};

/// Writes every report of a campaign into its output directory, each file durably and as a whole. Creates the
/// directories when they are missing.
///
/// # Errors
/// Those of the file system, with the path and what was tried.
pub fn write_all(dir: &Path, report: &Report) -> io::Result<()> {
    let tests = dir.join(TESTS);
    fs::create_dir_all(dir)
        .and_then(|()| own::make_directory(&tests))
        .map_err(|e| io::Error::new(e.kind(), format!("cannot create {}: {e}", tests.display())))?;
    write_tests(&tests, report)?;
    if report.goals.include_branches() {
        atomic::write(&dir.join(files::LCOV), lcov::tracefile(report).as_bytes())?;
        let cobertura = cobertura::document(report, &source_root::SourceRoot::current());
        atomic::write(&dir.join(files::COBERTURA), cobertura.as_bytes())?;
    }
    if !report.decisions.is_empty() {
        atomic::write(&dir.join(files::DECISIONS), decisions::csv(report).as_bytes())?;
    }
    if !report.criterion_goals.is_empty() {
        atomic::write(&dir.join(files::CRITERIA), criterion_goals::csv(report).as_bytes())?;
    }
    if !report.requirements.is_empty() {
        atomic::write(&dir.join(files::REQUIREMENTS), requirements::csv(&report.requirements).as_bytes())?;
    }
    atomic::write(&dir.join(files::HTML), html::page(report, &history::read(dir)).as_bytes())?;
    // Last: a program that sees a new report.json finds the other files of the same state.
    atomic::write(&dir.join(files::JSON), json::to_string(report).as_bytes())
}

/// Writes the test program, in the directory `tests`, and removes what belongs to it in another format only.
///
/// # Errors
/// Those of the file system.
pub fn write_tests(tests: &Path, report: &Report) -> io::Result<()> {
    let files = penfuzz_testgen::files(report);
    for (name, text) in &files {
        atomic::write(&tests.join(name), text.as_bytes())?;
    }
    for old in penfuzz_testgen::possible_files(report) {
        if files.iter().all(|(name, _)| *name != old) {
            match fs::remove_file(tests.join(old)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use penfuzz_report::example;

    use super::*;

    #[test]
    fn write_all_writes_every_file_and_can_be_repeated() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("new/out");
        for _ in 0..2 {
            write_all(&out, &example::report()).unwrap();
        }
        assert_eq!(json::read(&out.join("report.json")).unwrap(), example::report());
        for file in ["coverage.lcov", "coverage.xml", "report.html", "tests/test_clamp.c"] {
            assert!(out.join(file).is_file(), "{file} is missing");
        }
        assert_eq!(fs::read_dir(&out).unwrap().count(), 5, "no temporary file may be left");
    }
}
