//! `penfuzz mutate SPEC.fpcore`: tests of a specification instead of a program, after Magneto (Jeangoudoux, Darulova
//! and Lauter, *Interval constraint-based mutation testing of numerical specifications*, ISSTA 2021).
//!
//! A specification is y ∈ f(x)·(1 ± ε) for x in a box. Its mutants are enumerated ([`operators`]). A test is a point of
//! the box. It kills a mutant if the specification allows none of the y that the mutant allows there. Values are
//! enclosed by intervals (module `enclosure`), so a kill holds for the real numbers, independent of rounding. Points
//! are drawn at random; mutants that none of them kills are proved equivalent, if possible.

mod equivalence;
pub mod operators;
mod search;

use std::fmt::Write as _;

use penfuzz_error::Error;
use serde::Serialize;

use self::operators::{Class, Mutant};
use crate::fpcore::{Core, Expr, bounds};

/// A specification.
#[derive(Debug, Clone)]
pub struct Specification {
    /// The name of its core.
    pub name: String,
    /// Variables with their domains.
    pub variables: Vec<(String, f64, f64)>,
    /// The expression, in normal form.
    pub body: Expr,
}

impl Specification {
    /// Returns the specification of a core, or the reason if it has none.
    ///
    /// # Errors
    /// When the core has conditions or loops, or `:pre` does not bound each variable.
    pub fn of(core: &Core) -> Result<Self, String> {
        let body = operators::normal(&core.body).ok_or("has conditions or loops")?;
        let variable = |name: &String| {
            let (low, high) = bounds(core, name);
            let (low, high) = low.zip(high).ok_or_else(|| format!(":pre gives no bounds of {name}"))?;
            Ok((name.clone(), low, high))
        };
        let variables = core.arguments.iter().map(|(name, _)| variable(name)).collect::<Result<_, String>>()?;
        Ok(Self { name: core.name.clone(), variables, body })
    }
}

/// Counts of mutants of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Number of mutants.
    pub total: usize,
    /// Number of mutants that a test kills.
    pub killed: usize,
    /// Number of mutants that are proved equivalent by interval arithmetic.
    pub proved_equivalent: usize,
}

/// The results for a specification.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// Name of the specification.
    pub name: String,
    /// Counts of all mutants.
    pub mutants: Counts,
    /// Counts by kind.
    pub classes: Vec<(&'static str, Counts)>,
    /// The points that together kill all killed mutants.
    pub tests: Vec<Vec<f64>>,
    /// The mutants that no test kills and that are not proved equivalent: kind and change.
    pub live: Vec<(&'static str, String)>,
    /// The mutants that are proved equivalent: kind and change.
    pub equivalent: Vec<(&'static str, String)>,
    /// Number of values of mutants that the search computed.
    pub evaluations: u64,
    /// Seconds of the search and the proofs.
    pub seconds: f64,
}

impl Counts {
    /// Returns the share of killed mutants among those that are not proved equivalent.
    #[must_use]
    pub fn adequacy(&self) -> f64 {
        self.killed as f64 / self.total.saturating_sub(self.proved_equivalent).max(1) as f64
    }
}

impl Answer {
    fn new(name: &str, all: &[Mutant], killed: &[bool], equivalent: &[bool]) -> Self {
        let count = |class: Option<Class>| {
            let of = |is: &[bool]| {
                (0..all.len()).filter(|i| is[*i] && class.is_none_or(|class| all[*i].class == class)).count()
            };
            Counts { total: of(&vec![true; all.len()]), killed: of(killed), proved_equivalent: of(equivalent) }
        };
        let named = |is: &dyn Fn(usize) -> bool| {
            all.iter().enumerate().filter(|(i, _)| is(*i)).map(|(_, m)| (m.class.name(), m.text.clone())).collect()
        };
        Self {
            name: name.to_owned(),
            mutants: count(None),
            classes: Class::ALL.map(|c| (c.name(), count(Some(c)))).into(),
            tests: Vec::new(),
            live: named(&|i| !killed[i] && !equivalent[i]),
            equivalent: named(&|i| equivalent[i]),
            evaluations: 0,
            seconds: 0.0,
        }
    }

    /// Returns the report as text.
    #[must_use]
    pub fn text(&self) -> String {
        let n = self.mutants;
        let mut text = format!(
            "{}: {} of {} mutants killed by {} tests, {} proved equivalent ({:.3} of the others killed)\n",
            self.name,
            n.killed,
            n.total,
            self.tests.len(),
            n.proved_equivalent,
            n.adequacy(),
        );
        for (class, change) in &self.live {
            let _ = writeln!(text, "  {class:<9} {change}");
        }
        text
    }
}

/// Returns answers as JSON: `{"specifications": […]}`.
#[must_use]
pub fn json(answers: &[Answer]) -> String {
    serde_json::to_string_pretty(&serde_json::json!({ "specifications": answers })).unwrap_or_default()
}

/// Generates tests of a specification. Deterministic for a seed.
///
/// # Errors
/// When this build has no MPFR.
pub fn examine(specification: &Specification, seed: u64) -> Result<Answer, Error> {
    let all: Vec<Mutant> = operators::mutants(&specification.variables, &specification.body);
    Ok(search::search(specification, &all, seed))
}
