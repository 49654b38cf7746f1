//! Whose branches are goals.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::target::{Function, Target};

/// How far the goals reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeKind {
    /// The branches of the function under test (as in CoverMe).
    Function,
    /// Those of every function in its source file.
    File,
    /// Those of every instrumented function.
    All,
}

impl ScopeKind {
    /// How far the goals of a campaign on `function` reach when nobody says it.
    #[must_use]
    pub fn of(function: &Function) -> Self {
        if function.is_harness() { Self::All } else { Self::Function }
    }
}

/// The sites and branches that are goals.
#[derive(Debug, Clone)]
pub struct Scope {
    /// How far they reach.
    pub kind: ScopeKind,
    /// Sites in scope, ascending.
    pub sites: Vec<usize>,
    /// For every branch of the target: is it a goal?
    pub branches: Vec<bool>,
}

impl Scope {
    /// The scope of a campaign on `function`.
    #[must_use]
    pub fn new(target: &Target, function: usize, kind: ScopeKind) -> Self {
        let entry = &target.functions[function];
        let inside = |f: usize| match kind {
            ScopeKind::Function => f == function,
            ScopeKind::File => target.functions[f].file == entry.file,
            ScopeKind::All => true,
        };
        let mut scope = Self { kind, sites: Vec::new(), branches: vec![false; target.n_branches] };
        for (i, site) in target.sites.iter().enumerate() {
            if inside(site.function) {
                scope.sites.push(i);
                scope.branches[site.first_branch..site.first_branch + site.n_branches].fill(true);
            }
        }
        scope
    }

    /// Number of branches in scope.
    #[must_use]
    pub fn len(&self) -> usize {
        self.branches.iter().filter(|b| **b).count()
    }

    /// Is there nothing to cover?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }
}
