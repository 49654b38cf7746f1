//! Functions that construct an object: a library offers them if the contents of a structure are private.
//!
//! A *constructor* returns an object in one of these ways:
//! - It returns a pointer to the object: `stack *stack_new(int)`.
//! - It stores a pointer to the object: `int stack_create(stack **out)`.
//! - It initialises memory that it gets: `void pid_init(pid_state_t *s, float kp)`, or a constructor of C++.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::CStr,
};

use penfuzz_abi::{self as abi, type_flag, type_kind};
use serde::{Deserialize, Serialize};

use crate::program::{Function, Target, globals, names};

/// How a constructor returns the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstructionKind {
    /// It returns a pointer to the object.
    Result,
    /// It stores a pointer to the object where this parameter points to.
    Out(usize),
    /// It initialises the memory that this parameter points to.
    InPlace(usize),
}

/// A constructor: a function that creates objects of some type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constructor {
    /// Index of the function in the target.
    pub function: usize,
    /// How it returns the object.
    pub way: ConstructionKind,
}

/// Typical parts of the names of constructors.
const WORDS: [&str; 6] = ["new", "create", "init", "alloc", "open", "make"];

/// The structure or class that a pointer leads to, and whether it must not be written.
pub(super) struct PointeeObject<'a> {
    pub name: &'a CStr,
    pub of: &'a abi::Type,
    pub is_const: bool,
}

/// The structure or class that a pointer leads to; `None` for other types.
pub(super) fn pointee_object<'a>(record: *const abi::Type) -> Option<PointeeObject<'a>> {
    let (to, is_const) = pointee(record)?;
    let is_object = matches!(to.kind, type_kind::STRUCT | type_kind::UNION | type_kind::INCOMPLETE | type_kind::OTHER);
    (is_object && !to.name.is_null()).then(|| PointeeObject {
        // SAFETY: a constant of the loaded file.
        name: unsafe { CStr::from_ptr(to.name) },
        of: to,
        is_const,
    })
}

fn pointee<'a>(record: *const abi::Type) -> Option<(&'a abi::Type, bool)> {
    // SAFETY: null, or a constant of the loaded file, which stays loaded; so is what it leads to.
    let pointer = unsafe { record.as_ref() }.filter(|r| r.kind == type_kind::POINTER)?;
    // SAFETY: as above.
    let to = unsafe { pointer.target.as_ref() }?;
    Some((to, pointer.flags & type_flag::CONST != 0))
}

/// Whether `record` is a pointer to a function.
pub(super) fn is_callback(record: *const abi::Type) -> bool {
    pointee(record).is_some_and(|(to, _)| to.kind == type_kind::FUNCTION)
}

/// How `g` constructs objects of the type with this name; `None` if it does not. Functions that initialise memory count
/// only if `in_place` is set, or if they are constructors of C++.
pub(super) fn construction_kind(g: &Function, name: &CStr, in_place: bool) -> Option<ConstructionKind> {
    let is_own = |record| pointee_object(record).is_some_and(|l| l.name == name && !name.is_empty());
    if g.result_pointer().is_some_and(is_own) {
        return Some(ConstructionKind::Result);
    }
    let shapes = g.shapes();
    let is_out =
        |record| pointee(record).is_some_and(|(inner, is_const)| !is_const && is_own(core::ptr::from_ref(inner)));
    if let Some(i) = shapes.iter().position(|s| is_out(s.record)) {
        return Some(ConstructionKind::Out(i));
    }
    let is_abstract = |of: &abi::Type| of.flags & type_flag::ABSTRACT != 0;
    let fills = |record| {
        pointee_object(record).is_some_and(|l| l.name == name && !l.is_const && l.of.size > 0 && !is_abstract(l.of))
    };
    let is_filled = in_place || is_cpp_constructor(g);
    shapes.iter().position(|s| fills(s.record)).filter(|_| is_filled && !name.is_empty()).map(ConstructionKind::InPlace)
}

/// Whether `g` is a constructor of C++, that is, a member function with the name of its class.
pub(super) fn is_cpp_constructor(g: &Function) -> bool {
    let Some(class) = g
        .shapes()
        .first()
        .filter(|_| g.parameters.first().is_some_and(|p| p.name == "this"))
        .and_then(|s| pointee_object(s.record))
    else {
        return false;
    };
    let last = |name: &str| {
        let name = name.split('<').next().unwrap_or(name);
        name.rsplit("::").next().unwrap_or(name).to_owned()
    };
    last(&class.name.to_string_lossy()) == last(&g.name)
}

/// Whether `g` is a base object constructor (C2 in its mangled name): the variant that constructors of derived classes
/// call.
fn is_base_constructor(g: &Function) -> bool {
    g.symbol.contains("C2E") || g.symbol.contains("C2I")
}

/// Whether a test of `f` can call `g`.
fn is_visible(g: &Function, f: &Function) -> bool {
    g.name != "main" && g.symbol != f.symbol && (!g.is_static || g.file == f.file)
}

/// Whether the arguments of `g` besides the object can be built. They may need constructors themselves if `levels` is
/// above 0.
fn can_call(target: &Target, f: &Function, g: &Function, maker: ConstructionKind, name: &CStr, levels: usize) -> bool {
    let own = match maker {
        ConstructionKind::Result => None,
        ConstructionKind::Out(i) | ConstructionKind::InPlace(i) => Some(i),
    };
    let is_fine = |(i, (p, shape)): (usize, (&crate::program::Parameter, &crate::program::function::Shape))| {
        if Some(i) == own {
            return true;
        }
        // SAFETY: null, or a constant of the loaded file.
        let Some(record) = (unsafe { shape.record.as_ref() }) else { return false };
        if p.type_name == "..." || matches!(record.kind, type_kind::OTHER | type_kind::INCOMPLETE) {
            return false;
        }
        let Some(object) = pointee_object(shape.record) else { return true };
        if object.name == name
            || ["struct _IO_FILE", "_IO_FILE", "struct __va_list_tag"]
                .iter()
                .any(|n| object.name.to_bytes() == n.as_bytes())
        {
            return false;
        }
        let is_closed = matches!(object.of.kind, type_kind::OTHER | type_kind::INCOMPLETE);
        !is_closed || levels > 0 && find(target, f, object.name, levels - 1).is_some()
    };
    (g.frame_call().is_some() || g.call().is_some()) && g.parameters.iter().zip(&g.shapes()).enumerate().all(is_fine)
}

/// Finds the function of the target that constructs objects of this type for tests of `f`, the first one by [`rank`].
/// `levels` is the maximum nesting of constructors for the parameters of constructors.
pub(super) fn find(target: &Target, f: &Function, name: &CStr, levels: usize) -> Option<Constructor> {
    let candidate = |(function, g): (usize, &Function)| {
        let way = construction_kind(g, name, false)
            .filter(|_| is_visible(g, f) && !names::is_of_library(&g.name, &g.file))?;
        can_call(target, f, g, way, name, levels).then_some(Constructor { function, way })
    };
    let all = candidates(target, name).iter().map(|i| (*i, &target.functions[*i])).filter_map(candidate);
    all.min_by_key(|maker| rank(&target.functions[maker.function]))
}

/// All functions that construct objects of the type with this name, for callers of `f`: as [`find`], and also those
/// that initialise memory and have a typical name. Static functions and those that take an object of the type to
/// construct another one do not count, nor does `f` if it constructs such objects itself. Those that take text come
/// first: what they parse can become any object.
pub(crate) fn constructors_of(target: &Target, f: &Function, name: &CStr) -> Vec<usize> {
    let kind = |g: &Function| construction_kind(g, name, has_initialiser_name(g));
    if kind(f).is_some_and(|way| way != ConstructionKind::Result) && has_initialiser_name(f) {
        return Vec::new();
    }
    let constructs = |i: &usize| {
        let g = &target.functions[*i];
        let is_callable = |way| can_call(target, f, g, way, name, 1);
        let is_own = g.symbol != f.symbol && !names::is_of_library(&g.name, &g.file);
        is_own && !g.is_static && kind(g).is_some_and(is_callable)
    };
    let mut all: Vec<usize> = candidates(target, name).iter().copied().filter(constructs).collect();
    all.sort_by_cached_key(|i| (!takes_text(&target.functions[*i]), rank(&target.functions[*i])));
    all
}

fn takes_text(g: &Function) -> bool {
    let is_text = |record| pointee(record).is_some_and(|(to, _)| to.flags & type_flag::CHAR != 0);
    g.shapes().iter().any(|shape| is_text(shape.record))
}

/// The order of constructors: those with a typical name first, then those that are no base object constructors, then
/// those with few parameters.
fn rank(g: &Function) -> (bool, bool, usize, String) {
    (!has_constructor_name(g), is_base_constructor(g), g.parameters.len(), g.name.clone())
}

/// Indices of the functions whose results or parameters lead to a type of this name.
fn candidates<'a>(target: &'a Target, name: &CStr) -> &'a [usize] {
    let index = target.constructors.get_or_init(|| {
        let mut index: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (i, g) in target.functions.iter().enumerate() {
            let behind = |record| pointee_object(record).or_else(|| pointee_object(pointee(record)?.0));
            let records = g.shapes().into_iter().map(|s| s.record).chain(g.result_pointer());
            for object in records.filter_map(behind) {
                let all = index.entry(object.name.to_bytes().to_vec()).or_default();
                if all.last() != Some(&i) {
                    all.push(i);
                }
            }
        }
        index
    });
    index.get(name.to_bytes()).map_or(&[], Vec::as_slice)
}

/// The names of the functions that could construct an object that `f` modifies: candidates for `--init`.
#[must_use]
pub fn initialisers(target: &Target, f: &Function) -> Vec<String> {
    let makes = |i: usize| f.constructors().any(|maker| maker == i);
    let mut found: Vec<String> = Vec::new();
    for object in
        f.shapes().iter().filter_map(|s| pointee_object(s.record)).filter(|o| !o.is_const && !is_cpp_constructor(f))
    {
        let one = |i: &&usize| is_initialiser(target, f, &target.functions[**i], object.name) && !makes(**i);
        for i in candidates(target, object.name).iter().filter(one).take(MOST_NAMED) {
            let name = &target.functions[*i].name;
            if !found.contains(name) {
                found.push(name.clone());
            }
        }
    }
    found
}

/// Maximum number of initialisers that are listed for each object.
const MOST_NAMED: usize = 4;

fn has_constructor_name(g: &Function) -> bool {
    let lower = g.name.to_lowercase();
    is_cpp_constructor(g) || WORDS.iter().any(|w| lower.contains(w))
}

/// Whether the name is typical of functions that initialise memory. Those that allocate an object are called `new` too,
/// but so are those that take over a new part: `list_append_new`.
fn has_initialiser_name(g: &Function) -> bool {
    let lower = g.name.to_lowercase();
    is_cpp_constructor(g) || ["init", "create", "open", "setup"].iter().any(|w| lower.contains(w))
}

fn is_initialiser(target: &Target, f: &Function, g: &Function, name: &CStr) -> bool {
    let way = construction_kind(g, name, true)
        .filter(|_| has_constructor_name(g) && is_visible(g, f) && !is_base_constructor(g));
    way.is_some_and(|way| can_call(target, f, g, way, name, 1))
}

/// Options for the calls of an input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// Maximum number of calls of one input, 1 to [`MOST_CALLS`]; `None` means 1.
    #[serde(default, rename = "calls", skip_serializing_if = "Option::is_none")]
    pub most: Option<usize>,
    /// The name or symbol of the function that is called first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<String>,
    /// The names of the variables with static storage duration that are inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globals: Vec<String>,
}

impl Calls {
    /// Whether no option is set.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.most.is_none() && self.init.is_none() && self.globals.is_empty()
    }
}

/// Upper bound of the number of calls of one input.
pub const MOST_CALLS: usize = 32;

/// Applies the options for calls to a function.
///
/// # Errors
/// A sentence: there is no such constructor, it constructs nothing that the function takes, or a variable cannot be an
/// input.
pub fn set_calls(target: &mut Target, function: usize, calls: &Calls) -> Result<(), String> {
    let f = &target.functions[function];
    if !calls.is_nothing() && f.is_harness() {
        return Err(format!("`{}` takes bytes; --calls, --init and --global are for functions with arguments", f.name));
    }
    if !calls.globals.is_empty() && f.is_program() {
        return Err(
            "--global is for functions that a test can call; `main` starts with the variables of a new process"
                .to_owned(),
        );
    }
    let init = calls.init.as_deref().map(|name| named(target, f, name)).transpose()?;
    let most = calls.most.unwrap_or(1).clamp(1, MOST_CALLS);
    let f = &mut target.functions[function];
    (f.calls, f.init) = (most, init);
    let f = &target.functions[function];
    let names: BTreeSet<_> = calls.globals.iter().collect();
    let globals = names.into_iter().map(|name| globals::named(target, f, name)).collect::<Result<_, _>>()?;
    target.functions[function].globals = globals;
    Ok(())
}

/// The constructor that `--init` names.
fn named(target: &Target, f: &Function, name: &str) -> Result<usize, String> {
    let is_named = |g: &Function| names::is_name_of(name, &g.name) || g.symbol == name || g.signature() == name;
    let all: Vec<usize> = (0..target.functions.len()).filter(|i| is_named(&target.functions[*i])).collect();
    let Some(first) = all.first().map(|i| &target.functions[*i]) else {
        let own = target.functions.iter().filter(|g| !names::is_of_library(&g.name, &g.file));
        return Err(format!(
            "--init: there is no function `{name}`; {}",
            names::suggest_names(own.map(|g| g.name.as_str()), name)
        ));
    };
    let objects: Vec<PointeeObject> = f.shapes().iter().filter_map(|s| pointee_object(s.record)).collect();
    let fits = |i: &usize| {
        let g = &target.functions[*i];
        is_visible(g, f) && objects.iter().any(|o| construction_kind(g, o.name, true).is_some())
    };
    let mut fitting: Vec<usize> = all.iter().copied().filter(fits).collect();
    if fitting.len() > 1 && fitting.iter().any(|i| !is_base_constructor(&target.functions[*i])) {
        fitting.retain(|i| !is_base_constructor(&target.functions[*i]));
    }
    match fitting[..] {
        [one] => Ok(one),
        [] => Err(format!("--init: `{}` constructs no object that `{}` takes", first.signature(), f.signature())),
        _ => {
            let symbols: Vec<&str> = fitting.iter().map(|i| target.functions[*i].symbol.as_str()).take(5).collect();
            Err(format!(
                "--init: there are several functions `{name}`; identify one by its symbol: {}",
                symbols.join(", ")
            ))
        }
    }
}
