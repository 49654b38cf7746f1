//! The parser: S-expressions, and cores from them. Error messages name the unsupported feature.

use super::{Core, Expr, Precision, constants};
use crate::libm::{self, Origin};

/// An atom, a string, or a list.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Atom(String),
    Text(String),
    List(Vec<Item>),
}

type Parsed<T> = Result<T, String>;

/// Maximum depth of lists; expressions of real benchmarks have less than 100.
const DEPTH: usize = 500;

/// Parses the lists of a text; comments begin with `;` and end with the line.
pub fn cores(text: &str) -> Parsed<Vec<Item>> {
    let mut stack: Vec<Vec<Item>> = vec![Vec::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let item = match c {
            c if c.is_whitespace() => continue,
            ';' => {
                chars.by_ref().find(|c| *c == '\n');
                continue;
            }
            '(' | '[' => {
                stack.push(Vec::new());
                if stack.len() > DEPTH {
                    return Err("is nested too deeply".to_owned());
                }
                continue;
            }
            ')' | ']' => {
                let list = stack.pop().filter(|_| !stack.is_empty()).ok_or("has an unmatched closing parenthesis")?;
                Item::List(list)
            }
            '"' => Item::Text(chars.by_ref().take_while(|c| *c != '"').collect()),
            c => {
                let mut atom = String::from(c);
                while let Some(c) = chars.next_if(|c| !c.is_whitespace() && !"()[]\";".contains(*c)) {
                    atom.push(c);
                }
                Item::Atom(atom)
            }
        };
        stack.last_mut().ok_or("has an unmatched closing parenthesis")?.push(item);
    }
    let all = stack.pop().filter(|_| stack.is_empty()).ok_or("ends within a list")?;
    let is_core = |i: &Item| matches!(i, Item::List(l) if l.first() == Some(&Item::Atom("FPCore".to_owned())));
    if all.is_empty() || !all.iter().all(is_core) {
        return Err("is not a file of (FPCore …)".to_owned());
    }
    Ok(all)
}

/// Returns the parts of a core: symbol, arguments, properties and body.
fn parts(item: &Item) -> Option<(&str, &[Item], &[Item], &Item)> {
    let Item::List(list) = item else { return None };
    let (symbol, rest) = match &list[1..] {
        [Item::Atom(symbol), rest @ ..] => (symbol.as_str(), rest),
        rest => ("", rest),
    };
    match rest {
        [Item::List(arguments), properties @ .., body] => Some((symbol, arguments, properties, body)),
        _ => None,
    }
}

fn property<'a>(properties: &'a [Item], name: &str) -> Option<&'a Item> {
    properties.chunks(2).find(|p| matches!(&p[0], Item::Atom(a) if a == name)).and_then(|p| p.get(1))
}

/// Returns the name of a core.
pub fn name(item: &Item) -> &str {
    let Some((symbol, _, properties, _)) = parts(item) else { return "" };
    match property(properties, ":name") {
        Some(Item::Text(name)) => name,
        _ => symbol,
    }
}

/// Parses a core.
pub fn core(item: &Item) -> Parsed<Core> {
    let (_, arguments, properties, body) = parts(item).ok_or("has a core without arguments or body")?;
    let own = match property(properties, ":precision") {
        Some(item) => precision(item)?,
        None => Precision::Double,
    };
    let argument = |item: &Item| match item {
        Item::Atom(name) => Ok((name.clone(), own)),
        Item::List(l) => match &l[..] {
            [Item::Atom(bang), annotations @ .., Item::Atom(name)] if bang == "!" => {
                let other = property(annotations, ":precision").map(precision).transpose()?;
                Ok((name.clone(), other.unwrap_or(own)))
            }
            _ => Err("has tensors as arguments, which are not supported".to_owned()),
        },
        Item::Text(_) => Err("has a string as an argument".to_owned()),
    };
    let arguments = arguments.iter().map(argument).collect::<Parsed<Vec<_>>>()?;
    if arguments.is_empty() {
        return Err("has a core without arguments: there is nothing to search".to_owned());
    }
    let mut scope: Vec<String> = arguments.iter().map(|a| a.0.clone()).collect();
    let pre = property(properties, ":pre").map(|p| expr(p, &mut scope)).transpose()?;
    let spec = property(properties, ":spec").map(|p| expr(p, &mut scope)).transpose();
    let spec = spec.map_err(|why| format!("{why} (in :spec)"))?;
    let accuracy = property(properties, ":accuracy").map(accuracy).transpose()?;
    let body = expr(body, &mut scope)?;
    Ok(Core { name: name(item).to_owned(), arguments, precision: own, accuracy, pre, spec, body })
}

fn accuracy(item: &Item) -> Parsed<f64> {
    match item {
        Item::Atom(text) => {
            text.parse().map_err(|_| format!("has the :accuracy {text}, which is not a decimal number"))
        }
        _ => Err("has an :accuracy that is not a number".to_owned()),
    }
}

fn precision(item: &Item) -> Parsed<Precision> {
    match item {
        Item::Atom(p) if p == "binary64" => Ok(Precision::Double),
        Item::Atom(p) if p == "binary32" => Ok(Precision::Single),
        Item::Atom(p) => Err(format!("has the precision {p}; binary64 and binary32 are supported")),
        _ => Err("has a precision that is not supported; binary64 and binary32 are".to_owned()),
    }
}

/// Operations with minimum and maximum number of arguments; further ones are functions of [`libm`].
const OPERATIONS: [(&str, usize, usize); 22] = [
    ("+", 1, usize::MAX),
    ("-", 1, 2),
    ("*", 1, usize::MAX),
    ("/", 2, 2),
    ("<", 1, usize::MAX),
    (">", 1, usize::MAX),
    ("<=", 1, usize::MAX),
    (">=", 1, usize::MAX),
    ("==", 1, usize::MAX),
    ("!=", 1, usize::MAX),
    ("and", 0, usize::MAX),
    ("or", 0, usize::MAX),
    ("not", 1, 1),
    ("=>", 2, 2),
    ("isfinite", 1, 1),
    ("isinf", 1, 1),
    ("isnan", 1, 1),
    ("signbit", 1, 1),
    ("fmax", 2, 2),
    ("fmin", 2, 2),
    ("copysign", 2, 2),
    ("nearbyint", 1, 1),
];

/// Returns the minimum and maximum number of arguments of an operation.
fn arity(op: &str) -> Option<(usize, usize)> {
    let own = OPERATIONS.iter().find(|(known, ..)| *known == op).map(|(_, least, most)| (*least, *most));
    let function = || libm::find(op).filter(|function| function.origin == Origin::FpCore);
    own.or_else(|| function().map(|function| (function.parameters.len(), function.parameters.len())))
}

fn is_number(text: &str) -> bool {
    let decimal = |t: &str| {
        let digits = t.trim_start_matches(['+', '-']);
        digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && t.parse::<f64>().is_ok()
            && digits.chars().all(|c| c.is_ascii_digit() || ".eE+-".contains(c))
    };
    match text.split_once('/') {
        Some((a, b)) => [a, b].iter().all(|t| decimal(t) && !t.contains(['.', 'e', 'E'])),
        None => decimal(text),
    }
}

fn expr(item: &Item, scope: &mut Vec<String>) -> Parsed<Expr> {
    let list = match item {
        Item::Atom(a) if scope.contains(a) => return Ok(Expr::Variable(a.clone())),
        Item::Atom(a) if is_number(a) => return Ok(Expr::Number(a.clone())),
        Item::Atom(a) if constants::c_text(a).is_some() => return Ok(Expr::Constant(a.clone())),
        Item::Atom(a) => return Err(format!("has `{a}`, which is not a variable, decimal number or constant")),
        Item::Text(_) => return Err("has a string within an expression".to_owned()),
        Item::List(list) => list,
    };
    let Some((Item::Atom(head), rest)) = list.split_first() else {
        return Err("has an expression without an operation".to_owned());
    };
    match (head.as_str(), rest) {
        ("if", [c, a, b]) => Ok(Expr::If(Box::new([expr(c, scope)?, expr(a, scope)?, expr(b, scope)?]))),
        ("let" | "let*", [Item::List(bindings), body]) => binding(head == "let*", bindings, body, scope),
        ("while" | "while*", [condition, Item::List(variables), body]) => {
            repetition(head == "while*", condition, variables, body, scope)
        }
        ("!", [annotations @ .., body]) => {
            let own = property(annotations, ":precision").map(precision).transpose()?;
            let body = expr(body, scope)?;
            Ok(own.map_or_else(|| body.clone(), |p| Expr::In(p, Box::new(body.clone()))))
        }
        ("cast", [body]) => Ok(Expr::Cast(Box::new(expr(body, scope)?))),
        ("array" | "dim" | "size" | "ref" | "for" | "for*" | "tensor" | "tensor*", _) => {
            Err(format!("has tensors (`{head}`), which are not supported"))
        }
        _ => {
            let (least, most) =
                arity(head).ok_or_else(|| format!("has the operation `{head}`, which is not supported"))?;
            if !(least..=most).contains(&rest.len()) {
                return Err(format!("has `{head}` with {} arguments", rest.len()));
            }
            Ok(Expr::Apply(head.clone(), rest.iter().map(|i| expr(i, scope)).collect::<Parsed<_>>()?))
        }
    }
}

fn binding(one_by_one: bool, bindings: &[Item], body: &Item, scope: &mut Vec<String>) -> Parsed<Expr> {
    let before = scope.len();
    let (mut all, mut names) = (Vec::new(), Vec::new());
    for item in bindings {
        let Item::List(pair) = item else { return Err("has a `let` without pairs".to_owned()) };
        let [Item::Atom(name), value] = &pair[..] else { return Err("has a `let` without pairs".to_owned()) };
        all.push((name.clone(), expr(value, scope)?));
        if one_by_one { scope.push(name.clone()) } else { names.push(name.clone()) }
    }
    scope.extend(names);
    let body = expr(body, scope)?;
    scope.truncate(before);
    Ok(Expr::Let(one_by_one, all, Box::new(body)))
}

fn repetition(
    one_by_one: bool,
    condition: &Item,
    variables: &[Item],
    body: &Item,
    scope: &mut Vec<String>,
) -> Parsed<Expr> {
    let before = scope.len();
    let mut triples = Vec::new();
    for item in variables {
        let Item::List(triple) = item else { return Err("has a `while` without triples".to_owned()) };
        let [Item::Atom(name), first, next] = &triple[..] else {
            return Err("has a `while` without triples".to_owned());
        };
        let first = expr(first, scope)?;
        if one_by_one {
            scope.push(name.clone());
        }
        triples.push((name.clone(), first, next));
    }
    scope.truncate(before);
    scope.extend(triples.iter().map(|t| t.0.clone()));
    let condition = expr(condition, scope)?;
    let mut all = Vec::new();
    for (name, first, next) in triples {
        all.push((name, first, expr(next, scope)?));
    }
    let body = expr(body, scope)?;
    scope.truncate(before);
    Ok(Expr::While(one_by_one, Box::new(condition), all, Box::new(body)))
}
