//! Function and reference, loaded. References that are source text are compiled.

use std::{path::Path, time::Duration};

use penfuzz_compile as build;
use penfuzz_directory::replay::{generated, session::ReplaySession};
use penfuzz_engine::saturation::{Scope, ScopeKind};
use penfuzz_error::Error;
use penfuzz_mutators::{
    domain::Domain,
    view::{Kind, Layout},
};
use penfuzz_target::program::{Function, Parameter};

use super::{
    Exact,
    comparator::{self, Form},
    errno::{self, Errno},
    inputs::Inputs,
    libm,
    local::Sum,
    reference::Reference,
    value::{Names, Value},
};

/// The directory of the cache for generated sources of references.
pub const REFERENCES: &str = "references";
/// Largest order of a Bessel function, by default.
const ORDERS: f64 = 127.0;
/// Message of the compiler for a reference that is called without its output structures.
const TOO_FEW: &str = "too few arguments";
/// Function and reference, loaded.
#[derive(Debug)]
pub struct Pair {
    pub(super) session: ReplaySession,
    pub(super) comparator: Option<ReplaySession>,
    /// The function compiled once more, with its operations as sites: to record how results are rounded.
    pub(super) twin: Option<ReplaySession>,
    reference: Reference,
    pub(super) value: Value,
    pub(super) inputs: Inputs,
}

impl Pair {
    /// Compiles and loads the comparing function for the function of `session` and the reference.
    ///
    /// # Errors
    /// When the types of the function cannot be compared, or the reference does not compile.
    pub fn new(
        session: ReplaySession,
        reference: Reference,
        names: Names,
        flags: &[String],
        libs: &[String],
    ) -> Result<Self, Error> {
        let function = session.evaluator.function();
        let value = Value::of(function, names)?;
        let inputs = Inputs::of(with_small_orders(function.layout(), &reference));
        if let Reference::Mpfr(name) = &reference
            && let Some(types) = libm::find(name).map(|function| function.parameters)
            && function.inputs().zip(types).any(|(p, t)| p.kind.is_some_and(Kind::is_float) != (*t == "double"))
        {
            return Err(Error::new(format!(
                "--reference mpfr:{name} takes ({}), and `{}` does not",
                types.join(", "),
                function.signature()
            )));
        }
        if !value.kind().is_float() && !matches!(reference, Reference::Source { .. }) {
            return Err(Error::new(format!(
                "the reference {} is a float, and `{}` returns an integer; compare with FILE.c:NAME, or name a member \
                 with --result",
                reference.text(),
                function.signature()
            )));
        }
        let of_form = |form| {
            let text = comparator::text(function, &value, &reference, form);
            text.map(|text| load(&text, &reference, function, flags, libs)).transpose()
        };
        let comparator = match of_form(Form::Returns) {
            Err(e) if function.parameters.iter().any(Parameter::is_output) => {
                // The reference may fill in structures, like the function.
                let is_called_wrongly = e.to_string().contains(TOO_FEW);
                of_form(Form::FillsIn).map_err(|other| if is_called_wrongly { other } else { e })?
            }
            other => other?,
        };
        Ok(Self { session, comparator, twin: None, reference, value, inputs })
    }

    /// Returns whether the roundings of the operations can be computed: only for functions of one double, or with one
    /// that varies.
    #[must_use]
    pub fn has_roundings(&self) -> bool {
        let is_double = |slot: &penfuzz_mutators::view::Slot| slot.kind == Kind::F64;
        self.value.is_returned()
            && self.value.is_in_ulps()
            && self.result() == Kind::F64
            && matches!(self.layout().slots(), [slot] if is_double(slot))
    }

    /// Returns whether functions that it calls have branches outside of the scope.
    pub(super) fn calls_have_branches(&self) -> bool {
        let (scope, evaluator) = (&self.session.scope, &self.session.evaluator);
        let target = evaluator.target();
        let function = target.functions.iter().position(|f| f.symbol == evaluator.function().symbol);
        let with_calls = |function| Scope::new(target, function, ScopeKind::Calls, scope.goals);
        scope.kind == ScopeKind::Function && function.map(with_calls).is_some_and(|all| all.len() > scope.len())
    }

    /// Sets the function compiled once more, with its operations as sites.
    pub fn set_twin(&mut self, twin: ReplaySession) {
        self.twin = Some(twin);
    }

    /// Returns the file of the twin, if there is one.
    pub(super) fn twin_file(&self) -> Option<&Path> {
        self.twin.as_ref().map(|twin| twin.linked.as_path())
    }

    /// Returns the function under test.
    #[must_use]
    pub fn function(&self) -> &Function {
        self.session.evaluator.function()
    }

    /// Returns the session of the function under test.
    #[must_use]
    pub fn session(&self) -> &ReplaySession {
        &self.session
    }

    /// Returns the reference.
    #[must_use]
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Returns which value of a call is compared.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the type of the result.
    #[must_use]
    pub fn result(&self) -> Kind {
        self.value.kind()
    }

    /// Returns the layout of the arguments that vary.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.inputs.free()
    }

    /// Returns the wall time limit of one evaluation.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.session.timeout()
    }

    /// Prepares function and reference for calls in a child process.
    ///
    /// # Errors
    /// When the guard cannot be installed.
    pub fn detach_from_supervisor(&mut self) -> Result<(), Error> {
        let timeout = self.timeout();
        self.session.evaluator.detach_from_supervisor(timeout)?;
        self.session.evaluator.arm(|_| 0);
        if let Some(comparator) = &mut self.comparator {
            comparator.evaluator.detach_from_supervisor(timeout)?;
            comparator.evaluator.arm(|_| 0);
        }
        if let Some(twin) = &mut self.twin {
            twin.evaluator.detach_from_supervisor(timeout)?;
            twin.evaluator.watch_operations();
        }
        Ok(())
    }

    /// Returns all arguments of an input.
    pub(super) fn reals(&self, x: &[u8]) -> Vec<f64> {
        self.inputs.all().reals(x)
    }

    /// Returns the comparison by MPFR, if it computes the reference.
    pub(super) fn exact(&self, x: &[u8], y: u64) -> Option<Exact> {
        by_mpfr(&self.reference, &self.reals(x), self.result(), y)
    }

    /// Returns `left`, the value in `errno` after a call, and the value that the standard requires; `r` is the exact
    /// value at `x`, rounded.
    pub(super) fn errno_of_math(&self, x: &[u8], r: f64, left: i32) -> Errno {
        let name = if let Reference::Mpfr(name) = &self.reference { name } else { "" };
        let is_signalling = |kind: Kind, raw| kind.to_real(raw).is_nan() && raw >> (kind.fraction_bits() - 1) & 1 == 0;
        if self.inputs.all().slots().iter().any(|slot| is_signalling(slot.kind, slot.get(x))) {
            // The standard does not specify the behaviour for a signalling NaN (C17 F.2.1).
            return Errno { left, expected: left };
        }
        errno::of_math(name, &self.reals(x), r, self.result(), left)
    }

    /// Returns whether [`Pair::exact`] is decisive: MPFR computes the reference.
    pub(super) fn is_exact(&self) -> bool {
        !matches!(self.reference, Reference::Source { .. })
    }
}

/// Restricts the order of Bessel functions if the user has not: for large orders a single value by MPFR can take
/// minutes.
fn with_small_orders(layout: Layout, reference: &Reference) -> Layout {
    let is_bessel = matches!(reference, Reference::Mpfr(name) if matches!(name.as_str(), "jn" | "yn"));
    let order = layout.slots().iter().position(|slot| !slot.kind.is_float());
    let Some((i, kind)) = order.map(|i| (i, layout.slots()[i].kind)).filter(|_| is_bessel) else { return layout };
    if layout.domains().any(|(slot, _)| slot == layout.slots()[i]) {
        return layout;
    }
    let least = if kind.is_signed() { -ORDERS } else { 0.0 };
    match Domain::new(kind, kind.from_real(least), kind.from_real(ORDERS)) {
        Some(domain) => layout.with_domain(i, domain),
        None => layout,
    }
}

fn by_mpfr(reference: &Reference, args: &[f64], result: Kind, y: u64) -> Option<Exact> {
    match reference {
        Reference::Mpfr(name) => super::precise::compare(name, args, result, y),
        Reference::Core { core, .. } => super::precise::error(&super::fpcore::value(core, args)?, result, y),
        Reference::Source { .. } => None,
    }
}

/// Returns the value of the reference, if MPFR computes it.
pub(super) fn sum_by_mpfr(reference: &Reference, args: &[f64]) -> Option<Sum> {
    use super::precise;
    let value = match reference {
        Reference::Mpfr(name) => precise::value(name, args, precise::PRECISION)?,
        Reference::Core { core, .. } => super::fpcore::value(core, args)?,
        Reference::Source { .. } => return None,
    };
    Some(precise::sum(&value)).filter(|sum| sum.0.is_finite())
}

/// Compiles and loads the comparing function.
fn load(
    text: &str,
    reference: &Reference,
    function: &Function,
    flags: &[String],
    libs: &[String],
) -> Result<ReplaySession, Error> {
    let file = generated::source(REFERENCES, text)?;
    let own = ["-O2", "-fno-builtin", "-ffp-contract=off", "-w"].map(str::to_owned);
    let flags = match reference {
        Reference::Mpfr(_) | Reference::Core { .. } => own.to_vec(),
        Reference::Source { .. } => flags.iter().cloned().chain(own.into_iter().skip(3)).collect(),
    };
    generated::load(&file, comparator::FUNCTION, flags, libs.to_vec()).map_err(|e| match build::rejected(&e) {
        Some(_) => Error::new(format!(
            "the reference {} cannot be compared with `{}`: {}",
            reference.text(),
            function.signature(),
            reason(&e)
        )),
        None => e,
    })
}

/// Returns the first error of the compiler, without its position in the generated file.
fn reason(error: &Error) -> String {
    let detail = error.detail().unwrap_or_default();
    let line =
        detail.lines().find_map(|l| l.split_once("error: ").map(|(_, rest)| rest)).unwrap_or("it does not compile");
    let known = [comparator::NO_FLOAT, comparator::NARROWER].into_iter().find(|k| line.contains(k));
    known.unwrap_or(line).to_owned()
}
