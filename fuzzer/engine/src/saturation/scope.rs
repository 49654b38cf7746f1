//! Which branches are goals.

use penfuzz_abi::{exception, names::GOAL_END, site_kind};
use serde::{Deserialize, Serialize};

use penfuzz_target::program::{Function, Site, Target};

/// Whose branches are goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeKind {
    /// The branches of the function under test (as in CoverMe).
    Function,
    /// Those of the function under test and of all functions that it calls, as far as calls can be followed.
    Calls,
    /// Those of every function in its source file.
    File,
    /// Those of every instrumented function.
    All,
}

impl ScopeKind {
    /// The default scope of a campaign on `function`.
    #[must_use]
    pub fn of(function: &Function, goals: Goals) -> Self {
        match goals {
            _ if function.is_harness() => Self::All,
            Goals::Branches
            | Goals::Decisions
            | Goals::Criteria(_)
            | Goals::Boundaries
            | Goals::Mutants
            | Goals::Custom => Self::Function,
            Goals::Exceptions | Goals::InexactToo => Self::Calls,
        }
    }
}

/// Additional goals of several coverage criteria in one campaign on branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExtraGoals {
    /// Vectors of decisions.
    pub decisions: bool,
    /// Boundary values of comparisons.
    pub boundaries: bool,
    /// Floating-point exceptions of operations, except inexact results and subnormal sums.
    pub exceptions: bool,
}

impl ExtraGoals {
    /// Whether branch `k` of the site is an additional goal.
    fn requests(self, site: &Site, k: usize) -> bool {
        self.decisions && site.decision.is_some()
            || self.boundaries && Goals::Boundaries.requests(site, k)
            || self.exceptions && Goals::Exceptions.requests(site, k) && !is_subnormal_sum(site, k)
    }
}

/// Whether branch `k` stands for a subnormal result of an addition or subtraction. It is exact, so it is no exception
/// of IEEE 754, and no goal of the criterion `exceptions`.
fn is_subnormal_sum(site: &Site, k: usize) -> bool {
    site.is_sum() && k == exception::UNDERFLOW
}

/// The kind of goals of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goals {
    /// Branches only.
    #[default]
    Branches,
    /// Vectors of decisions as MC/DC needs them, and branches.
    Decisions,
    /// Goals of several criteria, and branches.
    Criteria(ExtraGoals),
    /// Boundary values of comparisons (ME, Sect. 4.4.2).
    Boundaries,
    /// Floating-point exceptions of operations, except inexact results; and subnormal sums.
    Exceptions,
    /// The same, with inexact results.
    InexactToo,
    /// `r = 0` at the end of a run, for the `r` of the user's file (ME, Sect. 4: the researcher layer).
    Custom,
    /// Infected mutants: inputs for which a mutant computes another value at its point than the original.
    Mutants,
}

impl Goals {
    /// Whether only branches are goals.
    #[must_use]
    pub fn are_branches(&self) -> bool {
        *self == Self::Branches
    }

    /// Whether branches are goals.
    #[must_use]
    pub fn include_branches(self) -> bool {
        matches!(self, Self::Branches | Self::Decisions | Self::Criteria(_))
    }

    /// Whether solvers can prove the goals of a campaign to be unreachable.
    #[must_use]
    pub fn have_proofs(self) -> bool {
        self.include_branches() || self.are_exceptions()
    }

    /// Whether some goals belong to decisions, which only targets compiled with `-fpen-decisions` have.
    #[must_use]
    pub fn are_decisions(self) -> bool {
        self.beside().decisions
    }

    /// Whether the goals are exceptions, without branches.
    #[must_use]
    pub fn are_exceptions(self) -> bool {
        matches!(self, Self::Exceptions | Self::InexactToo)
    }

    /// Whether some goals belong to operations, which only targets compiled with `-fpen-exceptions` have.
    #[must_use]
    pub fn need_operations(self) -> bool {
        self.are_exceptions() || self.beside().exceptions
    }

    /// The additional goals of a campaign on branches.
    #[must_use]
    pub fn beside(self) -> ExtraGoals {
        match self {
            Self::Decisions => ExtraGoals { decisions: true, ..ExtraGoals::default() },
            Self::Criteria(beside) => beside,
            _ => ExtraGoals::default(),
        }
    }

    /// The name in names of directories and in messages.
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
            Self::Custom => "goal",
        }
    }

    /// Whether branch `k` of the site is requested.
    fn requests(self, site: &Site, k: usize) -> bool {
        match self {
            Self::Branches | Self::Decisions | Self::Criteria(_) => site.is_conditional() && site.is_in_source(k),
            Self::Boundaries => site.kind == site_kind::COMPARISON && site.possible >> k & 1 == 1,
            Self::Exceptions | Self::InexactToo => {
                site.kind == site_kind::OPERATION
                    && site.possible >> k & 1 == 1
                    && (k != exception::INEXACT || self == Self::InexactToo)
            }
            Self::Custom => site.kind == site_kind::BRANCH && k == 0,
            Self::Mutants => site.kind == site_kind::MUTATION && site.possible >> k & 1 == 1,
        }
    }
}

/// The sites and branches that are goals.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Whose branches are goals.
    pub kind: ScopeKind,
    /// What is searched for.
    pub goals: Goals,
    /// Sites in scope, in ascending order: those with a requested branch, and all conditionals, which lead to them.
    pub sites: Vec<usize>,
    /// For every branch of the target, whether it is searched for: for its own sake, or because it leads to a requested
    /// one.
    pub branches: Vec<bool>,
    /// For every branch of the target, whether it is requested.
    pub requested: Vec<bool>,
    /// For every branch of the target, whether the tests have to keep it: it is requested, or an additional goal.
    pub recorded: Vec<bool>,
}

impl Scope {
    /// The scope of a campaign on `function`.
    #[must_use]
    pub fn new(target: &Target, function: usize, kind: ScopeKind, goals: Goals) -> Self {
        let entry = &target.functions[function];
        let called = if kind == ScopeKind::Calls { target.called_by(function) } else { Vec::new() };
        let inside = |f: usize| match kind {
            _ if goals == Goals::Custom => target.functions[f].name.starts_with(GOAL_END),
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
                // An assumption leads to all goals after it, as long as it holds.
                scope.requested[b] = goals.requests(site, k) && !site.is_assumption();
                let is_beside = goals.beside().requests(site, k) && !site.is_assumption();
                scope.recorded[b] = scope.requested[b] || is_beside;
                scope.branches[b] = scope.recorded[b]
                    || goals != Goals::Custom && site.is_conditional() && site.is_in_source(k) && !site.rejects(k);
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

    /// Whether no branch is requested.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the site has a requested branch.
    #[must_use]
    pub fn has_requested(&self, site: &Site) -> bool {
        site.branches().any(|b| self.requested[b])
    }
}
