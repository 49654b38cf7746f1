//! Examines branches one after another: makes the query, runs the solvers, and retries if a call or a loop prevents a
//! proof.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use penfuzz_directory::output::manifest::Manifest;
use penfuzz_error::{Error, at, failed};
use penfuzz_report::{
    BranchIndex, Report, Site,
    proof::{Code, Proof, Verdict},
};
use penfuzz_system::files::own;

use super::{
    Limits, PROOFS,
    ask::Panel,
    budget::Budget,
    evidence::{self, About, Query},
    file_name_part,
    invariants::{ExaminedCandidates, Examiner},
    recorded,
    slice::{CodeBranch, Slice, Translation},
    solver::Solver,
    translation::{self, TranslationRequest, Unit},
    world::World,
    write,
};

/// The optimization level if the flags have none: the default for targets.
const DEFAULT_LEVEL: &str = "-O2";

/// The kind of the sites of operations in a report.
const OPERATION: &str = "operation";

/// Why a goal has no query: static functions of several sources may have the same name.
const SEVERAL: &str = "several functions of this name";

/// Iterations of each loop in a query that is to find a model.
const ROUNDS: u32 = 4;

/// The sources of a campaign and the options with which they were compiled.
pub(super) fn units_of(manifest: &Manifest) -> Vec<Unit> {
    if manifest.settings.sources.is_empty() {
        return recorded::units(&manifest.settings.linked);
    }
    let mut flags = manifest.settings.flags.clone();
    if !flags.iter().any(|f| f.starts_with("-O")) {
        flags.insert(0, DEFAULT_LEVEL.to_owned());
    }
    // The proof must be about the code that runs: with this option operations are sites of their own, and fused
    // multiply-adds are split.
    flags.extend(manifest.settings.goals.need_operations().then(|| penfuzz_cc::EXCEPTIONS_FLAG.to_owned()));
    let unit = |source: &PathBuf| Unit { source: source.clone(), flags: flags.clone(), directory: None };
    manifest.settings.sources.iter().filter(|s| !penfuzz_target::program::kind::is_archive(s)).map(unit).collect()
}

/// Examines branches one after another.
pub(super) struct Prover {
    pub(super) solvers: Vec<Solver>,
    wanted: TranslationRequest,
    translations: Vec<Translation>,
    /// Translations of executions with few iterations of loops. They are made when the first branch needs them.
    few_rounds: Option<Vec<Translation>>,
    /// True if the translations are of linked sources.
    linked: bool,
    /// The loop invariants of functions, by the hash of their code.
    invariants: HashMap<String, ExaminedCandidates>,
    flags: Vec<String>,
    pub(super) proofs: PathBuf,
    budget: Budget,
    /// Whether the goal that is examined is about an operation of a called function in the context of the calls.
    in_calls: bool,
    /// Whether goals are left for later as soon as a solver has no answer in time.
    is_brief: bool,
}

impl Prover {
    /// Translates the functions of these goals, or only the given paths ([`TranslationRequest::paths`]).
    pub(super) fn new(
        dir: &Path,
        manifest: &Manifest,
        report: &Report,
        goals: &[BranchIndex],
        paths: Option<String>,
        solvers: Vec<Solver>,
        limits: Limits,
    ) -> Result<Self, Error> {
        let proofs = dir.join(PROOFS);
        own::make_directory(&proofs).map_err(|e| failed(&proofs, "cannot be made", e))?;
        let sites = || goals.iter().map(|goal| &report.sites[goal.site]);
        let files = sites().map(|s| s.file.as_str()).chain([report.signature.file.as_str()]);
        let units = units_of(manifest);
        let has_all = |world: &World| world.has_all(units.iter().map(|unit| unit.source.as_path()));
        let world = World::read(&manifest.settings.linked).filter(has_all);
        if limits.closed_world && world.is_none() {
            let why = "has no record of the variables that its sources write: an older pen-cc linked it, or the \
                linker removed the section pen_world (--gc-sections); link it again with this pen-cc and without that \
                option";
            return Err(at(&manifest.settings.linked, why));
        }
        // The query about an operation in the context of calls is about one call of the function under test.
        let is_one_call = report.signature.makers.is_empty() && report.signature.calls == 0;
        let inside = (report.goals.are_exceptions() && is_one_call).then(|| report.signature.symbol.clone());
        let wanted = TranslationRequest {
            units,
            files: files.filter_map(|file| fs::canonicalize(file).ok()).collect(),
            symbols: sites().filter_map(|s| Some(s.code.as_ref()?.symbol.clone())).chain(inside.clone()).collect(),
            inside,
            mutants: None,
            paths,
            loops: report.criterion_goals.iter().any(|goal| goal.criterion == "loop" && goal.code.is_some()),
            has_global_inputs: !report.signature.globals.is_empty(),
            is_closed: limits.closed_world,
            rounds: None,
            world,
        };
        let translations = translation::translate(&wanted, false)?;
        let flags = wanted.units.first().map_or_else(Vec::new, |unit| unit.flags.clone());
        let invariants = HashMap::new();
        Ok(Self {
            solvers,
            wanted,
            translations,
            few_rounds: None,
            linked: false,
            invariants,
            flags,
            proofs,
            budget: Budget::new(limits),
            in_calls: false,
            is_brief: false,
        })
    }

    /// Returns true if no time is left.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.budget.is_over()
    }

    /// Returns true if the translations know all that the sources define.
    pub(super) fn is_linked(&self) -> bool {
        self.linked || self.wanted.units.len() <= 1
    }

    pub(super) fn translations(&self) -> &[Translation] {
        &self.translations
    }

    /// Examines one branch. If it belongs to an operation of a called function, and the operation is not free of the
    /// exception for all operands, examines it again in the context of the calls.
    pub(super) fn examine(&mut self, report: &Report, place: BranchIndex) -> Result<Proof, Error> {
        let proof = self.examine_goal(report, place)?;
        if proof.is_proved() || !self.has_context(report, place) || self.is_out_of_time() {
            return Ok(proof);
        }
        let in_calls = self.in_calls(|prover| prover.examine_goal(report, place))?;
        Ok(if in_calls.verdict == Verdict::NotTranslated { proof } else { in_calls })
    }

    /// Examines branches in two passes, because hard ones must not use up the time of the others. The first pass asks
    /// about each for a short time (`brief`). The second one gives those without a proof the time of one query
    /// (`each`), and what may help: the definitions of other sources, and loop invariants.
    pub(super) fn examine_branches(
        &mut self,
        report: &Report,
        goals: &[BranchIndex],
        brief: Duration,
        each: Duration,
    ) -> Result<Vec<Proof>, Error> {
        let mut proofs = self.examine_briefly(report, goals, brief)?;
        self.budget.allow(each);
        self.examine_again(report, goals, &mut proofs, |proof| {
            !proof.is_proved() && proof.verdict != Verdict::Satisfiable
        })?;
        Ok(proofs)
    }

    /// Examines those goals again whose proofs are open, while there is time.
    fn examine_again(
        &mut self,
        report: &Report,
        goals: &[BranchIndex],
        proofs: &mut [Proof],
        is_open: impl Fn(&Proof) -> bool,
    ) -> Result<(), Error> {
        for (goal, proof) in goals.iter().zip(proofs).filter(|(_, proof)| is_open(proof)) {
            if self.is_out_of_time() {
                break;
            }
            let again = self.examine(report, *goal)?;
            if again.verdict != Verdict::Undecided {
                *proof = again;
            }
        }
        Ok(())
    }

    /// Asks about each goal for a short time.
    fn examine_briefly(
        &mut self,
        report: &Report,
        goals: &[BranchIndex],
        brief: Duration,
    ) -> Result<Vec<Proof>, Error> {
        self.budget.allow(brief);
        self.is_brief = true;
        let proofs = goals.iter().map(|goal| self.examine_once(report, *goal)).collect();
        self.is_brief = false;
        proofs
    }

    /// Examines goals of exceptions, of which an operation has several. As [`Prover::examine_branches`]; the first pass
    /// asks for all operands, and then in the context of the calls.
    pub(super) fn examine_operations(
        &mut self,
        report: &Report,
        goals: &[BranchIndex],
        brief: Duration,
        each: Duration,
    ) -> Result<Vec<Proof>, Error> {
        let mut proofs = self.examine_briefly(report, goals, brief)?;
        self.is_brief = true;
        for (goal, proof) in goals.iter().zip(&mut proofs) {
            if !self.is_out_of_time() && !proof.is_proved() && self.has_context(report, *goal) {
                let in_calls = self.in_calls(|prover| prover.examine_once(report, *goal))?;
                if in_calls.verdict != Verdict::NotTranslated {
                    *proof = in_calls;
                }
            }
        }
        self.budget.allow(each);
        self.is_brief = false;
        self.examine_again(report, goals, &mut proofs, |proof| {
            matches!(proof.verdict, Verdict::Undecided | Verdict::ProvedByOne)
        })?;
        Ok(proofs)
    }

    /// Whether a goal is about an operation of a function that the function under test calls.
    fn has_context(&self, report: &Report, place: BranchIndex) -> bool {
        let site = &report.sites[place.site];
        let is_called = |code: &Code| self.wanted.inside.as_ref().is_some_and(|entry| *entry != code.symbol);
        site.kind == OPERATION && site.code.as_ref().is_some_and(is_called)
    }

    /// Examines a goal in the context of the calls.
    fn in_calls(&mut self, examine: impl FnOnce(&mut Self) -> Result<Proof, Error>) -> Result<Proof, Error> {
        self.link()?;
        self.in_calls = true;
        let proof = examine(self);
        self.in_calls = false;
        proof
    }

    /// Examines one goal. If a call prevents the proof, retries with the definitions of other sources linked in. If a
    /// loop prevents it, retries with loop invariants, and then looks for a model in the first iterations.
    fn examine_goal(&mut self, report: &Report, place: BranchIndex) -> Result<Proof, Error> {
        let mut proof = self.examine_once(report, place)?;
        let is_in_the_way = |free: &String| free.starts_with("call of ");
        if !self.is_linked() && !proof.is_proved() && proof.free.iter().any(is_in_the_way) {
            self.link()?;
            proof = self.examine_once(report, place)?;
        }
        let is_loop = |free: &String| free.starts_with("loop at ") || free.starts_with("loop in ");
        if proof.is_proved() || !proof.free.iter().any(is_loop) {
            return Ok(proof);
        }
        if self.find_invariants(report, place)? {
            let again = self.examine_once(report, place)?;
            // An undecided result with invariants does not replace a model without them.
            if again.verdict != Verdict::Undecided {
                proof = again;
            }
        }
        let is_open = matches!(proof.verdict, Verdict::SatisfiableIfFree | Verdict::Undecided);
        Ok(if is_open { self.examine_few_rounds(report, place)?.unwrap_or(proof) } else { proof })
    }

    /// Looks for a model among executions with few iterations of each loop. Loops leave no free values in this query.
    fn examine_few_rounds(&mut self, report: &Report, place: BranchIndex) -> Result<Option<Proof>, Error> {
        if self.few_rounds.is_none() {
            self.wanted.rounds = Some(ROUNDS);
            let found = translation::translate(&self.wanted, self.linked);
            self.wanted.rounds = None;
            self.few_rounds = Some(found?);
        }
        let translations = self.few_rounds.as_deref().unwrap_or_default();
        let Ok((translation, slice)) = self.slice_of(translations, report, place) else { return Ok(None) };
        let proof = self.ask_about(report, place, translation, &slice, ".rounds")?;
        let is_model = matches!(proof.verdict, Verdict::Satisfiable | Verdict::SatisfiableIfFree);
        if !is_model {
            let _ = fs::remove_file(self.proofs.join(Path::new(&proof.file).file_name().unwrap_or_default()));
        }
        Ok(is_model.then_some(proof))
    }

    /// Looks for invariants of the loops that a branch depends on. Returns true if it has found invariants that the
    /// branch's last query did not contain.
    fn find_invariants(&mut self, report: &Report, place: BranchIndex) -> Result<bool, Error> {
        let Ok((translation, slice)) = self.slice(report, place) else { return Ok(false) };
        let candidates = translation.candidates(&slice.goal);
        let known = self.invariants.get(&translation.hash);
        let is_new = |name: &String| known.is_none_or(|known| !known.examined.contains(name));
        if !candidates.iter().any(|candidate| is_new(&candidate.name)) {
            return Ok(false);
        }
        let number = known.map_or(0, |known| known.examinations);
        let part = translation.hash.get(..8).unwrap_or_default();
        let name = format!("{}.{part}-{number}.invariants.smt2", file_name_part(&translation.symbol));
        let file = self.proofs.join(&name);
        let (solvers, budget) = (&self.solvers[..], &self.budget);
        let examiner = Examiner { solvers, budget, rounding: report.rounding, file: &file };
        let mut found = examiner.examine(translation, &slice.goal)?;
        let is_any = !found.held.is_empty();
        if !is_any {
            let _ = fs::remove_file(&file);
        }
        for invariant in &mut found.held {
            invariant.text = format!("{} ({PROOFS}/{name})", invariant.text);
        }
        let hash = translation.hash.clone();
        self.invariants.entry(hash).or_default().add(found);
        Ok(is_any)
    }

    /// Translates again with the sources linked into each other, if there are several.
    pub(super) fn link(&mut self) -> Result<(), Error> {
        if self.is_linked() {
            return Ok(());
        }
        self.translations = translation::translate(&self.wanted, true)?;
        self.linked = true;
        self.few_rounds = None;
        self.invariants.clear();
        Ok(())
    }

    fn examine_once(&self, report: &Report, place: BranchIndex) -> Result<Proof, Error> {
        match self.slice(report, place) {
            Ok((translation, slice)) => self.ask_about(report, place, translation, &slice, ""),
            Err(why) => Ok(Proof::missing(why)),
        }
    }

    /// Runs the solvers on a slice. Keeps the query in a file with `suffix` in its name.
    fn ask_about(
        &self,
        report: &Report,
        place: BranchIndex,
        translation: &Translation,
        slice: &Slice,
        suffix: &str,
    ) -> Result<Proof, Error> {
        let (site, j) = (&report.sites[place.site], place.branch);
        let code = site.code.as_ref();
        let (number, branch) = code.map_or((0, j), |code| (code.number, code.branches.get(j).copied().unwrap_or(j)));
        let context = if self.in_calls { ".in-calls" } else { "" };
        let function = file_name_part(&site.function);
        let name = format!("{function}.{}-{}.{number}-{branch}{context}{suffix}.smt2", site.line, site.column);
        self.ask_as(report, site, &site.branches[j].outcome, translation, slice, &name)
    }

    /// Runs the solvers on a slice. Keeps the query in the file `name`.
    pub(super) fn ask_as(
        &self,
        report: &Report,
        site: &Site,
        outcome: &str,
        translation: &Translation,
        slice: &Slice,
        name: &str,
    ) -> Result<Proof, Error> {
        let query = Query { slice, rounding: report.rounding };
        let file = self.proofs.join(name);
        let mut proof = Proof {
            verdict: Verdict::Undecided,
            answers: Vec::new(),
            free: slice.free.clone(),
            assumptions: translation.assumptions.clone(),
            invariants: slice.invariants.clone(),
            model: Vec::new(),
            within: if self.in_calls { report.function.clone() } else { String::new() },
            file: format!("{PROOFS}/{name}"),
        };
        Panel { solvers: &self.solvers, budget: &self.budget, is_brief: self.is_brief }
            .ask(&file, &query, &mut proof)?;
        let context = if self.in_calls { format!(", called from {},", report.function) } else { String::new() };
        let question = [
            format!("Can {} in {}{context} have the outcome {outcome}?", site.kind, site.function),
            format!("{}:{}:{}", site.file, site.line, site.column),
            "unsat: no execution of the compiled code takes this branch. sat: the query does not exclude it."
                .to_owned(),
        ];
        let about = About { question: &question, hash: &translation.hash, flags: &self.flags, proof: &proof };
        write(&file, &evidence::text(&about, &query))?;
        Ok(proof)
    }

    /// The translation of the site's function, and the slice of the branch.
    pub(super) fn slice(&self, report: &Report, place: BranchIndex) -> Result<(&Translation, Slice), &'static str> {
        self.slice_of(&self.translations, report, place)
    }

    /// The same for one of the given translations.
    fn slice_of<'a>(
        &self,
        translations: &'a [Translation],
        report: &Report,
        place: BranchIndex,
    ) -> Result<(&'a Translation, Slice), &'static str> {
        let site = &report.sites[place.site];
        let (symbol, branch) = CodeBranch::of(site, place.branch).ok_or("the report is older than proofs")?;
        if self.in_calls {
            return self.slice_in_calls(translations, report, site, symbol, branch);
        }
        let of = |t: &&Translation| t.symbol == symbol;
        let slices = translations.iter().filter(of).filter_map(|translation| {
            let held = self.invariants.get(&translation.hash).map_or(&[][..], |found| &found.held);
            let held: Vec<_> = held.iter().collect();
            let slice = translation.slice(&site.kind, branch, &held)?;
            Some((translation, slice))
        });
        let mut slices: Vec<_> = slices.collect();
        let first = slices.pop().ok_or("no translation of its function")?;
        // A function in a header is compiled with each source that includes it, and static functions of several sources
        // may have the same name.
        if slices.iter().any(|(_, other)| *other != first.1) {
            return Err(SEVERAL);
        }
        Ok(first)
    }

    /// The translation of the function under test, and the slice of an operation of the function `symbol` in the
    /// context of the calls.
    fn slice_in_calls<'a>(
        &self,
        translations: &'a [Translation],
        report: &Report,
        site: &Site,
        symbol: &str,
        branch: CodeBranch,
    ) -> Result<(&'a Translation, Slice), &'static str> {
        let is_same = |code: &Code| code.symbol == symbol && code.number == branch.site;
        let sites = report.sites.iter().filter(|s| s.kind == site.kind && s.code.as_ref().is_some_and(is_same));
        let mut of_entry = translations.iter().filter(|t| t.symbol == report.signature.symbol);
        let translation = of_entry.next().ok_or("no translation of the function under test")?;
        if sites.count() != 1 || of_entry.next().is_some() {
            return Err(SEVERAL);
        }
        let held = self.invariants.get(&translation.hash).map_or(&[][..], |found| &found.held);
        let held: Vec<_> = held.iter().collect();
        let slice = translation.slice_inside(symbol, branch, &held);
        Ok((translation, slice.ok_or("not all of its calls are translated in place")?))
    }
}
