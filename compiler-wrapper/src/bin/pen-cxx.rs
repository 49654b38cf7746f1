//! The C++ compiler of penfuzz targets: `CXX=pen-cxx`.
//!
//! Cargo allows no `+` in the name of a program. A link named `pen-c++` to either program is a C++ compiler, too.

use std::process::ExitCode;

fn main() -> ExitCode {
    penfuzz_cc::main(penfuzz_cc::Language::Cxx)
}
