//! Blocks of variables with static storage duration.

use penfuzz_mutators::group::Length;

use super::Builder;
use crate::{
    inputs::{
        block_builder::{BlockBuilder, PointerFacts},
        model::Variable,
        types::{Form, TypeId},
    },
    program::globals::Global,
};

impl Builder<'_> {
    /// Builds the block of a variable of this type. Bytes that are not in an input keep their value at the start of the
    /// program. No byte is in an input if `is_result` is set.
    pub(in crate::inputs) fn add_global(
        &mut self,
        global: &Global,
        of: TypeId,
        is_result: bool,
    ) -> Result<Variable, String> {
        if self.has_objects(of, 0) {
            return Err(format!(
                "the variable `{}` cannot be an input (it has objects of the C++ library)",
                global.name
            ));
        }
        let (element, n) = match self.types[of].form {
            Form::Array(element, n) if !self.types[of].is_complex() => (element, n),
            _ => (of, 1),
        };
        let stride = self.types[element].size.max(1);
        let mut block_builder = BlockBuilder::new(element, stride, global.name.clone());
        block_builder.block.capacity = n;
        block_builder.block.length = Length::Fixed(n);
        (block_builder.block.is_output, block_builder.block.initial) = (is_result, global.content());
        block_builder.first_slot = self.n_slots();
        let begun = self.size;
        // Memory behind a pointer that cannot be built is no error at this depth: the pointer is null.
        let way = PointerFacts { depth: 1, ..PointerFacts::default() };
        for i in (0..n).take_while(|_| !is_result) {
            let (slots, before) = (self.n_slots(), self.size);
            let path = if n == 1 && element == of { global.name.clone() } else { format!("{}[{i}]", global.name) };
            self.place(&mut block_builder, element, i * stride, &path, &way)
                .map_err(|why| format!("the variable `{}` cannot be an input ({why})", global.name))?;
            if block_builder.is_full {
                break;
            }
            (block_builder.per_element, block_builder.slotted) = (self.n_slots() - slots, i + 1);
            let per_element = self.size - before;
            // The block is full if another element of this size does not fit.
            block_builder.is_full = self.size + per_element > (begun + self.limits.1).min(self.limits.0);
        }
        let block = self.finish_block(block_builder, &PointerFacts::default());
        Ok(Variable { global: global.clone(), block })
    }
}
