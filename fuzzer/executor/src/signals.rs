//! Names of signals.

/// Returns the name of a signal, such as `SIGSEGV`.
#[must_use]
pub fn signal_name(signal: i32) -> String {
    match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE (integer division)",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGSYS => "SIGSYS",
        libc::SIGKILL => "SIGKILL",
        libc::SIGTERM => "SIGTERM",
        libc::SIGINT => "SIGINT",
        libc::SIGSTOP => "SIGSTOP",
        libc::SIGHUP => "SIGHUP",
        libc::SIGALRM => "SIGALRM",
        libc::SIGPIPE => "SIGPIPE",
        other => return format!("signal {other}"),
    }
    .to_owned()
}
