//! Parses terms: names, `let`, literals, and all operations, whose argument sorts are checked.

use penfuzz_error::Error;

use super::{
    float::{Format, Rounding},
    literals::{self, Real},
    script::{Meaning, Reader, float, rounding, vector},
    sexp::{Id, Kind, at},
    term::{Class, Op, Sort, Term, Value},
};

/// The indices of an operation, such as 7 and 0 of `(_ extract 7 0)`.
type Indices<'b> = &'b [u32];

impl<'a> Reader<'a> {
    /// Parses a term.
    ///
    /// # Errors
    /// Unknown names, operations and sorts, with the line.
    pub(super) fn term(&mut self, id: Id) -> Result<Term, Error> {
        self.step(id)?;
        match &self.exprs.get(id).kind {
            Kind::Atom(name) | Kind::Quoted(name) => self.named(id, name),
            Kind::Text(_) => Err(at(self.exprs.line(id), "strings are not supported")),
            Kind::List(list) => self.application(id, list),
        }
    }

    fn named(&mut self, id: Id, name: &'a str) -> Result<Term, Error> {
        if let Some(Meaning::Term(term)) = self.meaning(name) {
            return Ok(term);
        }
        if self.is_exact()
            && let Some(number) = self.number(id, name)?
        {
            return Ok(number);
        }
        let value = match name {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ if self.is_exact() => None,
            _ => rounding(name).or_else(|| literals::bits(name)),
        };
        match value {
            Some(value) => Ok(self.script.terms.value(value)),
            None => Err(at(self.exprs.line(id), format_args!("`{}` is not declared", self.exprs.shown(id)))),
        }
    }

    fn application(&mut self, id: Id, list: &'a [Id]) -> Result<Term, Error> {
        let Some((head, rest)) = list.split_first() else {
            return Err(at(self.exprs.line(id), "`()` is not a term"));
        };
        if let Some(name) = self.exprs.atom(*head) {
            return match (name, rest) {
                ("let", [bindings, body]) => self.bindings(*bindings, *body),
                ("!", [term, ..]) => self.term(*term),
                ("_", _) if !self.is_exact() => self.indexed_value(id, rest),
                ("forall" | "exists", _) => Err(at(self.exprs.line(id), "quantifiers are not supported")),
                ("to_fp", _) => Err(self.wrong(id)),
                _ => self.operation(id, name, &[], rest),
            };
        }
        let inner = self.exprs.list(*head).unwrap_or_default();
        let words: Vec<_> = inner.iter().filter_map(|p| self.exprs.atom(*p)).collect();
        match words.as_slice() {
            ["_", name, numbers @ ..] if words.len() == inner.len() => {
                let indices = numbers.iter().map(|n| n.parse()).collect::<Result<Vec<u32>, _>>();
                let indices = indices.map_err(|_| self.wrong(id))?;
                self.operation(id, name, &indices, rest)
            }
            _ => Err(self.wrong(id)),
        }
    }

    fn wrong(&self, id: Id) -> Error {
        at(
            self.exprs.line(id),
            format_args!("`{}` is not a supported term of floats and bit vectors", self.exprs.shown(id)),
        )
    }

    fn bindings(&mut self, bindings: Id, body: Id) -> Result<Term, Error> {
        let exprs = self.exprs;
        let wrong = || at(exprs.line(bindings), "the bindings of `let` are not a list of names with terms");
        let mut names = Vec::new();
        for pair in exprs.list(bindings).ok_or_else(wrong)? {
            let Some([name, value]) = exprs.list(*pair) else { return Err(wrong()) };
            names.push((exprs.atom(*name).ok_or_else(wrong)?, self.term(*value)?));
        }
        self.bound(&names, |me| me.term(body))
    }

    /// Parses literals such as `(_ bv5 8)` and `(_ +oo 8 24)`.
    fn indexed_value(&mut self, id: Id, parts: &[Id]) -> Result<Term, Error> {
        let words: Vec<_> = parts.iter().filter_map(|p| self.exprs.atom(*p)).collect();
        let value = match (words.len() == parts.len()).then_some(words.as_slice()) {
            Some([name, width]) => literals::numbered(name, width),
            Some([name, exponent, significand]) => {
                let number = |text: &str| text.parse().map_err(|_| self.wrong(id));
                let format = float(self.exprs.line(id), number(exponent)?, number(significand)?)?;
                literals::special(name, format)
            }
            _ => None,
        };
        let value = value.ok_or_else(|| self.wrong(id))?;
        Ok(self.script.terms.value(value))
    }

    fn operation(&mut self, id: Id, name: &'a str, indices: Indices, args: &[Id]) -> Result<Term, Error> {
        if let ("to_fp", [exponent, significand]) = (name, indices)
            && !self.is_exact()
        {
            let format = float(self.exprs.line(id), *exponent, *significand)?;
            if let [mode, real] = args
                && let Some(real) = Real::read(self.exprs, *real)
            {
                return self.real(*mode, &real, format);
            }
            let args = self.terms(args)?;
            return self.conversion(id, format, &args);
        }
        let args = self.terms(args)?;
        if indices.is_empty()
            && let Some(meaning) = self.meaning(name)
        {
            return self.call(id, &meaning, &args);
        }
        let term = match (name.split_once('.'), indices) {
            _ if self.is_exact() => match self.arithmetic(id, name, &args)? {
                Some(term) => Some(term),
                None => self.core(id, name, indices, &args)?.filter(|_| name != "fp"),
            },
            (Some(("fp", _)), _) => self.float_operation(id, name, indices, &args)?,
            _ => match self.core(id, name, indices, &args)? {
                Some(term) => Some(term),
                None => self.vector_operation(id, name, indices, &args)?,
            },
        };
        term.ok_or_else(|| {
            let sorts: Vec<_> = args.iter().map(|a| self.script.terms.sort(*a).text()).collect();
            let (line, shown) = (self.exprs.line(id), self.exprs.shown(id));
            let of = if sorts.is_empty() { "nothing".to_owned() } else { sorts.join(", ") };
            at(line, format_args!("`{shown}`: `{name}` of {of} is not supported"))
        })
    }

    fn terms(&mut self, ids: &[Id]) -> Result<Vec<Term>, Error> {
        ids.iter().map(|id| self.term(*id)).collect()
    }

    pub(super) fn make(&mut self, op: Op, sort: Sort, args: &[Term]) -> Term {
        self.script.terms.make(op, sort, args)
    }

    pub(super) fn sorts(&self, args: &[Term]) -> Vec<Sort> {
        args.iter().map(|a| self.script.terms.sort(*a)).collect()
    }

    /// Makes an operation of the core theory, which has arguments of any sort.
    fn core(&mut self, id: Id, name: &str, indices: Indices, args: &[Term]) -> Result<Option<Term>, Error> {
        let sorts = self.sorts(args);
        let are_bools = !sorts.is_empty() && sorts.iter().all(|s| *s == Sort::Bool);
        let are_equal = sorts.len() > 1 && sorts.iter().all(|s| *s == sorts[0]);
        if !indices.is_empty() {
            return Ok(None);
        }
        Ok(Some(match (name, args) {
            ("not", [a]) if are_bools => self.script.terms.not(*a),
            ("and", _) if are_bools => self.make(Op::And, Sort::Bool, args),
            ("or", _) if are_bools => self.make(Op::Or, Sort::Bool, args),
            ("xor", [first, rest @ ..]) if are_bools => {
                rest.iter().fold(*first, |all, a| self.make(Op::Xor, Sort::Bool, &[all, *a]))
            }
            ("=>", [before @ .., last]) if are_bools && args.len() > 1 => before.iter().rev().fold(*last, |all, a| {
                let not = self.script.terms.not(*a);
                self.make(Op::Or, Sort::Bool, &[not, all])
            }),
            ("=", _) if are_equal => self.chain(args, Op::Eq),
            ("distinct", _) if are_equal => {
                let mut all = Vec::new();
                for (i, a) in args.iter().enumerate() {
                    for b in &args[i + 1..] {
                        let equal = self.make(Op::Eq, Sort::Bool, &[*a, *b]);
                        all.push(self.script.terms.not(equal));
                    }
                }
                self.all(&all)
            }
            ("ite", [c, a, b]) if sorts[0] == Sort::Bool && sorts[1] == sorts[2] => {
                self.make(Op::Ite, sorts[1], &[*c, *a, *b])
            }
            ("fp", [sign, exponent, fraction]) => match sorts.as_slice() {
                [Sort::Bits(1), Sort::Bits(e), Sort::Bits(f)] => {
                    let format = float(self.exprs.line(id), *e, f + 1)?;
                    self.parts(format, [*sign, *exponent, *fraction])
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    /// The conjunction of these formulas.
    pub(super) fn all(&mut self, formulas: &[Term]) -> Term {
        match formulas {
            [only] => *only,
            _ => self.make(Op::And, Sort::Bool, formulas),
        }
    }

    /// The conjunction of a relation between each argument and the next.
    pub(super) fn chain(&mut self, args: &[Term], op: Op) -> Term {
        let pairs: Vec<_> = args.windows(2).map(|pair| self.make(op, Sort::Bool, pair)).collect();
        self.all(&pairs)
    }

    /// A float, from bit vectors of its sign, exponent and fraction.
    fn parts(&mut self, format: Format, parts: [Term; 3]) -> Term {
        let (exponent, fraction) = (format.exponent, format.significand - 1);
        let constant = |t: Term| self.script.terms.constant(t);
        if let [Some(Value::Bits(_, s)), Some(Value::Bits(_, e)), Some(Value::Bits(_, f))] = parts.map(constant) {
            let value = Value::of_bits(Sort::Float(format), (s << exponent | e) << fraction | f);
            return self.script.terms.value(value);
        }
        let upper = self.make(Op::Concat, Sort::Bits(1 + exponent), &parts[..2]);
        let bits = self.make(Op::Concat, Sort::Bits(format.width()), &[upper, parts[2]]);
        self.make(Op::FpOfBits, Sort::Float(format), &[bits])
    }

    /// A real number as a float. If the rounding mode is not constant, the term distinguishes all modes.
    fn real(&mut self, mode: Id, real: &Real, format: Format) -> Result<Term, Error> {
        let term = self.term(mode)?;
        self.expect(mode, term, Sort::Rounding)?;
        let sort = Sort::Float(format);
        if let Some(Value::Rounding(mode)) = self.script.terms.constant(term) {
            return Ok(self.script.terms.value(real.to_float(format, mode)));
        }
        let mut all = self.script.terms.value(real.to_float(format, Rounding::NearestEven));
        for (mode, ..) in Rounding::ALL {
            let wanted = self.script.terms.value(Value::Rounding(mode));
            let is_it = self.make(Op::Eq, Sort::Bool, &[term, wanted]);
            let value = self.script.terms.value(real.to_float(format, mode));
            all = self.make(Op::Ite, sort, &[is_it, value, all]);
        }
        Ok(all)
    }

    fn conversion(&mut self, id: Id, format: Format, args: &[Term]) -> Result<Term, Error> {
        let sort = Sort::Float(format);
        let op = match self.sorts(args).as_slice() {
            [Sort::Bits(width)] if *width == format.width() => Op::FpOfBits,
            [Sort::Rounding, Sort::Float(_)] => Op::FpOfFloat,
            [Sort::Rounding, Sort::Bits(_)] => Op::FpOfSigned,
            _ => return Err(self.wrong(id)),
        };
        if let (Op::FpOfBits, Some(Value::Bits(_, bits))) = (op, self.script.terms.constant(args[0])) {
            return Ok(self.script.terms.value(Value::of_bits(sort, bits)));
        }
        Ok(self.make(op, sort, args))
    }

    fn float_operation(&mut self, id: Id, name: &str, indices: Indices, args: &[Term]) -> Result<Option<Term>, Error> {
        let sorts = self.sorts(args);
        if let [Sort::Rounding, Sort::Float(_)] = sorts.as_slice()
            && let ("fp.to_ubv" | "fp.to_sbv", [width]) = (name, indices)
        {
            let op = if name == "fp.to_ubv" { Op::FpToUnsigned } else { Op::FpToSigned };
            let sort = vector(self.exprs.line(id), *width)?;
            return Ok(Some(self.make(op, sort, args)));
        }
        let (with_mode, floats) = match sorts.split_first() {
            Some((Sort::Rounding, rest)) => (true, rest),
            _ => (false, sorts.as_slice()),
        };
        let Some(Sort::Float(format)) = floats.first().copied() else { return Ok(None) };
        if floats.iter().any(|s| *s != Sort::Float(format)) || !indices.is_empty() {
            return Ok(None);
        }
        let made = match (name, with_mode, floats.len()) {
            ("fp.to_ieee_bv", false, 1) => self.make(Op::FpToBits, Sort::Bits(format.width()), args),
            ("fp.leq", false, 2..) => self.chain(args, Op::FpLeq),
            ("fp.lt", false, 2..) => self.chain(args, Op::FpLt),
            ("fp.eq", false, 2..) => self.chain(args, Op::FpEq),
            ("fp.geq" | "fp.gt", false, 2..) => {
                let backwards: Vec<_> = args.iter().rev().copied().collect();
                self.chain(&backwards, if name == "fp.geq" { Op::FpLeq } else { Op::FpLt })
            }
            (_, false, 1) if class(name).is_some() => {
                self.make(Op::FpIs(class(name).unwrap_or(Class::NaN)), Sort::Bool, args)
            }
            _ => match arithmetic(name) {
                Some((op, mode, n)) if mode == with_mode && n == floats.len() => {
                    self.make(op, Sort::Float(format), args)
                }
                _ => return Ok(None),
            },
        };
        Ok(Some(made))
    }
}

fn class(name: &str) -> Option<Class> {
    Some(match name.strip_prefix("fp.is")? {
        "Normal" => Class::Normal,
        "Subnormal" => Class::Subnormal,
        "Zero" => Class::Zero,
        "Infinite" => Class::Infinite,
        "NaN" => Class::NaN,
        "Negative" => Class::Negative,
        "Positive" => Class::Positive,
        _ => return None,
    })
}

/// The operation with this name that returns a float, whether it has a rounding mode, and its number of float
/// arguments.
fn arithmetic(name: &str) -> Option<(Op, bool, usize)> {
    Some(match name.strip_prefix("fp.")? {
        "abs" => (Op::FpAbs, false, 1),
        "neg" => (Op::FpNeg, false, 1),
        "add" => (Op::FpAdd, true, 2),
        "sub" => (Op::FpSub, true, 2),
        "mul" => (Op::FpMul, true, 2),
        "div" => (Op::FpDiv, true, 2),
        "fma" => (Op::FpFma, true, 3),
        "sqrt" => (Op::FpSqrt, true, 1),
        "rem" => (Op::FpRem, false, 2),
        "roundToIntegral" => (Op::FpRoundToIntegral, true, 1),
        "min" => (Op::FpMin, false, 2),
        "max" => (Op::FpMax, false, 2),
        _ => return None,
    })
}
