//! Descriptors that are held back, so that files can be opened when all others are in use.

use std::fs::File;

/// Number of descriptors: a few files are open at the same time while reports are written.
const NUMBER: usize = 24;

/// Descriptors that the target cannot use up. Fewer than planned if the limit is low.
#[derive(Debug)]
pub struct Reserve(Vec<File>);

impl Reserve {
    /// Opens the descriptors.
    #[must_use]
    pub fn new() -> Self {
        Self(core::iter::repeat_with(|| File::open("/dev/null")).map_while(Result::ok).take(NUMBER).collect())
    }

    /// Closes the descriptors: files can be opened in their place.
    pub fn release(&mut self) {
        self.0.clear();
    }
}

impl Default for Reserve {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_reserve_holds_nothing() {
        let mut reserve = Reserve::new();
        assert_eq!(reserve.0.len(), NUMBER);
        reserve.release();
        assert!(reserve.0.is_empty());
    }
}
