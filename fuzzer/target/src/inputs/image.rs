//! Writes the memory of a block from an input.

use super::{
    extended::{self, Magnitude, magnitude},
    model::{Block, Form},
};

impl Block {
    /// Writes the first `n` elements to `to`. Pointers are written as 0. Does not allocate.
    ///
    /// # Safety
    /// `to` has room for `n` elements, `n` is at most the capacity, and `x` is a complete input of the model of this
    /// block.
    pub unsafe fn write(&self, x: &[u8], n: usize, to: *mut u8) {
        let bytes = n * self.stride;
        // SAFETY: all offsets lie within the elements, and copies are cut at the end of the elements.
        unsafe {
            let is_covered = self.copies.first().is_some_and(|c| c.to == 0 && c.size >= bytes);
            if self.initial.len() >= bytes && !self.initial.is_empty() {
                to.copy_from_nonoverlapping(self.initial.as_ptr(), bytes);
            } else if !is_covered {
                to.write_bytes(0, bytes);
            }
            for copy in &self.copies {
                let Some(room) = bytes.checked_sub(copy.to).filter(|room| *room > 0) else { break };
                let size = copy.size.min(room);
                core::ptr::copy_nonoverlapping(x.as_ptr().add(copy.from), to.add(copy.to), size);
            }
            for c in &self.converted {
                if c.to >= bytes {
                    break;
                }
                write_converted(&x[c.from..], c.form, to.add(c.to));
            }
            if self.is_terminated && bytes > 0 {
                to.add(bytes - self.stride).write_bytes(0, self.stride);
            }
            if self.is_string && bytes > 0 {
                let end = (0..bytes - 1).find(|i| to.add(*i).read() == 0).unwrap_or(bytes - 1);
                to.add(end).write_bytes(0, bytes - end);
            }
        }
    }

    /// The memory of the elements that an input has, with pointers as 0.
    #[must_use]
    pub fn image(&self, x: &[u8]) -> Vec<u8> {
        let n = self.len(x);
        let mut image = vec![0; n * self.stride];
        // SAFETY: the image has room for them.
        unsafe { self.write(x, n, image.as_mut_ptr()) };
        image
    }
}

/// # Safety
/// `to` has room for the number.
unsafe fn write_converted(x: &[u8], form: Form, to: *mut u8) {
    // SAFETY: by the contract of this function.
    unsafe {
        match form {
            Form::Bool => to.write(x[0] & 1),
            Form::F80 => {
                to.cast::<u128>().write_unaligned(extended::of_double(extended::double(x)));
            }
            Form::Extended => to.cast::<u128>().write_unaligned(extended::load(x)),
            Form::F128 => {
                let bits = quadruple(extended::double(x));
                to.cast::<u128>().write_unaligned(bits);
            }
        }
    }
}

/// Converts the bits of a `double` to a `__float128` of the same value.
fn quadruple(bits: u64) -> u128 {
    let sign = u128::from(bits >> 63) << 127;
    match magnitude(bits) {
        Some(Magnitude { exponent, fraction }) => {
            sign | u128::from((exponent + 16383) as u16) << 112 | u128::from(fraction) << 60
        }
        None if bits << 1 == 0 => sign,
        None => sign | 0x7fff << 112 | u128::from(bits & ((1 << 52) - 1)) << 60,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_become_quadruples() {
        assert_eq!(quadruple(1f64.to_bits()), 0x3fff << 112);
        assert_eq!(quadruple((-1.5f64).to_bits()), 1 << 127 | 0x3fff << 112 | 1 << 111);
        assert_eq!(quadruple(1), ((16383 - 1074) as u128) << 112);
        assert_eq!(quadruple(0), 0);
        assert_eq!(quadruple(f64::INFINITY.to_bits()), 0x7fff << 112);
    }
}
