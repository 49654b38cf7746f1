//! Hashes that are the same in every process, on every machine and in every build: for files, messages and caches.
//!
//! The algorithm is `SipHash`-1-3 with a zero key (Aumasson and Bernstein, *`SipHash`: a fast short-input PRF*,
//! INDOCRYPT 2012). The standard library's `DefaultHasher` computes the same hash today, but guarantees neither the
//! algorithm nor the bytes that `#[derive(Hash)]` passes to it. Here both are fixed: each method documents its bytes.
//! They are the bytes that `DefaultHasher` received in older versions of penfuzz on 64-bit little-endian machines. So
//! output directories and caches of older versions stay valid: fingerprints, fault keys and hashes of fatal inputs are
//! unchanged.
//!
//! Use these hashes only where a hash leaves the process. A hash table within one process can use any hash.

use core::hash::Hasher;

use siphasher::{
    sip::SipHasher13,
    sip128::{Hasher128, SipHasher24},
};

/// A hash under construction. Fields are added one by one, in a fixed order. Every number is little-endian.
#[derive(Debug, Clone, Default)]
pub struct StableHash(SipHasher13);

impl StableHash {
    /// Returns a hash to which no bytes were added.
    #[must_use]
    pub fn new() -> Self {
        Self(SipHasher13::new())
    }

    /// Adds one byte.
    pub fn u8(&mut self, x: u8) -> &mut Self {
        self.raw(&[x])
    }

    /// Adds four bytes.
    pub fn u32(&mut self, x: u32) -> &mut Self {
        self.raw(&x.to_le_bytes())
    }

    /// Adds eight bytes.
    pub fn u64(&mut self, x: u64) -> &mut Self {
        self.raw(&x.to_le_bytes())
    }

    /// Adds eight bytes in two's complement.
    pub fn i64(&mut self, x: i64) -> &mut Self {
        self.raw(&x.to_le_bytes())
    }

    /// Adds a number of elements: eight bytes on every machine.
    pub fn count(&mut self, n: usize) -> &mut Self {
        self.u64(n as u64)
    }

    /// Adds one byte, 0 or 1.
    pub fn flag(&mut self, x: bool) -> &mut Self {
        self.u8(u8::from(x))
    }

    /// Adds the number of bytes, then the bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.count(bytes.len()).raw(bytes)
    }

    /// Adds the bytes of the text, then 0xff, which UTF-8 does not contain.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.raw(text.as_bytes()).u8(0xff)
    }

    /// Adds the number of texts, then each of them.
    pub fn texts<T: AsRef<str>>(&mut self, texts: &[T]) -> &mut Self {
        self.count(texts.len());
        for text in texts {
            self.text(text.as_ref());
        }
        self
    }

    /// Returns the hash of all bytes added so far.
    #[must_use]
    pub fn finish(&self) -> u64 {
        self.0.finish()
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.write(bytes);
        self
    }
}

/// Returns the hash of the bytes, added by [`StableHash::bytes`].
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> u64 {
    StableHash::new().bytes(bytes).finish()
}

/// Returns the hash of the text, added by [`StableHash::text`].
#[must_use]
pub fn of_text(text: &str) -> u64 {
    StableHash::new().text(text).finish()
}

/// Returns the keyed hash of the bytes: `SipHash`-2-4 with an output of 128 bits. It cannot be computed without the
/// key, so it authenticates the bytes as those of an owner of the key. The other hashes here authenticate nothing,
/// because their key is known.
#[must_use]
pub fn keyed(key: &[u8; 16], bytes: &[u8]) -> u128 {
    let mut hash = SipHasher24::new_with_key(key);
    hash.write(bytes);
    hash.finish128().as_u128()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first test vectors of the algorithm's authors for an output of 128 bits: key 00 01 … 0f, input of 0 and of 1
    /// byte.
    #[test]
    fn keyed_hashes_are_those_of_the_reference() {
        let key = core::array::from_fn(|i| i as u8);
        let expected = |bytes: [u8; 16]| u128::from_le_bytes(bytes);
        assert_eq!(
            keyed(&key, &[]),
            expected([0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93])
        );
        assert_eq!(
            keyed(&key, &[0]),
            expected([0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45])
        );
        assert_ne!(keyed(&[0; 16], &[0]), keyed(&key, &[0]));
    }

    /// Values that earlier versions wrote to disk, with `DefaultHasher` of Rust 1.95 on x86-64.
    #[test]
    fn hashes_in_files_of_older_versions_stay_valid() {
        assert_eq!(of_bytes(&[1, 2, 3]), 0x7038_a626_8d64_a5c1);
        assert_eq!(of_text("solve"), 0x75d0_0206_4adf_7676);
        let mut hash = StableHash::new();
        hash.i64(-1).u64(0x1234).count(2).u64(7).u64(u64::MAX).u32(5).u8(9).flag(true).texts(&["a", "bc"]);
        assert_eq!(hash.finish(), 0x8e64_a113_362d_f34e);
    }

    #[test]
    fn field_boundaries_change_the_hash() {
        let texts = |all: &[&str]| StableHash::new().texts(all).finish();
        assert_ne!(texts(&["ab", "c"]), texts(&["a", "bc"]));
        assert_ne!(of_bytes(&[]), of_bytes(&[0]));
    }
}
