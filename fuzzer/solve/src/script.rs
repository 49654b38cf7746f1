//! The commands of a file: declarations, assertions, and the `:status`.

use std::{cell::Cell, collections::HashMap};

use penfuzz_error::Error;

use super::{
    float::{Format, Rounding},
    reals,
    sexp::{Exprs, Id, Kind, at},
    term::{MAX_BITS, Sort, Term, Terms, Value},
};

/// Supported logics. Some of them have further sorts, which are not supported.
const LOGICS: [&str; 6] = ["QF_FP", "QF_BVFP", "QF_FPBV", "QF_BV", "QF_UF", "ALL"];
/// Supported logics of `Real` and `Int`.
const EXACT_LOGICS: [&str; 8] = ["QF_LRA", "QF_LIA", "QF_LIRA", "QF_NRA", "QF_NIA", "QF_NIRA", "QF_RDL", "QF_IDL"];
/// Those among them without `Int`: a number without a point is a `Real`.
const REAL_LOGICS: [&str; 3] = ["QF_LRA", "QF_NRA", "QF_RDL"];
/// A file is too large if parsing takes more than `MOST_STEPS` steps plus `STEPS_PER_EXPRESSION` for each expression:
/// macros can double the formula at each use.
const MOST_STEPS: usize = 1_000_000;
const STEPS_PER_EXPRESSION: usize = 100;

/// The contents of a file.
#[derive(Debug, Default)]
pub struct Script {
    /// All terms.
    pub terms: Terms,
    /// The asserted formulas.
    pub asserted: Vec<Term>,
    /// The value of `:status`.
    pub status: Option<String>,
}

/// What a name in scope denotes.
#[derive(Debug, Clone)]
pub(super) enum Meaning<'a> {
    Term(Term),
    /// A definition with parameters: these, the sort of its value, and its body.
    Macro(Vec<(&'a str, Sort)>, Sort, Id),
}

/// Parses terms in the scopes of a file.
pub(super) struct Reader<'a> {
    pub(super) exprs: &'a Exprs<'a>,
    pub(super) script: Script,
    names: HashMap<&'a str, Meaning<'a>>,
    /// The terms that names are bound to by `let` and as parameters, the innermost last.
    locals: HashMap<&'a str, Vec<Term>>,
    sorts: HashMap<&'a str, Sort>,
    steps: usize,
    /// The kind of numbers in the file, once that is known.
    numbers: Cell<Option<Numbers>>,
    /// The logic has no `Int`.
    pub(super) has_only_reals: bool,
}

/// The numbers of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Floats and bit vectors.
    OfMachine,
    /// `Real` and `Int`.
    Exact,
}

/// Parses a file.
///
/// # Errors
/// When the text is not SMT-LIB, or not in a logic of quantifier-free floats and bit vectors, with the line.
pub fn read(text: &str) -> Result<Script, Error> {
    let exprs = Exprs::read(text)?;
    if exprs.top.is_empty() {
        return Err(Error::new("it contains no commands"));
    }
    let mut reader = Reader {
        exprs: &exprs,
        script: Script::default(),
        names: HashMap::new(),
        locals: HashMap::new(),
        sorts: HashMap::new(),
        steps: 0,
        numbers: Cell::new(None),
        has_only_reals: false,
    };
    let mut checks = 0;
    for id in &exprs.top {
        let parts = exprs.list(*id).unwrap_or_default();
        let name = parts.first().and_then(|p| exprs.atom(*p));
        match name {
            Some("exit") => break,
            Some("check-sat") => checks += 1,
            Some("assert") if checks > 0 => {
                return Err(at(
                    exprs.line(*id),
                    "an assertion after (check-sat): only one query per file is supported",
                ));
            }
            Some(name) => reader.command(*id, name, &parts[1..])?,
            None => {
                return Err(at(exprs.line(*id), format_args!("`{}` is not a command", exprs.shown(*id))));
            }
        }
    }
    if checks > 1 {
        return Err(Error::new("there is more than one (check-sat): only one query per file is supported"));
    }
    reader.script.terms.are_exact = reader.is_exact();
    Ok(reader.script)
}

impl<'a> Reader<'a> {
    fn command(&mut self, id: Id, name: &str, args: &[Id]) -> Result<(), Error> {
        let line = self.exprs.line(id);
        match (name, args) {
            ("set-logic", [logic]) => self.logic(*logic),
            ("set-info", [key, value]) if self.exprs.atom(*key) == Some(":status") => {
                self.script.status = self.exprs.atom(*value).map(str::to_owned);
                Ok(())
            }
            ("set-info" | "set-option" | "echo" | "get-model" | "get-value" | "get-info" | "get-option", _) => Ok(()),
            ("declare-const", [name, sort]) => self.declare(*name, *sort),
            ("declare-fun", [name, params, sort]) => match self.exprs.list(*params) {
                Some([]) => self.declare(*name, *sort),
                _ => Err(at(line, "functions without a definition are not supported: only constants are")),
            },
            ("define-const", [name, sort, body]) => self.define(*name, &[], *sort, *body),
            ("define-fun", [name, params, sort, body]) => {
                let params = self.exprs.list(*params).ok_or_else(|| at(line, "the parameters are not a list"))?;
                self.define(*name, params, *sort, *body)
            }
            ("define-sort", [name, params, sort]) if self.exprs.list(*params) == Some(&[]) => {
                let (name, sort) = (self.name(*name)?, self.sort(*sort)?);
                self.sorts.insert(name, sort);
                Ok(())
            }
            ("assert", [formula]) => {
                let term = self.term(*formula)?;
                if self.script.terms.sort(term) != Sort::Bool {
                    return Err(at(line, "the asserted term is not a Bool"));
                }
                self.script.asserted.push(term);
                Ok(())
            }
            ("push" | "pop" | "check-sat-assuming" | "reset" | "reset-assertions", _) => {
                Err(at(line, format_args!("`{name}` is not supported: only one query per file is supported")))
            }
            _ => Err(at(line, format_args!("the command `{}` is not supported", self.exprs.shown(id)))),
        }
    }

    fn logic(&mut self, id: Id) -> Result<(), Error> {
        let logic = self.exprs.shown(id);
        if EXACT_LOGICS.contains(&logic.as_str()) {
            self.has_only_reals = REAL_LOGICS.contains(&logic.as_str());
            return self.has_numbers(id, Numbers::Exact);
        }
        if LOGICS.contains(&logic.as_str()) {
            return Ok(());
        }
        Err(at(
            self.exprs.line(id),
            format_args!(
                "the logic {logic} is not supported: only QF_FP, QF_BVFP, QF_BV, and QF_ with LRA, NRA, LIA, NIA are"
            ),
        ))
    }

    /// Notes the kind of numbers of the file.
    ///
    /// # Errors
    /// If it has numbers of both kinds.
    fn has_numbers(&self, id: Id, kind: Numbers) -> Result<(), Error> {
        match self.numbers.replace(Some(kind)) {
            Some(other) if other != kind => Err(at(
                self.exprs.line(id),
                "Real and Int together with floats, rounding modes or bit vectors are not supported",
            )),
            _ => Ok(()),
        }
    }

    /// Whether the numbers are `Real` and `Int`.
    pub(super) fn is_exact(&self) -> bool {
        self.numbers.get() == Some(Numbers::Exact)
    }

    fn name(&self, id: Id) -> Result<&'a str, Error> {
        self.exprs.atom(id).ok_or_else(|| at(self.exprs.line(id), "a name is missing"))
    }

    /// A name that the file has not declared yet.
    fn new_name(&self, id: Id) -> Result<&'a str, Error> {
        let name = self.name(id)?;
        if self.names.contains_key(name) {
            return Err(at(self.exprs.line(id), format_args!("{} is declared already", self.exprs.shown(id))));
        }
        Ok(name)
    }

    fn declare(&mut self, name: Id, sort: Id) -> Result<(), Error> {
        let (known, sort) = (self.new_name(name)?, self.sort(sort)?);
        let written = match self.exprs.get(name).kind {
            Kind::Quoted(_) => format!("|{known}|"),
            _ => known.to_owned(),
        };
        let term = self.script.terms.declare(&written, sort);
        self.names.insert(known, Meaning::Term(term));
        Ok(())
    }

    fn define(&mut self, name: Id, params: &[Id], sort: Id, body: Id) -> Result<(), Error> {
        let (name, sort) = (self.new_name(name)?, self.sort(sort)?);
        let params = params.iter().map(|p| self.parameter(*p)).collect::<Result<Vec<_>, _>>()?;
        let meaning = if params.is_empty() {
            let term = self.term(body)?;
            let term = self.as_sort(term, sort);
            self.expect(body, term, sort)?;
            Meaning::Term(term)
        } else {
            Meaning::Macro(params, sort, body)
        };
        self.names.insert(name, meaning);
        Ok(())
    }

    fn parameter(&self, id: Id) -> Result<(&'a str, Sort), Error> {
        match self.exprs.list(id) {
            Some([name, sort]) => Ok((self.name(*name)?, self.sort(*sort)?)),
            _ => Err(at(self.exprs.line(id), "a parameter is a name with a sort")),
        }
    }

    pub(super) fn expect(&self, id: Id, term: Term, sort: Sort) -> Result<(), Error> {
        let found = self.script.terms.sort(term);
        if found == sort {
            return Ok(());
        }
        let (found, sort) = (found.text(), sort.text());
        Err(at(self.exprs.line(id), format_args!("`{}` is a {found}, not a {sort}", self.exprs.shown(id))))
    }

    pub(super) fn sort(&self, id: Id) -> Result<Sort, Error> {
        let exprs = self.exprs;
        let unknown = || {
            at(
                exprs.line(id),
                format_args!(
                    "the sort {} is not supported: only Bool, RoundingMode, bit vectors, floats, Real and Int are",
                    exprs.shown(id)
                ),
            )
        };
        if let Some(name) = exprs.atom(id) {
            match name {
                "Real" | "Int" => self.has_numbers(id, Numbers::Exact)?,
                "RoundingMode" | "Float16" | "Float32" | "Float64" => self.has_numbers(id, Numbers::OfMachine)?,
                _ => {}
            }
            return Ok(match name {
                "Bool" => Sort::Bool,
                "Real" => reals::REAL,
                "Int" => reals::INT,
                "RoundingMode" => Sort::Rounding,
                "Float16" => Sort::Float(Format::new(5, 11)),
                "Float32" => Sort::Float(Format::new(8, 24)),
                "Float64" => Sort::Float(Format::new(11, 53)),
                "Float128" => return Err(no_type(exprs.line(id), Format::new(15, 113))),
                _ => *self.sorts.get(name).ok_or_else(unknown)?,
            });
        }
        let parts = exprs.list(id).unwrap_or_default();
        let words: Vec<_> = parts.iter().filter_map(|p| exprs.atom(*p)).collect();
        match (words.len() == parts.len()).then_some(words.as_slice()) {
            Some(["_", "BitVec", width]) => {
                self.has_numbers(id, Numbers::OfMachine)?;
                let width = width.parse().map_err(|_| unknown())?;
                vector(exprs.line(id), width)
            }
            Some(["_", "FloatingPoint", exponent, significand]) => {
                self.has_numbers(id, Numbers::OfMachine)?;
                let number = |text: &str| text.parse::<u32>().map_err(|_| unknown());
                float(exprs.line(id), number(exponent)?, number(significand)?).map(Sort::Float)
            }
            _ => Err(unknown()),
        }
    }

    /// What a name denotes in the innermost scope.
    pub(super) fn meaning(&self, name: &str) -> Option<Meaning<'a>> {
        match self.locals.get(name).and_then(|bound| bound.last()) {
            Some(term) => Some(Meaning::Term(*term)),
            None => self.names.get(name).cloned(),
        }
    }

    /// Calls `read` with names bound to terms, and unbinds them.
    pub(super) fn bound<T>(&mut self, names: &[(&'a str, Term)], read: impl FnOnce(&mut Self) -> T) -> T {
        for (name, term) in names {
            self.locals.entry(name).or_default().push(*term);
        }
        let result = read(self);
        for (name, _) in names {
            if let Some(bound) = self.locals.get_mut(name) {
                bound.pop();
            }
        }
        result
    }

    /// Expands a definition with arguments. Within its body only the names of the file and the parameters are in scope.
    pub(super) fn call(&mut self, id: Id, meaning: &Meaning<'a>, args: &[Term]) -> Result<Term, Error> {
        let Meaning::Macro(params, sort, body) = meaning else {
            return Err(at(self.exprs.line(id), format_args!("`{}` is not a function", self.exprs.shown(id))));
        };
        if params.len() != args.len() {
            return Err(at(self.exprs.line(id), format_args!("`{}` has wrong arguments", self.exprs.shown(id))));
        }
        let args: Vec<Term> = params.iter().zip(args).map(|((_, sort), arg)| self.as_sort(*arg, *sort)).collect();
        for ((_, sort), arg) in params.iter().zip(&args) {
            self.expect(id, *arg, *sort)?;
        }
        let outer = core::mem::take(&mut self.locals);
        let names: Vec<_> = params.iter().map(|p| p.0).zip(args.iter().copied()).collect();
        let term = self.bound(&names, |me| me.term(*body));
        self.locals = outer;
        let term = self.as_sort(term?, *sort);
        self.expect(*body, term, *sort)?;
        Ok(term)
    }

    /// Counts a step of the parser.
    ///
    /// # Errors
    /// When there were too many ([`MOST_STEPS`]).
    pub(super) fn step(&mut self, id: Id) -> Result<(), Error> {
        self.steps += 1;
        if self.steps > MOST_STEPS + STEPS_PER_EXPRESSION * self.exprs.len() {
            return Err(at(self.exprs.line(id), "the formula is too large once its definitions are written out"));
        }
        Ok(())
    }
}

/// The sort of bit vectors of this width.
pub(super) fn vector(line: u32, width: u32) -> Result<Sort, Error> {
    if width == 0 || width > MAX_BITS {
        return Err(at(line, format_args!("bit vectors of {width} bits are not supported: they have 1 to {MAX_BITS}")));
    }
    Ok(Sort::Bits(width))
}

/// The format with these numbers of bits, if C has a type for it.
pub(super) fn float(line: u32, exponent: u32, significand: u32) -> Result<Format, Error> {
    let format = Format::new(exponent.min(1 << 16), significand.min(1 << 16));
    if Format::ALL.contains(&format) { Ok(format) } else { Err(no_type(line, format)) }
}

fn no_type(line: u32, format: Format) -> Error {
    at(
        line,
        format_args!(
            "{} has no type in C: only Float16, Float32 and Float64 are supported",
            Sort::Float(format).text()
        ),
    )
}

/// The rounding mode with this name.
pub(super) fn rounding(name: &str) -> Option<Value> {
    Rounding::ALL.iter().find(|m| name == m.1 || name == m.2).map(|m| Value::Rounding(m.0))
}

/// Parses a value as solvers print it.
pub(super) fn value<'a>(exprs: &'a Exprs<'a>, id: Id, sort: Sort) -> Option<Value> {
    let mut reader = Reader {
        exprs,
        script: Script::default(),
        names: HashMap::new(),
        locals: HashMap::new(),
        sorts: HashMap::new(),
        steps: 0,
        numbers: Cell::new(None),
        has_only_reals: false,
    };
    let term = reader.term(id).ok()?;
    reader.script.terms.constant(term).filter(|v| v.sort() == sort)
}
