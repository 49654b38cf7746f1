//! The calls of a sequence as one guarded evaluation.

use crate::program::function::Call;

/// A call of a sequence.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The thunk.
    pub call: Call,
    /// Its arguments.
    pub frame: *mut u8,
    /// Room for its result, 16 bytes.
    pub result: *mut u8,
}

/// An address that is known when the calls before have been made.
#[derive(Debug, Clone, Copy)]
pub struct Patch {
    /// The number of the call that gets it.
    pub step: usize,
    /// Where it comes from.
    pub from: *const usize,
    /// Its place in the frame.
    pub to: *mut usize,
}

/// Memory of the target that a call gets anew.
#[derive(Debug, Clone, Copy)]
pub struct Filled {
    /// The number of the call before which it is written.
    pub step: usize,
    /// What it gets.
    pub from: *const u8,
    /// Where it lies.
    pub to: *mut u8,
    /// Bytes.
    pub size: usize,
}

/// The calls of one evaluation, in order.
#[derive(Debug, Default)]
pub struct Script {
    /// Makers first.
    pub steps: Vec<Step>,
    /// By their steps.
    pub patches: Vec<Patch>,
    /// By their steps.
    pub filled: Vec<Filled>,
    /// `errno` behind each step; it is 0 before.
    pub errnos: Vec<i32>,
    /// How many of the steps are made in this evaluation.
    pub n: usize,
    /// How many of them have begun.
    pub begun: usize,
}

/// Makes the calls of the [`Script`] at `script`, in order. A call that would get a null pointer from a maker, and all behind it, are not
/// made. It has the type of a thunk, so the guard calls it as one.
///
/// # Safety
/// `script` is one whose steps have the frames that their thunks need, and variables of the target to fill; nothing else uses it meanwhile.
pub unsafe extern "C-unwind" fn run(script: *const u8, _: *mut u8) {
    #[expect(clippy::cast_ptr_alignment, reason = "it is a script, which has this type as an argument of thunks only")]
    let script = script.cast_mut().cast::<Script>();
    // SAFETY: by the contract of this function. A jump out of a thunk skips this frame, which owns nothing.
    unsafe {
        let Script { steps, patches, filled, errnos, n, begun } = &mut *script;
        let errno = libc::__errno_location();
        *begun = 0;
        let mut patches = patches.iter().peekable();
        let mut filled = filled.iter().peekable();
        for (i, step) in steps.iter().take(*n).enumerate() {
            while let Some(patch) = patches.next_if(|p| p.step == i) {
                let address = patch.from.read_unaligned();
                if address == 0 {
                    return;
                }
                patch.to.write_unaligned(address);
            }
            while let Some(f) = filled.next_if(|f| f.step == i) {
                f.to.copy_from_nonoverlapping(f.from, f.size);
            }
            *begun = i + 1;
            errno.write(0);
            (step.call)(step.frame, step.result);
            if let Some(own) = errnos.get_mut(i) {
                *own = errno.read();
            }
        }
    }
}
