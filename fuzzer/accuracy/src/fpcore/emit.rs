//! Emits a core as a C function: in its own precisions for the search, in `long double` for the fast reference.

use std::fmt::Write;

use super::{Core, Expr, Precision, constants};

/// The C name of the function.
pub const FUNCTION: &str = "core";

/// Returns the C source of the core in its own precisions.
#[must_use]
pub fn source(core: &Core) -> String {
    let mut emitter = Emitter { wide: false, text: String::new(), next: 0 };
    let parameters: Vec<String> = core.arguments.iter().map(|(n, p)| format!("{} {}", c_type(*p), plain(n))).collect();
    let mut scope = arguments(core, |n, _| plain(n));
    let value = emitter.expr(&core.body, core.precision, &mut scope, 1);
    let title = core.name.replace("*/", "* /").replace(['\n', '\r', '\\'], " ");
    format!(
        "/* {title} */\n#include <math.h>\n{} {FUNCTION}({}) {{\n{}    return {value};\n}}\n",
        c_type(core.precision),
        parameters.join(", "),
        emitter.text
    )
}

/// Returns the C source of the core in `long double`, named `name`, and of its `:pre`, named `name_pre`.
#[must_use]
pub fn reference(core: &Core, name: &str) -> String {
    let parameters: Vec<String> = core.arguments.iter().map(|(n, p)| format!("{} {}_", c_type(*p), plain(n))).collect();
    let parameters = parameters.join(", ");
    let function = |head: &str, body: &Expr| {
        let mut emitter = Emitter { wide: true, text: String::new(), next: 0 };
        for (n, _) in &core.arguments {
            let n = plain(n);
            emitter.line(1, &format!("long double {n} = {n}_;"));
        }
        let mut scope = arguments(core, |n, _| plain(n));
        let value = emitter.expr(body, core.precision, &mut scope, 1);
        format!("static {head}({parameters}) {{\n{}    return {value};\n}}\n", emitter.text)
    };
    let holds = Expr::Constant("TRUE".to_owned());
    format!(
        "#include <math.h>\n{}{}",
        function(&format!("long double {name}"), core.ideal()),
        function(&format!("int {name}_pre"), core.pre.as_ref().unwrap_or(&holds))
    )
}

/// Returns a name in C: characters other than letters and digits are replaced by their code.
pub(super) fn plain(name: &str) -> String {
    let mut out = String::from("v_");
    for c in name.chars() {
        if c.is_ascii_alphanumeric() { out.push(c) } else { _ = write!(out, "_{:x}", c as u32) }
    }
    out
}

fn c_type(precision: Precision) -> &'static str {
    match precision {
        Precision::Double => "double",
        Precision::Single => "float",
    }
}

/// Names in scope with their C names, the innermost last.
type Scope = Vec<(String, String)>;

fn arguments(core: &Core, name: impl Fn(&str, Precision) -> String) -> Scope {
    core.arguments.iter().map(|(n, p)| (n.clone(), name(n, *p))).collect()
}

struct Emitter {
    wide: bool,
    text: String,
    next: usize,
}

impl Emitter {
    fn type_of(&self, expr: &Expr, precision: Precision) -> &'static str {
        if is_condition(expr) {
            "int"
        } else if self.wide {
            "long double"
        } else {
            c_type(precision)
        }
    }

    fn suffix(&self, precision: Precision) -> &'static str {
        match precision {
            _ if self.wide => "l",
            Precision::Double => "",
            Precision::Single => "f",
        }
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", 4 * depth);
    }

    fn variable(&mut self) -> String {
        self.next += 1;
        format!("t{}", self.next)
    }

    /// Emits the statements that an expression needs. Returns its value: a variable or a literal.
    fn expr(&mut self, expr: &Expr, p: Precision, scope: &mut Scope, depth: usize) -> String {
        let value = match expr {
            Expr::Number(text) => return self.number(text, p),
            Expr::Constant(name) => return self.constant(name, p),
            Expr::Variable(name) => {
                return scope.iter().rev().find(|(n, _)| n == name).map(|(_, c)| c.clone()).unwrap_or_default();
            }
            Expr::In(own, body) => return self.expr(body, *own, scope, depth),
            Expr::Cast(body) => {
                let value = self.expr(body, p, scope, depth);
                format!("({}){value}", self.type_of(body, p))
            }
            Expr::Apply(op, args) => {
                let values: Vec<String> = args.iter().map(|a| self.expr(a, p, scope, depth)).collect();
                self.operation(op, &values, p)
            }
            Expr::If(parts) => return self.choice(parts, p, scope, depth),
            Expr::Let(one_by_one, bindings, body) => {
                let before = scope.len();
                let mut new = Vec::new();
                for (name, value) in bindings {
                    let value = self.expr(value, p, scope, depth);
                    if *one_by_one { scope.push((name.clone(), value)) } else { new.push((name.clone(), value)) }
                }
                scope.extend(new);
                let value = self.expr(body, p, scope, depth);
                scope.truncate(before);
                return value;
            }
            Expr::While(..) => return self.repetition(expr, p, scope, depth),
        };
        let (name, c) = (self.variable(), self.type_of(expr, p));
        self.line(depth, &format!("{c} {name} = {value};"));
        name
    }

    fn choice(&mut self, parts: &[Expr; 3], p: Precision, scope: &mut Scope, depth: usize) -> String {
        let [condition, yes, no] = parts;
        let condition = self.expr(condition, p, scope, depth);
        let (name, c) = (self.variable(), self.type_of(yes, p));
        self.line(depth, &format!("{c} {name};"));
        self.line(depth, &format!("if ({condition}) {{"));
        let value = self.expr(yes, p, scope, depth + 1);
        self.line(depth + 1, &format!("{name} = {value};"));
        self.line(depth, "} else {");
        let value = self.expr(no, p, scope, depth + 1);
        self.line(depth + 1, &format!("{name} = {value};"));
        self.line(depth, "}");
        name
    }

    fn repetition(&mut self, expr: &Expr, p: Precision, scope: &mut Scope, depth: usize) -> String {
        let Expr::While(one_by_one, condition, variables, body) = expr else { return String::new() };
        let before = scope.len();
        let c = if self.wide { "long double" } else { c_type(p) };
        let mut own = Vec::new();
        for (name, first, _) in variables {
            let value = self.expr(first, p, scope, depth);
            let variable = self.variable();
            self.line(depth, &format!("{c} {variable} = {value};"));
            own.push((name.clone(), variable));
            if *one_by_one {
                scope.push(own[own.len() - 1].clone());
            }
        }
        scope.truncate(before);
        scope.extend(own.iter().cloned());
        self.line(depth, "for (;;) {");
        let holds = self.expr(condition, p, scope, depth + 1);
        self.line(depth + 1, &format!("if (!({holds})) break;"));
        let mut new = Vec::new();
        for ((_, _, next), (_, variable)) in variables.iter().zip(&own) {
            let value = self.expr(next, p, scope, depth + 1);
            if *one_by_one {
                self.line(depth + 1, &format!("{variable} = {value};"));
            } else {
                let copy = self.variable();
                self.line(depth + 1, &format!("{c} {copy} = {value};"));
                new.push((variable.clone(), copy));
            }
        }
        for (variable, copy) in new {
            self.line(depth + 1, &format!("{variable} = {copy};"));
        }
        self.line(depth, "}");
        let value = self.expr(body, p, scope, depth);
        scope.truncate(before);
        value
    }

    fn number(&self, text: &str, p: Precision) -> String {
        let c = if self.wide { "L" } else { self.suffix(p) };
        let point = |t: &str| if t.contains(['.', 'e', 'E']) { format!("{t}{c}") } else { format!("{t}.0{c}") };
        match text.split_once('/') {
            // The quotient is rounded in a wider type first, and then to its own.
            Some((a, b)) => format!("(({})({a}.0L / {b}.0L))", if self.wide { "long double" } else { c_type(p) }),
            None => format!("({})", point(text)),
        }
    }

    fn constant(&self, name: &str, p: Precision) -> String {
        match constants::c_text(name) {
            Some(digits) if digits.ends_with('L') => {
                format!("(({}){digits})", if self.wide { "long double" } else { c_type(p) })
            }
            text => text.unwrap_or_default().to_owned(),
        }
    }

    fn operation(&self, op: &str, values: &[String], p: Precision) -> String {
        let chain = |c: &str| {
            let pairs: Vec<String> = values.windows(2).map(|w| format!("{} {c} {}", w[0], w[1])).collect();
            if pairs.is_empty() { "1".to_owned() } else { pairs.join(" && ") }
        };
        match op {
            "-" if values.len() == 1 => format!("-{}", values[0]),
            "+" | "-" | "*" | "/" => values.join(&format!(" {op} ")),
            "<" | ">" | "<=" | ">=" | "==" => chain(op),
            "!=" => {
                let differ = |i: usize| (0..i).map(move |j| format!("{} != {}", values[i], values[j]));
                let pairs: Vec<String> = (0..values.len()).flat_map(differ).collect();
                if pairs.is_empty() { "1".to_owned() } else { pairs.join(" && ") }
            }
            "and" => {
                if values.is_empty() {
                    "1".to_owned()
                } else {
                    values.join(" && ")
                }
            }
            "or" => {
                if values.is_empty() {
                    "0".to_owned()
                } else {
                    values.join(" || ")
                }
            }
            "not" => format!("!{}", values[0]),
            "=>" => format!("!{} || {}", values[0], values[1]),
            "isfinite" | "isinf" | "isnan" | "signbit" => format!("{op}({}) != 0", values[0]),
            _ => format!("{op}{}({})", self.suffix(p), values.join(", ")),
        }
    }
}

/// Returns whether the value is a truth value.
fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Constant(name) => name == "TRUE" || name == "FALSE",
        Expr::Apply(op, _) => matches!(
            op.as_str(),
            "<" | ">"
                | "<="
                | ">="
                | "=="
                | "!="
                | "and"
                | "or"
                | "not"
                | "=>"
                | "isfinite"
                | "isinf"
                | "isnan"
                | "signbit"
        ),
        Expr::If(parts) => is_condition(&parts[1]),
        Expr::Let(_, _, body) | Expr::While(_, _, _, body) | Expr::In(_, body) | Expr::Cast(body) => is_condition(body),
        Expr::Number(_) | Expr::Variable(_) => false,
    }
}
