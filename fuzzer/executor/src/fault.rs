//! A crash or a hang: what happened and where, so that each place is reported once.

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
        load::module_of,
        symbols::{Symbols, demangled},
        undefined::Stubs,
    },
};
use serde::{Deserialize, Serialize};

use super::{
    guard::{self, End},
    limits::Limits,
    sandbox, stack,
};

pub use super::signals::signal_name;

/// The directories in which findings lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultKind {
    /// A signal, an abort, an end of the process that cannot be intercepted.
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
    /// `SIGSEGV at address 0x0`, `out of fuel after …`.
    pub reason: String,
    /// `function (file:line)`, or `module+0xoffset`.
    pub place: String,
    /// The frames of the target and of libraries, innermost first, each as `place`; empty when nothing is known, as for an
    /// input that kills its process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// It can be had again in microseconds to a millisecond, and the process lives on.
    #[serde(default)]
    pub is_cheap: bool,
    /// It has used up its fuel: with more, it might return.
    #[serde(default)]
    pub is_out_of_fuel: bool,
}

impl_serdeany!(Fault);

/// What identifies a fault without looking up names: cheap enough for every faulting run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FaultKey {
    what: i64,
    offset: u64,
    callers: [u64; CALLERS],
}

/// Programs that abort do so in one function for all their errors (an error handler, `assert`'s helper): its callers
/// distinguish the errors.
const CALLERS: usize = 2;

/// Finds places in one target file. Looks up names only for faults not seen before.
pub struct FaultReader {
    limits: Limits,
    symbols: Symbols,
    undefined: Stubs,
    /// The place and stack of faults seen before, as text: a search may meet one fault a hundred thousand times.
    described: RefCell<HashMap<u64, (String, Vec<String>)>>,
}

impl core::fmt::Debug for FaultReader {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FaultReader").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Stacks that are saved; a wild jump has a new one each time.
const REMEMBERED: usize = 256;

/// A fault this near the stack pointer is a stack overflow.
const STACK_REACH: u64 = 1 << 20;

impl FaultReader {
    /// For the target file at `path`, mapped at `base`.
    #[must_use]
    pub fn new(path: &Path, base: u64, limits: Limits) -> Self {
        Self { limits, symbols: Symbols::new(path, base), undefined: Stubs::of(path), described: RefCell::default() }
    }

    /// Crash or hang?
    #[must_use]
    pub fn kind(end: &End) -> FaultKind {
        if end.stop == abi::stop::FUEL || end.signal == libc::SIGALRM { FaultKind::Hang } else { FaultKind::Crash }
    }

    /// Equal for runs that ended at the same place.
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

    /// The fault in full: this looks up names.
    #[must_use]
    pub fn read(&self, end: &End) -> Fault {
        let (place, stack) = self.describe(end);
        Fault {
            kind: Self::kind(end),
            key: self.key(end),
            reason: self.reason(end),
            place,
            stack,
            is_cheap: end.signal != libc::SIGALRM && end.stop != guard::STOP_MEMORY,
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

    /// The end in the caller of a stub, which is no frame and which the unwinder cannot leave.
    fn without_stub(&self, end: &End) -> End {
        let is_stub = self.undefined_at(end.place).is_some();
        if is_stub { end.in_caller() } else { *end }
    }

    fn place(&self, end: &End) -> FaultKey {
        let what = if is_overflow(end) { -1 } else { i64::from(end.signal) << 8 | i64::from(end.stop) };
        let address = self.address_in_target(end);
        // The alarm, the overflow and the limit strike anywhere inside the guilty function.
        let anywhere = end.signal == libc::SIGALRM || end.stop == guard::STOP_MEMORY || is_overflow(end);
        let offset = if anywhere { self.symbols.function_of(address) } else { address };
        let mut callers = [0; CALLERS];
        let skipped = if end.signal == libc::SIGABRT { 1 } else { usize::MAX };
        for (caller, address) in callers.iter_mut().zip(self.addresses_in_target(end).skip(skipped)) {
            *caller = address;
        }
        FaultKey { what, offset, callers }
    }

    /// The address as an offset into the target file, if it lies there, in code that is not the runtime's.
    fn outside_runtime(&self, address: u64) -> Option<u64> {
        self.symbols.inside(address).filter(|offset| !self.symbols.is_of_runtime(*offset))
    }

    /// Return addresses in the target file, innermost first, without those in the runtime: a fault there is named after the code that
    /// called it.
    fn addresses_in_target<'a>(&'a self, end: &'a End) -> impl Iterator<Item = u64> + 'a {
        end.frames().filter_map(|f| self.outside_runtime(f.wrapping_sub(1)))
    }

    /// The innermost address that lies in the target file, as an offset into it; 0 when there is none.
    fn address_in_target(&self, end: &End) -> u64 {
        if matches!(end.stop, abi::stop::FUEL | abi::stop::CHECK) {
            return self.symbols.inside(end.place).map_or(0, |a| a - 1);
        }
        let called_from = || self.symbols.inside(end.caller.wrapping_sub(1)).filter(|_| module_of(end.place).is_none());
        if self.undefined_at(end.place).is_some() {
            return self.symbols.inside(end.caller.wrapping_sub(1)).unwrap_or(0);
        }
        let place = self.outside_runtime(end.place);
        place.or_else(|| self.addresses_in_target(end).next()).or_else(called_from).unwrap_or(0)
    }

    /// The symbol whose stub holds this address.
    fn undefined_at(&self, address: u64) -> Option<&str> {
        if self.undefined.is_empty() { None } else { self.undefined.at(self.symbols.inside(address)?) }
    }

    fn reason(&self, end: &End) -> String {
        match end.stop {
            abi::stop::FUEL => return format!("no end after {} loop iterations and calls", self.limits.fuel),
            guard::STOP_MEMORY => return format!("more than {} MiB of memory", self.limits.memory >> 20),
            guard::STOP_REFUSED => return sandbox::refusal(end.address),
            guard::STOP_PLACEMENT => {
                return "takes other branches when what its arguments point to lies elsewhere".to_owned();
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
            libc::SIGALRM => format!("no answer after {:?}", self.limits.timeout),
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
