//! Standard input of the code under test: a stream over a text of the input.
//!
//! The target shares the C library of this process, so all of its functions that read standard input (`scanf`, `getchar`, `fgets(...,
//! stdin)`) go through the one variable `stdin`. Before each call it is set to a new stream in memory. To open and close one
//! costs 130 ns (glibc, measured over 200000 times), 250 ns with a read; only functions that can read standard input pay for it.

use core::ptr::null_mut;

unsafe extern "C" {
    #[link_name = "stdin"]
    static mut STDIN: *mut libc::FILE;
}

/// What `stdin` is while the function under test runs.
#[derive(Debug)]
pub struct Input {
    /// Of the process.
    original: *mut libc::FILE,
    /// Null before the first call.
    stream: *mut libc::FILE,
}

impl Input {
    /// No stream yet.
    pub fn new() -> Self {
        // SAFETY: reads a variable that only this thread changes.
        Self { original: unsafe { STDIN }, stream: null_mut() }
    }

    /// Makes `stdin` a stream over the text, which ends before its first 0.
    ///
    /// # Safety
    /// The text has this many bytes, among them a 0, and is neither moved nor freed before this value or the next call of `open`.
    pub unsafe fn open(&mut self, text: *mut u8, bytes: usize) {
        self.close();
        // SAFETY: by the contract of this function. The stream only reads.
        unsafe {
            let n = (0..bytes).find(|i| text.add(*i).read() == 0).unwrap_or(bytes);
            self.stream = libc::fmemopen(text.cast(), n, c"r".as_ptr());
            STDIN = if self.stream.is_null() { self.original } else { self.stream };
        }
    }

    fn close(&mut self) {
        // SAFETY: nobody reads the stream any more. The target may have closed it or changed `stdin` itself: then it is left alone.
        unsafe {
            let is_ours = !self.stream.is_null() && STDIN == self.stream;
            STDIN = self.original;
            if is_ours {
                libc::fclose(self.stream);
            }
        }
        self.stream = null_mut();
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.close();
    }
}
