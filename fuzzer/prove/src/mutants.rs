//! Finds out with solvers whether mutants that no input kills are equivalent to the original.
//!
//! There are up to two questions about each mutant. Can it be *infected*, that is, can it compute another value at its
//! place than the original? Can it *differ*, that is, can its result or an effect that is visible outside be another
//! one? If one query is unsatisfiable, the mutant is equivalent. The pass writes both conditions
//! (`pass/smt/mutants.cc`). docs/mutation.md explains why the answers are sound.

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
    file_name_part, is_of_mutant, models,
    prover::units_of,
    remove_queries,
    slice::{Slice, Translation},
    solver::{self, Solver},
    translation::{self, Mutants, TranslationRequest},
    world::World,
    write,
};

/// A part of the names of files about mutants.
pub const IN_NAME: &str = ".mutant-";

/// A mutant in the compiled code that no input kills.
#[derive(Debug)]
pub struct Survivor<'a> {
    /// The linker symbol of its function.
    pub symbol: &'a str,
    /// The number of its mutation point in the function, and its own number at that point.
    pub number: (usize, usize),
    /// True if an input infects it: then only the question whether it can differ is examined.
    pub is_infected: bool,
    /// Its operator, its change and its place in the source.
    pub mutant: &'a Mutant,
}

/// The solvers' results about mutants.
#[derive(Debug, Default)]
pub struct Answers {
    /// The result for each survivor; `None` if no time was left for it.
    pub proofs: Vec<Option<Proof>>,
    /// Inputs of models. Each should infect or kill a mutant.
    pub inputs: Vec<Vec<u8>>,
    /// No solver is installed.
    pub without_solver: bool,
}

/// The declaration in a translation that says whether integer overflow wraps around, as processors compute it. Queries
/// first assume that it does not, and that it does only if nothing is proved otherwise.
const WRAPS: &str = "(declare-fun wraps () Bool)";
const IF_IT_WRAPS: &str = "an integer operation that overflows wraps around";

/// A question about a mutant. [`Question::name`] is the prefix of the name of its condition.
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

/// Runs the solvers on `survivors` of the target of a campaign in `dir`. `flag` is the compiler option with which the
/// mutants were compiled.
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

fn wanted(manifest: &Manifest, report: &Report, flag: String, survivors: &[Survivor]) -> TranslationRequest {
    let units = units_of(manifest);
    let line = |s: &Survivor| format!("{} {} {}\n", s.symbol, s.number.0, s.number.1);
    let files = survivors.iter().map(|s| s.mutant.file.as_str()).chain([report.signature.file.as_str()]);
    TranslationRequest {
        files: files.filter_map(|file| fs::canonicalize(file).ok()).collect(),
        symbols: survivors.iter().map(|s| s.symbol.to_owned()).collect::<BTreeSet<_>>(),
        paths: None,
        loops: false,
        inside: None,
        mutants: Some(Mutants { flag, lines: survivors.iter().map(line).collect() }),
        has_global_inputs: !report.signature.globals.is_empty(),
        is_closed: false,
        rounds: None,
        world: World::read(&manifest.settings.linked)
            .filter(|w| w.has_all(units.iter().map(|unit| unit.source.as_path()))),
        units,
    }
}

/// Defines whether overflows wrap around. Returns true if the query depends on it.
fn decide(slice: &mut Slice, wraps: bool) -> bool {
    let Some(line) = slice.lines.iter_mut().find(|line| *line == WRAPS) else { return false };
    *line = format!("(define-fun wraps () Bool {wraps})");
    true
}

/// Returns true if a proof holds only if overflows wrap around.
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
    /// Runs the queries of a mutant until one proves that it is equivalent. Without a proof, returns the last result,
    /// or that of a single solver if there is one. Adds the inputs of models to `inputs`.
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
            // Other functions than the function under test have other arguments than the inputs.
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
        Panel { solvers: self.solvers, budget: self.budget, is_brief: false }
    }

    /// The slice for a question. A function in a header is compiled with each source that includes it; `None` if these
    /// slices differ.
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

    /// Runs the solvers on a query. Keeps its file only if it is evidence for the verdict.
    fn ask(
        &self,
        (survivor, question, wraps): (&Survivor, Question, bool),
        translation: &Translation,
        slice: &Slice,
    ) -> Result<Proof, Error> {
        let ((point, number), mutant) = (survivor.number, survivor.mutant);
        let place = format!("{}.{}-{}", file_name_part(&mutant.function), mutant.line, mutant.column);
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
