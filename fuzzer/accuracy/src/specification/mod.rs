//! `penfuzz mutate SPEC.fpcore`: tests of a specification instead of a program, after Magneto (Jeangoudoux, Darulova
//! and Lauter, *Interval constraint-based mutation testing of numerical specifications*, ISSTA 2021).
//!
//! A specification is y ∈ f(x)·(1 ± ε) for x in a box; ε is its accuracy. Its mutants are enumerated ([`operators`]). A
//! test is a point of the box. It kills a mutant if the specification allows none of the y that the mutant allows
//! there. Values are enclosed by intervals (module `enclosure`), so a kill holds for the real numbers, independent of
//! rounding. Points are drawn at random, or found by interval constraints ([`Points`]); mutants that none of them kills
//! are proved equivalent, if possible.

mod constraints;
mod equivalence;
pub mod operators;
mod program;
mod search;
mod suite;

use std::fmt::Write as _;

use serde::Serialize;

use self::{
    operators::{Change, Class, Mutant},
    suite::Expectation,
};
use crate::fpcore::{Core, Expr, Precision, bounds};

pub use self::{
    program::program,
    search::{Options, Points},
};

/// The accuracy of a specification that states none, for results in binary64 (the value of the paper) and in binary32.
const ACCURACY: f64 = 1e-10;
const ACCURACY_SINGLE: f64 = 1e-5;

/// A specification.
#[derive(Debug, Clone)]
pub struct Specification {
    /// The name of its core.
    pub name: String,
    /// Variables with their domains.
    pub variables: Vec<(String, f64, f64)>,
    /// The expression, in normal form.
    pub body: Expr,
    /// The relative accuracy ε of results.
    pub accuracy: f64,
    /// Whether arguments and result are binary32 numbers.
    pub is_single: bool,
}

#[cfg(test)]
impl Default for Specification {
    fn default() -> Self {
        let body = Expr::Number("0".to_owned());
        Self { name: String::new(), variables: Vec::new(), body, accuracy: ACCURACY, is_single: false }
    }
}

impl Specification {
    /// Returns the specification of a core, or the reason if it has none. `accuracy` replaces `:accuracy` of the core.
    ///
    /// # Errors
    /// When the core has conditions or loops, `:pre` does not bound each variable, or the accuracy is not between 0 and
    /// 0.01.
    pub fn of(core: &Core, accuracy: Option<f64>) -> Result<Self, String> {
        let body = operators::normal(&core.body).ok_or("has conditions or loops")?;
        let variable = |name: &String| {
            let (low, high) = bounds(core, name);
            let (low, high) = low.zip(high).ok_or_else(|| format!(":pre gives no bounds of {name}"))?;
            Ok((name.clone(), low, high))
        };
        let variables = core.arguments.iter().map(|(name, _)| variable(name)).collect::<Result<_, String>>()?;
        let is_single = core.precision == Precision::Single;
        let accuracy = accuracy.or(core.accuracy).unwrap_or(if is_single { ACCURACY_SINGLE } else { ACCURACY });
        if !(accuracy > 0.0 && accuracy < 0.01) {
            return Err(format!("has the accuracy {accuracy}; it must be between 0 and 0.01"));
        }
        Ok(Self { name: core.name.clone(), variables, body, accuracy, is_single })
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
    /// Number of accuracy mutants that allow more than the specification, but at no point enough to be killed. Proved
    /// by interval arithmetic.
    pub below_threshold: usize,
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
    /// The relative accuracy ε.
    pub accuracy: f64,
    /// The points that together kill all killed mutants.
    pub tests: Vec<Vec<f64>>,
    /// For each of these points, what an implementation may return there, and what is wrong.
    pub suite: Vec<Expectation>,
    /// The mutants that no test kills and that are not proved equivalent: kind and change.
    pub live: Vec<(&'static str, String)>,
    /// The mutants that are proved equivalent: kind and change.
    pub equivalent: Vec<(&'static str, String)>,
    /// The mutants of [`Counts::below_threshold`]: kind and change.
    pub below_threshold: Vec<(&'static str, String)>,
    /// Number of values of mutants that the search computed.
    pub evaluations: u64,
    /// Seconds of the search and the proofs.
    pub seconds: f64,
}

impl Counts {
    /// Returns the share of killed mutants among those that are neither proved equivalent nor below the threshold.
    #[must_use]
    pub fn adequacy(&self) -> f64 {
        self.killed as f64 / self.can_be_killed().max(1) as f64
    }

    /// Returns the number of mutants that are neither proved equivalent nor below the threshold.
    #[must_use]
    pub fn can_be_killed(&self) -> usize {
        self.total.saturating_sub(self.proved_equivalent + self.below_threshold)
    }
}

impl Answer {
    /// `unkillable`: whether it is proved that no point kills the mutant.
    fn new(specification: &Specification, all: &[Mutant], killed: &[bool], unkillable: &[bool]) -> Self {
        let is_below = |i: usize| unkillable[i] && matches!(all[i].change, Change::Accuracy(_));
        let (below, equivalent): (Vec<_>, Vec<_>) =
            (0..all.len()).map(|i| (is_below(i), unkillable[i] && !is_below(i))).unzip();
        let count = |class: Option<Class>| {
            let of = |is: &[bool]| {
                (0..all.len()).filter(|i| is[*i] && class.is_none_or(|class| all[*i].class == class)).count()
            };
            Counts {
                total: of(&vec![true; all.len()]),
                killed: of(killed),
                proved_equivalent: of(&equivalent),
                below_threshold: of(&below),
            }
        };
        let named = |is: &dyn Fn(usize) -> bool| {
            all.iter().enumerate().filter(|(i, _)| is(*i)).map(|(_, m)| (m.class.name(), m.text.clone())).collect()
        };
        Self {
            name: specification.name.clone(),
            accuracy: specification.accuracy,
            mutants: count(None),
            classes: Class::ALL.map(|c| (c.name(), count(Some(c)))).into(),
            tests: Vec::new(),
            suite: Vec::new(),
            live: named(&|i| !killed[i] && !unkillable[i]),
            equivalent: named(&|i| equivalent[i]),
            below_threshold: named(&|i| below[i]),
            evaluations: 0,
            seconds: 0.0,
        }
    }

    /// Returns the report as text.
    #[must_use]
    pub fn text(&self) -> String {
        let n = self.mutants;
        let mut text = format!(
            "{}: {} of {} mutants killed by {} tests, {} proved equivalent, {} below the threshold ({:.3} of the rest \
             killed)\n",
            self.name,
            n.killed,
            n.total,
            self.tests.len(),
            n.proved_equivalent,
            n.below_threshold,
            n.adequacy(),
        );
        for (class, change) in &self.live {
            let _ = writeln!(text, "  {class:<9} {change}");
        }
        text
    }
}

/// Returns answers as JSON: `{"schema": 1, "specifications": […]}`.
#[must_use]
pub fn json(answers: &[Answer]) -> String {
    let all = serde_json::json!({ "schema": 1, "specifications": answers });
    serde_json::to_string_pretty(&all).unwrap_or_default()
}

/// Generates tests of a specification. Deterministic for a seed.
#[must_use]
pub fn examine(specification: &Specification, options: Options) -> Answer {
    let all: Vec<Mutant> = operators::mutants(specification);
    search::search(specification, &all, options)
}
