//! The `penfuzz` program.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod cli;

/// The target runs in this process and may be interrupted inside malloc, so Rust's heap must not be that of the C
/// library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    penfuzz_system::process::fork::check_locks_with(penfuzz_executor::guard::may_hold_locks);
    cli::main()
}
