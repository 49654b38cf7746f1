//! Makes operations of bit vectors. Some are expressed by others.

use penfuzz_error::Error;

use super::{
    script::{Reader, float, vector},
    sexp::{Id, at},
    term::{Op, Sort, Term, Value, mask},
};

impl Reader<'_> {
    /// Makes an operation of bit vectors; `None` if no operation with this name takes these arguments.
    pub(super) fn vector_operation(
        &mut self,
        id: Id,
        name: &str,
        indices: &[u32],
        args: &[Term],
    ) -> Result<Option<Term>, Error> {
        let sorts = self.sorts(args);
        if let ("to_fp_unsigned", [exponent, significand], [Sort::Rounding, Sort::Bits(_)]) =
            (name, indices, sorts.as_slice())
        {
            let format = float(self.exprs.line(id), *exponent, *significand)?;
            return Ok(Some(self.make(Op::FpOfUnsigned, Sort::Float(format), args)));
        }
        let widths: Vec<u32> =
            sorts.iter().filter_map(|s| if let Sort::Bits(w) = s { Some(*w) } else { None }).collect();
        if widths.len() != args.len() || args.is_empty() {
            return Ok(None);
        }
        if !indices.is_empty() {
            return self.indexed(id, name, indices, args, widths[0]);
        }
        if name == "concat" {
            return self.concat(id, args).map(Some);
        }
        if widths.iter().any(|w| *w != widths[0]) {
            return Ok(None);
        }
        Ok(self.of_equal_widths(name, args, widths[0]))
    }

    fn of_equal_widths(&mut self, name: &str, args: &[Term], width: u32) -> Option<Term> {
        let sort = Sort::Bits(width);
        if let [a] = args {
            let op = match name {
                "bvnot" => Op::BvNot,
                "bvneg" => Op::BvNeg,
                _ => return None,
            };
            return Some(self.make(op, sort, &[*a]));
        }
        if let Some(op) = folded(name) {
            return Some(args[1..].iter().fold(args[0], |all, a| self.make(op, sort, &[all, *a])));
        }
        let [a, b] = args else { return None };
        if let Some((op, is_swapped)) = relation(name) {
            let pair = if is_swapped { [*b, *a] } else { [*a, *b] };
            return Some(self.make(op, Sort::Bool, &pair));
        }
        if let Some(op) = of_two(name) {
            return Some(self.make(op, sort, args));
        }
        let inner = match name {
            "bvnand" => Op::BvAnd,
            "bvnor" => Op::BvOr,
            "bvxnor" => Op::BvXor,
            "bvcomp" => {
                let equal = self.make(Op::Eq, Sort::Bool, args);
                let [one, zero] = [1, 0].map(|b| self.script.terms.value(Value::Bits(1, b)));
                return Some(self.make(Op::Ite, Sort::Bits(1), &[equal, one, zero]));
            }
            _ => return None,
        };
        let inner = self.make(inner, sort, args);
        Some(self.make(Op::BvNot, sort, &[inner]))
    }

    fn concat(&mut self, id: Id, args: &[Term]) -> Result<Term, Error> {
        let mut all = args[0];
        for next in &args[1..] {
            let width = self.script.terms.sort(all).bits() + self.script.terms.sort(*next).bits();
            let sort = vector(self.exprs.line(id), width)?;
            all = self.make(Op::Concat, sort, &[all, *next]);
        }
        Ok(all)
    }

    fn extract(&mut self, of: Term, high: u32, low: u32) -> Term {
        let width = high - low + 1;
        if let Some(Value::Bits(_, bits)) = self.script.terms.constant(of) {
            return self.script.terms.value(Value::Bits(width, bits >> low & mask(width)));
        }
        self.make(Op::Extract(low), Sort::Bits(width), &[of])
    }

    fn indexed(
        &mut self,
        id: Id,
        name: &str,
        indices: &[u32],
        args: &[Term],
        width: u32,
    ) -> Result<Option<Term>, Error> {
        let line = self.exprs.line(id);
        let [a] = args else { return Ok(None) };
        Ok(Some(match (name, indices) {
            ("extract", [high, low]) if high >= low && *high < width => self.extract(*a, *high, *low),
            ("zero_extend" | "sign_extend", [by]) => {
                let sort = vector(line, width.saturating_add(*by))?;
                self.make(if name == "zero_extend" { Op::Extend } else { Op::SignExtend }, sort, args)
            }
            ("repeat", [times]) if *times > 0 => {
                vector(line, width.saturating_mul(*times))?;
                self.concat(id, &vec![*a; *times as usize])?
            }
            ("rotate_left" | "rotate_right", [by]) => {
                let left = if name == "rotate_left" { by % width } else { (width - by % width) % width };
                if left == 0 {
                    return Ok(Some(*a));
                }
                let (low, high) = (self.extract(*a, width - left - 1, 0), self.extract(*a, width - 1, width - left));
                self.make(Op::Concat, Sort::Bits(width), &[low, high])
            }
            ("extract", _) => {
                return Err(at(line, format_args!("`{}` takes bits that are not there", self.exprs.shown(id))));
            }
            _ => return Ok(None),
        }))
    }
}

/// Operations with two or more arguments.
fn folded(name: &str) -> Option<Op> {
    Some(match name {
        "bvand" => Op::BvAnd,
        "bvor" => Op::BvOr,
        "bvxor" => Op::BvXor,
        "bvadd" => Op::BvAdd,
        "bvmul" => Op::BvMul,
        _ => return None,
    })
}

fn of_two(name: &str) -> Option<Op> {
    Some(match name {
        "bvsub" => Op::BvSub,
        "bvudiv" => Op::BvUdiv,
        "bvurem" => Op::BvUrem,
        "bvsdiv" => Op::BvSdiv,
        "bvsrem" => Op::BvSrem,
        "bvsmod" => Op::BvSmod,
        "bvshl" => Op::BvShl,
        "bvlshr" => Op::BvLshr,
        "bvashr" => Op::BvAshr,
        _ => return None,
    })
}

/// The relation with this name, and whether its arguments are swapped.
fn relation(name: &str) -> Option<(Op, bool)> {
    Some(match name {
        "bvult" => (Op::BvUlt, false),
        "bvule" => (Op::BvUle, false),
        "bvugt" => (Op::BvUlt, true),
        "bvuge" => (Op::BvUle, true),
        "bvslt" => (Op::BvSlt, false),
        "bvsle" => (Op::BvSle, false),
        "bvsgt" => (Op::BvSlt, true),
        "bvsge" => (Op::BvSle, true),
        _ => return None,
    })
}
