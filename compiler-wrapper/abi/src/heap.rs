//! How memory that evaluations allocate is treated (`enum pen_heap`).

/// Frees it.
pub const FREE: u32 = 0;
/// Forgets it without freeing: it is still in use, or a fault may have left the heap inconsistent. An arena is cleared.
pub const LOSE: u32 = 1;
/// From now on, memory comes from an arena, which [`FREE`] and [`LOSE`] clear.
pub const ARENA: u32 = 2;
/// From now on, memory comes from the C library (the initial setting).
pub const SYSTEM: u32 = 3;
