//! Callbacks for the code under test. Each callback returns a number of the input, both in the integer and in the
//! floating-point return register, so that it fits either return type.

use core::arch::global_asm;

use penfuzz_mutators::view::{Kind, Slot};

/// Maximum number of callbacks of one function; further callbacks share the last one.
const STUBS: usize = 8;

/// The bits that each stub returns.
static mut VALUES: [u64; STUBS] = [0; STUBS];

#[cfg(target_arch = "x86_64")]
global_asm!(
    ".macro penfuzz_stub n",
    ".balign 32",
    "mov rax, qword ptr [rip + {values} + 8*\\n]",
    "movq xmm0, rax",
    "ret",
    ".endm",
    ".text",
    ".globl penfuzz_stubs",
    ".hidden penfuzz_stubs",
    ".balign 32",
    "penfuzz_stubs:",
    "penfuzz_stub 0",
    "penfuzz_stub 1",
    "penfuzz_stub 2",
    "penfuzz_stub 3",
    "penfuzz_stub 4",
    "penfuzz_stub 5",
    "penfuzz_stub 6",
    "penfuzz_stub 7",
    ".purgem penfuzz_stub",
    values = sym VALUES,
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".macro penfuzz_stub n",
    ".balign 32",
    "adrp x9, {values} + 8*\\n",
    "ldr x0, [x9, :lo12:{values} + 8*\\n]",
    "fmov d0, x0",
    "ret",
    ".endm",
    ".text",
    ".globl penfuzz_stubs",
    ".hidden penfuzz_stubs",
    ".balign 32",
    "penfuzz_stubs:",
    "penfuzz_stub 0",
    "penfuzz_stub 1",
    "penfuzz_stub 2",
    "penfuzz_stub 3",
    "penfuzz_stub 4",
    "penfuzz_stub 5",
    "penfuzz_stub 6",
    "penfuzz_stub 7",
    ".purgem penfuzz_stub",
    values = sym VALUES,
);

unsafe extern "C" {
    fn penfuzz_stubs();
}

/// Size in bytes of the code of one stub.
const CODE: usize = 32;

/// Makes stub number `n` return the number in `slot` of `x`, or 0, and returns the address of the stub.
pub fn address(n: usize, slot: Option<Slot>, x: &[u8]) -> usize {
    let bits = slot.map_or(0, |slot| match slot.kind {
        Kind::F32 | Kind::F64 => slot.get(x),
        // Sign-extended, because a caller may use the full register.
        kind => kind.to_integer(slot.get(x)).unwrap_or(0) as u64,
    });
    returning(n, bits)
}

/// Makes stub number `n` return these bits, and returns the address of the stub.
pub fn returning(n: usize, bits: u64) -> usize {
    let n = n.min(STUBS - 1);
    // SAFETY: only this thread runs the target, which reads the value.
    unsafe { (&raw mut VALUES).cast::<u64>().add(n).write(bits) };
    penfuzz_stubs as *const () as usize + n * CODE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_returns_its_number_in_both_registers() {
        let slot = Slot { kind: Kind::F64, offset: 0 };
        let x = 2.5f64.to_le_bytes();
        let at = address(3, Some(slot), &x);
        // SAFETY: the code of the stub obeys the calling convention of both types.
        let (float, integer) = unsafe {
            let float = core::mem::transmute::<usize, extern "C" fn() -> f64>(at);
            let integer = core::mem::transmute::<usize, extern "C" fn() -> u64>(at);
            (float(), integer())
        };
        assert_eq!((float, integer), (2.5, 2.5f64.to_bits()));
    }

    #[test]
    fn a_signed_integer_fills_the_register() {
        let slot = Slot { kind: Kind::I32, offset: 0 };
        let at = address(0, Some(slot), &(-7i32).to_le_bytes());
        // SAFETY: as above.
        let integer = unsafe { core::mem::transmute::<usize, extern "C" fn() -> i64>(at) };
        assert_eq!(integer(), -7);
    }
}
