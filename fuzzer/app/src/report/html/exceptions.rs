//! Each floating-point exception that was found, worst first.

use std::fmt::Write;

use super::{LISTED, escape, heading, left_out};
use crate::report::{Report, exceptions_text};

/// The section; nothing for a campaign that did not search for them.
pub(super) fn section(out: &mut String, report: &Report) {
    let Some(exceptions) = &report.exceptions else { return };
    heading(out, &format!("Exceptions ({})", exceptions.pairs()));
    for find in exceptions.finds.iter().take(LISTED) {
        let class = if find.is_silent() { " class=\"bad\"" } else { "" };
        let _ =
            writeln!(out, "<section{class}><pre>{}</pre></section>", escape(exceptions_text::of(report, find).trim()));
    }
    left_out(out, exceptions.finds.len());
}
