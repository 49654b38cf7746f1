//! The value of a call that is compared: the number that the function returns, or a member of a structure that it fills
//! in. Also the function's own estimate of its error.

use penfuzz_error::Error;
use penfuzz_executor::Evaluator;
use penfuzz_mutators::view::Kind;
use penfuzz_report::{Place, literal};
use penfuzz_target::program::{Function, Parameter};

use super::{Compared, Exact, errno::Errno};

/// Unit of errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Measure {
    /// Units in the last place of the exact value.
    #[default]
    Ulp,
    /// The absolute difference.
    Absolute,
    /// The difference divided by the exact value.
    Relative,
}

/// Name of the value that the function returns.
const RETURNED: &str = "returned";

/// Names and measure that the user has given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Names<'a> {
    /// Unit of errors; unused with an estimate. Integers have no ulps: their errors are differences.
    pub measure: Measure,
    /// The member that is the result, or `returned`.
    pub result: Option<&'a str>,
    /// The member that is the estimate of the error.
    pub estimate: Option<&'a str>,
}

/// A number in a structure that the function fills in.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its C expression, such as `r->val`.
    name: String,
    kind: Kind,
    /// Offset in the output area, in bytes.
    place: usize,
    /// The pointer parameter of the structure.
    parameter: String,
    /// Offset in the structure, in bytes.
    offset: usize,
}

impl Member {
    /// Returns its place for a test program.
    #[must_use]
    pub fn for_tests(&self) -> Place {
        let below = self.name.strip_prefix(&self.parameter).and_then(|name| name.strip_prefix("->"));
        Place {
            expression: format!(".{}", below.unwrap_or_default()),
            variable: self.parameter.clone(),
            offset: self.offset,
            in_object: false,
            kind: literal::kind_name(self.kind).to_owned(),
            is_global: false,
            is_filled_in: true,
            bits: 0,
            only_if_changed: false,
        }
    }

    fn read(&self, evaluator: &Evaluator) -> u64 {
        evaluator.output_word(self.place) & self.kind.mask()
    }
}

/// The result of a function, and its estimate of the error.
#[derive(Debug, Clone)]
pub struct Value {
    kind: Kind,
    member: Option<Member>,
    estimate: Option<Member>,
    /// Whether the function also returns an integer, which is 0 if there is a result.
    has_status: bool,
    measure: Measure,
}

/// Values after a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallValues {
    /// Raw bits of the result.
    pub result: u64,
    /// The function's own estimate of its error.
    pub estimate: Option<f64>,
    /// The value in `errno`, if it is compared.
    pub errno: Option<Errno>,
}

impl CallValues {
    /// A result of 0 without estimate and `errno`.
    pub(super) const fn zero() -> Self {
        Self { result: 0, estimate: None, errno: None }
    }
}

impl Value {
    /// Finds the members of these names. Without a name, the result is what the function returns, or the first float of
    /// the structures that it fills in.
    ///
    /// # Errors
    /// When the types of the function cannot be compared, or it has no member of this name.
    pub fn of(function: &Function, names: Names) -> Result<Self, Error> {
        let members = members(function);
        let member = match names.result {
            Some(RETURNED) => None,
            Some(name) => Some(named(&members, name, "--result", function)?),
            None if is_float(function.result_kind) => None,
            None => members.first().cloned(),
        };
        let estimate = names.estimate.map(|name| named(&members, name, "--estimate", function)).transpose()?;
        let kind = member.as_ref().map_or(function.result_kind, |m| Some(m.kind));
        let has_numbers = function.model.is_none()
            && !function.is_harness()
            && !function.has_rounding
            && function.parameters.iter().all(|p| p.is_output() || !p.pointer && p.kind.is_some())
            && function.inputs().next().is_some();
        match kind {
            Some(kind) if has_numbers && (kind.is_float() || estimate.is_none()) => {
                let has_status = member.is_some() && function.result_kind.is_some_and(|k| !k.is_float());
                let measure =
                    if kind.is_float() || names.measure != Measure::Ulp { names.measure } else { Measure::Absolute };
                Ok(Self { kind, member, estimate, has_status, measure })
            }
            _ => Err(Error::new(format!(
                "`{}` cannot be compared: accuracy is for functions of numbers, passed by value, that return a number \
                 or fill in a structure with a float",
                function.signature()
            ))),
        }
    }

    /// The type of the result.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The name of the value in reports.
    #[must_use]
    pub fn name(&self) -> &str {
        self.member.as_ref().map_or(RETURNED, |m| &m.name)
    }

    /// Returns whether the value is what the function returns.
    #[must_use]
    pub fn is_returned(&self) -> bool {
        self.member.is_none()
    }

    /// Returns the member of a structure that the value is; `None` if the function returns it.
    #[must_use]
    pub fn member(&self) -> Option<&Member> {
        self.member.as_ref()
    }

    /// Returns whether the function also returns a status, which is 0 if there is a result.
    #[must_use]
    pub fn has_status(&self) -> bool {
        self.has_status
    }

    /// Returns whether errors are compared with the function's own estimate.
    #[must_use]
    pub fn has_estimate(&self) -> bool {
        self.estimate.is_some()
    }

    /// The name of the unit of errors.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self.measure {
            _ if self.has_estimate() => "times its estimate",
            Measure::Ulp => "ulp",
            Measure::Absolute => "absolute",
            Measure::Relative => "relative",
        }
    }

    /// Returns the unit of errors, for a function without an estimate.
    #[must_use]
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Returns whether errors are in ulps.
    #[must_use]
    pub fn is_in_ulps(&self) -> bool {
        self.measure == Measure::Ulp && !self.has_estimate()
    }

    /// Reads the values after the last call; `None` if its status says that there is no result.
    pub(super) fn read(&self, evaluator: &Evaluator) -> Option<CallValues> {
        let returned = evaluator.result();
        if self.has_status && returned as u32 != 0 {
            return None;
        }
        let result = self.member.as_ref().map_or(returned & self.kind.mask(), |m| m.read(evaluator));
        let estimate = self.estimate.as_ref().map(|m| m.kind.to_real(m.read(evaluator)));
        Some(CallValues { result, estimate, errno: None })
    }
}

/// Returns the error in the chosen unit.
pub(super) fn measured(value: &Value, exact: &Exact, estimate: Option<f64>) -> Compared {
    let size = match value.measure {
        _ if exact.compared.class().is_some() => return exact.compared,
        Measure::Ulp => return of_estimate(exact, estimate),
        Measure::Absolute => exact.absolute,
        Measure::Relative => exact.relative,
    };
    // If the exact value is 0, an error of 0 has no relative size, and any other is infinite.
    let is_none = exact.compared == Compared::Ulps(0.0);
    Compared::Ulps(if is_none { 0.0 } else { size.unwrap_or(f64::MAX) })
}

/// Returns the error as a multiple of its estimate. No result can keep an estimate below half an ulp; then twice the
/// error in ulps counts.
fn of_estimate(exact: &Exact, estimate: Option<f64>) -> Compared {
    let (Compared::Ulps(ulps), Some(estimate)) = (exact.compared, estimate) else { return exact.compared };
    let halves = 2.0 * ulps;
    Compared::Ulps(exact.absolute.filter(|_| estimate > 0.0).map_or(halves, |error| halves.min(error / estimate)))
}

fn is_float(kind: Option<Kind>) -> bool {
    kind.is_some_and(Kind::is_float)
}

/// Returns the floats of all structures that the function fills in.
fn members(function: &Function) -> Vec<Member> {
    let of = |parameter: &Parameter| {
        let named = |(name, kind, place)| Member {
            name: format!("{}->{name}", parameter.name),
            kind,
            place,
            parameter: parameter.name.clone(),
            offset: place - parameter.place,
        };
        function.output_members(&parameter.name).into_iter().map(named).collect::<Vec<_>>()
    };
    function.parameters.iter().flat_map(of).filter(|m| m.kind.is_float()).collect()
}

/// Finds the member by its full name, such as `r->val`, or by `val` if only one has this name.
fn named(members: &[Member], name: &str, option: &str, function: &Function) -> Result<Member, Error> {
    let is_last = |m: &&Member| m.name.rsplit("->").next() == Some(name);
    let found = members.iter().find(|m| m.name == name);
    let mut of_this_end = members.iter().filter(is_last);
    let found = found.or_else(|| of_this_end.next().filter(|_| of_this_end.next().is_none()));
    found.cloned().ok_or_else(|| {
        let all: Vec<&str> = members.iter().map(|m| m.name.as_str()).collect();
        let there = if all.is_empty() {
            "it fills in no structure with floats".to_owned()
        } else {
            format!("there are {}", all.join(", "))
        };
        Error::new(format!("{option} {name}: `{}` has no such member; {there}", function.signature()))
    })
}
