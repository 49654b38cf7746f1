//! The blocks after a run: their contents, what it has freed, and the block next to an address.

use penfuzz_abi::{self as abi, block_use};
use penfuzz_target::inputs::library::Class;

use super::{Blocks, REGION};

/// An inaccessible address next to a block that the target accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdjacentAccess {
    /// The index of the block.
    pub block: usize,
    /// Offset in bytes from the start of the block in the last run; negative before it.
    pub at: isize,
}

impl Blocks {
    /// Returns whether the last run has freed or reallocated the block.
    #[must_use]
    pub fn is_freed(&self, block: usize) -> bool {
        self.places[block].usage == block_use::FREED
    }

    /// Returns whether the last run has needed the block to be from `malloc`, because it has freed or reallocated it,
    /// or has tried to.
    #[must_use]
    pub fn is_from_malloc(&self, block: usize) -> bool {
        matches!(self.places[block].usage, block_use::FREED | block_use::KEPT)
    }

    /// The elements of an object of the C++ library after the last run, which may have been reallocated: their bytes
    /// and their number. The object lies at offset `at` of the memory `contents`, as the run has left it.
    #[must_use]
    pub fn elements(&self, contents: &[u8], at: usize, class: &Class) -> Option<(&[u8], usize)> {
        const MOST: usize = 1 << 20;
        if !self.has_returned {
            return None;
        }
        let word = |at: usize| Some(usize::from_le_bytes(contents.get(at..at + 8)?.try_into().ok()?));
        let stride = self.model.types[class.element()].size.max(1);
        let (begin, bytes) = match class {
            Class::Vector { begin, end, .. } => {
                let begin = word(at + begin)?;
                (begin, word(at + end)?.checked_sub(begin)?)
            }
            Class::String { begin, count, .. } => (word(at + begin)?, word(at + count)?),
            Class::View { .. } | Class::Optional { .. } => return None,
        };
        if begin == 0 || bytes > MOST || !bytes.is_multiple_of(stride) {
            return (bytes == 0).then_some((&[][..], 0));
        }
        // SAFETY: a run that returned leaves a readable object, until the next run.
        let elements = unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(begin), bytes) };
        Some((elements, bytes / stride))
    }

    /// The contents of a block after the last run.
    #[must_use]
    pub fn contents(&self, block: usize) -> &[u8] {
        let abi::Block { at: first, size: bytes, .. } = self.places[block];
        if let Some(global) = self.model.global_of(block).filter(|_| self.is_set_once(block)) {
            // SAFETY: the variable is as large as its block, and the target does not run now.
            return unsafe { core::slice::from_raw_parts(global.address().cast_const(), bytes) };
        }
        // SAFETY: the block lies in its pages.
        unsafe { core::slice::from_raw_parts(self.pointer(first).cast_const(), bytes) }
    }

    /// Finds the block next to which an inaccessible address lies.
    #[must_use]
    pub fn adjacent_access(&self, address: u64) -> Option<AdjacentAccess> {
        let address = usize::try_from(address).ok()?;
        let first = self.map.as_ptr() as usize;
        if !(first..first + self.mapped).contains(&address) {
            return None;
        }
        // The frame has no name, and a program cannot access memory next to it.
        let distance = |i: &usize| {
            let abi::Block { at: start, size: bytes, .. } = self.places[*i];
            if address < start { start - address } else { address.saturating_sub(start + bytes) }
        };
        let is_named = |i: &usize| !self.model.blocks[*i].path.is_empty();
        let block = (0..self.pages.len()).filter(is_named).min_by_key(distance)?;
        Some(AdjacentAccess { block, at: address.wrapping_sub(self.places[block].at).cast_signed() })
    }

    /// Whether an address is computed from that of a block, with an index or a difference of any 32-bit size. What the
    /// target allocates lies farther away.
    #[must_use]
    pub fn is_near(&self, address: u64) -> bool {
        address.abs_diff(self.map.as_ptr().expose_provenance() as u64) < REGION as u64 / 4
    }

    /// Describes where an address lies.
    #[must_use]
    pub fn describe(&self, address: u64) -> Option<String> {
        let adjacent_access = self.adjacent_access(address)?;
        let block = &self.model.blocks[adjacent_access.block];
        let side = if adjacent_access.at < 0 { "before the start" } else { "after the end" };
        let n = self.places[adjacent_access.block].size / block.stride.max(1);
        let elements = if n == 1 { "1 element".to_owned() } else { format!("{n} elements") };
        Some(format!("{side} of `{}` ({elements}, {})", block.path, block.origin))
    }
}
