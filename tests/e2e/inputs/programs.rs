//! The programs of `harnesses/classic` are covered without a harness, and gcov counts the same for their tests.

use std::path::{Path, PathBuf};

use crate::{outputs::gcov_agrees, support::open_branches};

fn classic(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../harnesses/classic").join(name)
}

/// A campaign on a function covers all branches except `unreachable` ones.
fn covers_but(file: &str, function: &str, unreachable: usize) {
    covers_with("--max-evals 200000 --seed 1", file, function, unreachable);
}

fn covers_with(arguments: &str, file: &str, function: &str, unreachable: usize) {
    let report = gcov_agrees(&classic(file), &format!("-f {function} {arguments}"), function);
    assert_eq!(open_branches(&report).len(), unreachable, "{function}: open are {:?}", open_branches(&report));
    assert!(report.crashes.is_empty(), "{function}: a crash that is none of its errors");
}

fn covers(file: &str, function: &str) {
    covers_but(file, function, 0);
}

#[test]
fn an_nth_root_by_bisection() {
    covers("nth_root.c", "nth_root");
}

#[test]
fn two_arrays_and_a_number_that_fills_one() {
    covers("sample.c", "sample");
}

#[test]
fn a_triangle_of_integers() {
    covers("tritype.c", "tritype");
}

#[test]
fn an_array_and_numbers_of_standard_input() {
    covers("proc.c", "proc");
}

#[test]
fn a_search_in_a_sorted_array() {
    covers("binary_search.c", "binary_search");
}

#[test]
fn newtons_method() {
    covers("newton.c", "newton");
}

#[test]
fn two_arrays_that_a_function_writes() {
    covers("gauss_jacobi.c", "gauss_jacobi");
}

#[test]
fn a_generator_with_state() {
    covers("gamma_deviate.c", "gamma_deviate");
}

#[test]
fn an_integral_with_dead_branches() {
    covers_but("ei_dead.c", "ei_dead", 5);
}

#[test]
fn a_controller_in_a_structure() {
    covers("pid.c", "pid_step");
}

#[test]
fn a_filter_in_a_structure() {
    covers("kalman.c", "kalman_step");
}

#[test]
fn bytes_written_to_a_ring_buffer() {
    covers("ring_buffer.c", "ring_write");
}

#[test]
fn a_byte_found_in_a_ring_buffer() {
    covers("ring_buffer.c", "ring_find");
}

#[test]
fn a_moving_average() {
    covers("moving_average.c", "average_add");
}

#[test]
fn a_sentence_with_a_checksum() {
    covers("nmea.c", "nmea_parse");
}

#[test]
fn a_matrix() {
    covers("inverse3.c", "inverse3");
}

#[test]
fn a_table_that_must_be_sorted() {
    covers("lookup.c", "lookup");
}

#[test]
fn a_number_in_a_text() {
    covers("parse_double.c", "parse_double");
}
