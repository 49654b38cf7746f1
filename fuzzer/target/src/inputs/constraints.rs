//! Constraints on arguments: `a: array[n+1]`, `s: string[..32]`, `x: -90..90`, `y: finite`.
//!
//! 1. [`ArgConstraint::parse`] parses one constraint without knowing the function.
//! 2. [`apply_constraints`] checks the constraints against the inputs of a function and stores them there. A size in a
//!    constraint is neither assumed nor probed, and an access out of its bounds is a crash. Ranges become the
//!    [domains](penfuzz_mutators::domain) of the layout.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use penfuzz_mutators::{domain::Domain, view::Kind};

use super::{
    build::MAX_BLOCK,
    calls::build,
    model::Model,
    paths::any_index,
    range::Range,
    sizes::{Origin, Rule, Size, Sizes},
    types::Form,
};
use crate::program::{Function, Target, names};

/// Maximum number of elements of an array in a constraint.
const MOST_ELEMENTS: usize = 1 << 16;

/// The possible constraints, for messages.
const POSSIBLE: &str = "possible domains: array[10], array[n], array[n+1], array[n*m], array[1..8] of a container, \
                        string[..32], file[..256], a range as -90..90, and finite";

/// The end of the path of the elements of a container. Constraints name the container itself.
const DATA: &str = ".data()";

/// The domain that a constraint gives to an argument.
#[derive(Debug, Clone, PartialEq)]
enum ConstraintDomain {
    /// Number of elements.
    Array(usize),
    /// Range of the number of elements of a container.
    Between(Range),
    /// Number of elements as a rule over integers of the input.
    Following(Rule),
    /// Maximum number of characters of a string, without its terminator.
    Text(usize),
    /// The name of a file; the value is the maximum number of characters of the file.
    File(usize),
    /// Range of a number.
    Numbers(Range),
}

/// One constraint on one argument.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgConstraint {
    path: String,
    domain: ConstraintDomain,
}

impl ArgConstraint {
    /// Parses `NAME: DOMAIN`.
    ///
    /// # Errors
    /// The text is no constraint. The message lists the possible ones.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (path, domain) = text.split_once(':').ok_or_else(|| {
            format!("`{text}` is not a constraint on an argument; write NAME: DOMAIN, for example `a: array[10]`")
        })?;
        let path = without_spaces(path);
        if path.is_empty() {
            return Err(format!("`{text}` names no argument; write for example `a: array[10]`"));
        }
        let domain = domain.trim();
        let parsed = if let Some(size) = within(domain, "array") {
            Self::array(size)?
        } else if let Some(size) = within(domain, "string") {
            Self::up_to(size).map(ConstraintDomain::Text)
        } else if let Some(size) = within(domain, "file") {
            Self::up_to(size).filter(|n| *n < MAX_BLOCK).map(ConstraintDomain::File)
        } else if domain == "finite" || domain.contains("..") {
            Some(ConstraintDomain::Numbers(Range::parse(domain)?))
        } else {
            None
        };
        let domain = parsed.ok_or_else(|| format!("`{domain}` is not a domain; {POSSIBLE}"))?;
        Ok(Self { path, domain })
    }

    fn array(size: &str) -> Result<Option<ConstraintDomain>, String> {
        if size.contains("..") {
            let (first, last) = size.split_once("..").unwrap_or_default();
            let range = if first.is_empty() { format!("0..{last}") } else { size.to_owned() };
            return Range::parse(&range).map(ConstraintDomain::Between).map(Some);
        }
        Ok(match rule(size) {
            Some(Ok(rule)) => Some(ConstraintDomain::Following(rule)),
            Some(Err(n)) => {
                let fits = usize::try_from(n).ok().filter(|n| (1..=MOST_ELEMENTS).contains(n));
                let n = fits.ok_or_else(|| format!("an array has 1 to {MOST_ELEMENTS} elements, not {n}"))?;
                Some(ConstraintDomain::Array(n))
            }
            None => None,
        })
    }

    fn up_to(size: &str) -> Option<usize> {
        let n: usize = size.strip_prefix("..")?.parse().ok()?;
        (1..MOST_ELEMENTS).contains(&n).then_some(n)
    }
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The text in the brackets of `NAME[TEXT]`.
fn within<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    Some(text.strip_prefix(name)?.trim_start().strip_prefix('[')?.strip_suffix(']')?.trim())
}

/// Parses the size of an array: a rule (`Ok`), or a number (`Err`). `None` if it is neither.
fn rule(text: &str) -> Option<Result<Rule, i64>> {
    let text = without_spaces(text);
    // The last sign that is not part of `->`.
    let sign =
        text.char_indices().rfind(|(i, c)| *i > 0 && (*c == '+' || *c == '-' && !text[i + 1..].starts_with('>')));
    let (product, plus) = match sign {
        Some((at, _)) => (&text[..at], text[at..].parse().ok()?),
        None => (&text[..], 0),
    };
    let factors: Vec<&str> = match product.strip_prefix('*') {
        // The integer that a pointer leads to.
        Some(_) => vec![product],
        None => product.split('*').collect(),
    };
    let number = |factor: &str| factor.parse::<i64>().ok();
    match factors[..] {
        [n] if number(n).is_some() => Some(Err(number(n)?.checked_add(plus)?)),
        [n] if is_path(n) => Some(Ok(Rule::Linear(n.to_owned(), 1, plus))),
        [a, b] if is_path(a) && is_path(b) => Some(Ok(Rule::Product(a.to_owned(), b.to_owned(), plus))),
        [a, b] => {
            let (times, n) = number(a).map(|times| (times, b)).or_else(|| Some((number(b)?, a)))?;
            (times > 0 && is_path(n)).then(|| Ok(Rule::Linear(n.to_owned(), times, plus)))
        }
        _ => None,
    }
}

/// Whether the text can be the path of an argument: `n`, `s->n`, `s.rows[0]`, `*n`.
fn is_path(text: &str) -> bool {
    let text = text.strip_prefix('*').unwrap_or(text);
    let is_part = |c: char| c.is_alphanumeric() || "_.[]->()".contains(c);
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(is_part)
}

/// The constraints on the arguments of one function.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArgConstraints {
    texts: Vec<String>,
    sizes: Sizes,
    strings: BTreeSet<String>,
    files: BTreeMap<String, usize>,
    ranges: BTreeMap<String, Range>,
}

impl ArgConstraints {
    /// Parses all constraints.
    ///
    /// # Errors
    /// A text is no constraint, or two constraints contradict each other.
    pub fn parse(statements: &[String]) -> Result<Self, String> {
        let mut all = Self { texts: statements.to_vec(), ..Self::default() };
        for text in statements {
            let ArgConstraint { path, domain } = ArgConstraint::parse(text)?;
            let path = any_index(&path);
            let twice = || format!("`{text}` contradicts an earlier constraint on `{path}`");
            let (capacity, length) = match domain {
                ConstraintDomain::Numbers(range) => {
                    let known = all.ranges.insert(path.clone(), range.clone());
                    if known.is_some_and(|known| known != range) {
                        return Err(twice());
                    }
                    continue;
                }
                ConstraintDomain::Between(range) => {
                    // The number of elements of a container is a number of the input.
                    let known = all.ranges.insert(format!("{path}.size()"), range.clone());
                    if known.is_some_and(|known| known != range) || all.sizes.contains_key(&path) {
                        return Err(twice());
                    }
                    continue;
                }
                ConstraintDomain::File(n) => {
                    let known = all.files.insert(path.clone(), n);
                    if known.is_some_and(|known| known != n) || all.sizes.contains_key(&path) {
                        return Err(twice());
                    }
                    continue;
                }
                ConstraintDomain::Array(n) => (n, Rule::Full),
                ConstraintDomain::Following(rule) => (0, rule),
                ConstraintDomain::Text(n) => {
                    all.strings.insert(path.clone());
                    (n + 1, Rule::Full)
                }
            };
            if all.files.contains_key(&path) {
                return Err(twice());
            }
            // The code and the probing decide whether the block is a result.
            let size = Size { capacity, length, origin: Origin::Given, is_output: true, is_needed: false };
            let is_string = all.strings.contains(&path);
            let known = all.sizes.insert(path.clone(), size.clone());
            if known.is_some_and(|known| {
                known != size
                    || is_string
                        != matches!(ArgConstraint::parse(text), Ok(s) if matches!(s.domain, ConstraintDomain::Text(_)))
            }) {
                return Err(twice());
            }
        }
        Ok(all)
    }

    /// The constraints as the user wrote them.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The size of a block with elements of `stride` bytes. A size that depends on integers has a capacity of `bytes`,
    /// or the capacity that the ranges of the integers require.
    pub(super) fn size(&self, path: &str, stride: usize, bytes: usize) -> Option<Size> {
        let mut size = self.sizes.get(path)?.clone();
        if size.capacity > 0 {
            return Some(size);
        }
        let most = |name: &str| self.range_of(name).and_then(Range::greatest_integer);
        let needed = match &size.length {
            Rule::Linear(n, times, plus) => most(n).map(|n| n.saturating_mul(*times).saturating_add(*plus)),
            Rule::Product(a, b, plus) => most(a).zip(most(b)).map(|(a, b)| a.saturating_mul(b).saturating_add(*plus)),
            Rule::Full => None,
        };
        let room = (bytes / stride).max(1);
        size.capacity = needed.map_or(room, |n| usize::try_from(n).unwrap_or(1).clamp(1, MOST_ELEMENTS));
        Some(size)
    }

    /// Whether characters may be a string: not if a constraint declares them as an array.
    pub(super) fn may_be_string(&self, path: &str) -> bool {
        !self.sizes.contains_key(path) || self.strings.contains(path)
    }

    /// Whether a constraint declares a string.
    pub(super) fn is_string(&self, path: &str) -> bool {
        self.strings.contains(path)
    }

    /// The largest integer that a constraint allows at this path.
    pub(super) fn greatest(&self, path: &str) -> Option<usize> {
        usize::try_from(self.range_of(path).and_then(Range::greatest_integer)?).ok()
    }

    /// Whether the text behind a pointer may be the name of a file: not if a constraint gives its size.
    pub(super) fn may_be_file(&self, path: &str) -> bool {
        !self.sizes.contains_key(&any_index(path))
    }

    /// Maximum number of characters of the file whose name the pointer leads to; `None` if no constraint declares a
    /// file.
    pub(super) fn file(&self, path: &str) -> Option<usize> {
        self.files.get(&any_index(path)).copied()
    }

    /// The range of the number at this path, or of the array that contains the number.
    fn range_of(&self, path: &str) -> Option<&Range> {
        let path = any_index(path);
        let array = path.strip_suffix("[]").or_else(|| path.strip_prefix('*'));
        self.ranges.get(&path).or_else(|| self.ranges.get(array?))
    }

    /// The domain of the number at a path; [`apply_constraints`] has checked that it exists.
    pub(crate) fn domain(&self, path: &str, kind: Kind) -> Option<Domain> {
        if self.ranges.is_empty() {
            return None;
        }
        self.range_of(path)?.domain(kind).ok()
    }
}

/// Applies constraints to the arguments of the function.
///
/// # Errors
/// A sentence: a constraint cannot be parsed, names no argument of the function, or does not fit the argument.
pub fn apply_constraints(target: &mut Target, function: usize, statements: &[String]) -> Result<(), String> {
    if statements.is_empty() {
        return Ok(());
    }
    let constraints = ArgConstraints::parse(statements)?;
    let f = &mut target.functions[function];
    if f.is_harness() {
        return Err(format!("`{}` takes bytes; constraints apply to named arguments", f.name));
    }
    f.constraints = Rc::new(constraints.clone());
    let f = &target.functions[function];
    let model = build(target, f, &Sizes::new());
    let inputs = Inputs::of(f, model.as_ref().ok().filter(|m| m.can_be_given(f)));
    for (path, size) in &constraints.sizes {
        if let Err(why) = &model {
            return Err(format!("the size of `{path}` cannot be chosen: {why}"));
        }
        inputs.check_block(f, path, constraints.strings.contains(path))?;
        inputs.check_rule(f, &size.length)?;
    }
    for path in constraints.files.keys() {
        inputs.check_file(f, path)?;
    }
    for (path, range) in &constraints.ranges {
        inputs.check_range(f, path, range)?;
    }
    Ok(())
}

/// The inputs that constraints can refer to.
struct Inputs {
    /// Arrays and strings, and whether their elements are characters.
    blocks: Vec<(String, bool)>,
    numbers: Vec<(String, Kind)>,
}

impl Inputs {
    fn of(f: &Function, model: Option<&Model>) -> Self {
        let Some(model) = model else {
            let numbers = f.inputs().filter_map(|p| Some((p.name.clone(), p.kind?))).collect();
            return Self { blocks: Vec::new(), numbers };
        };
        let is_char = |of: usize| model.types[of].has(penfuzz_abi::type_flag::CHAR);
        let is_object = |of: usize| matches!(model.types[of].form, Form::Library(_));
        // The size of a variable is that of its declaration.
        let sized = model.blocks.iter().enumerate().skip(1).filter(|(i, _)| model.global_of(*i).is_none());
        let blocks = sized.filter(|(_, b)| !is_object(b.element)).map(|(_, b)| {
            let path = any_index(&b.path);
            (path.strip_suffix(DATA).map(str::to_owned).unwrap_or(path), is_char(b.element))
        });
        let blocks = blocks.collect();
        let kind = |index: usize| model.layout.slots()[index].kind;
        let numbers = model.numbers.iter().map(|(path, index)| (any_index(path), kind(*index))).collect();
        Self { blocks, numbers }
    }

    fn numbers_at<'a>(&'a self, path: &'a str) -> impl Iterator<Item = Kind> + 'a {
        let is_at = move |known: &str| {
            known == path || known.strip_suffix("[]") == Some(path) || known.strip_prefix('*') == Some(path)
        };
        self.numbers.iter().filter(move |(known, _)| is_at(known)).map(|(_, kind)| *kind)
    }

    fn check_file(&self, f: &Function, path: &str) -> Result<(), String> {
        match self.blocks.iter().find(|(known, _)| known == path) {
            Some((_, true)) => Ok(()),
            None if self.numbers_at(path).next().is_none() => Err(self.unknown(f, path)),
            _ => Err(format!("`{path}` is not a file name: it does not point to characters")),
        }
    }

    fn check_block(&self, f: &Function, path: &str, is_string: bool) -> Result<(), String> {
        match self.blocks.iter().find(|(known, _)| known == path) {
            Some((_, is_char)) if is_string && !is_char => {
                Err(format!("`{path}` is not a string: it does not point to characters"))
            }
            Some(_) => Ok(()),
            None if self.numbers_at(path).next().is_some() => {
                Err(format!("`{path}` is a number; only memory behind a pointer has a size"))
            }
            None => Err(self.unknown(f, path)),
        }
    }

    fn check_rule(&self, f: &Function, rule: &Rule) -> Result<(), String> {
        let names = match rule {
            Rule::Full => vec![],
            Rule::Linear(n, ..) => vec![n],
            Rule::Product(a, b, _) => vec![a, b],
        };
        let is_integer = |name: &str| self.numbers_at(&any_index(name)).any(|kind| !kind.is_float());
        let Some(wrong) = names.into_iter().find(|name| !is_integer(name)) else { return Ok(()) };
        let integers = self.numbers.iter().filter(|(path, kind)| !kind.is_float() && !path.contains('['));
        let known: Vec<&str> = integers.map(|(path, _)| path.as_str()).take(5).collect();
        let which = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        Err(format!("a size depends on `{wrong}`, which is not an integer argument of `{}`; {which}", f.signature()))
    }

    fn check_range(&self, f: &Function, path: &str, range: &Range) -> Result<(), String> {
        let mut kinds = self.numbers_at(path).peekable();
        if kinds.peek().is_none() {
            let leads = self.blocks.iter().any(|(known, _)| known == path);
            return Err(if leads || f.parameters.iter().any(|p| p.name == path) {
                format!("`{path}` is not a number of the input; name one, for example the member `s->x`")
            } else {
                self.unknown(f, path)
            });
        }
        kinds.try_for_each(|kind| range.domain(kind).map(|_| ()).map_err(|why| format!("`{path}` {why}")))
    }

    fn unknown(&self, f: &Function, path: &str) -> String {
        let paths = self.blocks.iter().map(|b| &b.0).chain(self.numbers.iter().map(|n| &n.0)).map(String::as_str);
        let all: Vec<&str> = f.parameters.iter().map(|p| p.name.as_str()).chain(paths).collect();
        format!("`{}` has no argument `{path}`; {}", f.signature(), names::suggest_names(all.into_iter(), path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> ConstraintDomain {
        ArgConstraint::parse(text).unwrap_or_else(|why| panic!("{text}: {why}")).domain
    }

    #[test]
    fn sizes_are_numbers_or_rules() {
        let linear = |n: &str, times, plus| ConstraintDomain::Following(Rule::Linear(n.to_owned(), times, plus));
        assert_eq!(parsed("a: array[10]"), ConstraintDomain::Array(10));
        assert_eq!(parsed("a:array[ n ]"), linear("n", 1, 0));
        assert_eq!(parsed("a: array[n+1]"), linear("n", 1, 1));
        assert_eq!(parsed("a: array[2*n - 3]"), linear("n", 2, -3));
        assert_eq!(parsed("a: array[s->n]"), linear("s->n", 1, 0));
        assert_eq!(parsed("a: array[s->n-1]"), linear("s->n", 1, -1));
        assert_eq!(
            parsed("s->data: array[rows * cols]"),
            ConstraintDomain::Following(Rule::Product("rows".to_owned(), "cols".to_owned(), 0))
        );
        assert_eq!(parsed("s: string[..32]"), ConstraintDomain::Text(32));
    }

    #[test]
    fn unknown_domains_are_errors_that_list_the_possible_ones() {
        for text in ["a: list", "a: array", "a: array[]", "a: array[n+m]", "a: array[n*m*k]", "s: string[32]", "a:"] {
            let why = ArgConstraint::parse(text).expect_err(text);
            assert!(why.contains("array[n*m]") && why.contains("finite"), "{text}: {why}");
        }
        for text in ["a", ": finite"] {
            assert!(ArgConstraint::parse(text).expect_err(text).contains("a: array[10]"), "{text}");
        }
        assert!(ArgConstraint::parse("a: array[0]").expect_err("no element").contains("1 to 65536"));
    }

    #[test]
    fn statements_about_one_argument_must_agree() {
        let constraints =
            |texts: &[&str]| ArgConstraints::parse(&texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        assert!(constraints(&["a: array[3]", "a: 0..1", "n: 1..8"]).is_ok());
        assert!(constraints(&["a: array[3]", "a: array[4]"]).is_err_and(|why| why.contains("contradicts")));
        assert!(constraints(&["a: string[..3]", "a: array[4]"]).is_err_and(|why| why.contains("contradicts")));
        assert!(constraints(&["x: 0..1", "x: finite"]).is_err_and(|why| why.contains("contradicts")));
    }

    #[test]
    fn the_room_follows_the_range_of_the_integer() {
        let constraints =
            ArgConstraints::parse(&["a: array[2*n+1]".to_owned(), "n: 1..8".to_owned(), "b: array[m]".to_owned()]);
        let constraints = constraints.expect("statements");
        assert_eq!(constraints.size("a", 8, 1024).map(|s| s.capacity), Some(17));
        assert_eq!(constraints.size("b", 8, 1024).map(|s| s.capacity), Some(128), "as many as there are bytes for");
        assert_eq!(constraints.size("c", 8, 1024), None);
    }
}
