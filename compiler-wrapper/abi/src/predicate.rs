//! The predicate of a comparison: the numbers of `llvm::CmpInst::Predicate`.

/// Floats: never.
pub const FCMP_FALSE: u8 = 0;
/// Floats: `a == b`, and neither is NaN.
pub const FCMP_OEQ: u8 = 1;
/// Floats: `a > b`, and neither is NaN.
pub const FCMP_OGT: u8 = 2;
/// Floats: `a >= b`, and neither is NaN.
pub const FCMP_OGE: u8 = 3;
/// Floats: `a < b`, and neither is NaN.
pub const FCMP_OLT: u8 = 4;
/// Floats: `a <= b`, and neither is NaN.
pub const FCMP_OLE: u8 = 5;
/// Floats: `a != b`, and neither is NaN.
pub const FCMP_ONE: u8 = 6;
/// Floats: neither is NaN.
pub const FCMP_ORD: u8 = 7;
/// Floats: at least one is NaN.
pub const FCMP_UNO: u8 = 8;
/// Floats: `a == b`, or at least one is NaN.
pub const FCMP_UEQ: u8 = 9;
/// Floats: `a > b`, or at least one is NaN.
pub const FCMP_UGT: u8 = 10;
/// Floats: `a >= b`, or at least one is NaN.
pub const FCMP_UGE: u8 = 11;
/// Floats: `a < b`, or at least one is NaN.
pub const FCMP_ULT: u8 = 12;
/// Floats: `a <= b`, or at least one is NaN.
pub const FCMP_ULE: u8 = 13;
/// Floats: `a != b`, or at least one is NaN.
pub const FCMP_UNE: u8 = 14;
/// Floats: always.
pub const FCMP_TRUE: u8 = 15;
/// Integers and pointers: `a == b`.
pub const ICMP_EQ: u8 = 32;
/// Integers and pointers: `a != b`.
pub const ICMP_NE: u8 = 33;
/// Unsigned: `a > b`.
pub const ICMP_UGT: u8 = 34;
/// Unsigned: `a >= b`.
pub const ICMP_UGE: u8 = 35;
/// Unsigned: `a < b`.
pub const ICMP_ULT: u8 = 36;
/// Unsigned: `a <= b`.
pub const ICMP_ULE: u8 = 37;
/// Signed: `a > b`.
pub const ICMP_SGT: u8 = 38;
/// Signed: `a >= b`.
pub const ICMP_SGE: u8 = 39;
/// Signed: `a < b`.
pub const ICMP_SLT: u8 = 40;
/// Signed: `a <= b`.
pub const ICMP_SLE: u8 = 41;
