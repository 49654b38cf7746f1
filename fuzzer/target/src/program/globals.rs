//! Variables with static storage duration as inputs: which of them a function reaches, and which of those a test can
//! set.

use core::ffi::{CStr, c_char};

use penfuzz_abi::{self as abi, type_kind, variable_flag, variable_use};

use super::{Function, Target, names, state};

/// A variable that a function reaches.
#[derive(Debug, Clone)]
pub struct Global {
    /// Name in the source, with its namespaces: `ns::limit`.
    pub name: String,
    /// Whether the function or a callee may read it before it is written.
    pub is_read: bool,
    /// Whether the function or a callee may write it.
    pub is_written: bool,
    record: &'static abi::Variable,
}

impl Global {
    fn new(record: &'static abi::Variable, uses: u32) -> Self {
        let has = |bit| uses & bit != 0;
        let name = format!("{}{}", text(record.scope), text(record.name));
        Self { name, is_read: has(variable_use::READ), is_written: has(variable_use::WRITE), record }
    }

    /// The address of the variable.
    #[must_use]
    pub fn address(&self) -> *mut u8 {
        self.record.address.cast()
    }

    /// Size in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.record.size as usize
    }

    /// Its type; null without debug information.
    pub(crate) const fn shape(&self) -> *const abi::Type {
        self.record.variable_type
    }

    /// The current contents.
    pub(crate) fn content(&self) -> Box<[u8]> {
        // SAFETY: a variable of the loaded file with its size; no code of the target runs now.
        unsafe { core::slice::from_raw_parts(self.address(), self.size()) }.into()
    }

    /// Is it a number, or an array or a structure of numbers only?
    fn is_plain(&self) -> bool {
        is_plain(self.shape(), 0)
    }

    /// Why no test of `f` can set it, as the end of a sentence about it; `None` if a test can.
    fn obstacle(&self, target: &Target, f: &Function) -> Option<String> {
        let v = self.record;
        let has = |flag| v.flags & flag != 0;
        let file = text(v.file);
        if has(variable_flag::CONSTANT) {
            Some("is a constant".to_owned())
        } else if has(variable_flag::THREAD_LOCAL) {
            Some("is thread-local: each thread has its own".to_owned())
        } else if has(variable_flag::LOCAL) {
            Some("is declared in a function, and only that function can access it".to_owned())
        } else if v.variable_type.is_null() || v.address.is_null() {
            Some("has no debug information: compile with -g".to_owned())
        } else if has(variable_flag::STATIC) && text(v.unit) != unit_of(f) {
            Some(format!("is static in {file}: a test of `{}` cannot access it", f.name))
        } else if text(v.unit) != unit_of(f) && !is_declared_beside(target, f, v) {
            Some(format!("is in {file}, and {} does not declare it: a test of `{}` cannot access it", f.file, f.name))
        } else {
            None
        }
    }
}

/// The variables that `f` reaches and that a test of it can set, ordered by file and line.
#[must_use]
pub fn candidates(target: &Target, f: &Function) -> Vec<Global> {
    let can_be_set =
        |g: &Global| g.obstacle(target, f).is_none() && !names::is_of_library(&g.name, &text(g.record.file));
    reached(target, f).into_iter().filter(can_be_set).collect()
}

/// The default inputs of a function without other inputs: of the variables that it reaches, those that consist of
/// numbers. Variables that it only writes are included, as results. Empty if the function reads none of them. If an
/// input makes several calls, variables that the function also writes do not count as read, because their values come
/// from the calls before.
#[must_use]
pub fn default_inputs(target: &Target, f: &Function) -> Vec<Global> {
    if f.is_harness() || f.is_program() || f.is_of_start() {
        return Vec::new();
    }
    let all: Vec<_> = candidates(target, f).into_iter().filter(Global::is_plain).collect();
    let is_input = |g: &Global| g.is_read && !(f.calls > 1 && g.is_written);
    if all.iter().any(is_input) { all } else { Vec::new() }
}

/// Finds the variable of this name for inputs of `f`.
///
/// # Errors
/// One sentence for the user: `f` reaches no such variable, or no test can set it.
pub fn named(target: &Target, f: &Function, name: &str) -> Result<Global, String> {
    let all = reached(target, f);
    let is_named = |g: &&Global| names::is_name_of(name, &g.name);
    let mut found: Vec<&Global> = all.iter().filter(is_named).collect();
    // Several functions may have a local variable of this name.
    if found.len() > 1 {
        found.retain(|g| g.obstacle(target, f).is_none());
    }
    match found[..] {
        [one] => match one.obstacle(target, f) {
            None => Ok(one.clone()),
            Some(why) => Err(format!("--global: `{name}` {why}; {}", suggestion(target, f, name))),
        },
        [] => Err(unreached(target, f, name)),
        _ => Err(format!("--global: there are several variables `{name}`; give one with its namespace")),
    }
}

fn unreached(target: &Target, f: &Function, name: &str) -> String {
    let known = target.variables().map(|v| Global::new(v, 0)).find(|g| names::is_name_of(name, &g.name));
    let why = match known {
        None => format!("there is no variable `{name}` (a constant may have been optimized away)"),
        Some(g) if g.record.flags & variable_flag::CONSTANT != 0 => format!("`{name}` is a constant"),
        Some(g) if g.record.flags & variable_flag::THREAD_LOCAL != 0 => {
            format!("`{name}` is thread-local: each thread has its own")
        }
        Some(_) => format!("`{}` does not use `{name}`", f.name),
    };
    format!("--global: {why}; {}", suggestion(target, f, name))
}

fn suggestion(target: &Target, f: &Function, name: &str) -> String {
    let all = candidates(target, f);
    if all.is_empty() {
        return format!("`{}` uses no variable that --global can name", f.name);
    }
    names::suggest_names(all.iter().map(|g| g.name.as_str()), name)
}

/// The variables that `f` and the functions called before it refer to, directly or through callees, ordered by file and
/// line.
fn reached(target: &Target, f: &Function) -> Vec<Global> {
    let mut all: Vec<_> = state::variables_of(target, f).into_iter().map(|(v, uses)| Global::new(v, uses)).collect();
    all.sort_by_key(|g| (text(g.record.file), g.record.line, g.name.clone()));
    all
}

fn unit_of(f: &Function) -> String {
    f.raw().map(|record| text(record.unit)).unwrap_or_default()
}

/// Is the variable declared in the translation unit of `f`? It is if something there refers to it.
fn is_declared_beside(target: &Target, f: &Function, v: &'static abi::Variable) -> bool {
    let unit = unit_of(f);
    let functions = target.records().map(|f| (f.unit, f.references));
    let all = functions.chain(target.variables().map(|v| (v.unit, v.references)));
    all.filter(|(own, _)| text(*own) == unit).any(|(_, references)| {
        // SAFETY: null, or a record of the loaded file with its arrays.
        let Some(r) = (unsafe { references.as_ref() }) else { return false };
        // SAFETY: as above.
        (0..r.n_variables as usize).any(|i| unsafe { core::ptr::eq(*r.variables.add(i), v) })
    })
}

fn is_plain(record: *const abi::Type, depth: usize) -> bool {
    const DEEPEST: usize = 16;
    // SAFETY: null, or a constant of the loaded file; so is what it leads to.
    let Some(t) = (unsafe { record.as_ref() }) else { return false };
    match t.kind {
        type_kind::NUMBER => true,
        type_kind::ARRAY => t.count > 0 && is_plain(t.target, depth + 1),
        type_kind::STRUCT | type_kind::UNION if depth < DEEPEST && !t.members.is_null() => {
            // SAFETY: an array of the loaded file with its length.
            let members = unsafe { core::slice::from_raw_parts(t.members, t.n_members as usize) };
            members.iter().all(|m| is_plain(m.member_type, depth + 1))
        }
        _ => false,
    }
}

fn text(p: *const c_char) -> String {
    // SAFETY: null, or a constant of the loaded file.
    if p.is_null() { String::new() } else { unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned() }
}
