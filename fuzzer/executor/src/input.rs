//! Standard input of the code under test, whose text is a part of the input.
//!
//! The target shares the C library of this process, so all its functions that read standard input (`scanf`, `getchar`,
//! `fgets(..., stdin)`) use the variable `stdin`. Before each call the variable is set to a new stream in memory. To
//! open and close a stream costs 130 ns (glibc, measured over 200000 times), 250 ns with a read. Only functions that
//! can read standard input have this cost.
//!
//! The system call `read` and `std::cin` do not use this variable. For functions that can reach one of them, descriptor
//! 0 is a file in memory, the original stream of `stdin` reads from it, and `std::cin` is reset to its state at the
//! start.

use core::{ffi::c_void, ptr::null_mut};

use super::files::{MemoryFile, keeping_errno};

unsafe extern "C" {
    #[link_name = "stdin"]
    static mut STDIN: *mut libc::FILE;
    fn __fpurge(file: *mut libc::FILE);
}

/// Size in bytes of `std::cin` in libstdc++ on 64-bit machines.
const CIN_BYTES: usize = 280;

/// Standard input while the function under test runs.
#[derive(Debug)]
pub struct Input {
    /// `stdin` of the process.
    original: *mut libc::FILE,
    /// Null before the first call, and if standard input is a descriptor.
    stream: *mut libc::FILE,
    descriptor: Option<Descriptor>,
}

/// Standard input as a file of descriptor 0.
#[derive(Debug, Default)]
struct Descriptor {
    file: MemoryFile,
    cin: Option<Cin>,
}

/// The address of `std::cin`, and its bytes at the start.
#[derive(Debug)]
struct Cin {
    at: *mut u8,
    before: [u8; CIN_BYTES],
}

impl Input {
    /// Creates a standard input without a text. With `is_descriptor`, descriptor 0 reads the text as well.
    pub fn new(is_descriptor: bool) -> Self {
        let descriptor = is_descriptor.then(|| Descriptor { cin: Cin::find(), ..Descriptor::default() });
        // SAFETY: reads a variable that only this thread changes.
        Self { original: unsafe { STDIN }, stream: null_mut(), descriptor }
    }

    /// Makes standard input read the text, which ends before its first 0.
    ///
    /// # Safety
    /// The text must have `bytes` bytes, one of them 0, and must be neither moved nor freed before this value is
    /// dropped or `open` is called again.
    pub unsafe fn open(&mut self, text: *mut u8, bytes: usize) {
        self.close();
        // SAFETY: by the contract of this function. The stream only reads.
        unsafe {
            let n = (0..bytes).find(|i| text.add(*i).read() == 0).unwrap_or(bytes);
            if let Some(descriptor) = &mut self.descriptor {
                let text = core::slice::from_raw_parts(text, n);
                keeping_errno(|| descriptor.open(text, self.original));
                return;
            }
            self.stream = libc::fmemopen(text.cast(), n, c"r".as_ptr());
            STDIN = if self.stream.is_null() { self.original } else { self.stream };
        }
    }

    fn close(&mut self) {
        // SAFETY: nothing reads the stream any more. If the target has closed it or changed `stdin` itself, it is not
        // touched.
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

impl Descriptor {
    /// # Safety
    /// `stdin` must be an open stream.
    unsafe fn open(&mut self, text: &[u8], stdin: *mut libc::FILE) {
        let descriptor = self.file.set(text);
        // SAFETY: by the contract of this function. Nothing else of this process reads its standard input.
        unsafe {
            libc::dup2(descriptor, libc::STDIN_FILENO);
            __fpurge(stdin);
            libc::clearerr(stdin);
        }
        if let Some(cin) = &self.cin {
            // SAFETY: the object has these bytes, which include no pointer that it owns.
            unsafe { cin.at.copy_from_nonoverlapping(cin.before.as_ptr(), CIN_BYTES) };
        }
    }
}

impl Cin {
    /// Finds the object, if libstdc++ is loaded.
    fn find() -> Option<Self> {
        // SAFETY: looks a symbol up in a library that stays loaded; the object has these bytes.
        unsafe {
            let library = libc::dlopen(c"libstdc++.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                return None;
            }
            let at: *mut c_void = libc::dlsym(library, c"_ZSt3cin".as_ptr());
            libc::dlclose(library);
            let at = at.cast::<u8>();
            (!at.is_null()).then(|| Self { at, before: at.cast::<[u8; CIN_BYTES]>().read() })
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.close();
    }
}
