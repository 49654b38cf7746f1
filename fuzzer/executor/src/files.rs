//! Files for the code under test: streams over a text in memory, and names of files in memory.
//!
//! A stream is a libc stream with the functions of this file behind it (`fopencookie`), which detect whether the callee
//! has closed it. A named file is a `memfd`, and its name is that of its descriptor in `/proc/self/fd`. Before each
//! call both contain the text of the input again. Files that the callee opens and does not close are closed after the
//! call.

use core::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use penfuzz_target::inputs::{Model, NO_FILE, PROGRAM};

use super::sandbox;

/// Number of descriptors that are checked for files left open.
const WATCHED: usize = 8;
/// Lowest descriptor of the fuzzer's own files. The first descriptors are left to the callee.
const OWN: c_int = 200;
/// Capacity of a stream in bytes.
const STREAM_ROOM: usize = 4096;
/// Capacity of a name in bytes.
const NAME: usize = 32;

/// `cookie_io_functions_t`
#[repr(C)]
struct Functions {
    read: unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> isize,
    write: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize,
    seek: unsafe extern "C" fn(*mut c_void, *mut i64, c_int) -> c_int,
    close: unsafe extern "C" fn(*mut c_void) -> c_int,
}

unsafe extern "C" {
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Functions) -> *mut libc::FILE;
    fn getopt(argc: c_int, argv: *const *mut c_char, options: *const c_char) -> c_int;
    static mut optind: c_int;
    static mut opterr: c_int;
}

/// Resets the state of `getopt` to that of a new process by a call for a program without arguments.
pub fn reset_options() {
    let argv = [PROGRAM.as_ptr().cast_mut(), null_mut()];
    // SAFETY: a terminated list of one argument, which is not changed. Only this thread uses these variables.
    unsafe {
        (optind, opterr) = (0, 1);
        getopt(1, argv.as_ptr(), c"".as_ptr());
    }
}

/// Returns the address of the program name, which the callee may overwrite.
pub fn program() -> usize {
    static mut NAME_OF_PROGRAM: [u8; NAME] = [0; NAME];
    // SAFETY: only this thread runs the target, and the name is shorter than the memory.
    unsafe { write_name(&raw mut NAME_OF_PROGRAM, PROGRAM.to_bytes_with_nul()) }
}

/// # Safety
/// `to` must be writable.
unsafe fn write_name(to: *mut [u8; NAME], name: &[u8]) -> usize {
    // SAFETY: by the contract of this function.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(name.as_ptr(), name.len().min(NAME)) };
    to as usize
}

/// The files of one model.
#[derive(Debug, Default)]
pub struct Files {
    all: Vec<One>,
    /// The lowest unused descriptors before a call.
    free: Vec<c_int>,
}

#[derive(Debug)]
enum One {
    Stream(Box<Stream>),
    Name(Box<Named>),
}

impl Files {
    /// Prepares the files of `model` without opening any.
    pub fn new(model: &Model) -> Self {
        let one = |is_name: bool| if is_name { One::Name(Box::default()) } else { One::Stream(Box::default()) };
        Self { all: model.files.iter().map(|f| one(f.missing.is_some())).collect(), free: Vec::new() }
    }

    /// Opens a `FILE` over a text, positioned at the start, and returns its address.
    pub fn stream(&mut self, file: usize, text: (*const u8, usize)) -> usize {
        match &mut self.all[file] {
            // SAFETY: the caller guarantees that many bytes.
            One::Stream(stream) => stream.open(unsafe { core::slice::from_raw_parts(text.0, text.1) }),
            One::Name(_) => 0,
        }
    }

    /// Returns the address of the name of a file with this text, or of the name of a missing file.
    pub fn name(&mut self, file: usize, text: (*const u8, usize), is_missing: bool) -> usize {
        keeping_errno(|| self.make_name(file, text, is_missing))
    }

    fn make_name(&mut self, file: usize, text: (*const u8, usize), is_missing: bool) -> usize {
        if self.free.first().is_none_or(|first| is_open(*first)) {
            self.free = (3..OWN).filter(|n| !is_open(*n)).take(WATCHED).collect();
        }
        match &mut self.all[file] {
            // SAFETY: the caller guarantees that many bytes.
            One::Name(named) => named.set(unsafe { core::slice::from_raw_parts(text.0, text.1) }, is_missing),
            One::Stream(_) => 0,
        }
    }

    /// The contents of a file after a call; `None` if it is too large, or cannot be read.
    pub fn contents(&self, file: usize) -> Option<Vec<u8>> {
        match self.all.get(file)? {
            One::Stream(stream) => (stream.used < STREAM_ROOM).then(|| stream.bytes[..stream.used].to_vec()),
            One::Name(named) => keeping_errno(|| named.file.contents()),
        }
    }

    /// Writes what streams have buffered, and closes the files that the call left open.
    pub fn finish(&mut self) {
        for one in &mut self.all {
            if let One::Stream(stream) = one
                && !stream.file.is_null()
            {
                // SAFETY: an open stream.
                keeping_errno(|| unsafe { libc::fflush(stream.file) });
            }
        }
        let Some(first) = self.free.first() else { return };
        let close = || {
            // SAFETY: these descriptors were unused before the call, so the callee opened them.
            self.free.iter().filter(|n| is_open(**n)).for_each(|n| unsafe { _ = libc::close(*n) });
        };
        keeping_errno(|| {
            if is_open(*first) {
                close();
            }
        });
    }
}

/// Runs `work` and restores `errno` afterwards, so that the callee does not see a change.
pub fn keeping_errno<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the variable of this thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    let done = work();
    // SAFETY: as above.
    unsafe { errno.write(before) };
    done
}

fn is_open(descriptor: c_int) -> bool {
    // Not fcntl, which the filter on system calls intercepts: that takes microseconds.
    // SAFETY: does not move the position; fails for an open pipe as well, with another error.
    let at = unsafe { libc::lseek(descriptor, 0, libc::SEEK_CUR) };
    at >= 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EBADF)
}

/// The contents and the position of a stream.
#[derive(Debug)]
struct Stream {
    bytes: [u8; STREAM_ROOM],
    used: usize,
    at: usize,
    /// Null if the stream is closed.
    file: *mut libc::FILE,
}

impl Default for Stream {
    fn default() -> Self {
        Self { bytes: [0; STREAM_ROOM], used: 0, at: 0, file: null_mut() }
    }
}

impl Stream {
    fn open(&mut self, text: &[u8]) -> usize {
        self.close();
        let n = text.len().min(STREAM_ROOM);
        self.bytes[..n].copy_from_slice(&text[..n]);
        self.bytes[n..].fill(0);
        (self.used, self.at) = (n, 0);
        let functions = Functions { read, write, seek, close };
        // SAFETY: the stream is closed before this boxed value is dropped.
        self.file = unsafe { fopencookie((&raw mut *self).cast(), c"r+".as_ptr(), functions) };
        self.file as usize
    }

    fn close(&mut self) {
        let file = self.file;
        if !file.is_null() {
            // SAFETY: an open stream. This calls `close` below.
            unsafe { libc::fclose(file) };
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.close();
    }
}

/// # Safety
/// As `fopencookie` calls it: `cookie` is a [`Stream`], `to` has room for `n` bytes.
unsafe extern "C" fn read(cookie: *mut c_void, to: *mut c_char, n: usize) -> isize {
    // SAFETY: by the contract of this function.
    unsafe {
        let me = &mut *cookie.cast::<Stream>();
        let n = n.min(me.used.saturating_sub(me.at));
        to.cast::<u8>().copy_from_nonoverlapping(me.bytes.as_ptr().add(me.at), n);
        me.at += n;
        n.cast_signed()
    }
}

/// # Safety
/// As `fopencookie` calls it: `cookie` is a [`Stream`], `from` has `n` bytes.
unsafe extern "C" fn write(cookie: *mut c_void, from: *const c_char, n: usize) -> isize {
    // SAFETY: by the contract of this function.
    unsafe {
        let me = &mut *cookie.cast::<Stream>();
        let n = n.min(STREAM_ROOM.saturating_sub(me.at));
        me.bytes.as_mut_ptr().add(me.at.min(STREAM_ROOM)).copy_from_nonoverlapping(from.cast(), n);
        me.at += n;
        me.used = me.used.max(me.at);
        n.cast_signed()
    }
}

/// # Safety
/// As `fopencookie` calls it: `cookie` is a [`Stream`].
unsafe extern "C" fn seek(cookie: *mut c_void, offset: *mut i64, whence: c_int) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe {
        let me = &mut *cookie.cast::<Stream>();
        let from = match whence {
            libc::SEEK_SET => 0,
            libc::SEEK_CUR => me.at,
            _ => me.used,
        };
        let to = offset.read().checked_add(from as i64).and_then(|to| usize::try_from(to).ok());
        let Some(to) = to.filter(|to| *to <= STREAM_ROOM) else { return -1 };
        me.at = to;
        offset.write(to as i64);
        0
    }
}

/// # Safety
/// As `fopencookie` calls it: `cookie` is a [`Stream`].
unsafe extern "C" fn close(cookie: *mut c_void) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe { (*cookie.cast::<Stream>()).file = null_mut() };
    0
}

/// A file in memory. Its descriptor is higher than those of the callee. A forked process creates its own file.
#[derive(Debug, Default)]
pub struct MemoryFile {
    /// The id of the process that created the file, and the descriptor there.
    of: Option<(u32, c_int)>,
}

impl MemoryFile {
    /// Sets the contents and moves the file position to the start. Returns the descriptor, or -1 if the system has none
    /// left.
    pub fn set(&mut self, text: &[u8]) -> c_int {
        let process = std::process::id();
        let known = self.of.filter(|(of, _)| *of == process).map(|(_, descriptor)| descriptor);
        let descriptor = known.unwrap_or_else(Self::make);
        self.of = Some((process, descriptor));
        // SAFETY: only system calls. On an error there is no file, and the callee sees that.
        unsafe {
            libc::ftruncate(descriptor, 0);
            libc::pwrite(descriptor, text.as_ptr().cast(), text.len(), 0);
            libc::lseek(descriptor, 0, libc::SEEK_SET);
        }
        descriptor
    }

    /// The contents; `None` if this process has no such file, or if it is larger than a stream.
    fn contents(&self) -> Option<Vec<u8>> {
        let (_, descriptor) = self.of.filter(|(of, _)| *of == std::process::id())?;
        let mut bytes = vec![0; STREAM_ROOM];
        // SAFETY: the descriptor belongs to this value, and there is room for that many bytes.
        let n = unsafe { libc::pread(descriptor, bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        bytes.truncate(usize::try_from(n).ok()?);
        (bytes.len() < STREAM_ROOM).then_some(bytes)
    }

    fn make() -> c_int {
        // SAFETY: creates descriptors and closes the first of them.
        unsafe {
            let first = libc::memfd_create(c"penfuzz".as_ptr(), libc::MFD_CLOEXEC);
            let descriptor = libc::fcntl(first, libc::F_DUPFD_CLOEXEC, OWN);
            libc::close(first);
            sandbox::protect(descriptor);
            descriptor
        }
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        if let Some((_, descriptor)) = self.of.filter(|(of, _)| *of == std::process::id()) {
            sandbox::unprotect(descriptor);
            // SAFETY: the descriptor belongs to this value.
            unsafe { libc::close(descriptor) };
        }
    }
}

#[derive(Debug, Default)]
struct Named {
    file: MemoryFile,
    name: [u8; NAME],
}

impl Named {
    fn set(&mut self, text: &[u8], is_missing: bool) -> usize {
        use std::io::Write;
        if is_missing {
            // SAFETY: memory of this value, and the name is short enough.
            return unsafe { write_name(&raw mut self.name, NO_FILE.to_bytes_with_nul()) };
        }
        let descriptor = self.file.set(text);
        let mut rest = &mut self.name[..];
        let _ = write!(rest, "/proc/self/fd/{descriptor}\0");
        self.name.as_ptr() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_and_written_and_may_be_closed() {
        let mut stream = Box::new(Stream::default());
        for closes in [true, false, true] {
            let file = stream.open(b"one\ntwo") as *mut libc::FILE;
            let mut line = [0; 16];
            // SAFETY: an open stream, and memory of this test.
            unsafe {
                assert!(!libc::fgets(line.as_mut_ptr().cast(), 16, file).is_null());
                assert_eq!(&line[..5], b"one\n\0");
                libc::fseek(file, 0, libc::SEEK_END);
                assert_eq!(libc::ftell(file), 7);
                libc::fputs(c"!".as_ptr(), file);
                libc::rewind(file);
                assert_eq!(libc::fread(line.as_mut_ptr().cast(), 1, 16, file), 8);
                if closes {
                    libc::fclose(file);
                }
            }
            assert_eq!(&line[..8], b"one\ntwo!");
        }
    }

    #[test]
    fn a_named_file_has_its_text_each_time() {
        let mut named = Named::default();
        let name = |at: usize| {
            // SAFETY: a terminated name.
            unsafe { core::ffi::CStr::from_ptr(at as *const c_char) }.to_str().unwrap().to_owned()
        };
        for text in ["a longer text", "short", ""] {
            let path = name(named.set(text.as_bytes(), false));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            std::fs::write(&path, "changed by the callee").unwrap();
        }
        let missing = name(named.set(b"", true));
        assert!(std::fs::File::open(missing).is_err());
    }
}
