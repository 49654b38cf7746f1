//! A crash or a hang: what happened and where, so that each place is reported once.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
};

use addr2line::demangle_auto;
use libafl_bolts::impl_serdeany;
use penfuzz_cc::abi;
use serde::{Deserialize, Serialize};

use super::{
    evaluator::Limits,
    guard::{self, End},
};
use crate::target::load::module_of;

/// The directories in which findings lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultKind {
    /// A signal, an abort, an exit.
    Crash,
    /// Fuel spent, or the alarm.
    Hang,
}

/// How and where a run ended that did not return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Crash or hang.
    pub kind: FaultKind,
    /// Equal for faults at the same place.
    pub key: u64,
    /// `SIGSEGV at address 0x0`, `exit(3)`, `out of fuel after …`.
    pub reason: String,
    /// `function (file:line)`, or `module+0xoffset`.
    pub place: String,
    /// It can be had again in microseconds to a millisecond, and the process lives on.
    #[serde(default)]
    pub is_cheap: bool,
}

impl_serdeany!(Fault);

/// What identifies a fault without looking up names: cheap enough for every faulting run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    what: i64,
    offset: u64,
    callers: [u64; CALLERS],
}

/// Programs that abort do so in one function for all their errors (an error handler, `assert`'s helper): its callers tell
/// the errors apart.
const CALLERS: usize = 2;

/// Finds places in one target file. Looks up names only for faults not seen before.
pub struct FaultReader {
    base: u64,
    limits: Limits,
    symbols: Option<addr2line::Loader>,
}

impl core::fmt::Debug for FaultReader {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FaultReader").field("base", &self.base).finish_non_exhaustive()
    }
}

/// A fault this near the stack pointer is a stack overflow.
const STACK_REACH: u64 = 1 << 20;

impl FaultReader {
    /// For the target file at `path`, mapped at `base`.
    #[must_use]
    pub fn new(path: &Path, base: u64, limits: Limits) -> Self {
        Self { base, limits, symbols: addr2line::Loader::new(path).ok() }
    }

    /// Crash or hang?
    #[must_use]
    pub fn kind(end: &End) -> FaultKind {
        if end.stop == abi::stop::FUEL || end.signal == libc::SIGALRM { FaultKind::Hang } else { FaultKind::Crash }
    }

    /// Equal for runs that ended at the same place.
    #[must_use]
    pub fn key(&self, end: &End) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.place(end).hash(&mut hasher);
        hasher.finish()
    }

    /// The whole story.
    #[must_use]
    pub fn read(&self, end: &End, exit_status: i64) -> Fault {
        Fault {
            kind: Self::kind(end),
            key: self.key(end),
            reason: self.reason(end, exit_status),
            place: self.story(end),
            is_cheap: end.signal != libc::SIGALRM && end.stop != guard::STOP_MEMORY,
        }
    }

    fn place(&self, end: &End) -> Place {
        let what = if is_overflow(end) { -1 } else { i64::from(end.signal) << 8 | i64::from(end.stop) };
        let address = self.address_in_target(end);
        // The alarm, the overflow and the limit strike anywhere inside the guilty function.
        let anywhere = end.signal == libc::SIGALRM || end.stop == guard::STOP_MEMORY || is_overflow(end);
        let offset = if anywhere { self.function_of(address) } else { address };
        let mut callers = [0; CALLERS];
        if end.signal == libc::SIGABRT {
            for (caller, address) in callers.iter_mut().zip(self.addresses_in_target(end).skip(1)) {
                *caller = address;
            }
        }
        Place { what, offset, callers }
    }

    /// Return addresses in the target file, innermost first.
    fn addresses_in_target<'a>(&'a self, end: &'a End) -> impl Iterator<Item = u64> + 'a {
        end.frames().filter_map(|f| self.inside(f.wrapping_sub(1)))
    }

    fn inside(&self, address: u64) -> Option<u64> {
        module_of(address).is_some_and(|(base, _)| base == self.base).then(|| address - self.base)
    }

    /// The innermost address that lies in the target file, as an offset into it; 0 when there is none.
    fn address_in_target(&self, end: &End) -> u64 {
        if matches!(end.stop, abi::stop::FUEL | abi::stop::EXIT) {
            return self.inside(end.place).map_or(0, |a| a - 1);
        }
        self.inside(end.place).or_else(|| self.addresses_in_target(end).next()).unwrap_or(0)
    }

    fn function_of(&self, offset: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self.symbols.as_ref().and_then(|s| s.find_symbol(offset)) {
            Some(name) => name.hash(&mut hasher),
            None => offset.hash(&mut hasher),
        }
        hasher.finish()
    }

    fn reason(&self, end: &End, exit_status: i64) -> String {
        match end.stop {
            abi::stop::FUEL => return format!("no end after {} loop iterations and calls", self.limits.fuel),
            guard::STOP_MEMORY => return format!("more than {} MiB of memory", self.limits.memory >> 20),
            abi::stop::EXIT => return format!("exit({exit_status})"),
            _ => {}
        }
        match end.signal {
            libc::SIGALRM => format!("no answer after {:?}", self.limits.timeout),
            libc::SIGSEGV if is_overflow(end) => "stack overflow (SIGSEGV)".to_owned(),
            libc::SIGSEGV | libc::SIGBUS => format!("{} at address {:#x}", signal_name(end.signal), end.address),
            s => signal_name(s),
        }
    }

    /// The place, and for an abort who asked for it.
    fn story(&self, end: &End) -> String {
        let mut story = self.describe(self.address_in_target(end));
        for caller in self.place(end).callers.into_iter().filter(|c| *c != 0 && !self.is_thunk(*c)) {
            story += ", called by ";
            story += &self.describe(caller);
        }
        story
    }

    fn describe(&self, offset: u64) -> String {
        if offset == 0 {
            return "outside the target's own code".to_owned();
        }
        let unknown = || format!("target+{offset:#x}");
        let Some(symbols) = &self.symbols else { return unknown() };
        // A function that is inlined into its thunk has only the thunk's symbol.
        let name = symbols.find_symbol(offset).map(|n| demangle_auto(n.strip_prefix(THUNK).unwrap_or(n).into(), None));
        match (self.line(offset), name) {
            (Some((file, line)), name) => format!("{} ({file}:{line})", name.as_deref().unwrap_or("?")),
            (None, Some(name)) => name.into_owned(),
            _ => unknown(),
        }
    }

    fn is_thunk(&self, offset: u64) -> bool {
        self.symbols.as_ref().and_then(|s| s.find_symbol(offset)).is_some_and(|n| n.starts_with(THUNK))
    }

    /// The source line of an address; optimized code has stretches without one, then that of the code before.
    fn line(&self, offset: u64) -> Option<(String, u32)> {
        let symbols = self.symbols.as_ref()?;
        (0..LINELESS_STRETCH).find_map(|back| {
            let location = symbols.find_location(offset.checked_sub(back)?).ok()??;
            Some((location.file?.to_owned(), location.line.filter(|l| *l > 0)?))
        })
    }
}

/// What the pass calls its functions that call a function under test.
const THUNK: &str = "__pen_call.";

/// Bytes of code without a line that are passed over.
const LINELESS_STRETCH: u64 = 64;

fn is_overflow(end: &End) -> bool {
    end.signal == libc::SIGSEGV && end.address != 0 && end.address.abs_diff(end.stack) < STACK_REACH
}

/// `SIGSEGV` and so on.
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
        other => return format!("signal {other}"),
    }
    .to_owned()
}
