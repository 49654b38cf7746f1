//! Structures that a test program cannot name, declared again from the debug information: `struct filter_mirror` has
//! the members of `filter` at the same offsets, so its variables have readable initializers.
//!
//! A mirror is needed if the program has no definition of the type (its source is not available), if the type has no
//! name, and in C++ for classes, which have no such initializers. Pointers are `void *`. A type that cannot be declared
//! with the same layout stays an array of bytes.

use std::{collections::BTreeMap, fmt::Write, slice::from_ref};

use penfuzz_report::{
    arg::Arg,
    c_text::{comment, identifier},
    layout::Layout,
    literal::kind_named,
    model::Report,
};

use super::{
    access::{includes_source, is_cxx_program},
    memory::{self, DeclaredAs},
    prologue::c_type,
};

/// C++ keywords that can be member names in C.
const KEYWORDS: [&str; 33] = [
    "and",
    "bool",
    "catch",
    "class",
    "compl",
    "constexpr",
    "delete",
    "explicit",
    "export",
    "false",
    "final",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typename",
    "using",
    "virtual",
    "wchar_t",
    "xor",
];

/// The type of variables with this layout: `struct filter_mirror`, `void *`; `None` if it cannot be declared.
pub(super) fn type_name(report: &Report, index: usize) -> Option<String> {
    let layout = report.signature.layouts.get(index)?;
    if layout.kind == "pointer" {
        return Some("void *".to_owned());
    }
    definition(report, index)?;
    Some(format!("struct {}", tag(report, index)))
}

/// The definitions of the mirrors that the tests use.
pub(super) fn definitions(report: &Report) -> String {
    let args = report.tests.iter().map(|t| &t.args).chain(report.crashes.iter().map(|c| &c.args));
    let memory = args.flatten().flat_map(|a: &Arg| &a.memory);
    let used = memory.filter(|m| memory::declared_as(report, m) == DeclaredAs::Mirror).filter_map(|m| m.layout);
    let result = super::result::mirrored(report);
    let mut known = BTreeMap::new();
    for index in used.chain(result) {
        known.entry(index).or_insert_with(|| definition(report, index).unwrap_or_default());
    }
    let definitions: String = known.into_values().collect();
    let is_pointed_to = includes_source(report) && !is_cxx_program(report) && !definitions.is_empty();
    // Members of the source's structures are pointers to the types that the mirrors replace.
    let pragma = "#pragma GCC diagnostic ignored \"-Wincompatible-pointer-types\"\n";
    if is_pointed_to { format!("\n{pragma}{definitions}") } else { definitions }
}

/// The structure tag: the name of the type, with the index if another type has the same name.
fn tag(report: &Report, index: usize) -> String {
    let own = |layout: &Layout| {
        let name = layout.type_name.trim_start_matches("struct ").trim_start_matches("union ");
        if name.is_empty() { "structure".to_owned() } else { identifier(name) }
    };
    let name = own(&report.signature.layouts[index]);
    let is_taken = report.signature.layouts[..index].iter().any(|l| l.kind != "pointer" && own(l) == name);
    if is_taken { format!("{name}_{index}_mirror") } else { format!("{name}_mirror") }
}

fn definition(report: &Report, index: usize) -> Option<String> {
    let layout = report.signature.layouts.get(index).filter(|l| l.kind == "structure" || l.kind == "union")?;
    let is_cxx = is_cxx_program(report);
    let writer = Writer { is_cxx };
    let unnamed = Layout { name: String::new(), offset: 0, ..layout.clone() };
    let members = match layout.kind.as_str() {
        "union" if is_unnamed_union(&unnamed) => vec![unnamed],
        "union" => vec![layout.largest()?.clone()],
        _ => layout.members.clone(),
    };
    let (body, packed, _) = writer.body(&members, layout.size, 1)?;
    let tag = tag(report, index);
    let packed = if packed { ", packed" } else { "" };
    let shown = match layout.type_name.as_str() {
        "" => "a structure without a name".to_owned(),
        name => comment(name),
    };
    let assert = if is_cxx { "static_assert" } else { "_Static_assert" };
    let mut places = format!("sizeof(struct {tag}) == {}", layout.size);
    for m in flattened(&members).iter().filter(|m| m.bits == 0 && !m.name.is_empty() && m.bytes() != Some(0)) {
        let _ = write!(places, "\n    && __builtin_offsetof(struct {tag}, {}) == {}", m.name, m.offset / 8);
    }
    Some(format!(
        "\n/* The memory of {shown}. */\nstruct __attribute__((may_alias{packed})) {tag} {{\n{body}}};\n\
         {assert}({places}, \"the layout of {tag}\");\n"
    ))
}

/// Returns whether a program in this language can declare the structure so that functions pass and return it by value
/// as they do the original.
pub(super) fn is_passed_alike(layout: &Layout, is_cxx: bool) -> bool {
    fn has_union(layout: &Layout) -> bool {
        layout.kind == "union" || layout.members.iter().any(has_union)
    }
    let body = || Writer { is_cxx }.body(&layout.members, layout.size, 1);
    !has_union(layout) && body().is_some_and(|(_, packed, _)| !packed)
}

/// Maximum size of a type in bytes, and maximum offset of a member in bits.
const LARGEST: usize = 1 << 30;

struct Writer {
    is_cxx: bool,
}

impl Writer {
    /// The members of a structure with a size of `size` bytes, whether it must be packed, and its alignment.
    fn body(&self, members: &[Layout], size: usize, depth: usize) -> Option<(String, bool, usize)> {
        let members = flattened(members);
        if !self.has_names(&members) {
            return None;
        }
        let laid_out = |packed| Place::new(self, packed, depth).all(&members, size);
        match laid_out(false) {
            Some((text, align)) => Some((text, false, align)),
            None => laid_out(true).map(|(text, _)| (text, true, 1)),
        }
    }

    /// Returns whether each member has a unique name that the program can use.
    fn has_names(&self, members: &[Layout]) -> bool {
        let mut seen = std::collections::HashSet::new();
        let is_name = |name: &str| {
            identifier(name) == name
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && !(self.is_cxx && KEYWORDS.contains(&name))
        };
        let names = members.iter().flat_map(|m| if is_unnamed_union(m) { m.members.as_slice() } else { from_ref(m) });
        names.map(|m| &m.name).all(|name| !name.is_empty() && is_name(name) && seen.insert(name))
    }

    /// The declaration of a member, and its alignment.
    fn declaration(&self, m: &Layout, depth: usize) -> Option<(String, usize)> {
        // The report may come from an untrusted source.
        if m.offset > LARGEST || m.bits > 64 || m.bytes()? > LARGEST {
            return None;
        }
        let dimensions: String =
            m.elements.iter().flat_map(|n| ["[".to_owned(), n.to_string(), "]".to_owned()]).collect();
        if m.members.is_empty() {
            let bytes = m.size;
            return Some(match self.number(m) {
                Some((name, align)) => (format!("{name}{}{dimensions}", m.name), align),
                None => (format!("unsigned char {}{dimensions}[{bytes}]", m.name), 1),
            });
        }
        let indent = "  ".repeat(depth);
        if m.kind == "union" {
            let mut body = String::new();
            let mut largest = 1;
            for each in &m.members {
                // An unnamed member cannot be initialized here, and one member must be.
                let (text, align) =
                    self.declaration(each, depth + 1).filter(|_| !each.name.is_empty() && each.bits == 0)?;
                let _ = writeln!(body, "{indent}  {text};");
                largest = largest.max(align);
            }
            let space = if m.name.is_empty() { "" } else { " " };
            let widest = m.largest()?.bytes()?.next_multiple_of(largest);
            return (widest == m.size)
                .then(|| (format!("union {{\n{body}{indent}}}{space}{}{dimensions}", m.name), largest));
        }
        let (body, packed, align) = self.body(&m.members, m.size, depth + 1)?;
        let packed = if packed { " __attribute__((packed))" } else { "" };
        Some((format!("struct{packed} {{\n{body}{indent}}} {}{dimensions}", m.name), align))
    }

    /// The type of a number, as it appears before a name, and its alignment.
    fn number(&self, m: &Layout) -> Option<(String, usize)> {
        let kind = m.kind.as_str();
        let size = match kind {
            "char" => 1,
            "f16" => 2,
            "f80" | "f128" | "i128" | "u128" | "complex f64" => 16,
            "pointer" | "complex f32" => 8,
            kind => kind_named(kind)?.size(),
        };
        if size != m.size {
            return None;
        }
        let text = match kind {
            "bool" if self.is_cxx => "bool",
            "char" => "char",
            "f16" => "_Float16",
            "f80" => "long double",
            "f128" => "__float128",
            "i128" => "__int128",
            "u128" => "unsigned __int128",
            "complex f32" => "_Complex float",
            "complex f64" => "_Complex double",
            "pointer" => return Some(("void *".to_owned(), 8)),
            kind => match c_type(kind, "") {
                Some("float" | "double" | "_Bool") => c_type(kind, "")?,
                Some("void") | None => return None,
                Some(_) => memory::plain_type(kind),
            },
        };
        let align = if m.kind.starts_with("complex") { m.size / 2 } else { m.size };
        Some((format!("{text} "), align))
    }
}

/// Whether a member is a union without a name whose members have names: they can be initialized as its own.
fn is_unnamed_union(m: &Layout) -> bool {
    let is_named = |each: &Layout| !each.name.is_empty() && each.bits == 0;
    m.name.is_empty() && m.kind == "union" && !m.members.is_empty() && m.members.iter().all(is_named)
}

/// The members, in which each unnamed member is replaced by its own members. A union of which some members have no name
/// is replaced by its largest member.
fn flattened(members: &[Layout]) -> Vec<Layout> {
    let mut all = Vec::new();
    for m in members {
        if !m.name.is_empty() || m.members.is_empty() || is_unnamed_union(m) {
            // An empty base class, or an array without elements, takes no space.
            let is_empty = m.name.is_empty() && m.kind == "structure" || m.bytes() == Some(0);
            all.extend((!is_empty).then(|| m.clone()));
            continue;
        }
        let inner = if m.kind == "union" { m.largest().into_iter().cloned().collect() } else { m.members.clone() };
        all.extend(flattened(&inner).into_iter().map(|i| Layout { offset: i.offset.saturating_add(m.offset), ..i }));
    }
    all.sort_by_key(|m| m.offset);
    all
}

/// Computes the offsets of a structure's members by the rules of the System V ABI, and inserts the padding that moves
/// them to their real offsets.
struct Place<'a> {
    writer: &'a Writer,
    packed: bool,
    depth: usize,
    /// Offset of the next member in bits.
    at: usize,
    align: usize,
    paddings: usize,
    text: String,
}

impl<'a> Place<'a> {
    const fn new(writer: &'a Writer, packed: bool, depth: usize) -> Self {
        Self { writer, packed, depth, at: 0, align: 1, paddings: 0, text: String::new() }
    }

    fn all(mut self, members: &[Layout], size: usize) -> Option<(String, usize)> {
        for m in members {
            if m.bits > 0 { self.bit_field(m)? } else { self.member(m)? }
        }
        self.pad_to(size, self.align)?;
        Some((self.text, self.align))
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}{text};", "  ".repeat(self.depth));
    }

    /// Inserts padding up to offset `byte`, where a member with this alignment begins.
    fn pad_to(&mut self, byte: usize, align: usize) -> Option<()> {
        let here = self.at.div_ceil(8);
        if !byte.is_multiple_of(align) || here > byte {
            return None;
        }
        if here.next_multiple_of(align) != byte {
            let n = byte - here;
            let name = format!("unsigned char penfuzz_padding{}[{n}]", self.paddings);
            self.line(&name);
            self.paddings += 1;
        }
        self.at = byte.checked_mul(8)?;
        Some(())
    }

    fn member(&mut self, m: &Layout) -> Option<()> {
        let (text, align) = self.writer.declaration(m, self.depth)?;
        let align = if self.packed { 1 } else { align };
        if !m.offset.is_multiple_of(8) {
            return None;
        }
        self.pad_to(m.offset / 8, align)?;
        self.align = self.align.max(align);
        self.line(&text);
        self.at = self.at.checked_add(m.bytes()?.checked_mul(8)?)?;
        Some(())
    }

    /// Adds a bit-field, which must lie within one unit of its type.
    fn bit_field(&mut self, m: &Layout) -> Option<()> {
        let (text, unit) = self.writer.declaration(m, self.depth).filter(|_| !self.packed && m.elements.is_empty())?;
        let bits = 8 * unit;
        let fits = |at: usize| at % bits + m.bits <= bits;
        let natural = if fits(self.at) { self.at } else { self.at.next_multiple_of(bits) };
        if natural > m.offset || !fits(m.offset) {
            return None;
        }
        if natural < m.offset {
            let gap = m.offset - self.at;
            if self.at % bits + gap > bits {
                return None;
            }
            let type_name = self.writer.number(m)?.0;
            self.line(&format!("{type_name}: {gap}"));
        }
        self.align = self.align.max(unit);
        self.line(&format!("{text} : {}", m.bits));
        self.at = m.offset.checked_add(m.bits)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(name: &str, kind: &str, size: usize, offset: usize) -> Layout {
        Layout { name: name.to_owned(), kind: kind.to_owned(), size, offset: 8 * offset, ..Layout::default() }
    }

    fn structure(name: &str, size: usize, offset: usize, members: Vec<Layout>) -> Layout {
        Layout { members, ..number(name, "structure", size, offset) }
    }

    fn body(members: &[Layout], size: usize) -> Option<(String, bool, usize)> {
        Writer { is_cxx: false }.body(members, size, 1)
    }

    #[test]
    fn padding_leads_to_where_a_member_is() {
        let members = [number("a", "i8", 1, 0), number("b", "f32", 4, 12)];
        let expected = "  signed char a;\n  unsigned char penfuzz_padding0[11];\n  float b;\n";
        assert_eq!(body(&members, 16), Some((expected.to_owned(), false, 4)));
        // The size is larger than that of the members.
        let expected = "  float b;\n  unsigned char penfuzz_padding0[12];\n";
        assert_eq!(body(&[number("b", "f32", 4, 0)], 16), Some((expected.to_owned(), false, 4)));
    }

    #[test]
    fn a_packed_structure_is_packed() {
        let members = [number("a", "i8", 1, 0), number("b", "f64", 8, 1)];
        assert_eq!(body(&members, 9), Some(("  signed char a;\n  double b;\n".to_owned(), true, 1)));
        // The members are too large for the size.
        assert_eq!(body(&members, 8), None);
    }

    #[test]
    fn bit_fields_lie_in_units_of_their_type() {
        let field = |name: &str, offset, bits| Layout { offset, bits, ..number(name, "u32", 4, 0) };
        let members = [field("a", 0, 3), field("b", 8, 30), field("c", 38, 2)];
        // `b` cannot begin at bit 8 and end at 38.
        assert_eq!(body(&members, 8), None);
        let members = [field("a", 0, 3), field("b", 8, 7), field("c", 32, 30)];
        let expected = "  unsigned a : 3;\n  unsigned : 5;\n  unsigned b : 7;\n  unsigned c : 30;\n";
        assert_eq!(body(&members, 8), Some((expected.to_owned(), false, 4)));
    }

    #[test]
    fn a_member_can_lie_in_the_padding_of_a_base_class() {
        let base = structure("", 8, 0, vec![number("id", "i32", 4, 0), number("tag", "char", 1, 4)]);
        let (text, packed, align) = body(&[base, number("own", "char", 1, 5)], 8).expect("a body");
        assert_eq!((text.as_str(), packed, align), ("  int id;\n  char tag;\n  char own;\n", false, 4));
    }

    #[test]
    fn invalid_member_names_have_no_mirror() {
        assert_eq!(body(&[number("a;b", "i32", 4, 0)], 4), None);
        assert_eq!(body(&[number("a", "i32", 4, 0), number("a", "i32", 4, 4)], 8), None);
        assert_eq!(Writer { is_cxx: true }.body(&[number("class", "i32", 4, 0)], 4, 1), None);
        assert_eq!(body(&[Layout { elements: vec![usize::MAX, 16], ..number("a", "i32", 4, 0) }], 4), None);
    }
}
