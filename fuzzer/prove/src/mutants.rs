//! Asks solvers about mutants that no input kills: proved equivalent, or not.
//!
//! For each mutant there are up to two questions, of which `unsat` for one is enough. Can it be *infected*, that is, compute another value at its place than
//! the original? Can it *differ*: have another result, or do something else on the way that is seen outside? The pass writes both
//! (`pass/smt/mutants.cc`); docs/mutation.md says why the answers hold.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use penfuzz_directory::output::manifest::Manifest;
use penfuzz_error::{Error, failed};
use penfuzz_report::{
    Report,
    mutation::Mutant,
    proof::{Proof, Verdict},
};
use penfuzz_system::files::own;

use super::{
    Limits, PROOFS,
    ask::Panel,
    budget::Budget,
    evidence::{self, About, Query},
    is_of_mutant, models, plain,
    prover::units_of,
    remove_queries,
    slice::{Slice, Translation},
    solver::{self, Solver},
    translation::{self, Mutants, Wanted},
    world::World,
    write,
};

/// A part of the names of files about mutants.
pub const IN_NAME: &str = ".mutant-";

/// A mutant in the compiled code.
#[derive(Debug)]
pub struct Survivor<'a> {
    /// The name of its function for the linker.
    pub symbol: &'a str,
    /// The number of its point in the function, and its own there.
    pub number: (usize, usize),
    /// Is there an input that infects it? Then this is not asked.
    pub is_infected: bool,
    /// Its operator, its change and its place.
    pub mutant: &'a Mutant,
}

/// What solvers found of mutants.
#[derive(Debug, Default)]
pub struct Answers {
    /// For each survivor; `None` where the time was over.
    pub proofs: Vec<Option<Proof>>,
    /// Inputs of models: each should infect or kill a mutant.
    pub inputs: Vec<Vec<u8>>,
    /// No solver is installed.
    pub without_solver: bool,
}

/// In a translation: whether an overflow has the bits that processors compute. Not, unless nothing is proved otherwise.
const WRAPS: &str = "(declare-fun wraps () Bool)";
const IF_IT_WRAPS: &str = "an integer operation that overflows wraps around";

/// The questions about a mutant, by the names of their conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Infects,
    Differs,
}

impl Question {
    fn name(self) -> &'static str {
        match self {
            Self::Infects => "infects",
            Self::Differs => "differs",
        }
    }

    fn texts(self, mutant: &Mutant) -> [String; 3] {
        let what = match self {
            Self::Infects => "compute another value at its place than the original",
            Self::Differs => "have another result or effect than the original",
        };
        [
            format!("Can this mutant of {} {what}? {}: {}", mutant.function, mutant.operator, mutant.change),
            format!("{}:{}:{}", mutant.file, mutant.line, mutant.column),
            "unsat: the mutant does what the original does. sat: the query does not exclude a difference.".to_owned(),
        ]
    }
}

/// Asks about `survivors` of the target of a campaign in `dir`; `flag` is the option with which their mutants were compiled.
///
/// # Errors
/// When files cannot be written.
pub fn examine(
    dir: &Path,
    manifest: &Manifest,
    report: &Report,
    flag: String,
    survivors: &[Survivor],
    limits: Limits,
) -> Result<Answers, Error> {
    let proofs = dir.join(PROOFS);
    own::make_directory(&proofs).map_err(|e| failed(&proofs, "cannot be made", e))?;
    remove_queries(&proofs, is_of_mutant)?;
    let solvers = solver::find();
    if solvers.is_empty() || survivors.is_empty() || limits.all.is_zero() {
        let without_solver = solvers.is_empty();
        return Ok(Answers { proofs: vec![None; survivors.len()], without_solver, ..Answers::default() });
    }
    let wanted = wanted(manifest, report, flag, survivors);
    let translations = translation::translate(&wanted, wanted.units.len() > 1)?;
    let flags = wanted.units.first().map_or_else(Vec::new, |unit| unit.flags.clone());
    let budget = Budget::new(limits);
    let examiner =
        Examiner { solvers: &solvers, translations: &translations, flags: &flags, proofs, report, budget: &budget };
    let mut answers = Answers::default();
    for survivor in survivors {
        let proof = examiner.examine(survivor, &mut answers.inputs)?;
        answers.proofs.push(proof);
    }
    Ok(answers)
}

fn wanted(manifest: &Manifest, report: &Report, flag: String, survivors: &[Survivor]) -> Wanted {
    let units = units_of(manifest);
    let line = |s: &Survivor| format!("{} {} {}\n", s.symbol, s.number.0, s.number.1);
    let files = survivors.iter().map(|s| s.mutant.file.as_str()).chain([report.signature.file.as_str()]);
    Wanted {
        files: files.filter_map(|file| fs::canonicalize(file).ok()).collect(),
        symbols: survivors.iter().map(|s| s.symbol.to_owned()).collect::<BTreeSet<_>>(),
        paths: None,
        loops: false,
        mutants: Some(Mutants { flag, lines: survivors.iter().map(line).collect() }),
        has_global_inputs: !report.signature.globals.is_empty(),
        is_closed: false,
        rounds: None,
        world: World::read(&manifest.linked).filter(|w| w.has_all(units.iter().map(|unit| unit.source.as_path()))),
        units,
    }
}

/// Decides whether overflows wrap around. Does the query depend on it?
fn decide(slice: &mut Slice, wraps: bool) -> bool {
    let Some(line) = slice.lines.iter_mut().find(|line| *line == WRAPS) else { return false };
    *line = format!("(define-fun wraps () Bool {wraps})");
    true
}

/// Does a proof hold only if overflows wrap around?
#[must_use]
pub fn needs_wrapping(proof: &Proof) -> bool {
    proof.assumptions.iter().any(|a| a == IF_IT_WRAPS)
}

struct Examiner<'a> {
    solvers: &'a [Solver],
    translations: &'a [Translation],
    flags: &'a [String],
    proofs: PathBuf,
    report: &'a Report,
    budget: &'a Budget,
}

impl Examiner<'_> {
    /// Asks until one question is answered by a proof. Of several answers without one, the last is returned.
    fn examine(&self, survivor: &Survivor, inputs: &mut Vec<Vec<u8>>) -> Result<Option<Proof>, Error> {
        let mut last: Option<Proof> = None;
        let all = [false, true].into_iter().flat_map(|wraps| [(Question::Infects, wraps), (Question::Differs, wraps)]);
        for (question, wraps) in all {
            if question == Question::Infects && survivor.is_infected {
                continue;
            }
            if self.budget.is_over() {
                break;
            }
            let Some((translation, mut slice)) = self.slice(survivor, question) else { continue };
            if !decide(&mut slice, wraps) && wraps {
                continue;
            }
            let proof = self.ask((survivor, question, wraps), translation, &slice)?;
            // Other functions than the one under test get other arguments.
            if survivor.symbol == self.report.signature.symbol {
                inputs.extend(models::inputs_of(&self.report.signature, std::iter::once(&proof)));
            }
            let is_better = last.as_ref().is_none_or(|last| last.verdict != Verdict::ProvedByOne);
            if proof.is_proved() {
                return Ok(Some(proof));
            }
            if is_better {
                last = Some(proof);
            }
        }
        Ok(last.or_else(|| (!self.budget.is_over()).then(|| Proof::missing("no translation of the mutant"))))
    }

    fn panel(&self) -> Panel<'_> {
        Panel { solvers: self.solvers, budget: self.budget }
    }

    /// The lines for a question. A function of a header is compiled with each source: all must be the same.
    fn slice(&self, survivor: &Survivor, question: Question) -> Option<(&Translation, Slice)> {
        let (point, number) = survivor.number;
        let goal = format!("{}_{point}_{number}", question.name());
        let text = format!("{}\t{}", survivor.mutant.operator, survivor.mutant.change);
        let of = |t: &&Translation| t.symbol == survivor.symbol;
        let mut found: Option<(&Translation, Slice)> = None;
        for translation in self.translations.iter().filter(of) {
            if translation.mutants.get(&survivor.number) != Some(&text) {
                return None;
            }
            let slice = translation.lines_for(goal.clone(), &[])?;
            if found.as_ref().is_some_and(|(_, other)| *other != slice) {
                return None;
            }
            found = Some((translation, slice));
        }
        found
    }

    /// Keeps the query only where it is evidence.
    fn ask(
        &self,
        (survivor, question, wraps): (&Survivor, Question, bool),
        translation: &Translation,
        slice: &Slice,
    ) -> Result<Proof, Error> {
        let ((point, number), mutant) = (survivor.number, survivor.mutant);
        let place = format!("{}.{}-{}", plain(&mutant.function), mutant.line, mutant.column);
        let name = format!("{place}{IN_NAME}{point}-{number}.{}.smt2", question.name());
        let file = self.proofs.join(&name);
        let query = Query { slice, rounding: self.report.rounding };
        let mut proof = Proof {
            assumptions: translation.assumptions.clone(),
            file: format!("{PROOFS}/{name}"),
            verdict: Verdict::Undecided,
            ..Proof::missing("")
        };
        proof.free.clone_from(&slice.free);
        if wraps {
            proof.assumptions.push(IF_IT_WRAPS.to_owned());
        }
        self.panel().ask(&file, &query, &mut proof)?;
        let is_evidence = matches!(proof.verdict, Verdict::Proved | Verdict::ProvedByOne | Verdict::Contradiction);
        if is_evidence {
            let question = question.texts(mutant);
            let about = About { question: &question, hash: &translation.hash, flags: self.flags, proof: &proof };
            write(&file, &evidence::text(&about, &query))?;
        } else {
            let _ = fs::remove_file(&file);
            proof.file.clear();
        }
        Ok(proof)
    }
}
