//! Unions whose members lead to different memory, such as a value with a tag. A number of the input chooses the member
//! that has a value.

use core::cmp::Reverse;

use penfuzz_mutators::view::Kind;

use super::{BlockBuilder, Builder, PointerFacts, TypeId, join};
use crate::inputs::{pointer::Alternative, types::Member};

impl Builder<'_> {
    /// Places a union. If only numbers differ, the largest member has all bytes of the others. Unions within the
    /// members of another such union have no choice of their own.
    pub(super) fn place_union(
        &mut self,
        block_builder: &mut BlockBuilder,
        of: TypeId,
        members: &[Member],
        at: usize,
        path: &str,
        way: &PointerFacts,
    ) -> Result<(), String> {
        let mut alternatives: Vec<_> = self.types.alternatives(members).into_iter().enumerate().collect();
        let has_choice = alternatives.len() > 1 && way.alternative.is_none() && !block_builder.block.is_output;
        let choice = if has_choice { self.slot(block_builder, Kind::U8) } else { None };
        let Some(choice) = choice else {
            let largest = self.types.of_union(members);
            return largest.map_or(Ok(()), |m| self.place(block_builder, m.of, at, &join(path, &m.name), way));
        };
        let n = alternatives.len() as u8;
        // The numbers of a larger member have the bytes of a smaller one's.
        alternatives.sort_by_key(|(_, m)| Reverse(self.types[m.of].size));
        block_builder.is_in_union = true;
        for (number, m) in alternatives {
            let way = PointerFacts {
                nullable: m.nullable,
                depth: way.depth,
                is_const: way.is_const,
                absent: way.absent.clone(),
                alternative: Some(Alternative { choice, number: number as u8, n, of }),
                ..PointerFacts::default()
            };
            self.place(block_builder, m.of, at + m.offset / 8, &join(path, &m.name), &way)?;
        }
        block_builder.is_in_union = false;
        block_builder.block.copies.sort_by_key(|c| c.to);
        Ok(())
    }
}
