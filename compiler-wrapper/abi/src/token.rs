/// Bytes that the program compares with, without the 0 byte behind a string.
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
