//! Places in a buffer that several pointers lead into ([`super::Buffers`]).
//!
//! The base of a group is placed like any other pointer. The others get a number of the input each, and their targets
//! once the block of the base is built.

use std::collections::HashMap;

use penfuzz_mutators::{
    domain::Domain,
    view::{Kind, Slot},
};

use super::{BlockBuilder, Builder, Leads, Pointer, PointerFacts, Role};
use crate::inputs::pointer::{Alternative, Within};

/// Size in bytes of a buffer whose size is not known otherwise; it has at least [`LEAST`] elements.
pub(super) const BUFFER: usize = 64;
pub(super) const LEAST: usize = 4;

/// Where a pointer of a group lies.
pub(super) struct Place {
    path: String,
    block: usize,
    at: usize,
}

/// A pointer of a group other than the base.
pub(super) struct Cursor {
    /// Its index in the places.
    place: usize,
    base: String,
    upper: Option<String>,
    is_end: bool,
    is_inclusive: bool,
    null: Option<Slot>,
    /// Its number, with the index of the slot.
    number: Option<(Slot, usize)>,
    alternative: Option<Alternative>,
}

impl Builder<'_> {
    /// Sets the number of the block under construction.
    pub(super) fn set_block_of_places(&mut self, number: usize) {
        self.places.iter_mut().filter(|p| p.block == usize::MAX).for_each(|p| p.block = number);
    }

    /// Notes the pointer if it belongs to a group. Places it if it is not the base, and returns whether it did.
    pub(super) fn place_in_buffer(
        &mut self,
        block_builder: &mut BlockBuilder,
        at: usize,
        path: &str,
        way: &PointerFacts,
        role: Option<&Role<String>>,
    ) -> bool {
        let Some(role) = role else { return false };
        self.places.push(Place { path: path.to_owned(), block: usize::MAX, at });
        let Role::Within { base, upper, is_end, is_inclusive } = role.clone() else { return false };
        let null = if way.nullable { self.slot(block_builder, Kind::Bool) } else { None };
        let number = self.slot(block_builder, Kind::U16).map(|slot| (slot, self.slots.len() - 1));
        let place = self.places.len() - 1;
        self.cursors.push(Cursor {
            place,
            base,
            upper,
            is_end,
            is_inclusive,
            null,
            number,
            alternative: way.alternative,
        });
        true
    }

    /// Gives the pointers of groups their targets. A pointer whose buffer is not built is null.
    pub(super) fn resolve_cursors(&mut self) {
        let (places, cursors) = (core::mem::take(&mut self.places), core::mem::take(&mut self.cursors));
        let by_path: HashMap<&str, (usize, usize)> =
            places.iter().map(|p| (p.path.as_str(), (p.block, p.at))).collect();
        for cursor in cursors {
            let base = by_path
                .get(cursor.base.as_str())
                .and_then(|(block, at)| self.blocks[*block].pointers.iter().find(|p| p.at == *at).copied());
            let place = &places[cursor.place];
            let target = match base.map(|base| (base.target, base.null)) {
                Some((Leads::Block(block), base_null)) => {
                    let most = self.blocks[block].capacity as u64;
                    let domain = cursor.number.and_then(|(_, i)| Some((i, Domain::new(Kind::U16, 0, most)?)));
                    self.ranges.extend(domain);
                    Leads::Within(Within {
                        block,
                        number: cursor.number.map(|(slot, _)| slot),
                        upper: cursor.upper.and_then(|path| by_path.get(path.as_str()).copied()),
                        is_end: cursor.is_end,
                        is_inclusive: cursor.is_inclusive,
                        base_null,
                    })
                }
                _ => Leads::Null,
            };
            let null = cursor.null.filter(|_| target != Leads::Null);
            let pointers = &mut self.blocks[place.block].pointers;
            pointers.push(Pointer { null, alternative: cursor.alternative, ..Pointer::new(place.at, target) });
            pointers.sort_by_key(|p| p.at);
        }
    }
}
