//! Test: no value in a `report.json` that is read makes a format panic, the test program included.

use std::{panic::catch_unwind, path::Path};

use penfuzz_report::{boundary, example, exceptions_text, history::History, html, json, lcov, summary};
use serde_json::{Value, json};

/// Every value in `value`, by its JSON pointer.
fn pointers(value: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, v)| pointers(v, &format!("{at}/{key}"), into)),
        Value::Array(all) => all.iter().enumerate().for_each(|(i, v)| pointers(v, &format!("{at}/{i}"), into)),
        _ => {}
    }
}

#[test]
fn no_value_that_is_read_makes_a_report_panic() {
    let whole: Value = serde_json::from_str(&json::to_string(&example::report())).unwrap();
    let mut all = Vec::new();
    pointers(&whole, "", &mut all);
    let mut n_read = 0;
    for at in &all {
        let others: &[Value] = match whole.pointer(at).unwrap() {
            Value::Number(_) => &[
                json!(0),
                json!(1),
                json!(-1),
                json!(u32::MAX),
                json!(u64::MAX),
                json!(u64::MAX / 2),
                json!(1e16),
                json!(1e300),
            ],
            Value::String(_) => &[json!(""), json!("*/\n\u{1b}[2J\u{0}é")],
            Value::Array(_) => &[json!([])],
            _ => &[],
        };
        for other in others {
            let mut edited = whole.clone();
            *edited.pointer_mut(at).unwrap() = other.clone();
            let Ok(report) = json::parse(&edited.to_string(), Path::new("r")) else { continue };
            n_read += 1;
            let write = || {
                let dir = Path::new("out");
                let texts = [summary::text(&report, dir), boundary::text(&report, dir)];
                let exceptions = exceptions_text::text(&report, dir, true);
                let page = html::page(&report, &History::default());
                (texts, exceptions, page, lcov::tracefile(&report), crate::program(&report), json::to_string(&report))
            };
            assert!(catch_unwind(write).is_ok(), "{at} = {other}");
        }
    }
    assert!(n_read > all.len() / 2, "most edits are still reports: {n_read} of {}", all.len());
}
