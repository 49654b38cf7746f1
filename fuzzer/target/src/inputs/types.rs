//! The types of a function's parameters, from the tables of the target file.

use std::{collections::HashMap, ffi::CStr};

use penfuzz_abi::{self as abi, type_flag, type_kind};
use penfuzz_mutators::view::Kind;

use super::{
    library::{self, Class},
    voids::Casts,
};
use crate::program::{Target, function::kind_of};

/// Maximum number of members of a union that an input chooses from.
const MAX_ALTERNATIVES: usize = 16;

/// Index of a type in [`Types`].
pub type TypeId = usize;

/// The representation of a number in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// The same as in an input.
    Plain(Kind),
    /// `_Float16`. An input has its 16 bits.
    F16,
    /// `long double` of x86. An input has a `double`, and perhaps further bits ([`super::extended`]).
    F80,
    /// `__float128`. An input has a `double`.
    F128,
    /// An integer of 128 bits. An input has two integers of 64 bits, the lower one first.
    Wide {
        /// Whether the whole integer is signed.
        signed: bool,
    },
}

/// The form of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// A number or an enumeration.
    Number(Number),
    /// A pointer or a reference.
    Pointer(TypeId),
    /// An array; 0 elements if the declaration does not give their number.
    Array(TypeId, usize),
    /// A structure or a class.
    Struct(Vec<Member>),
    /// An object of the C++ library.
    Library(Class),
    /// A union.
    Union(Vec<Member>),
    /// A function.
    Function(Prototype),
    /// `void`.
    Void,
    /// A type that is declared and nowhere defined.
    Incomplete,
    /// A type that cannot be built from numbers.
    Other,
}

/// The types of a function's result and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype {
    /// The type of the result.
    pub result: TypeId,
    /// The kind of each parameter, and `None` for a pointer. `None` for the list if there is a parameter that is
    /// neither a number of at most 64 bits nor a pointer, or if their number is not fixed.
    pub parameters: Option<Vec<Option<Kind>>>,
}

/// A member of a structure or union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The name; empty if the member has none.
    pub name: String,
    /// Its type.
    pub of: TypeId,
    /// Offset from the start, in bits.
    pub offset: usize,
    /// Number of bits of a bit-field; 0 for other members.
    pub bits: usize,
    /// Whether it is a pointer that the program compares with null.
    pub nullable: bool,
}

/// A type without typedefs and qualifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// The name in C notation; empty if the type has none.
    pub name: String,
    /// The form of the type.
    pub form: Form,
    /// Size in bytes.
    pub size: usize,
    /// Flags: bits of [`type_flag`].
    pub flags: u32,
    /// Names and values of the enumerators, if it is an enumeration.
    pub enumerators: Vec<(String, i64)>,
    /// Whether the translation unit of the function only declares the type, and another one defines it.
    pub is_foreign: bool,
}

impl Type {
    /// Whether the type has this flag, one of [`type_flag`].
    #[must_use]
    pub const fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// The enumerator with this value.
    #[must_use]
    pub fn enumerator(&self, bits: u64) -> Option<String> {
        enumerator(&self.enumerators, self.size, bits)
    }

    /// Whether it is a complex number.
    #[must_use]
    pub const fn is_complex(&self) -> bool {
        self.has(type_flag::COMPLEX)
    }
}

/// The types that the parameters of one function lead to.
#[derive(Debug, Clone, Default)]
pub struct Types {
    all: Vec<Type>,
}

impl Types {
    /// Adds the type of a byte, for untyped memory.
    pub(super) fn add_byte(&mut self) -> TypeId {
        self.add_u8("unsigned char", 0)
    }

    /// Adds the type of a character, for texts that no parameter leads to.
    pub(super) fn add_character(&mut self) -> TypeId {
        self.add_u8("char", type_flag::CHAR)
    }

    /// Adds the type of numbers of this kind, with a name of C.
    pub(super) fn add_kind(&mut self, kind: Kind, name: &str) -> TypeId {
        let form = Form::Number(Number::Plain(kind));
        self.all.push(Type {
            name: name.to_owned(),
            form,
            size: kind.size(),
            flags: 0,
            enumerators: Vec::new(),
            is_foreign: false,
        });
        self.all.len() - 1
    }

    /// The member of a union whose value an input has: the largest. Of several, it is one without bit-fields, because
    /// bits between bit-fields have no name. If none is a pointer, it is then an integer: its values come as close to
    /// those of any other member as the other member's own.
    #[must_use]
    pub fn of_union<'m>(&self, members: &'m [Member]) -> Option<&'m Member> {
        self.largest(members.iter())
    }

    fn largest<'m>(&self, members: impl Iterator<Item = &'m Member> + Clone) -> Option<&'m Member> {
        let is_pointer = |m: &Member| matches!(self[m.of].form, Form::Pointer(_));
        let has_pointers = members.clone().any(|m| self.any_member(m, &is_pointer));
        members.max_by_key(|m| {
            let is_exact = |kind: Kind| !has_pointers && !kind.is_float() && kind != Kind::Bool;
            let is_integer = matches!(self[m.of].form, Form::Number(Number::Plain(kind)) if is_exact(kind));
            (self[m.of].size, !self.any_member(m, &|m| m.bits > 0), is_integer)
        })
    }

    /// The members of a union between which an input chooses: if members contain pointers, each of those with another
    /// type, after the largest of the other members. Else only the member of [`Types::of_union`].
    #[must_use]
    pub fn alternatives<'m>(&self, members: &'m [Member]) -> Vec<&'m Member> {
        let is_pointer = |m: &Member| matches!(self[m.of].form, Form::Pointer(_));
        // These own memory, or cannot be built.
        let is_refused = |m: &Member| matches!(self[m.of].form, Form::Library(_) | Form::Other | Form::Incomplete);
        let (pointers, numbers): (Vec<_>, Vec<_>) = members.iter().partition(|m| self.any_member(m, &is_pointer));
        if pointers.is_empty() || members.iter().any(|m| self.any_member(m, &is_refused)) {
            return self.of_union(members).into_iter().collect();
        }
        let mut all: Vec<_> = self.largest(numbers.into_iter()).into_iter().collect();
        for m in pointers {
            if all.iter().all(|known| known.of != m.of) {
                all.push(m);
            }
        }
        all.truncate(MAX_ALTERNATIVES);
        all
    }

    /// Whether this holds for a member or for any member of it.
    fn any_member(&self, m: &Member, holds: &dyn Fn(&Member) -> bool) -> bool {
        let inner = match &self[m.of].form {
            Form::Struct(inner) | Form::Union(inner) => inner.as_slice(),
            _ => &[],
        };
        holds(m) || inner.iter().any(|m| self.any_member(m, holds))
    }

    fn add_u8(&mut self, name: &str, flags: u32) -> TypeId {
        let form = Form::Number(Number::Plain(Kind::U8));
        self.all.push(Type { name: name.to_owned(), form, size: 1, flags, enumerators: Vec::new(), is_foreign: false });
        self.all.len() - 1
    }
}

impl core::ops::Index<TypeId> for Types {
    type Output = Type;

    fn index(&self, id: TypeId) -> &Type {
        &self.all[id]
    }
}

/// The definitions of structures in all translation units, by name.
type Definitions = HashMap<String, *const abi::Type>;

/// Reads types, each once.
pub(crate) struct Reader<'a> {
    target: &'a Target,
    /// Collected when the first type lacks its definition.
    definitions: Option<Definitions>,
    /// The types that `void *` members lead to; with `None` they lead to bytes.
    casts: Option<Casts<'a>>,
    known: HashMap<*const abi::Type, TypeId>,
    pub types: Types,
}

impl<'a> Reader<'a> {
    /// Creates a reader. `casts` has the `void *` members as the code of the function uses them.
    pub fn new(target: &'a Target, casts: Option<Casts<'a>>) -> Self {
        Self { target, definitions: None, casts, known: HashMap::new(), types: Types::default() }
    }

    /// The type of a record; `None` if the record is null.
    pub fn read(&mut self, record: *const abi::Type) -> Option<TypeId> {
        if record.is_null() {
            return None;
        }
        if let Some(known) = self.known.get(&record) {
            return Some(*known);
        }
        // SAFETY: the records of the loaded file are constants with the layout of the ABI.
        let raw = unsafe { &*record };
        let name = text(raw.name);
        if raw.kind == type_kind::INCOMPLETE
            && let Some(whole) = self.definition(&name)
        {
            let first = self.types.all.len();
            let id = self.read(whole)?;
            self.types.all[first..].iter_mut().for_each(|t| t.is_foreign = true);
            self.known.insert(record, id);
            return Some(id);
        }
        let id = self.types.all.len();
        self.known.insert(record, id);
        // Added before the types that it leads to, because a list leads to itself.
        self.types.all.push(Type {
            name,
            form: Form::Other,
            size: raw.size as usize,
            flags: raw.flags,
            enumerators: enumerators(raw),
            is_foreign: false,
        });
        self.types.all[id].form = self.form(raw);
        Some(id)
    }

    fn form(&mut self, raw: &abi::Type) -> Form {
        match raw.kind {
            type_kind::NUMBER => number_of(raw.number).map_or(Form::Other, Form::Number),
            type_kind::POINTER => self.read(raw.target).map_or(Form::Other, |to| Form::Pointer(self.pointee(to))),
            type_kind::ARRAY => self.read(raw.target).map_or(Form::Other, |t| Form::Array(t, raw.count as usize)),
            type_kind::STRUCT => {
                let members = self.members(raw);
                match library::recognise(&self.types, &text(raw.name), &members) {
                    Some(class) => Form::Library(class),
                    None => Form::Struct(members),
                }
            }
            type_kind::UNION => Form::Union(self.members(raw)),
            type_kind::FUNCTION => self
                .read(raw.target)
                .map_or(Form::Other, |result| Form::Function(Prototype { result, parameters: parameters(raw) })),
            type_kind::VOID => Form::Void,
            type_kind::INCOMPLETE => Form::Incomplete,
            _ => Form::Other,
        }
    }

    /// The type of the elements if a pointer leads to an array of variable size (`double a[n][n]`), whose type has no
    /// size.
    fn pointee(&self, to: TypeId) -> TypeId {
        let t = &self.types[to];
        match t.form {
            Form::Array(element, _) if t.size == 0 && element != to => self.pointee(element),
            _ => to,
        }
    }

    /// The pointer type that the code shows for a `void *` member.
    fn shown(&mut self, structure: &abi::Type, member: &abi::Member) -> Option<TypeId> {
        let pointer = self.casts.as_ref()?.at(structure, member.offset as usize / 8)?;
        // SAFETY: a constant of the loaded file, and so is what it leads to.
        let to = unsafe { (*pointer).target.as_ref() }?;
        let is_open = to.kind == type_kind::INCOMPLETE && self.definition(&text(to.name)).is_none();
        if is_open || to.kind == type_kind::OTHER { None } else { self.read(pointer) }
    }

    fn members(&mut self, raw: &abi::Type) -> Vec<Member> {
        let read = |m: &abi::Member| {
            let declared = self.read(m.member_type)?;
            let is_void =
                matches!(self.types[declared].form, Form::Pointer(to) if matches!(self.types[to].form, Form::Void));
            let shown = if is_void { self.shown(raw, m) } else { None };
            Some(Member {
                name: text(m.name),
                of: shown.unwrap_or(declared),
                offset: m.offset as usize,
                bits: m.bits as usize,
                nullable: m.nullable != 0,
            })
        };
        members_of(raw).iter().filter_map(read).collect()
    }

    /// The record that defines the structure of this name in some translation unit.
    fn definition(&mut self, name: &str) -> Option<*const abi::Type> {
        let target = self.target;
        self.definitions.get_or_insert_with(|| definitions(target)).get(name).copied()
    }
}

fn definitions(target: &Target) -> Definitions {
    let mut found = Definitions::new();
    let mut seen = std::collections::HashSet::new();
    let mut open: Vec<*const abi::Type> = Vec::new();
    for f in target.records() {
        if !f.params.is_null() {
            // SAFETY: parameters of a record of the loaded file.
            let params = unsafe { core::slice::from_raw_parts(f.params, f.n_params as usize) };
            open.extend(params.iter().map(|p| p.shape));
        }
        open.push(f.result_shape);
        if !f.casts.is_null() {
            // SAFETY: likewise.
            let casts = unsafe { core::slice::from_raw_parts(f.casts, f.n_casts as usize) };
            open.extend(casts.iter().map(|c| c.to));
        }
    }
    while let Some(record) = open.pop() {
        if record.is_null() || !seen.insert(record) {
            continue;
        }
        // SAFETY: as in `Reader::read`.
        let raw = unsafe { &*record };
        if matches!(raw.kind, type_kind::STRUCT | type_kind::UNION) {
            found.entry(text(raw.name)).or_insert(record);
        }
        open.push(raw.target);
        if raw.flags & type_flag::ENUM == 0 {
            open.extend(members_of(raw).iter().map(|m| m.member_type));
        }
    }
    found.remove("");
    found
}

/// The numbers of the structure that a pointer type leads to: name, kind, and bytes from its start.
pub(crate) fn numbers_behind(pointer: *const abi::Type) -> Vec<(String, Kind, usize)> {
    // SAFETY: null, or records of the loaded file, which are constants with the layout of the ABI.
    let structure = unsafe { pointer.as_ref().and_then(|pointer| pointer.target.as_ref()) };
    let number = |m: &abi::Member| {
        // SAFETY: as above.
        let of = unsafe { m.member_type.as_ref() }.filter(|of| of.kind == type_kind::NUMBER && m.bits == 0)?;
        match number_of(of.number)? {
            Number::Plain(kind) => Some((text(m.name), kind, m.offset as usize / 8)),
            _ => None,
        }
    };
    structure.map_or_else(Vec::new, |raw| members_of(raw).iter().filter_map(number).collect())
}

fn members_of(raw: &abi::Type) -> &[abi::Member] {
    if raw.members.is_null() {
        return &[];
    }
    // SAFETY: an array of the loaded file with its length.
    unsafe { core::slice::from_raw_parts(raw.members, raw.n_members as usize) }
}

/// The enumerator with this value, if the type is an enumeration.
pub(crate) fn enumerator_of(record: *const abi::Type, bits: u64) -> Option<String> {
    // SAFETY: null, or a record of the loaded file, which is a constant with the layout of the ABI.
    let raw = unsafe { record.as_ref() }?;
    enumerator(&enumerators(raw), raw.size as usize, bits)
}

/// The names and values of the enumerators; empty if the type is no enumeration.
pub(crate) fn enumerators_of(record: *const abi::Type) -> Vec<(String, i64)> {
    // SAFETY: as in `enumerator_of`.
    unsafe { record.as_ref() }.map_or_else(Vec::new, enumerators)
}

/// The enumerator with this value in the lowest `size` bytes.
fn enumerator(all: &[(String, i64)], size: usize, bits: u64) -> Option<String> {
    let unused = u64::BITS - 8 * u32::try_from(size.clamp(1, 8)).unwrap_or(8);
    let found = all.iter().find(|(_, other)| (other.cast_unsigned() ^ bits) << unused == 0);
    found.map(|(name, _)| name.clone())
}

fn parameters(raw: &abi::Type) -> Option<Vec<Option<Kind>>> {
    if raw.flags & type_flag::PROTOTYPE == 0 {
        return None;
    }
    let kind = |m: &abi::Member| {
        // SAFETY: null, or a record of the loaded file, which is a constant with the layout of the ABI.
        let Some(of) = (unsafe { m.member_type.as_ref() }) else { return Some(None) };
        match number_of(of.number) {
            Some(Number::Plain(kind)) if of.kind == type_kind::NUMBER => Some(Some(kind)),
            _ => None,
        }
    };
    members_of(raw).iter().map(kind).collect()
}

fn enumerators(raw: &abi::Type) -> Vec<(String, i64)> {
    if raw.flags & type_flag::ENUM == 0 {
        return Vec::new();
    }
    members_of(raw).iter().map(|m| (text(m.name), m.offset as i64)).collect()
}

fn text(p: *const core::ffi::c_char) -> String {
    if p.is_null() {
        return String::new();
    }
    // SAFETY: a constant of the loaded file.
    unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned()
}

fn number_of(number: u32) -> Option<Number> {
    Some(match number {
        abi::kind::F16 => Number::F16,
        abi::kind::F80 => Number::F80,
        abi::kind::F128 => Number::F128,
        abi::kind::I128 => Number::Wide { signed: true },
        abi::kind::U128 => Number::Wide { signed: false },
        other => Number::Plain(kind_of(other)?),
    })
}
