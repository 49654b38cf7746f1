//! A sequence of calls, run as one guarded evaluation.

use crate::program::function::Call;

/// One call of a sequence.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The thunk.
    pub call: Call,
    /// Its arguments.
    pub frame: *mut u8,
    /// The place of its result, 16 bytes.
    pub result: *mut u8,
}

/// An address in a frame that is known only after an earlier call has returned.
#[derive(Debug, Clone, Copy)]
pub struct Patch {
    /// The index of the call whose frame contains the address.
    pub step: usize,
    /// Where the address is read from.
    pub from: *const usize,
    /// Where in the frame it is written.
    pub to: *mut usize,
}

/// Memory of the target that is written before a call.
#[derive(Debug, Clone, Copy)]
pub struct VariableWrite {
    /// The index of the call before which it is written.
    pub step: usize,
    /// The bytes to write.
    pub from: *const u8,
    /// The memory of the target.
    pub to: *mut u8,
    /// Number of bytes.
    pub size: usize,
}

/// The calls of one evaluation, in order.
#[derive(Debug, Default)]
pub struct Script {
    /// Makers first.
    pub steps: Vec<Step>,
    /// Ordered by step.
    pub patches: Vec<Patch>,
    /// Ordered by step.
    pub variable_writes: Vec<VariableWrite>,
    /// `errno` after each step; it is set to 0 before.
    pub errnos: Vec<i32>,
    /// Number of steps to run in this evaluation.
    pub n: usize,
    /// Number of steps started.
    pub begun: usize,
}

/// Makes the calls of the [`Script`] at `script`, in order. If a call would get a null pointer from a maker, it and all
/// later calls are skipped. The function has the type of a thunk, so the guard can call it as one.
///
/// # Safety
/// `script` must point to a [`Script`] whose steps have the frames that their thunks need, and whose variables lie in
/// the target. Nothing else may use it during the call.
pub unsafe extern "C-unwind" fn run(script: *const u8, _: *mut u8) {
    #[expect(clippy::cast_ptr_alignment, reason = "it is a script, which has this type as an argument of thunks only")]
    let script = script.cast_mut().cast::<Script>();
    // SAFETY: by the contract of this function. A jump out of a thunk skips this frame, which owns nothing.
    unsafe {
        let Script { steps, patches, variable_writes, errnos, n, begun } = &mut *script;
        let errno = libc::__errno_location();
        *begun = 0;
        let mut patches = patches.iter().peekable();
        let mut variable_writes = variable_writes.iter().peekable();
        for (i, step) in steps.iter().take(*n).enumerate() {
            while let Some(patch) = patches.next_if(|p| p.step == i) {
                let address = patch.from.read_unaligned();
                if address == 0 {
                    return;
                }
                patch.to.write_unaligned(address);
            }
            while let Some(f) = variable_writes.next_if(|f| f.step == i) {
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
