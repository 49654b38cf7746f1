use penfuzz_report::example;
use penfuzz_target::inputs::Decoding;

use super::*;

#[test]
fn the_harness_takes_as_many_bytes_as_the_arguments_have() {
    let report = example::report();
    let size = input_size(&report).unwrap();
    assert_eq!(size, kinds(&report).iter().map(|k| k.size()).sum::<usize>());
    let text = text(&report).unwrap();
    assert!(text.contains(&format!("size < {size} ? size : {size}")), "{text}");
}

/// A decoding without arguments.
fn nothing() -> Decoding {
    serde_json::from_str(r#"{"kinds":[],"domains":[],"blocks":[],"stubs":[],"types":"","parameters":[]}"#).unwrap()
}

#[test]
fn check_rejects_unsupported_signatures() {
    let mut report = example::report();
    report.signature.symbol = "_Z1fP1s".to_owned();
    report.signature.decoding = Some(Decoding { parameters: vec![("void *".to_owned(), 0)], ..nothing() });
    assert_eq!(check(&report), Ok(()));
    report.signature.decoding =
        Some(Decoding { parameters: vec![("struct penfuzz_type1".to_owned(), 0)], ..nothing() });
    assert!(check(&report).is_err_and(|why| why.contains("by value")));
    report.signature.decoding = Some(Decoding { is_partial: true, ..nothing() });
    assert!(check(&report).is_err_and(|why| why.contains("no sequences")));
    report.signature.decoding = Some(nothing());
    (report.signature.is_static, report.signature.file) = (true, "f.cpp".to_owned());
    assert!(check(&report).is_err_and(|why| why.contains("include")));
}
