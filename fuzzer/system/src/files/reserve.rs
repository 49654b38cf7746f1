//! Descriptors that are held back, so that files can be opened when all others are in use.

use std::fs::File;

/// Maximum number of descriptors: a few files are open at the same time while reports are written.
const MOST: usize = 24;

/// The share of the limit on descriptors that is held back at most: `1 / SHARE`.
const SHARE: usize = 16;

/// Descriptors that the target cannot use up.
#[derive(Debug)]
pub struct Reserve(Vec<File>);

impl Reserve {
    /// Opens the descriptors.
    #[must_use]
    pub fn new() -> Self {
        let number = (limit() / SHARE).min(MOST);
        Self(core::iter::repeat_with(|| File::open("/dev/null")).map_while(Result::ok).take(number).collect())
    }

    /// Closes the descriptors: files can be opened in their place.
    pub fn release(&mut self) {
        self.0.clear();
    }
}

/// Returns true if this process can open a file.
#[must_use]
pub fn is_left() -> bool {
    File::open("/dev/null").is_ok()
}

/// The number of descriptors that this process may have; 0 if it is not known.
fn limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one local structure.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
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
        assert_eq!(reserve.0.len(), (limit() / SHARE).min(MOST));
        reserve.release();
        assert!(reserve.0.is_empty());
    }
}
