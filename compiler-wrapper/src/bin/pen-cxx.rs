//! The C++ compiler of penfuzz targets: `CXX=pen-cxx`.
//!
//! Cargo allows no `+` in the name of a program; a link named `pen-c++` to either program works as well.

use std::process::ExitCode;

fn main() -> ExitCode {
    penfuzz_cc::main(penfuzz_cc::Language::Cxx)
}
