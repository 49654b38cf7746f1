//! The runtime has no undefined behaviour: it computes the distances of unusual operands with the traps of
//! `-fsanitize=undefined`.
//!
//! A signed overflow may give any distance. One that the compiler made use of let the distance to the pole of `log1p`
//! grow while the operand came closer to it.

mod common;

use std::os::unix::process::ExitStatusExt;

use common::{CC, Dir, clang, driver, fixture, link_with, runtime};

/// The operations, and conditions of all kinds.
const SOURCES: [&str; 5] = [
    "semantics/operations.c",
    "semantics/conditions.c",
    "semantics/bytes.c",
    "semantics/sides.c",
    "fixtures/written.c",
];

#[test]
fn the_runtime_never_traps() {
    let dir = Dir::new();
    let traps = "-O1 -g -fPIC -fvisibility=hidden -fsanitize=undefined -fsanitize-trap=undefined";
    dir.quietly(&clang(), &format!("{traps} -c {} -o pen.o", runtime().display()));
    dir.quietly(&clang(), &format!("-O1 -Wall {} -lm -ldl -o driver", driver().display()));
    for source in SOURCES {
        std::fs::write(dir.path("x.c"), fixture(source)).expect("the source is written");
        dir.quietly(CC, "-O2 -w -g -fpen-exceptions -c x.c -o x.o");
        link_with(&dir, "pen.o", "", "x.o", "x");
        for mode in [&["./x"][..], &["./x", "flags"]] {
            let output = dir.command(dir.path("driver")).args(mode).output().expect("the driver runs");
            let (status, place) = (output.status, format!("{source} {mode:?}"));
            assert_eq!(
                status.signal(),
                None,
                "{place}: compile the runtime with -fsanitize=undefined to see the place"
            );
            assert!(status.success(), "{}", dir.report(&place, &output));
        }
    }
}
