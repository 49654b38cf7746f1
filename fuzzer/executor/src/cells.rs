//! The output area of a call: the result, and the memory that parameters point to.
//!
//! Each pointer parameter has its own block of memory, in a page of its own. The memory before and after that page is
//! inaccessible, so no access through one parameter can reach the block of another, or memory of the fuzzer. A block
//! lies either at the end of its page, so that an access after it faults, or at the start, so that an access before it
//! faults. A search uses the first placement only; [`super::Evaluator::run_in_all_placements`] uses all.
//!
//! Thunks use constant distances between the blocks ([`Parameter::place`]), so the optimizer knows that they are
//! distinct. This saves 2 ns per call of a small function compared with a table of addresses. A placement is therefore
//! an area of its own, which is mapped when it is first used. If blocks have several sizes, there is one placement per
//! size, with the blocks of this size at the start of their pages.
//!
//! The block of a number is a complete cell of 16 bytes, because functions such as Fdlibm's `__ieee754_rem_pio2` write
//! two doubles; the bytes after the number are zero before the call. The block of a structure has the size of the
//! structure. At the start of a page it keeps its alignment; so if its size is not a multiple of 16, up to 15 bytes
//! before it are accessible.

use core::ptr::NonNull;

use penfuzz_abi::{CELL_BYTES, STRIDE_BYTES};

use penfuzz_error::Error;
use penfuzz_target::program::{Function, Parameter};

/// Preferred address of the first area, and the distance to the next. If it is free, a fault next to a block has the
/// same address in every process. It is far from addresses that the system chooses, and from the shadow memory of
/// sanitizers.
const PREFERRED: (usize, usize) = (0x2000_0000_0000, 0x1_0000_0000);

/// Where the blocks of an area lie in their pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placement {
    /// All blocks at the end.
    Ends,
    /// Blocks of this size, rounded up to cells, at the start; other blocks anywhere.
    Starts(usize),
}

/// The memory behind one pointer parameter.
#[derive(Debug, Clone)]
struct Block {
    parameter: String,
    /// Offset in bytes from the start of the area.
    place: usize,
    size: usize,
}

/// The mapped memory of one placement: result and blocks.
#[derive(Debug)]
struct Area {
    map: NonNull<u8>,
    mapped: usize,
    /// The start of the output area, for thunks.
    first: *mut u8,
}

/// The areas of one function.
#[derive(Debug)]
pub struct Cells {
    /// The start of the current area.
    first: *mut u128,
    areas: Vec<Area>,
    /// The placements other than [`Placement::Ends`].
    starts: Vec<Placement>,
    blocks: Vec<Block>,
}

impl Cells {
    /// Maps the area of `function`, zeroed, with blocks at the ends of their pages.
    ///
    /// # Errors
    /// If the system has no memory left.
    pub fn new(function: &Function) -> Result<Self, Error> {
        let pointers = function.parameters.iter().filter(|p| p.pointer && p.place > 0);
        let block = |p: &Parameter| Block { parameter: p.name.clone(), place: p.place, size: p.block_size() };
        let blocks: Vec<_> = pointers.map(block).collect();
        let mut sizes: Vec<_> = blocks.iter().map(|b| b.size.next_multiple_of(CELL_BYTES)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let starts = sizes.into_iter().map(Placement::Starts).collect();
        let area = Area::map(&blocks, Placement::Ends, 0)
            .ok_or_else(|| Error::new(format!("cannot allocate memory for the arguments of `{}`", function.name)))?;
        Ok(Self { first: area.first.cast(), areas: vec![area], starts, blocks })
    }

    /// The output area for a call: it starts with the result, and the blocks lie at [`Parameter::place`].
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut u128 {
        self.first
    }

    /// Number of placements other than the default; 0 for a function without pointers.
    pub fn other_placements(&self) -> usize {
        self.starts.len()
    }

    /// Selects another placement, a number below [`Cells::other_placements`], or with `None` the default one. Returns
    /// false if the system has no memory left; then the default one is used.
    pub fn place(&mut self, other: Option<usize>) -> bool {
        let wanted = other.map_or(0, |i| i + 1);
        while self.areas.len() <= wanted {
            let n = self.areas.len();
            let Some(area) = Area::map(&self.blocks, self.starts[n - 1], n) else { break };
            self.areas.push(area);
        }
        let area = self.areas.get(wanted);
        self.first = area.unwrap_or(&self.areas[0]).first.cast();
        area.is_some()
    }

    /// The result alone.
    #[inline]
    #[must_use]
    pub fn result(&self) -> u128 {
        // SAFETY: the area begins with the result.
        unsafe { self.first.read_unaligned() }
    }

    /// Up to eight bytes of a block, starting at this place of the area ([`Parameter::place`] plus an offset), padded
    /// with zeros.
    #[inline]
    #[must_use]
    pub fn word(&self, place: usize) -> u64 {
        let mut word = [0; size_of::<u64>()];
        if let Some(block) = self.blocks.iter().find(|b| (b.place..b.place + b.size).contains(&place)) {
            let n = (block.place + block.size - place).min(word.len());
            // SAFETY: the bytes lie in a block of the area.
            unsafe { self.first.cast::<u8>().add(place).copy_to_nonoverlapping(word.as_mut_ptr(), n) };
        }
        u64::from_ne_bytes(word)
    }

    /// The result, and the contents of the blocks, each padded to cells of 16 bytes (see [`Parameter::cell`]).
    #[must_use]
    pub fn contents(&self) -> Vec<u128> {
        // SAFETY: the area begins with the result, and the blocks lie in it.
        let (result, bytes) = unsafe {
            let slice =
                |b: &Block| core::slice::from_raw_parts(self.first.cast::<u8>().add(b.place).cast_const(), b.size);
            (self.first.read_unaligned(), self.blocks.iter().map(slice).collect::<Vec<_>>())
        };
        let filled_up = |cell: &[u8]| {
            let mut whole = [0; CELL_BYTES];
            whole[..cell.len()].copy_from_slice(cell);
            u128::from_ne_bytes(whole)
        };
        core::iter::once(result).chain(bytes.into_iter().flat_map(|b| b.chunks(CELL_BYTES)).map(filled_up)).collect()
    }

    /// Do these equal the [`Cells::contents`]? Does not allocate.
    #[must_use]
    pub fn are(&self, mut cells: impl Iterator<Item = u128>) -> bool {
        if cells.next() != Some(self.result()) {
            return false;
        }
        let mut is_next = |bytes: &[u8]| {
            let next = cells.next().map(u128::to_ne_bytes);
            next.is_some_and(|cell| cell[..bytes.len()] == *bytes)
        };
        let mut same = |b: &Block| {
            // SAFETY: the block lies in the area.
            let bytes =
                unsafe { core::slice::from_raw_parts(self.first.cast::<u8>().add(b.place).cast_const(), b.size) };
            bytes.chunks(CELL_BYTES).all(&mut is_next)
        };
        let is_same = self.blocks.iter().all(&mut same);
        is_same && cells.next().is_none()
    }

    /// Describes where an address of an area lies: before or after the memory of which parameter.
    #[must_use]
    pub fn describe(&self, address: u64) -> Option<String> {
        let address = usize::try_from(address).ok()?;
        let is_inside = |a: &&Area| (a.map.as_ptr() as usize..a.map.as_ptr() as usize + a.mapped).contains(&address);
        let first = self.areas.iter().find(is_inside)?.first as usize;
        let start = |b: &Block| first + b.place;
        let nearest = self.blocks.iter().min_by_key(|b| start(b).abs_diff(address))?;
        let side = if address < start(nearest) { "before the start" } else { "after the end" };
        Some(format!("{side} of `*{}`", nearest.parameter))
    }
}

impl Area {
    /// Maps area number `n`: pages with the result and the blocks, and inaccessible memory between them. Returns `None`
    /// if the system has no memory left.
    fn map(blocks: &[Block], placement: Placement, n: usize) -> Option<Self> {
        // SAFETY: only queries a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let mapped = (blocks.len() + 2) * STRIDE_BYTES;
        let (none, anonymous) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        let wish = core::ptr::without_provenance_mut(PREFERRED.0 + n * PREFERRED.1);
        // SAFETY: a new mapping; the address is a hint, which never replaces an existing mapping.
        let map = unsafe { libc::mmap(wish, mapped, none, anonymous, -1, 0) };
        let map = NonNull::new(map.cast::<u8>()).filter(|m| m.as_ptr().cast() != libc::MAP_FAILED)?;
        let shift = if let Placement::Starts(size) = placement { size } else { 0 };
        // SAFETY: the mapping has a free stride at its start, and the shift is the size of one block.
        let first = unsafe { map.as_ptr().add(STRIDE_BYTES / 2 + shift) };
        let area = Self { map, mapped, first };
        area.open(0, CELL_BYTES, page)?;
        for b in blocks {
            // Blocks that this placement does not guard get accessible margins on both sides.
            let is_guarded = shift == 0 || b.size.next_multiple_of(CELL_BYTES) == shift;
            let margin = if is_guarded { 0 } else { page };
            area.open(b.place - margin, b.size + 2 * margin, page)?;
        }
        Some(area)
    }

    /// Makes the pages accessible that contain the `size` bytes of the area at `at`.
    fn open(&self, at: usize, size: usize, page: usize) -> Option<()> {
        let distance = self.first as usize - self.map.as_ptr() as usize + at;
        let (from, to) = (distance - distance % page, (distance + size).next_multiple_of(page));
        // SAFETY: the mapping has a stride per block and free space on both sides.
        let start = unsafe { self.map.as_ptr().add(from) };
        // SAFETY: complete pages of this area's mapping.
        (unsafe { libc::mprotect(start.cast(), to - from, libc::PROT_READ | libc::PROT_WRITE) } == 0).then_some(())
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this area alone and is no longer used.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use penfuzz_mutators::view::Kind;

    use super::*;
    use penfuzz_target::program::Edges;

    const PAGE: usize = 4096;

    fn parameter(name: &str, n: usize, output_size: usize) -> Parameter {
        let mut p = Parameter {
            name: name.to_owned(),
            type_name: "double *".to_owned(),
            kind: (output_size == 0).then_some(Kind::F64),
            pointer: true,
            offset: 0,
            cell: 0,
            place: 0,
            output_size,
        };
        p.place = n * STRIDE_BYTES - p.block_size();
        p
    }

    fn cells() -> Cells {
        let parameters = vec![parameter("p", 1, 0), parameter("s", 2, 24)];
        Cells::new(&Function::without_code(None, parameters, Edges::default())).expect("there is memory")
    }

    fn blocks(cells: &mut Cells, other: Option<usize>) -> [usize; 2] {
        assert!(cells.place(other), "there is memory");
        [0, 1].map(|i| cells.as_mut_ptr() as usize + cells.blocks[i].place)
    }

    #[test]
    fn blocks_end_or_begin_at_a_page() {
        let mut cells = cells();
        assert_eq!(blocks(&mut cells, None).map(|a| a % PAGE), [PAGE - 16, PAGE - 24]);
        assert_eq!(cells.other_placements(), 2, "one per size");
        assert_eq!(blocks(&mut cells, Some(0))[0] % PAGE, 0);
        assert_eq!(blocks(&mut cells, Some(1))[1] % PAGE, 8, "the size is no multiple of 16");
    }

    #[test]
    fn address_next_to_a_block_is_described() {
        let mut cells = cells();
        let [p, s] = blocks(&mut cells, None).map(|a| a as u64);
        let text = |a| cells.describe(a).unwrap_or_default();
        assert_eq!(text(p - 8), "before the start of `*p`");
        assert_eq!(text(p + 16), "after the end of `*p`");
        assert_eq!(text(s - 1), "before the start of `*s`");
        assert_eq!(cells.describe(8), None);
    }

    #[test]
    fn contents_are_cells_of_result_and_blocks() {
        let mut cells = cells();
        for other in [None, Some(0), Some(1)] {
            let places = blocks(&mut cells, other);
            let [p, s] = places.map(|a| a - cells.as_mut_ptr() as usize);
            let first = cells.as_mut_ptr().cast::<u8>();
            // SAFETY: within the cell of the result and the blocks.
            unsafe {
                first.cast::<u64>().write_unaligned(7);
                first.add(p + 8).cast::<u64>().write_unaligned(8);
                first.add(s + 16).cast::<u64>().write_unaligned(9);
            }
            assert_eq!(cells.contents(), [7, 8 << 64, 0, 9]);
            let are = |other: Vec<u128>| cells.are(other.into_iter());
            assert!(are(cells.contents()), "what was read is there");
            for without in [0, 1, 3] {
                let mut other = cells.contents();
                other[without] ^= 1;
                assert!(!are(other), "cell {without} differs");
            }
            assert!(!are(vec![7, 8 << 64, 0]) && !are(vec![7, 8 << 64, 0, 9, 0]), "as many cells");
        }
    }
}
