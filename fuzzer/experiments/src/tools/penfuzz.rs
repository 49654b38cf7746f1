//! penfuzz itself, its ablations, and the random baselines that run on its engine.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use penfuzz_directory::output::store::SavedState;
use penfuzz_engine::stages::SearchKind;
use penfuzz_error::Error;
use penfuzz_suite::child;

use super::{Built, How, Tool, Work, files};
use crate::{corpus::Stamped, subject::Subject};

/// One search of this program, as a tool.
#[derive(Debug, Clone, Copy)]
pub struct Penfuzz {
    name: &'static str,
    what: &'static str,
    search: SearchKind,
    minimizer: Option<&'static str>,
}

/// All searches, as tools.
pub const ALL: [Penfuzz; 8] = [
    Penfuzz { name: "penfuzz", what: "penfuzz as users start it", search: SearchKind::Targeted, minimizer: None },
    Penfuzz {
        name: "penfuzz-random-moves",
        what: "penfuzz with random moves in place of its minimizer (ablation)",
        search: SearchKind::Targeted,
        minimizer: Some("random"),
    },
    Penfuzz {
        name: "penfuzz-paper",
        what: "CoverMe's Algorithm 1 as published, on penfuzz's engine",
        search: SearchKind::Paper,
        minimizer: None,
    },
    Penfuzz {
        name: "penfuzz-paper-as-run",
        what: "the search of CoverMe's public program, on penfuzz's engine",
        search: SearchKind::PaperAsRun,
        minimizer: None,
    },
    Penfuzz {
        name: "structured",
        what: "random special values, small numbers and related arguments",
        search: SearchKind::Structured,
        minimizer: None,
    },
    Penfuzz { name: "random", what: "random bit patterns", search: SearchKind::Random, minimizer: None },
    Penfuzz {
        name: "uniform",
        what: "random values, uniform over the range of the type (the paper's Rand)",
        search: SearchKind::Uniform,
        minimizer: None,
    },
    Penfuzz {
        name: "havoc",
        what: "stock LibAFL mutators on penfuzz's engine",
        search: SearchKind::Havoc,
        minimizer: None,
    },
];

/// The paper's search. In its protocol the budget of the other tools is a multiple of its time.
pub const PAPER: &str = "penfuzz-paper";

impl Penfuzz {
    fn options(self) -> Vec<String> {
        let mut all = Vec::new();
        if self.search != SearchKind::Targeted {
            all.push(format!("--search={}", self.search.name()));
        }
        all.extend(self.minimizer.map(|m| format!("--minimizer={m}")));
        all
    }

    fn output(work: &Work) -> PathBuf {
        work.directory.join("out")
    }
}

fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| "penfuzz".into())
}

impl Tool for Penfuzz {
    fn name(&self) -> &'static str {
        self.name
    }

    fn what(&self) -> &'static str {
        self.what
    }

    fn version(&self) -> Result<String, String> {
        Ok(format!("penfuzz {}", env!("CARGO_PKG_VERSION")))
    }

    fn how(&self) -> How {
        How {
            build: "by penfuzz itself (pen-cc -O2)".to_owned(),
            run: ["penfuzz TARGET --function=F -i SEEDS -o CORPUS --seed=SEED --quiet"]
                .into_iter()
                .map(str::to_owned)
                .chain(self.options())
                .collect::<Vec<_>>()
                .join(" "),
        }
    }

    /// The target has been in penfuzz's cache since the function was prepared.
    fn build(&self, subject: &Subject, _cache: &Path) -> Result<Built, Error> {
        Ok(Built { programs: Vec::new(), seconds: subject.compile_seconds })
    }

    fn command(&self, work: &Work) -> Command {
        let subject = work.subject;
        let mut command = Command::new(program());
        command
            .args(child::target_arguments(&subject.suite, &subject.spec, Some(subject.report.rounding)))
            .arg("-o")
            .arg(Self::output(work))
            .arg(format!("--seed={}", work.seed))
            .args(["--quiet", "--no-prove", "--no-check-tests"])
            .args(self.options());
        if !work.without_seeds {
            command.arg("-i").arg(work.seeds);
        }
        if let Some(n) = work.budget.evaluations {
            command.arg(format!("--max-evals={n}"));
        } else if self.search != SearchKind::Paper {
            // The runner ends the tool; the search must not end by itself before.
            command.arg(format!("--max-time={}s", 10.0 * work.budget.cpu_seconds + 10.0));
        }
        command
    }

    fn corpus(&self, work: &Work) -> io::Result<Vec<Stamped>> {
        let directories = ["queue", "pending", "crashes"].map(|name| Self::output(work).join(name));
        let mut all = files::named(work, &directories, |name| files::time_in(name).is_some())?;
        if !work.without_seeds {
            files::add_seeds(&mut all, work.seeds)?;
        }
        Ok(all)
    }

    fn evaluations(&self, work: &Work) -> Option<u64> {
        let text = fs::read(Self::output(work).join(penfuzz_directory::output::store::STATE)).ok()?;
        serde_json::from_slice::<SavedState>(&text).ok().map(|r| r.evaluations)
    }

    fn ends_by_itself(&self) -> bool {
        true
    }

    fn patience(&self) -> Duration {
        // After SIGINT it shrinks its inputs in order to emit the tests.
        Duration::from_secs(3)
    }
}
