//! Compiles the guard. It must be C, because it leaves the target by a jump out of a signal handler.

fn main() {
    for file in ["guard.c", "guard_call.c", "guard.h", "sandbox.c", "sandbox.h", "trap.c", "trap.h"] {
        println!("cargo:rerun-if-changed=src/{file}");
    }
    let files = ["src/guard.c", "src/sandbox.c", "src/trap.c"];
    compiler().files(files).compile("penfuzz_guard");
    compiler()
        .file("src/guard_call.c")
        // The unwinder must stop in this file. guard.c keeps its unwind tables: it unwinds the stack to locate a fault.
        .flag("-fno-asynchronous-unwind-tables")
        .flag("-fno-exceptions")
        .compile("penfuzz_guard_call");
}

fn compiler() -> cc::Build {
    let mut build = cc::Build::new();
    build.opt_level(2).warnings(true).flag_if_supported("-fno-stack-protector");
    build
}
