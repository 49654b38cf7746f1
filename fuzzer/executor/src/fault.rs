//! Crashes and hangs: what happened and where. A key per place allows each place to be reported once.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
};

use libafl_bolts::impl_serdeany;
use penfuzz_abi as abi;
use penfuzz_target::{
    hash::StableHash,
    program::{
        modules::base_of,
        symbols::{Symbols, demangled},
        undefined::Stubs,
    },
};
use serde::{Deserialize, Serialize};

use super::{
    guard::{self, End},
    limits::EvaluationLimits,
    sandbox, stack,
};

pub use super::signals::signal_name;

/// The reason of a fault that depends on the addresses of arguments.
pub const PLACEMENT: &str = "takes other branches if the data behind its pointer arguments is at another address";

/// The kind of a fault, which selects the directory of the finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultKind {
    /// A signal, an abort, or an end of the process that cannot be intercepted.
    Crash,
    /// The fuel is spent, or the alarm ended the run.
    Hang,
}

/// How and where a run ended that did not return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Crash or hang.
    pub kind: FaultKind,
    /// Key of the place: equal for faults at the same place.
    pub key: u64,
    /// `SIGSEGV at address 0x0`, `out of fuel after …`.
    pub reason: String,
    /// `function (file:line)`, or `module+0xoffset`.
    pub place: String,
    /// The frames of the target and of libraries, innermost first, each in the format of `place`. Empty if unknown, for
    /// instance for an input that kills its process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// Whether the fault can be reproduced within microseconds to a millisecond without the loss of the process.
    #[serde(default)]
    pub is_cheap: bool,
    /// Whether the run used up its fuel: with more fuel, it might return.
    #[serde(default)]
    pub is_out_of_fuel: bool,
}

impl_serdeany!(Fault);

/// Identifies a fault without looking up names: fast enough for every faulting run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FaultKey {
    what: i64,
    offset: u64,
    callers: [u64; CALLERS],
}

/// Number of callers in a key. Programs that abort or trap often do so in one function for all their errors (an error
/// handler, `assert`'s helper); the callers distinguish the errors.
const CALLERS: usize = 2;

/// Describes faults in one target file. Looks up names only for faults not seen before.
pub struct FaultReader {
    limits: EvaluationLimits,
    symbols: Symbols,
    undefined: Stubs,
    /// Cache of the place and stack of faults seen before, as text: a search may meet one fault a hundred thousand
    /// times.
    described: RefCell<HashMap<u64, (String, Vec<String>)>>,
}

impl core::fmt::Debug for FaultReader {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FaultReader").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Capacity of the cache; a wild jump has a new stack each time.
const REMEMBERED: usize = 256;

/// A fault at most this many bytes from the stack pointer is a stack overflow.
const STACK_REACH: u64 = 1 << 20;

impl FaultReader {
    /// Creates a reader for the target file at `path`, mapped at `base`.
    #[must_use]
    pub fn new(path: &Path, base: u64, limits: EvaluationLimits) -> Self {
        Self { limits, symbols: Symbols::new(path, base), undefined: Stubs::of(path), described: RefCell::default() }
    }

    /// Returns whether the end is a crash or a hang.
    #[must_use]
    pub fn kind(end: &End) -> FaultKind {
        if end.stop == abi::stop::FUEL || end.signal == libc::SIGALRM { FaultKind::Hang } else { FaultKind::Crash }
    }

    /// Returns the key of the place, equal for runs that ended at the same place.
    #[must_use]
    pub fn key(&self, end: &End) -> u64 {
        let FaultKey { what, offset, callers } = self.place(end);
        let mut hash = StableHash::new();
        hash.i64(what).u64(offset).count(callers.len());
        for caller in callers {
            hash.u64(caller);
        }
        hash.finish()
    }

    /// Returns the complete fault. This looks up names.
    #[must_use]
    pub fn read(&self, end: &End) -> Fault {
        let (place, stack) = self.describe(end);
        Fault {
            kind: Self::kind(end),
            key: self.key(end),
            reason: self.reason(end),
            place,
            stack,
            is_cheap: end.signal != libc::SIGALRM && !matches!(end.stop, guard::STOP_MEMORY | guard::STOP_STACK),
            is_out_of_fuel: end.stop == abi::stop::FUEL,
        }
    }

    /// The place and the stack as text.
    fn describe(&self, end: &End) -> (String, Vec<String>) {
        let mut hasher = DefaultHasher::new();
        (end.signal, end.stop, end.place, end.caller).hash(&mut hasher);
        end.frames().for_each(|f| f.hash(&mut hasher));
        let mut described = self.described.borrow_mut();
        if described.len() > REMEMBERED {
            described.clear();
        }
        described
            .entry(hasher.finish())
            .or_insert_with(|| (self.location(end), stack::describe(&self.without_stub(end), &self.symbols)))
            .clone()
    }

    /// Replaces the stub of an undefined function by its caller: the stub has no frame, so the unwinder cannot leave
    /// it.
    fn without_stub(&self, end: &End) -> End {
        let is_stub = self.undefined_at(end.place).is_some();
        if is_stub { end.in_caller() } else { *end }
    }

    fn place(&self, end: &End) -> FaultKey {
        let what = if is_overflow(end) { -1 } else { i64::from(end.signal) << 8 | i64::from(end.stop) };
        let address = self.address_in_target(end);
        // The alarm, a stack overflow and the memory limit end a run at an arbitrary instruction of the function
        // responsible.
        let anywhere = end.signal == libc::SIGALRM || end.stop == guard::STOP_MEMORY || is_overflow(end);
        let offset = if anywhere { self.symbols.function_of(address) } else { address };
        let mut callers = [0; CALLERS];
        let is_deliberate = [libc::SIGABRT, libc::SIGILL, libc::SIGTRAP].contains(&end.signal);
        let skipped = if is_deliberate { 1 } else { usize::MAX };
        for (caller, address) in callers.iter_mut().zip(self.addresses_in_target(end).skip(skipped)) {
            *caller = address;
        }
        FaultKey { what, offset, callers }
    }

    /// The offset of the address in the target file, if it lies there in code other than the runtime's.
    fn outside_runtime(&self, address: u64) -> Option<u64> {
        self.symbols.inside(address).filter(|offset| !self.symbols.is_of_runtime(*offset))
    }

    /// The return addresses in the target file, innermost first, without those in the runtime: a fault in the runtime
    /// is attributed to the code that called it.
    fn addresses_in_target<'a>(&'a self, end: &'a End) -> impl Iterator<Item = u64> + 'a {
        end.frames().filter_map(|f| self.outside_runtime(f.wrapping_sub(1)))
    }

    /// The innermost address in the target file, as an offset; 0 if there is none.
    fn address_in_target(&self, end: &End) -> u64 {
        if matches!(end.stop, abi::stop::FUEL | abi::stop::CHECK) {
            return self.symbols.inside(end.place).map_or(0, |a| a - 1);
        }
        let called_from = || self.symbols.inside(end.caller.wrapping_sub(1)).filter(|_| base_of(end.place).is_none());
        if self.undefined_at(end.place).is_some() {
            return self.symbols.inside(end.caller.wrapping_sub(1)).unwrap_or(0);
        }
        let place = self.outside_runtime(end.place);
        place.or_else(|| self.addresses_in_target(end).next()).or_else(called_from).unwrap_or(0)
    }

    /// The symbol of the undefined function whose stub contains this address.
    fn undefined_at(&self, address: u64) -> Option<&str> {
        if self.undefined.is_empty() { None } else { self.undefined.at(self.symbols.inside(address)?) }
    }

    /// Whether the function has freed or reallocated memory of the fuzzer, which `malloc` has not allocated.
    #[must_use]
    pub fn has_freed_unallocated(&self, end: &End) -> bool {
        self.has_aborted_in(end, "__pen_not_allocated")
    }

    fn has_aborted_in(&self, end: &End, function: &str) -> bool {
        let is_there = |frame: u64| self.symbols.is_in(frame.wrapping_sub(1), function);
        end.signal == libc::SIGABRT && end.frames().any(is_there)
    }

    fn reason(&self, end: &End) -> String {
        match end.stop {
            abi::stop::FUEL => return format!("did not return within {} loop iterations and calls", self.limits.fuel),
            guard::STOP_MEMORY => return format!("more than {} MiB of memory", self.limits.memory >> 20),
            guard::STOP_REFUSED => return sandbox::describe_refusal(end.address),
            guard::STOP_STACK => {
                return format!("writes up to {} bytes above its stack frame: an array overflows", end.address);
            }
            guard::STOP_PLACEMENT => {
                return PLACEMENT.to_owned();
            }
            _ => {}
        }
        if let Some(name) = self.undefined_at(end.place) {
            return format!("calls `{}`, which is not defined", demangled(name.into()));
        }
        match end.signal {
            libc::SIGSEGV | libc::SIGBUS if let Some(name) = self.undefined_at(end.address) => {
                format!("uses `{}`, which is not defined", demangled(name.into()))
            }
            libc::SIGALRM => format!("did not return within {:?}", self.limits.timeout),
            libc::SIGABRT if self.has_freed_unallocated(end) => {
                "SIGABRT: frees memory that malloc has not allocated".to_owned()
            }
            libc::SIGABRT if self.has_aborted_in(end, "__pen_freed_twice") => {
                "SIGABRT: frees the memory of an argument twice".to_owned()
            }
            libc::SIGSEGV if is_overflow(end) => "stack overflow (SIGSEGV)".to_owned(),
            libc::SIGSEGV | libc::SIGBUS => format!("{} at address {:#x}", signal_name(end.signal), end.address),
            s => signal_name(s),
        }
    }

    /// The place, and for an abort its callers.
    fn location(&self, end: &End) -> String {
        let mut location = self.symbols.describe(self.address_in_target(end));
        for caller in self.place(end).callers.into_iter().filter(|c| *c != 0 && !self.symbols.is_thunk(*c)) {
            location += ", called by ";
            location += &self.symbols.describe(caller);
        }
        location
    }
}

fn is_overflow(end: &End) -> bool {
    end.signal == libc::SIGSEGV && end.address != 0 && end.address.abs_diff(end.stack) < STACK_REACH
}
