//! The memory that arguments lead to.
//!
//! Each word that is the address of readable data counts as a pointer, whatever its type: the first bytes there are
//! copied, and searched for further addresses. The nearest memory comes first, up to a limit for each call.

use std::collections::VecDeque;

use penfuzz_target::recorded::{Bytes, Origin, Piece, RecordedMemory};

use super::address_space::{AddressSpace, Mapping};

/// Maximum number of bytes of one piece, and of all pieces of a call.
const PIECE: u64 = 4096;
const CALL: usize = 16 << 10;
/// The same for memory whose size is not known: variables, and memory within a block of `malloc`.
const GUESS: u64 = 1024;
/// Bytes of such memory that are searched for further addresses: what follows an object on the stack is not part of it.
const FOLLOWED: usize = 256;
/// Maximum number of pieces of a call.
const PIECES: usize = 256;
/// Size of a pointer.
const WORD: usize = 8;

/// Copies the memory that the arguments lead to.
pub(crate) fn memory_of(arguments: &[Vec<u8>], space: &AddressSpace, mappings: &[Mapping]) -> RecordedMemory {
    let mut found = RecordedMemory::default();
    let mut waiting: VecDeque<u64> = arguments.iter().flat_map(|bytes| words(bytes)).collect();
    let mut room = CALL;
    while let Some(at) = waiting.pop_front() {
        if found.pieces.len() == PIECES {
            break;
        }
        if found.from(at).is_some_and(|known| known.len() >= WORD) {
            continue;
        }
        let Some(piece) = piece(at, space, mappings).filter(|p| p.bytes.0.len() <= room) else { continue };
        room -= piece.bytes.0.len();
        let bytes = &piece.bytes.0;
        let followed = if piece.origin == Origin::Heap { bytes.len() } else { bytes.len().min(FOLLOWED) };
        waiting.extend(words(&bytes[..followed]));
        found.pieces.push(piece);
    }
    found
}

/// The words of memory whose start is aligned.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(WORD).filter_map(|c| c.first_chunk()).map(|c| u64::from_le_bytes(*c))
}

/// The memory at this address, if it is data.
fn piece(at: u64, space: &AddressSpace, mappings: &[Mapping]) -> Option<Piece> {
    let i = mappings.partition_point(|m| m.end <= at);
    let mapping = mappings.get(i).filter(|m| m.start <= at && m.is_readable && !m.is_executable)?;
    let block = if mapping.is_writable { heap_block(at, mapping, space) } else { None };
    let (origin, size) = match (block, mapping.name.as_str()) {
        (Some(size), _) => (Origin::Heap, size.min(PIECE)),
        (None, "[stack]") => (Origin::Stack, GUESS),
        (None, "[vvar]" | "[vdso]" | "[vsyscall]") => return None,
        (None, name) if name.starts_with('/') => (Origin::Static, GUESS),
        (None, _) => (Origin::Other, GUESS),
    };
    let bytes = space.read(at, size.min(mapping.end - at) as usize);
    (!bytes.is_empty()).then_some(Piece { at, origin, bytes: Bytes(bytes) })
}

/// The usable size of the block of the C library's `malloc` that begins at this address; `None` if none does. A block
/// has its size before it, with flags in the low bits: glibc, `malloc/malloc.c` (`malloc_chunk`).
fn heap_block(at: u64, mapping: &Mapping, space: &AddressSpace) -> Option<u64> {
    const HEADER: u64 = 16;
    const IN_USE_BEFORE: u64 = 1;
    const MAPPED: u64 = 2;
    if !at.is_multiple_of(HEADER) || at < mapping.start + HEADER || mapping.name.starts_with('/') {
        return None;
    }
    let header = space.word(at - 8)?;
    let size = header & !7;
    let end = (at - HEADER).checked_add(size).filter(|end| *end <= mapping.end)?;
    if size < 2 * HEADER || !size.is_multiple_of(HEADER) {
        return None;
    }
    if header & MAPPED != 0 {
        return (at - HEADER == mapping.start).then(|| size - HEADER);
    }
    // The header after a block in use says so.
    let next = space.word(end.checked_add(8)?)?;
    (next & IN_USE_BEFORE != 0 && next & !7 >= HEADER).then(|| size - 8)
}
