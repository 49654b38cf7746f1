//! The memory that arguments lead to.
//!
//! Each word that is the address of readable data counts as a pointer, whatever its type: the first bytes there are
//! copied, and searched for further addresses. The nearest memory comes first, up to a limit for each call.

use std::collections::{BTreeMap, VecDeque};

use penfuzz_target::recorded::{ADDRESSES, Bytes, Origin, Piece, RecordedMemory};

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
/// Size of the first page, in which nothing is mapped.
const FIRST_PAGE: u64 = 4096;
/// Size of a pointer.
const WORD: usize = 8;

/// Copies the memory that the arguments lead to.
pub(crate) fn memory_of(arguments: &[Vec<u8>], space: &mut AddressSpace) -> RecordedMemory {
    let mut pieces: Vec<Piece> = Vec::new();
    // The ends of the pieces by their starts.
    let mut known: BTreeMap<u64, u64> = BTreeMap::new();
    let mut waiting: VecDeque<u64> = arguments.iter().flat_map(|bytes| words(bytes)).collect();
    let mut room = CALL;
    while let Some(at) = waiting.pop_front() {
        if pieces.len() == PIECES {
            break;
        }
        if known.range(..=at).next_back().is_some_and(|(_, end)| at + WORD as u64 <= *end) {
            continue;
        }
        let Some(piece) = piece(at, space).filter(|p| p.bytes.0.len() <= room) else { continue };
        let bytes = &piece.bytes.0;
        room -= bytes.len();
        known.insert(at, at + bytes.len() as u64);
        let followed = if piece.origin == Origin::Heap { bytes.len() } else { bytes.len().min(FOLLOWED) };
        waiting.extend(words(&bytes[..followed]));
        pieces.push(piece);
    }
    RecordedMemory { pieces }
}

/// The words of memory whose start is aligned.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let all = bytes.chunks_exact(WORD).filter_map(|c| c.first_chunk()).map(|c| u64::from_le_bytes(*c));
    all.filter(|word| (FIRST_PAGE..ADDRESSES.end).contains(word))
}

/// The memory at this address, if it is data.
fn piece(at: u64, space: &mut AddressSpace) -> Option<Piece> {
    let mapping = &space.mapping_of(at)?.clone();
    if !mapping.is_readable || mapping.is_executable {
        return None;
    }
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
