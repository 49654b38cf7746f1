//! Whose branches are goals.

use penfuzz_abi::{exception, site_kind};
use serde::{Deserialize, Serialize};

use penfuzz_target::program::{Function, Site, Target};

/// How far the goals reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeKind {
    /// The branches of the function under test (as in CoverMe).
    Function,
    /// Those of the function under test and of all that it calls, as far as calls can be followed.
    Calls,
    /// Those of every function in its source file.
    File,
    /// Those of every instrumented function.
    All,
}

impl ScopeKind {
    /// How far the goals of a campaign on `function` reach by default.
    #[must_use]
    pub fn of(function: &Function, goals: Goals) -> Self {
        match goals {
            _ if function.is_harness() => Self::All,
            Goals::Branches | Goals::Decisions | Goals::Criteria(_) | Goals::Boundaries | Goals::Mutants => {
                Self::Function
            }
            Goals::Exceptions | Goals::InexactToo => Self::Calls,
        }
    }
}

/// What several coverage criteria search for in one campaign, besides branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Beside {
    /// Vectors of decisions.
    pub decisions: bool,
    /// Boundary values of comparisons.
    pub boundaries: bool,
    /// Floating-point exceptions of operations, but no inexact results.
    pub exceptions: bool,
}

impl Beside {
    /// Is branch `k` of the site searched for?
    fn requests(self, site: &Site, k: usize) -> bool {
        self.decisions && site.decision.is_some()
            || self.boundaries && Goals::Boundaries.requests(site, k)
            || self.exceptions && Goals::Exceptions.requests(site, k)
    }
}

/// What is searched for besides branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goals {
    /// Nothing else.
    #[default]
    Branches,
    /// Vectors of decisions as MC/DC needs them, and branches.
    Decisions,
    /// Those of several criteria, and branches.
    Criteria(Beside),
    /// Boundary values of comparisons (ME, Sect. 4.4.2).
    Boundaries,
    /// Floating-point exceptions of operations: all but inexact results.
    Exceptions,
    /// Inexact results, too.
    InexactToo,
    /// Infected mutants: inputs for which a mutant computes another value at its point than the original.
    Mutants,
}

impl Goals {
    /// Is nothing searched for besides branches?
    #[must_use]
    pub fn are_branches(&self) -> bool {
        *self == Self::Branches
    }

    /// Are branches goals?
    #[must_use]
    pub fn include_branches(self) -> bool {
        matches!(self, Self::Branches | Self::Decisions | Self::Criteria(_))
    }

    /// Do they stand at decisions, which only targets compiled with `-fpen-decisions` have?
    #[must_use]
    pub fn are_decisions(self) -> bool {
        self.beside().decisions
    }

    /// Are they exceptions, and no branches?
    #[must_use]
    pub fn are_exceptions(self) -> bool {
        matches!(self, Self::Exceptions | Self::InexactToo)
    }

    /// Do some stand at operations, which only targets compiled with `-fpen-exceptions` have?
    #[must_use]
    pub fn need_operations(self) -> bool {
        self.are_exceptions() || self.beside().exceptions
    }

    /// What further criteria search for, in a campaign on branches.
    #[must_use]
    pub fn beside(self) -> Beside {
        match self {
            Self::Decisions => Beside { decisions: true, ..Beside::default() },
            Self::Criteria(beside) => beside,
            _ => Beside::default(),
        }
    }

    /// In names of directories and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Branches => "branches",
            Self::Decisions => "decisions",
            Self::Criteria(beside) => match (beside.decisions, beside.boundaries, beside.exceptions) {
                (_, false, false) => "decisions",
                (false, true, false) => "with-boundaries",
                (false, false, true) => "with-exceptions",
                (false, true, true) => "with-boundaries-exceptions",
                (true, true, false) => "with-decisions-boundaries",
                (true, false, true) => "with-decisions-exceptions",
                (true, true, true) => "with-decisions-boundaries-exceptions",
            },
            Self::Boundaries => "boundaries",
            Self::Exceptions | Self::InexactToo => "exceptions",
            Self::Mutants => "mutants",
        }
    }

    /// Is branch `k` of the site requested?
    fn requests(self, site: &Site, k: usize) -> bool {
        match self {
            Self::Branches | Self::Decisions | Self::Criteria(_) => site.is_conditional(),
            Self::Boundaries => site.kind == site_kind::COMPARISON && site.possible >> k & 1 == 1,
            Self::Exceptions | Self::InexactToo => {
                site.kind == site_kind::OPERATION
                    && site.possible >> k & 1 == 1
                    && (k != exception::INEXACT || self == Self::InexactToo)
            }
            Self::Mutants => site.kind == site_kind::MUTATION && site.possible >> k & 1 == 1,
        }
    }
}

/// The sites and branches that are goals.
#[derive(Debug, Clone)]
pub struct Scope {
    /// How far they reach.
    pub kind: ScopeKind,
    /// What is searched for.
    pub goals: Goals,
    /// Sites in scope, ascending: those with a requested branch, and all conditionals, which lead to them.
    pub sites: Vec<usize>,
    /// For every branch of the target: is it searched for, for its own sake or because it leads to a requested one?
    pub branches: Vec<bool>,
    /// For every branch of the target: is it requested?
    pub requested: Vec<bool>,
    /// For every branch of the target: do the tests have to keep it: is it requested, or does a further criterion search for it?
    pub recorded: Vec<bool>,
}

impl Scope {
    /// The scope of a campaign on `function`.
    #[must_use]
    pub fn new(target: &Target, function: usize, kind: ScopeKind, goals: Goals) -> Self {
        let entry = &target.functions[function];
        let called = if kind == ScopeKind::Calls { target.called_by(function) } else { Vec::new() };
        let inside = |f: usize| match kind {
            ScopeKind::Function => f == function,
            ScopeKind::Calls => called[f],
            ScopeKind::File => target.functions[f].file == entry.file,
            ScopeKind::All => true,
        };
        let none = vec![false; target.n_branches];
        let mut scope =
            Self { kind, goals, sites: Vec::new(), branches: none.clone(), requested: none.clone(), recorded: none };
        for (i, site) in target.sites.iter().enumerate().filter(|(_, s)| inside(s.function)) {
            for (k, b) in site.branches().enumerate() {
                // An assumption leads to all goals behind it, as long as it holds.
                scope.requested[b] = goals.requests(site, k) && !site.is_assumption();
                let is_beside = goals.beside().requests(site, k) && !site.is_assumption();
                scope.recorded[b] = scope.requested[b] || is_beside;
                scope.branches[b] = scope.recorded[b] || site.is_conditional() && !site.rejects(k);
            }
            if site.branches().any(|b| scope.branches[b]) {
                scope.sites.push(i);
            }
        }
        scope
    }

    /// Number of requested branches.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requested.iter().filter(|b| **b).count()
    }

    /// Is no branch requested?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is the site one of the conditionals, comparisons or operations with a requested branch?
    #[must_use]
    pub fn has_requested(&self, site: &Site) -> bool {
        site.branches().any(|b| self.requested[b])
    }
}
