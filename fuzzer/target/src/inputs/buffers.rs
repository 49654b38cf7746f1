//! Pointers into one buffer. A structure may have a begin, a cursor and a limit, and a function may take them. The
//! compiler pass finds which pointers the code compares ([`penfuzz_abi::BufferPair`]). Of each group, one pointer leads
//! to a block of its own, the *base*. The others lead to an element of that block, or after its last element.
//!
//! The pairs of members come from all functions of the target: a function that takes a structure may leave the
//! comparison to others. Pairs with a parameter come from the function under test alone.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::CStr,
};

use penfuzz_abi::{self as abi, buffer_flag};

use super::{
    paths::{element_path, join},
    types::{Form, Member, TypeId, Types},
};
use crate::program::{Function, Target};

/// What a pointer is in its group. `K` names a pointer: by its path, or by its place among the members of a structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role<K> {
    /// It leads to the first element.
    Base {
        /// Whether an access after the last element is an error of the function under test: it knows the limit.
        is_bounded: bool,
    },
    /// It leads to some element, or after the last one.
    Within {
        base: K,
        /// The next pointer that is not before this one; `None` for the end of the block.
        upper: Option<K>,
        /// Whether it is the limit, and so the end of the block, unless its number says otherwise.
        is_end: bool,
        /// Whether it leads to the last element at most.
        is_inclusive: bool,
    },
}

/// A comparison of two of several pointers, by their indices: the first is not after the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Order {
    pair: (usize, usize),
    flags: u32,
    /// Whether the function under test makes it, and the second is a limit there.
    is_bounded: bool,
}

/// The roles of `n` pointers, by index. A pointer that is compared with no other has none.
fn roles(n: usize, orders: &[Order]) -> Vec<Option<Role<usize>>> {
    // below[i][j]: pointer j is not after pointer i, by one comparison or several.
    let mut below = vec![vec![false; n]; n];
    let mut together = below.clone();
    for Order { pair: (low, high), .. } in orders {
        below[*high][*low] = true;
        (together[*high][*low], together[*low][*high]) = (true, true);
    }
    for via in 0..n {
        for i in 0..n {
            for j in 0..n {
                below[i][j] |= below[i][via] && below[via][j];
                together[i][j] |= together[i][via] && together[via][j];
            }
        }
    }
    let is_below = |low: usize, high: usize| below[high][low] && !below[low][high];
    let n_below = |i: usize| (0..n).filter(|j| is_below(*j, i)).count();
    let of_group = |i: usize| (0..n).filter(move |j| *j != i).filter(|j| together[i][*j]).collect::<Vec<_>>();
    let role = |i: usize| {
        let others = of_group(i);
        let base =
            others.iter().copied().chain([i]).min_by_key(|j| (n_below(*j), *j)).filter(|_| !others.is_empty())?;
        let flags = orders.iter().filter(|o| o.pair.1 == i).map(|o| o.flags).reduce(merged).unwrap_or(0);
        if i == base {
            let is_bounded = orders.iter().any(|o| o.is_bounded && others.contains(&o.pair.1));
            return Some(Role::Base { is_bounded });
        }
        let upper = others.iter().copied().filter(|j| *j != base && is_below(i, *j)).min_by_key(|j| (n_below(*j), *j));
        let is_limit = flags & buffer_flag::LIMIT != 0;
        let is_inclusive = flags & (buffer_flag::INCLUSIVE | buffer_flag::WEAK) == buffer_flag::INCLUSIVE;
        Some(Role::Within { base, upper, is_end: upper.is_none() && is_limit, is_inclusive })
    };
    (0..n).map(role).collect()
}

/// The flags of two comparisons: a limit in one, inclusive and weak in both. A weak one says nothing about what is
/// inclusive.
fn merged(a: u32, b: u32) -> u32 {
    let all = |flags: u32| if flags & buffer_flag::WEAK != 0 { flags | buffer_flag::INCLUSIVE } else { flags };
    (a | b) & buffer_flag::LIMIT | all(a) & all(b) & (buffer_flag::INCLUSIVE | buffer_flag::WEAK)
}

fn named<K: Clone>(roles: Vec<Option<Role<usize>>>, names: &[K]) -> Vec<Option<Role<K>>> {
    let name = |role: Role<usize>| match role {
        Role::Base { is_bounded } => Role::Base { is_bounded },
        Role::Within { base, upper, is_end, is_inclusive } => {
            Role::Within { base: names[base].clone(), upper: upper.map(|i| names[i].clone()), is_end, is_inclusive }
        }
    };
    roles.into_iter().map(|role| role.map(name)).collect()
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Side {
    /// The parameter, or the one that leads to the pointer.
    parameter: Option<usize>,
    /// The structure of a member; empty for the pointer that the parameter points to; `None` for the parameter itself.
    of: Option<String>,
    /// The offset of a member.
    at: usize,
}

#[derive(Debug, Clone)]
struct Pair {
    low: Side,
    high: Side,
    votes: u32,
    flags: u32,
}

impl Pair {
    /// The structure, if both are members of one object.
    fn structure(&self) -> Option<&str> {
        let of = self.low.of.as_deref().filter(|of| !of.is_empty() && Some(*of) == self.high.of.as_deref())?;
        (self.low.parameter == self.high.parameter).then_some(of)
    }
}

/// What the votes of all comparisons of two members say: by the offsets, the lower one first.
#[derive(Debug, Clone, Copy, Default)]
struct Votes {
    /// Above 0 if the first member is not after the second, below 0 in the other case.
    sum: i64,
    /// The flags of all comparisons.
    flags: Option<u32>,
    is_bounded: bool,
}

/// The comparisons that count for a function.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// By structure and offsets.
    members: BTreeMap<String, BTreeMap<(usize, usize), Votes>>,
    /// Those with a parameter.
    own: Vec<Pair>,
}

impl Buffers {
    pub fn of(target: &Target, f: &Function) -> Self {
        let mut found = Self::default();
        for g in &target.functions {
            let is_own = core::ptr::eq(g, f);
            for pair in pairs(g) {
                if pair.structure().is_some() {
                    found.add_members(&pair, is_own);
                } else if is_own {
                    found.own.push(pair);
                }
            }
        }
        found
    }

    fn add_members(&mut self, pair: &Pair, is_own: bool) {
        let (low, high) = (pair.low.at, pair.high.at);
        let of = self.members.entry(pair.structure().unwrap_or_default().to_owned()).or_default();
        let votes = of.entry((low.min(high), low.max(high))).or_default();
        votes.sum += i64::from(pair.votes) * if low < high { 1 } else { -1 };
        votes.flags = Some(votes.flags.map_or(pair.flags, |before| merged(before, pair.flags)));
        votes.is_bounded |= is_own && pair.flags & buffer_flag::LIMIT != 0;
    }

    /// The comparisons of members of a structure, as offsets: the first is not after the second. Only pointers to
    /// elements of one size count.
    fn of_members(&self, types: &Types, of: TypeId) -> Vec<((usize, usize), Votes)> {
        let name = types[of].name.as_str();
        let name = ["struct ", "union "].iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
        let (Form::Struct(members), Some(known)) = (&types[of].form, self.members.get(name)) else { return Vec::new() };
        let size = |at: usize| {
            let m = members.iter().find(|m| m.offset == 8 * at && m.bits == 0 && !m.name.is_empty())?;
            element_size(types, m.of)
        };
        let is_weak = |votes: &Votes| votes.flags.is_some_and(|flags| flags & buffer_flag::WEAK != 0);
        let is_in_other = |at: usize| known.iter().any(|(pair, v)| !is_weak(v) && (pair.0 == at || pair.1 == at));
        let fits = |(low, high): (usize, usize)| size(low).is_some() && size(low) == size(high);
        let counts = |(pair, votes): &(&(usize, usize), &Votes)| {
            fits(**pair) && (!is_weak(votes) || is_in_other(pair.0) || is_in_other(pair.1))
        };
        let ordered =
            |(pair, votes): (&(usize, usize), &Votes)| (if votes.sum < 0 { (pair.1, pair.0) } else { *pair }, *votes);
        known.iter().filter(counts).map(ordered).collect()
    }

    /// The roles of the members of a structure, in their order, by path. `path` is that of the structure.
    pub fn of_structure(&self, types: &Types, of: TypeId, members: &[Member], path: &str) -> Vec<Option<Role<String>>> {
        let compared = self.of_members(types, of);
        if compared.is_empty() {
            return vec![None; members.len()];
        }
        let index = |at: usize| members.iter().position(|m| m.offset == 8 * at && m.bits == 0);
        let order = |((low, high), votes): ((usize, usize), Votes)| {
            Some(Order {
                pair: (index(low)?, index(high)?),
                flags: votes.flags.unwrap_or(0),
                is_bounded: votes.is_bounded,
            })
        };
        let orders: Vec<Order> = compared.into_iter().filter_map(order).collect();
        let names: Vec<String> = members.iter().map(|m| join(path, &m.name)).collect();
        named(roles(members.len(), &orders), &names)
    }

    /// The roles of pointers that are compared with parameters, by path. `parameters` has the name and the type of each
    /// parameter; those without a type do not count.
    pub fn of_parameters(&self, types: &Types, parameters: &[(&str, Option<TypeId>)]) -> HashMap<String, Role<String>> {
        let mut graph = Graph { types, parameters, names: Vec::new(), orders: Vec::new() };
        for pair in &self.own {
            let (Some(low), Some(high)) = (graph.pointer(&pair.low), graph.pointer(&pair.high)) else { continue };
            let (low, high) = if pair.votes == 0 && high.0 < low.0 { (high, low) } else { (low, high) };
            if low.2 != high.2 {
                continue;
            }
            for (side, pointer) in [(&pair.low, &low), (&pair.high, &high)] {
                if let Some(of) = graph.structure(side).filter(|_| pointer.1 != parameters[pointer.0].0) {
                    self.add_structure(&mut graph, parameters[pointer.0].0, of);
                }
            }
            graph.add((&low.1, &high.1), pair.flags, pair.flags & buffer_flag::LIMIT != 0);
        }
        let Graph { names, orders, .. } = graph;
        let roles = named(roles(names.len(), &orders), &names);
        names.into_iter().zip(roles).filter_map(|(name, role)| Some((name, role?))).collect()
    }

    /// Adds the comparisons of the members of the structure that a parameter points to.
    fn add_structure(&self, graph: &mut Graph, parameter: &str, of: TypeId) {
        let object = element_path(parameter, 0, 1, &graph.types[of].form);
        for ((low, high), votes) in self.of_members(graph.types, of) {
            let Some((low, high)) = graph.member(of, low, &object).zip(graph.member(of, high, &object)) else {
                continue;
            };
            graph.add((&low, &high), votes.flags.unwrap_or(0), votes.is_bounded);
        }
    }
}

/// Pointers by path, and their comparisons.
struct Graph<'a> {
    types: &'a Types,
    parameters: &'a [(&'a str, Option<TypeId>)],
    names: Vec<String>,
    orders: Vec<Order>,
}

impl Graph<'_> {
    fn add(&mut self, (low, high): (&str, &str), flags: u32, is_bounded: bool) {
        let mut index = |name: &str| {
            self.names.iter().position(|known| known == name).unwrap_or_else(|| {
                self.names.push(name.to_owned());
                self.names.len() - 1
            })
        };
        let pair = (index(low), index(high));
        self.orders.push(Order { pair, flags, is_bounded });
    }

    /// The type that the parameter of a side points to.
    fn pointee(&self, side: &Side) -> Option<TypeId> {
        match self.types[self.parameters.get(side.parameter?)?.1?].form {
            Form::Pointer(to) => Some(to),
            _ => None,
        }
    }

    /// The structure of a member that is reached directly from a parameter.
    fn structure(&self, side: &Side) -> Option<TypeId> {
        let to = self.pointee(side)?;
        let name = side.of.as_deref().filter(|of| !of.is_empty())?;
        let is_same =
            self.types[to].name.strip_suffix(name).is_some_and(|start| start.is_empty() || start == "struct ");
        (is_same && matches!(self.types[to].form, Form::Struct(_))).then_some(to)
    }

    fn member(&self, of: TypeId, at: usize, object: &str) -> Option<String> {
        let Form::Struct(members) = &self.types[of].form else { return None };
        let m = members.iter().find(|m| m.offset == 8 * at && m.bits == 0 && !m.name.is_empty())?;
        Some(join(object, &m.name))
    }

    /// The parameter of a side, the path of its pointer, and the size of an element.
    fn pointer(&self, side: &Side) -> Option<(usize, String, usize)> {
        let (name, of) = self.parameters.get(side.parameter?)?;
        let (path, pointer) = match side.of.as_deref() {
            None => ((*name).to_owned(), (*of)?),
            Some("") => (format!("*{name}"), self.pointee(side)?),
            Some(_) => {
                let structure = self.structure(side)?;
                let path = self.member(structure, side.at, &element_path(name, 0, 1, &self.types[structure].form))?;
                let Form::Struct(members) = &self.types[structure].form else { return None };
                (path, members.iter().find(|m| m.offset == 8 * side.at && m.bits == 0)?.of)
            }
        };
        Some((side.parameter?, path, element_size(self.types, pointer)?))
    }
}

/// The size of an element that a pointer of this type leads to.
fn element_size(types: &Types, pointer: TypeId) -> Option<usize> {
    let Form::Pointer(to) = types[pointer].form else { return None };
    let is_memory = !matches!(types[to].form, Form::Function(_) | Form::Incomplete | Form::Other | Form::Library(_));
    is_memory.then(|| types[to].size.max(1))
}

/// The comparisons of a function.
fn pairs(f: &Function) -> Vec<Pair> {
    let side = |parameter: u32, of: *const core::ffi::c_char, at: u64| Side {
        parameter: (parameter as usize).checked_sub(1),
        // SAFETY: null, or a constant of the loaded file.
        of: (!of.is_null()).then(|| unsafe { CStr::from_ptr(of) }.to_string_lossy().into_owned()),
        at: at as usize,
    };
    let pair = |p: &abi::BufferPair| Pair {
        low: side(p.first_parameter, p.first_of, p.first_at),
        high: side(p.second_parameter, p.second_of, p.second_at),
        votes: p.votes,
        flags: p.flags,
    };
    f.buffers().iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn order(low: usize, high: usize, flags: u32) -> Order {
        Order { pair: (low, high), flags, is_bounded: flags & buffer_flag::LIMIT != 0 }
    }

    #[test]
    fn a_cursor_lies_between_begin_and_end() {
        let found = roles(4, &[order(0, 1, 0), order(1, 2, buffer_flag::LIMIT)]);
        assert_eq!(found[0], Some(Role::Base { is_bounded: true }));
        let within = |upper, is_end| Some(Role::Within { base: 0, upper, is_end, is_inclusive: false });
        assert_eq!((found[1].clone(), found[2].clone()), (within(Some(2), false), within(None, true)));
        assert_eq!(found[3], None, "it is compared with no other");
    }

    #[test]
    fn the_lowest_pointer_is_the_base_wherever_it_is_declared() {
        let found = roles(2, &[order(1, 0, buffer_flag::LIMIT | buffer_flag::INCLUSIVE)]);
        assert_eq!(found[1], Some(Role::Base { is_bounded: true }));
        assert_eq!(found[0], Some(Role::Within { base: 1, upper: None, is_end: true, is_inclusive: true }));
    }

    #[test]
    fn a_pointer_that_is_written_through_is_no_limit() {
        let found = roles(2, &[order(0, 1, 0)]);
        assert_eq!(found[0], Some(Role::Base { is_bounded: false }));
        assert_eq!(found[1], Some(Role::Within { base: 0, upper: None, is_end: false, is_inclusive: false }));
    }

    #[test]
    fn contradictory_comparisons_order_nothing() {
        let found = roles(2, &[order(0, 1, 0), order(1, 0, 0)]);
        assert_eq!(found[0], Some(Role::Base { is_bounded: false }));
        assert_eq!(found[1], Some(Role::Within { base: 0, upper: None, is_end: false, is_inclusive: false }));
    }
}
