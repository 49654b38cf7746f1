//! `report.json`: the serialized [`Report`], schema 1. Keys have the order of the fields of the type, so equal reports
//! give equal files.

use std::{io, path::Path};

use penfuzz_system::files::foreign;
use serde::{Deserialize, Serialize};

use super::{
    inconsistency::inconsistency,
    json_layout::Layout,
    model::{Report, SCHEMA},
};

pub use super::files::JSON as FILE;

/// The report as indented JSON with a final newline. JSON has no infinities and no NaN, so a time or a rate that is not
/// finite is written as 0. Arguments are strings and keep every bit.
///
/// # Panics
/// Never: no map in a report has keys that are not strings.
#[must_use]
pub fn to_string(report: &Report) -> String {
    let mut report = report.clone();
    for number in [&mut report.seconds, &mut report.evaluations_per_second] {
        if !number.is_finite() {
            *number = 0.0;
        }
    }
    let mut text = Vec::new();
    let mut to = serde_json::Serializer::with_formatter(&mut text, Layout::default());
    report.serialize(&mut to).expect("a report is plain data");
    text.push(b'\n');
    String::from_utf8(text).expect("JSON is text")
}

#[derive(Deserialize)]
struct Version {
    schema: u32,
}

/// Reads a report.
///
/// # Errors
/// The file cannot be read, has another schema, or contains values that no campaign writes. The message names the file
/// and says what to do.
pub fn read(path: &Path) -> io::Result<Report> {
    let text = foreign::read_text(path).map_err(|error| {
        let advice = if error.kind() == io::ErrorKind::NotFound {
            "; is this the output directory of a penfuzz run (option -o)?"
        } else {
            ""
        };
        io::Error::new(error.kind(), format!("cannot read {}: {error}{advice}", path.display()))
    })?;
    parse(&text, path)
}

/// Parses the text of the report at `path`.
///
/// # Errors
/// Those of [`read`].
pub fn parse(text: &str, path: &Path) -> io::Result<Report> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()));
    let damaged = |error| invalid(format!("not a penfuzz report ({error}); run the campaign again to write a new one"));
    let version: Version = serde_json::from_str(text).map_err(damaged)?;
    if version.schema != SCHEMA {
        return Err(invalid(format!(
            "written in schema {}, this penfuzz reads schema {SCHEMA}; use the penfuzz that wrote it",
            version.schema
        )));
    }
    let report = serde_json::from_str(text).map_err(damaged)?;
    match inconsistency(&report) {
        None => Ok(report),
        Some(what) => {
            Err(invalid(format!("not a report that penfuzz wrote: {what}; run the campaign again to write a new one")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn reads_what_it_wrote() {
        let report = example::report();
        assert_eq!(parse(&to_string(&report), Path::new("r")).unwrap(), report);
    }

    #[test]
    fn a_rate_that_is_not_finite_can_be_read_back() {
        let mut report = example::report();
        report.evaluations_per_second = f64::INFINITY;
        assert_eq!(parse(&to_string(&report), Path::new("r")).unwrap().evaluations_per_second.to_bits(), 0);
    }

    #[test]
    fn another_schema_is_named() {
        let error = parse(r#"{"schema": 9}"#, Path::new("dir/report.json")).unwrap_err().to_string();
        assert!(error.contains("dir/report.json") && error.contains("schema 9"), "{error}");
    }

    #[test]
    fn a_damaged_file_is_named_with_what_to_do() {
        let error = parse("{\"schema\": 1,", Path::new("dir/report.json")).unwrap_err().to_string();
        assert!(error.contains("dir/report.json") && error.contains("run the campaign again"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named_with_what_to_do() {
        let error = read(Path::new("/nonexistent/report.json")).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/report.json") && error.contains("-o"), "{error}");
    }
}
