//! Compiles the guard, which must be C: it leaves the target by jumping out of a signal handler.

fn main() {
    println!("cargo:rerun-if-changed=src/executor/guard.c");
    cc::Build::new()
        .file("src/executor/guard.c")
        .opt_level(2)
        .warnings(true)
        // A C++ exception that leaves the target finds no frame to unwind and ends in abort, which is caught.
        .flag("-fno-asynchronous-unwind-tables")
        .flag("-fno-exceptions")
        .flag_if_supported("-fno-stack-protector")
        .compile("penfuzz_guard");
}
