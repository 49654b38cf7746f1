//! The stack of a fault as text: function, file and line of each frame of the target and its libraries.
//!
//! The handler in `guard.c` stores addresses only; names are looked up afterwards. If the stack was corrupted or has
//! overflowed, the frames that could be found are listed, at least the place of the fault.

use penfuzz_target::program::{modules::base_of, symbols::Symbols};

use super::guard::End;

/// Maximum number of frames listed.
pub const LISTED: usize = 16;

/// Returns `function (file:line)` per frame, innermost first, at most [`LISTED`]. Repeated frames are one entry with
/// their number.
#[must_use]
pub fn describe(end: &End, symbols: &Symbols) -> Vec<String> {
    let mut frames: Vec<String> = Vec::new();
    for address in addresses(end) {
        match symbols.thunk_of(address) {
            // A function that is inlined into its thunk has the thunk's symbol. Any other function is already listed.
            Some(name) => {
                if frames
                    .last()
                    .is_none_or(|f| f.strip_prefix(&name).is_none_or(|r| !(r.is_empty() || r.starts_with(" ("))))
                {
                    frames.push(name);
                }
            }
            None => frames.extend(symbols.frames(address).unwrap_or_default()),
        }
    }
    if end.signal == libc::SIGABRT
        && let Some(abort) = frames.iter().position(|frame| frame.starts_with("abort ("))
    {
        // What the C library does to raise the signal.
        frames.drain(..abort);
    }
    collapse(frames)
}

/// Returns code addresses, innermost first: the place of the fault, and the call instruction in each outer frame.
fn addresses(end: &End) -> Vec<u64> {
    let own = base_of(addresses as *const () as u64);
    let is_own = |address: u64| own.is_some() && base_of(address) == own;
    let mut rest = end.frames().skip_while(|a| is_own(*a)).peekable();
    let mut all = Vec::new();
    if end.signal != 0 || end.stop == super::guard::STOP_MEMORY {
        // After the handler's frames come the signal frame of the system, then the place itself, which is not a return
        // address.
        rest.next();
        if is_own(end.place) {
            // The system call that raises the signal is examined by this program in a signal handler of its own.
            while rest.next_if(|address| is_own(*address)).is_some() {}
            if end.signal == libc::SIGABRT {
                // The signal frame of that handler.
                rest.next();
            }
        } else {
            all.push(end.place);
            if rest.next_if_eq(&end.place).is_none() && base_of(end.place).is_none() {
                all.push(end.caller.wrapping_sub(1));
            }
        }
    }
    all.extend(rest.take_while(|a| !is_own(*a)).map(|a| a.wrapping_sub(1)));
    if all.is_empty() {
        all.push(end.place.wrapping_sub(1));
    }
    all
}

fn collapse(frames: Vec<String>) -> Vec<String> {
    let mut listed: Vec<(String, usize)> = Vec::new();
    for frame in frames {
        match listed.last_mut().filter(|(last, _)| *last == frame) {
            Some((_, n)) => *n += 1,
            None => listed.push((frame, 1)),
        }
    }
    listed.truncate(LISTED);
    listed.into_iter().map(|(f, n)| if n == 1 { f } else { format!("{f}, {n} times") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_is_one_line() {
        let frames = |list: &[&str]| list.iter().map(|f| (*f).to_owned()).collect::<Vec<_>>();
        assert_eq!(collapse(frames(&["a", "b", "b", "b", "a"])), ["a", "b, 3 times", "a"]);
    }

    #[test]
    fn a_deep_stack_is_cut() {
        assert_eq!(collapse((0..40).map(|i| i.to_string()).collect()).len(), LISTED);
    }
}
