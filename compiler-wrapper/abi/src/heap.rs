//! What becomes of the memory that evaluations allocate (`enum pen_heap`).

/// It is freed.
pub const FREE: u32 = 0;
/// It is forgotten: it is still in use, or a fault may have left the heap inconsistent. An arena is cleared.
pub const LOSE: u32 = 1;
/// From now on it comes from an arena, which is cleared by the two above.
pub const ARENA: u32 = 2;
/// From now on it comes from the C library, as at first.
pub const SYSTEM: u32 = 3;
