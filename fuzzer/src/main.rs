//! The `penfuzz` program.

fn main() -> std::process::ExitCode {
    penfuzz::cli::main()
}
