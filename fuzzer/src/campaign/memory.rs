//! How much memory the worker uses, and the limit that makes a greedy target fail instead of the machine.

use std::{
    fs::File,
    os::unix::fs::FileExt,
};

use crate::error::Error;

/// Reads this process's memory use and knows the limit.
#[derive(Debug)]
pub struct Gauge {
    statm: File,
    page: u64,
    base: u64,
    limit: u64,
}

impl Gauge {
    /// Lets the process grow by `limit` bytes from now on; an allocation beyond that fails.
    ///
    /// # Errors
    /// When `/proc` is not there.
    pub fn install(limit: u64) -> Result<Self, Error> {
        let statm =
            File::open("/proc/self/statm").map_err(|e| Error::new(format!("cannot read /proc/self/statm: {e}")))?;
        // SAFETY: sysconf only reads.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
        let mut gauge = Self { statm, page, base: 0, limit };
        gauge.base = gauge.size();
        let most = gauge.base.saturating_add(limit);
        let bound = libc::rlimit { rlim_cur: most, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: plain data; a refusal only means that the limit is watched between turns alone.
        unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const bound) };
        Ok(gauge)
    }

    /// Address space in use, in bytes.
    fn size(&self) -> u64 {
        let mut text = [0u8; 64];
        let n = self.statm.read_at(&mut text, 0).unwrap_or(0);
        let first = text[..n].split(|b| *b == b' ').next().unwrap_or(&[]);
        let pages: u64 = core::str::from_utf8(first).ok().and_then(|t| t.parse().ok()).unwrap_or(0);
        pages * self.page
    }

    /// Has the target left so much behind that a new worker should take over?
    #[must_use]
    pub fn is_worn_out(&self) -> bool {
        self.size() > self.base + self.limit / 2
    }
}
