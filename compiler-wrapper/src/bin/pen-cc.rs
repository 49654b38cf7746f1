//! The C compiler of penfuzz targets: `CC=pen-cc`.

use std::process::ExitCode;

fn main() -> ExitCode {
    penfuzz_cc::main(penfuzz_cc::Language::C)
}
