//! The event loop of the tracer.
//!
//! 1. A task that begins to execute a program gets a breakpoint at the first instruction. When it reaches this, the
//!    libraries of the program are loaded, and the functions that can be recorded get breakpoints.
//! 2. A task that reaches the entry of a function is stopped before it: its arguments are read. Then it executes the
//!    first instruction without the breakpoint, which is placed again afterwards. Meanwhile other threads may pass.
//! 3. All other signals are delivered unchanged.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    process::Command,
    rc::Rc,
};

use penfuzz_error::Error;
use penfuzz_system::process::interrupts::SignalGuard;
use penfuzz_target::recorded::{Bytes, RecordedCall};

use super::{
    Traced,
    address_space::{AddressSpace, Place, mappings, start_of},
    programs::{Programs, Recordable},
    ptrace::{self, Event, Task, Waiter},
    recording::Recording,
    walk,
};

/// Maximum number of calls of a function that are read in one process.
const CALLS_PER_PROCESS: u32 = 64;

/// Bytes of the stack that may hold arguments.
const STACK: usize = 256;

/// A traced process or thread.
struct TracedTask {
    space: Option<Rc<RefCell<AddressSpace>>>,
    /// The address of the removed breakpoint while the task executes the instruction there.
    stepping: Option<u64>,
    /// Whether its first stop, which belongs to its creation, has not come yet.
    is_new: bool,
}

/// Implements [`trace`](super::trace).
pub(crate) fn trace(command: &mut Command, recording: &mut Recording) -> Result<Traced, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let first = ptrace::spawn(command).map_err(|e| Error::new(format!("{name}: cannot be run: {e}")))?;
    let mut tracer = Tracer {
        tasks: HashMap::new(),
        early: HashSet::new(),
        programs: Programs::default(),
        n_programs: 0,
        recording,
    };
    let mut status = None;
    let (_guard, mut waiter) = (SignalGuard::begin(), Waiter::begin());
    while let Some((task, event)) = waiter.wait() {
        if let (true, Event::Ended(ended)) = (task == first, event) {
            status = Some(ended);
        }
        if status.is_none() && tracer.tasks.is_empty() {
            ptrace::follow(task);
            tracer.handle(task, Event::Exec)?;
        } else {
            tracer.handle(task, event)?;
        }
    }
    let programs = tracer.programs.paths();
    let status = status.ok_or_else(|| Error::new(format!("{name}: stopped before it ended")))?;
    Ok(Traced { status, programs })
}

struct Tracer<'a> {
    tasks: HashMap<Task, TracedTask>,
    /// Tasks that have stopped before the event of their creation.
    early: HashSet<Task>,
    programs: Programs,
    /// Number of programs that were begun.
    n_programs: usize,
    recording: &'a mut Recording,
}

impl Tracer<'_> {
    fn handle(&mut self, task: Task, event: Event) -> Result<(), Error> {
        match event {
            Event::Ended(_) => {
                self.tasks.remove(&task);
                self.early.remove(&task);
            }
            Event::Exec => {
                self.begin_program(task);
                ptrace::resume(task, 0);
            }
            Event::Created { task: new, shares_memory } => {
                self.created(task, new, shares_memory);
                self.finish_step(task);
                ptrace::resume(task, 0);
            }
            Event::Signal(_) if !self.tasks.contains_key(&task) => {
                self.early.insert(task);
            }
            Event::Signal(signal) => self.signal(task, signal)?,
        }
        Ok(())
    }

    fn begin_program(&mut self, task: Task) {
        let space = AddressSpace::of(task).ok().map(|mut space| {
            if let Some(start) = start_of(task) {
                space.place(start, Place::Start, 1);
            }
            Rc::new(RefCell::new(space))
        });
        self.tasks.insert(task, TracedTask { space, stepping: None, is_new: false });
    }

    fn created(&mut self, by: Task, new: Task, shares_memory: bool) {
        let space = self.tasks.get(&by).and_then(|t| t.space.clone());
        let space = if shares_memory {
            space
        } else {
            space.and_then(|s| s.borrow().copy_for(new).ok()).map(|s| Rc::new(RefCell::new(s)))
        };
        let is_early = self.early.remove(&new);
        self.tasks.insert(new, TracedTask { space, stepping: None, is_new: !is_early });
        if is_early {
            ptrace::resume(new, 0);
        }
    }

    fn signal(&mut self, task: Task, signal: i32) -> Result<(), Error> {
        let has_stepped = self.finish_step(task);
        let is_first = self.tasks.get_mut(&task).is_some_and(|t| core::mem::take(&mut t.is_new));
        let delivered = match (signal, ptrace::cause(task)) {
            (libc::SIGSTOP, _) if is_first => 0,
            // `int3`, also in a step: meanwhile another thread has placed the breakpoint again.
            (libc::SIGTRAP, Some(libc::SI_KERNEL)) if self.breakpoint(task)? => return Ok(()),
            (libc::SIGTRAP, Some(libc::TRAP_TRACE | libc::TRAP_BRKPT)) if has_stepped => 0,
            (libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU, None) => 0,
            (signal, _) => signal,
        };
        ptrace::resume(task, delivered);
        Ok(())
    }

    /// Places the breakpoint again whose instruction the task has executed.
    fn finish_step(&mut self, task: Task) -> bool {
        let Some(traced) = self.tasks.get_mut(&task) else { return false };
        let (Some(at), Some(space)) = (traced.stepping.take(), &traced.space) else { return false };
        space.borrow().place_again(at);
        true
    }

    /// Handles the breakpoint that the task has reached, and lets it continue. Returns false if there is none.
    fn breakpoint(&mut self, task: Task) -> Result<bool, Error> {
        let Some(space) = self.tasks.get(&task).and_then(|t| t.space.clone()) else { return Ok(false) };
        let Some(mut registers) = ptrace::general(task) else { return Ok(false) };
        let at = registers.rip.wrapping_sub(1);
        let Some(place) = space.borrow_mut().reach(at) else { return Ok(false) };
        registers.rip = at;
        let mut is_wanted = space.borrow().is_wanted(at);
        match place {
            Place::Start => self.place_entries(task, &mut space.borrow_mut()),
            Place::Entry(function) => {
                is_wanted &= self.record(task, &function, &registers, &mut space.borrow_mut())?;
                if !is_wanted {
                    space.borrow_mut().forget(at);
                }
            }
        }
        ptrace::set_general(task, &registers);
        if is_wanted {
            if let Some(traced) = self.tasks.get_mut(&task) {
                traced.stepping = Some(at);
            }
            ptrace::step(task);
        } else {
            ptrace::resume(task, 0);
        }
        Ok(true)
    }

    fn place_entries(&mut self, task: Task, space: &mut AddressSpace) {
        self.n_programs += 1;
        for mapping in mappings(task).iter().filter(|m| m.is_executable) {
            let Some(program) = self.programs.of(mapping) else { continue };
            let Some(base) = program.base(mapping) else { continue };
            for function in &program.functions {
                if self.recording.wants_in(&function.symbol, self.n_programs) {
                    let entry = Place::Entry(Rc::clone(function));
                    space.place(base + function.offset, entry, CALLS_PER_PROCESS);
                }
            }
        }
    }

    /// Records a call. Returns false if further calls of the function in this process are not worth their time.
    fn record(
        &mut self,
        task: Task,
        function: &Recordable,
        general: &libc::user_regs_struct,
        space: &mut AddressSpace,
    ) -> Result<bool, Error> {
        let Some(mut registers) = ptrace::argument_registers(task, general) else { return Ok(false) };
        // The return address comes first.
        registers.stack = space.read(general.rsp + 8, STACK);
        let Some(arguments) = function.signature.arguments(&registers) else { return Ok(false) };
        let memory = walk::memory_of(&arguments, space);
        let arguments = arguments.into_iter().map(Bytes).collect();
        self.recording.add(&function.symbol, &RecordedCall { arguments, memory })
    }
}
