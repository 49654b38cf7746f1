use penfuzz_app::report::example;

use super::*;

#[test]
fn the_harness_takes_as_many_bytes_as_the_arguments_have() {
    let report = example::report();
    let size = input_size(&report).unwrap();
    assert_eq!(size, kinds(&report).iter().map(|k| k.size()).sum::<usize>());
    let text = text(&report).unwrap();
    assert!(text.contains(&format!("size < {size} ? size : {size}")), "{text}");
}
