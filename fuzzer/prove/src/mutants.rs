//! Finds out with solvers whether mutants that no input kills are equivalent to the original.
//!
//! There are up to two questions about each mutant. Can it be *infected*, that is, can it compute another value at its
//! place than the original? Can it *differ*, that is, can its result or an effect that is visible outside be another
//! one? If one query is unsatisfiable, the mutant is equivalent. The pass writes both conditions
//! (`pass/smt/mutants.cc`). docs/mutation.md explains why the answers are sound.

use std::{
    collections::{BTreeMap, BTreeSet},
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
    coarse,
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

/// A question about a mutant. [`Question::name`] is the prefix of the name of its condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

    /// The header of a query about these mutants, which are all at the same place.
    fn texts(self, mutants: &[&Survivor]) -> [String; 3] {
        let what = match self {
            Self::Infects => "compute another value at its place than the original",
            Self::Differs => "have another result or effect than the original",
        };
        let first = mutants[0].mutant;
        let changes: Vec<String> =
            mutants.iter().map(|s| format!("{}: {}", s.mutant.operator, s.mutant.change)).collect();
        let whose = if mutants.len() == 1 { "this mutant" } else { "one of these mutants" };
        [
            format!("Can {whose} of {} {what}? {}", first.function, changes.join("; ")),
            format!("{}:{}:{}", first.file, first.line, first.column),
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
    let answers = Answers { proofs: vec![None; survivors.len()], ..Answers::default() };
    let mut course = Course { survivors, answers, alone: BTreeSet::new() };
    examiner.examine(&mut course)?;
    Ok(course.answers)
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

/// The mutants that are examined, and the results so far.
struct Course<'a> {
    survivors: &'a [Survivor<'a>],
    answers: Answers,
    /// The mutants that a question was asked about alone.
    alone: BTreeSet<(usize, Question)>,
}

impl Course<'_> {
    /// Returns true if a question can still prove something about a mutant.
    fn is_open(&self, i: usize, question: Question) -> bool {
        let is_proved = self.answers.proofs[i].as_ref().is_some_and(Proof::is_proved);
        let applies = question == Question::Differs || !self.survivors[i].is_infected;
        !is_proved && applies && !self.alone.contains(&(i, question))
    }
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
    /// Asks about all mutants of a place together, first whether one can be infected, then whether one can differ. If
    /// none can, all are equivalent. Then asks about each of the others alone.
    fn examine(&self, course: &mut Course) -> Result<(), Error> {
        let mut places: BTreeMap<(&str, usize), Vec<usize>> = BTreeMap::new();
        for (i, survivor) in course.survivors.iter().enumerate() {
            places.entry((survivor.symbol, survivor.number.0)).or_default().push(i);
        }
        for question in [Question::Infects, Question::Differs] {
            for place in places.values() {
                self.examine_together(course, place, question)?;
            }
        }
        for i in places.values().flatten() {
            for question in [Question::Infects, Question::Differs] {
                self.examine_together(course, &[*i], question)?;
            }
        }
        if !self.budget.is_over() {
            for proof in course.answers.proofs.iter_mut().filter(|proof| proof.is_none()) {
                *proof = Some(Proof::missing("no translation of the mutant"));
            }
        }
        Ok(())
    }

    /// Asks a question about the mutants of a place, except those that are proved, and those to which the question does
    /// not apply. Keeps the last result about each, but not after that of a single solver.
    fn examine_together(&self, course: &mut Course, place: &[usize], question: Question) -> Result<(), Error> {
        let asked: Vec<usize> = place.iter().filter(|i| course.is_open(**i, question)).copied().collect();
        let mutants: Vec<&Survivor> = asked.iter().map(|i| &course.survivors[*i]).collect();
        if mutants.is_empty() || self.budget.is_over() {
            return Ok(());
        }
        let Some((translation, slice)) = self.slice(&mutants, question) else { return Ok(()) };
        let mut proof = None;
        if let Some(coarse) = coarse::coarser(&slice) {
            let brief = self.ask(&mutants, question, translation, &coarse, true)?;
            proof = Some(brief).filter(Proof::is_proved);
        }
        let proof = proof.map_or_else(|| self.ask(&mutants, question, translation, &slice, false), Ok)?;
        // Other functions than the function under test have other arguments than the inputs.
        if mutants[0].symbol == self.report.signature.symbol {
            course.answers.inputs.extend(models::inputs_of(&self.report.signature, std::iter::once(&proof)));
        }
        if let [alone] = asked[..] {
            course.alone.insert((alone, question));
        }
        let holds_for_each = matches!(proof.verdict, Verdict::Proved | Verdict::ProvedByOne);
        for i in &asked {
            let kept = &mut course.answers.proofs[*i];
            let is_better = kept.as_ref().is_none_or(|kept| kept.verdict != Verdict::ProvedByOne);
            if proof.is_proved() || (is_better && (asked.len() == 1 || holds_for_each)) {
                *kept = Some(proof.clone());
            }
        }
        Ok(())
    }

    /// The slice for a question about mutants of one function. A function in a header is compiled with each source that
    /// includes it; `None` if these slices differ.
    fn slice(&self, mutants: &[&Survivor], question: Question) -> Option<(&Translation, Slice)> {
        let goals: Vec<String> =
            mutants.iter().map(|s| format!("{}_{}_{}", question.name(), s.number.0, s.number.1)).collect();
        let goal = if let [one] = &goals[..] { one.clone() } else { format!("(or {})", goals.join(" ")) };
        let is_same = |translation: &Translation, survivor: &Survivor| {
            let text = format!("{}\t{}", survivor.mutant.operator, survivor.mutant.change);
            translation.mutants.get(&survivor.number) == Some(&text)
        };
        let mut found: Option<(&Translation, Slice)> = None;
        for translation in self.translations.iter().filter(|t| t.symbol == mutants[0].symbol) {
            if !mutants.iter().all(|survivor| is_same(translation, survivor)) {
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
        mutants: &[&Survivor],
        question: Question,
        translation: &Translation,
        slice: &Slice,
        is_brief: bool,
    ) -> Result<Proof, Error> {
        let (point, mutant) = (mutants[0].number.0, mutants[0].mutant);
        let number = if let [one] = mutants { format!("-{}", one.number.1) } else { String::new() };
        let place = format!("{}.{}-{}", file_name_part(&mutant.function), mutant.line, mutant.column);
        let name = format!("{place}{IN_NAME}{point}{number}.{}.smt2", question.name());
        let file = self.proofs.join(&name);
        let query = Query { slice, rounding: self.report.rounding };
        let mut proof = Proof {
            assumptions: translation.assumptions.clone(),
            file: format!("{PROOFS}/{name}"),
            verdict: Verdict::Undecided,
            ..Proof::missing("")
        };
        proof.free.clone_from(&slice.free);
        let panel = Panel { solvers: self.solvers, budget: self.budget, is_brief };
        panel.ask(&file, &query, &mut proof)?;
        let is_evidence = matches!(proof.verdict, Verdict::Proved | Verdict::ProvedByOne | Verdict::Contradiction);
        if is_evidence {
            let question = question.texts(mutants);
            let about = About { question: &question, hash: &translation.hash, flags: self.flags, proof: &proof };
            write(&file, &evidence::text(&about, &query))?;
        } else {
            let _ = fs::remove_file(&file);
            proof.file.clear();
        }
        Ok(proof)
    }
}
