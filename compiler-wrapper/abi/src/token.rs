/// Bytes with which the program compares, without the terminating 0 byte of a string.
#[repr(C)]
#[derive(Debug)]
pub struct Token {
    /// `length` bytes.
    pub bytes: *const u8,
    /// Number of bytes.
    pub length: u32,
    /// Padding.
    pub unused: u32,
}
