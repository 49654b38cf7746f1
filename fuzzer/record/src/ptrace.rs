//! The system calls of the tracer. Each request is for a stopped task (process or thread) that this thread traces.

use std::{
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, ExitStatus},
    ptr,
};

use penfuzz_system::process::interrupts::{self, SecondCtrlC};
use penfuzz_target::recorded::Registers;

/// A process or a thread.
pub(crate) type Task = libc::pid_t;

/// Why a task stopped or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// It ended.
    Ended(ExitStatus),
    /// It executes another program.
    Exec,
    /// It has created this task. `shares_memory` is true for threads and for children that have called `vfork`.
    Created { task: Task, shares_memory: bool },
    /// A signal arrived, or the task was stopped by one.
    Signal(i32),
}

/// Starts the command and returns its process, which stops before the first instruction of its program.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Task> {
    // SAFETY: the closure calls one function that is safe after `fork`.
    unsafe {
        command.pre_exec(|| match request(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    command.spawn().map(|child| child.id() as Task)
}

/// Waits for tasks. While it lives, SIGCHLD is blocked in this thread, and read instead of handled.
pub(crate) struct Waiter {
    blocked: libc::sigset_t,
    before: libc::sigset_t,
    second_ctrl_c: SecondCtrlC,
}

impl Waiter {
    pub(crate) fn begin() -> Self {
        // SAFETY: plain data, which the calls fill in.
        unsafe {
            let (mut blocked, mut before) = (core::mem::zeroed(), core::mem::zeroed());
            libc::sigemptyset(&raw mut blocked);
            libc::sigaddset(&raw mut blocked, libc::SIGCHLD);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, &raw mut before);
            Self { blocked, before, second_ctrl_c: SecondCtrlC::default() }
        }
    }

    /// The next task that stops or ends; `None` if no task is left, or if the user asks this process to end.
    pub(crate) fn wait(&mut self) -> Option<(Task, Event)> {
        let longest = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let mut status = 0;
        loop {
            // SAFETY: `status` is valid for the result.
            match unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::WNOHANG) } {
                task @ 1.. => return Some((task, event(task, status))),
                0 if self.must_end() => return None,
                // SAFETY: the set and the time are valid; nothing is returned.
                0 => unsafe {
                    libc::sigtimedwait(&raw const self.blocked, ptr::null_mut(), &raw const longest);
                },
                _ => return None,
            }
        }
    }

    /// The first Ctrl-C has reached the command, too. Another signal was meant for this process alone.
    fn must_end(&mut self) -> bool {
        interrupts::requested() && interrupts::ctrl_c_count() == 0 || self.second_ctrl_c.poll()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // SAFETY: the set that was in force before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut()) };
    }
}

/// Why a task stopped or ended, from its status.
fn event(task: Task, status: i32) -> Event {
    if !libc::WIFSTOPPED(status) {
        return Event::Ended(ExitStatus::from_raw(status));
    }
    match status >> 16 {
        libc::PTRACE_EVENT_EXEC => Event::Exec,
        libc::PTRACE_EVENT_FORK => created(task, false),
        libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => created(task, true),
        _ => Event::Signal(libc::WSTOPSIG(status)),
    }
}

fn created(by: Task, shares_memory: bool) -> Event {
    let mut message: libc::c_ulong = 0;
    request(libc::PTRACE_GETEVENTMSG, by, 0, &raw mut message as usize);
    Event::Created { task: message as Task, shares_memory }
}

/// From now on, tasks that this task creates are traced, too. All are killed when the tracer ends.
pub(crate) fn follow(task: Task) {
    let options = libc::PTRACE_O_EXITKILL
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE;
    request(libc::PTRACE_SETOPTIONS, task, 0, options as usize);
}

/// Lets the task continue, and delivers this signal (0 for none).
pub(crate) fn resume(task: Task, signal: i32) {
    request(libc::PTRACE_CONT, task, 0, signal as usize);
}

/// Lets the task execute one instruction.
pub(crate) fn step(task: Task) {
    request(libc::PTRACE_SINGLESTEP, task, 0, 0);
}

/// The cause (`si_code`) of the signal that the task is about to receive. `None` if an earlier signal has stopped the
/// task, such as Ctrl-Z.
pub(crate) fn cause(task: Task) -> Option<i32> {
    // SAFETY: plain data.
    let mut info: libc::siginfo_t = unsafe { core::mem::zeroed() };
    (request(libc::PTRACE_GETSIGINFO, task, 0, &raw mut info as usize) == 0).then_some(info.si_code)
}

/// The general registers.
pub(crate) fn general(task: Task) -> Option<libc::user_regs_struct> {
    // SAFETY: plain data.
    let mut registers: libc::user_regs_struct = unsafe { core::mem::zeroed() };
    (request(libc::PTRACE_GETREGS, task, 0, &raw mut registers as usize) == 0).then_some(registers)
}

/// Sets the general registers.
pub(crate) fn set_general(task: Task, registers: &libc::user_regs_struct) {
    request(libc::PTRACE_SETREGS, task, 0, ptr::from_ref(registers) as usize);
}

/// The registers that hold arguments.
pub(crate) fn argument_registers(task: Task, general: &libc::user_regs_struct) -> Option<Registers> {
    // SAFETY: plain data.
    let mut floats: libc::user_fpregs_struct = unsafe { core::mem::zeroed() };
    if request(libc::PTRACE_GETFPREGS, task, 0, &raw mut floats as usize) != 0 {
        return None;
    }
    let g = general;
    let word = |i: usize| u64::from(floats.xmm_space[i]) | u64::from(floats.xmm_space[i + 1]) << 32;
    Some(Registers {
        integers: [g.rdi, g.rsi, g.rdx, g.rcx, g.r8, g.r9],
        floats: core::array::from_fn(|i| [word(4 * i), word(4 * i + 2)]),
        stack: Vec::new(),
    })
}

/// The result of a request: 0 unless it failed.
fn request(kind: libc::c_uint, task: Task, address: usize, data: usize) -> libc::c_long {
    // SAFETY: the callers in this module pass what the request reads or writes.
    unsafe { libc::ptrace(kind, task, address, data) }
}
