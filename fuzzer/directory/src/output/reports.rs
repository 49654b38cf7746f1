//! Writes the files that are derived from a report into the output directory. Nothing else writes them.
//!
//! A report is written by the process that has assembled it ([`write_all`]). The steps that complete it (the project's
//! header, proofs, criteria, mutants, examined finds) change the [`Report`] only; who calls them does so in [`update`].

use std::{fs, io, path::Path};

use penfuzz_error::Error;
use penfuzz_report::{
    Report, TESTS, cobertura, criterion_goals, decisions, files, history, html, json, lcov, requirements, source_root,
};
use penfuzz_system::files::{atomic, foreign, own};

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

/// Runs a step that completes the report of the campaign in `dir`, and writes its files if they are not those of the
/// result. They are also written if the step fails: it may have continued the campaign, which writes a report of its
/// own.
///
/// # Errors
/// Those of the step, and of [`write_all`].
pub fn update<T>(
    dir: &Path,
    report: &mut Report,
    step: impl FnOnce(&mut Report) -> Result<T, Error>,
) -> Result<T, Error> {
    let done = step(report);
    let written = if is_written(dir, report) { Ok(()) } else { write_all(dir, report).map_err(Error::from_source) };
    done.and_then(|value| written.map(|()| value))
}

/// Whether the files in `dir` are those of this report: `report.json` is written last.
fn is_written(dir: &Path, report: &Report) -> bool {
    foreign::read(&dir.join(files::JSON), foreign::LONGEST_TEXT)
        .is_ok_and(|found| found == json::to_string(report).as_bytes())
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

    #[test]
    fn a_step_is_written_if_it_changes_the_report_or_the_files_also_when_it_fails() {
        let dir = tempfile::tempdir().unwrap();
        let (json, html) = (dir.path().join(files::JSON), dir.path().join(files::HTML));
        let mut report = example::report();
        write_all(dir.path(), &report).unwrap();
        fs::remove_file(&html).unwrap();
        update(dir.path(), &mut report, |_| Ok(())).unwrap();
        assert!(!html.exists(), "nothing has changed");
        update(dir.path(), &mut report, |report| {
            report.seed += 1;
            Err::<(), _>(Error::new("x"))
        })
        .unwrap_err();
        assert!(html.exists() && json::read(&json).unwrap() == report, "the failed step has changed the report");
        let other = Report { seed: report.seed + 1, ..report.clone() };
        update(dir.path(), &mut report, |_| write_all(dir.path(), &other).map_err(Error::from_source)).unwrap();
        assert_eq!(json::read(&json).unwrap(), report, "the step has written another report");
    }
}
