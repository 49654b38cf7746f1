use super::*;

unsafe extern "C" {
    fn sandbox_set_mask(mask: u64);
}

/// Returns the register of the sixth argument of a system call.
fn sixth_argument() -> u64 {
    let value: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: copies a register.
    unsafe {
        core::arch::asm!("mov {}, r9", out(reg) value, options(nomem, nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: copies a register.
    unsafe {
        core::arch::asm!("mov {}, x5", out(reg) value, options(nomem, nostack));
    }
    value
}

#[test]
fn filter_key_is_cleared_from_registers() {
    let in_child = || {
        // SAFETY: the filter is this child's own; the mask is empty.
        let installed = unsafe { sandbox_install(0) };
        // SAFETY: as above.
        unsafe { sandbox_set_mask(0) };
        let left = sixth_argument();
        i32::from(installed != 0) + 2 * i32::from(left != 0)
    };
    // SAFETY: the child only makes system calls.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "the system has room for a process");
    if child == 0 {
        let status = in_child();
        // SAFETY: the filter ends the child by SIGSYS, because this process has no handler for it; otherwise abort
        // raises SIGABRT.
        unsafe {
            if status == 0 {
                libc::syscall(libc::SYS_exit_group, 0, 0, 0, 0, 0, 0);
            }
            libc::abort();
        }
    }
    let mut status = 0;
    // SAFETY: the child of this test.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(libc::WTERMSIG(status), libc::SIGSYS, "status {status:#x}: the number was left in its register");
}

#[test]
fn descriptors_are_listed_although_no_other_one_can_be_opened() {
    let in_child = || {
        let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: a system call on a local variable.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
        File::open("/").is_err() && open_files().contains(&libc::STDERR_FILENO)
    };
    // SAFETY: the child only reads a directory and makes system calls.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "the system has room for a process");
    if child == 0 {
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!in_child())) };
    }
    let mut status = 0;
    // SAFETY: the child of this test.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}
