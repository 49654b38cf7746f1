//! Callbacks for the code under test. Each callback returns a number of the input, both in the integer and in the
//! floating-point return register, so that it fits either return type. It counts its calls and keeps the registers in
//! which the last call passed its arguments.

use core::arch::global_asm;

use penfuzz_mutators::view::{Kind, Slot};

/// Maximum number of callbacks of one function; further callbacks share the last one.
const STUBS: usize = 8;

/// Number of registers for integers and pointers that are kept: the smallest number among the supported processors.
const INTEGERS: usize = 6;
/// Number of registers for floating-point numbers that are kept: all that calls use.
const FLOATS: usize = 8;

/// What a stub returns, and how it was called. The code of the stubs knows the layout.
#[repr(C)]
#[derive(Clone, Copy)]
struct Record {
    /// The bits that it returns.
    returns: u64,
    /// Number of calls.
    calls: u64,
    /// The registers of the last call.
    integers: [u64; INTEGERS],
    floats: [u64; FLOATS],
}

static mut RECORDS: [Record; STUBS] =
    [Record { returns: 0, calls: 0, integers: [0; INTEGERS], floats: [0; FLOATS] }; STUBS];

/// The calls of a callback in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Number of calls.
    pub calls: u64,
    /// The numbers that the last call passed: index of the parameter, kind, bits. Without calls it is empty.
    pub numbers: Vec<(usize, Kind, u64)>,
}

#[cfg(target_arch = "x86_64")]
global_asm!(
    ".macro penfuzz_stub n",
    ".balign 32",
    "lea r11, [rip + {records} + 128*\\n]",
    "jmp penfuzz_stub_body",
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
    ".balign 32",
    "penfuzz_stub_body:",
    "inc qword ptr [r11 + 8]",
    "mov qword ptr [r11 + 16], rdi",
    "mov qword ptr [r11 + 24], rsi",
    "mov qword ptr [r11 + 32], rdx",
    "mov qword ptr [r11 + 40], rcx",
    "mov qword ptr [r11 + 48], r8",
    "mov qword ptr [r11 + 56], r9",
    "movq qword ptr [r11 + 64], xmm0",
    "movq qword ptr [r11 + 72], xmm1",
    "movq qword ptr [r11 + 80], xmm2",
    "movq qword ptr [r11 + 88], xmm3",
    "movq qword ptr [r11 + 96], xmm4",
    "movq qword ptr [r11 + 104], xmm5",
    "movq qword ptr [r11 + 112], xmm6",
    "movq qword ptr [r11 + 120], xmm7",
    "mov rax, qword ptr [r11]",
    "movq xmm0, rax",
    "ret",
    records = sym RECORDS,
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".macro penfuzz_stub n",
    ".balign 32",
    "adrp x9, {records} + 128*\\n",
    "add x9, x9, :lo12:{records} + 128*\\n",
    "b penfuzz_stub_body",
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
    ".balign 32",
    "penfuzz_stub_body:",
    "ldr x10, [x9, #8]",
    "add x10, x10, #1",
    "str x10, [x9, #8]",
    "stp x0, x1, [x9, #16]",
    "stp x2, x3, [x9, #32]",
    "stp x4, x5, [x9, #48]",
    "stp d0, d1, [x9, #64]",
    "stp d2, d3, [x9, #80]",
    "stp d4, d5, [x9, #96]",
    "stp d6, d7, [x9, #112]",
    "ldr x0, [x9]",
    "fmov d0, x0",
    "ret",
    records = sym RECORDS,
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

/// Sets the numbers of calls of the first `n` stubs to 0. An input may leave a stub out.
pub fn forget_calls(n: usize) {
    for stub in 0..n.min(STUBS) {
        // SAFETY: only this thread runs the target, which writes the record.
        unsafe { (*(&raw mut RECORDS).cast::<Record>().add(stub)).calls = 0 };
    }
}

/// Makes stub number `n` return these bits, and returns the address of the stub.
pub fn returning(n: usize, bits: u64) -> usize {
    let n = n.min(STUBS - 1);
    // SAFETY: only this thread runs the target, which reads and writes the record.
    unsafe { (*(&raw mut RECORDS).cast::<Record>().add(n)).returns = bits };
    penfuzz_stubs as *const () as usize + n * CODE
}

/// The calls of stub number `n` of `all` since [`forget_calls`]; `None` if it shares its code with another stub.
/// `parameters` are the kinds of the parameters, `None` for a pointer. Parameters on the stack are left out.
pub fn received(n: usize, all: usize, parameters: &[Option<Kind>]) -> Option<Received> {
    if n >= STUBS || n + 1 == STUBS && all > STUBS {
        return None;
    }
    // SAFETY: only this thread runs the target, which writes the record.
    let record = unsafe { (&raw const RECORDS).cast::<Record>().add(n).read() };
    let (mut integers, mut floats) = (record.integers.iter(), record.floats.iter());
    let number = |(i, kind): (usize, &Option<Kind>)| {
        let is_float = kind.is_some_and(Kind::is_float);
        let register = if is_float { floats.next() } else { integers.next() };
        let kind = (*kind)?;
        Some((i, kind, register? & kind.mask()))
    };
    let numbers = parameters.iter().enumerate().filter(|_| record.calls > 0).filter_map(number).collect();
    Some(Received { calls: record.calls, numbers })
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
    fn a_stub_keeps_the_arguments_of_its_last_call() {
        let at = returning(2, 0);
        // SAFETY: the code of the stub obeys the calling convention of the type.
        let call = unsafe { core::mem::transmute::<usize, extern "C" fn(i32, f64, *const u8, f32, u8)>(at) };
        let parameters = [Some(Kind::I32), Some(Kind::F64), None, Some(Kind::F32), Some(Kind::U8)];
        assert_eq!(received(2, 3, &parameters), Some(Received { calls: 0, numbers: Vec::new() }));
        call(1, 2.0, core::ptr::null(), 3.0, 4);
        call(-5, 6.5, core::ptr::null(), -0.5, 255);
        let numbers = vec![
            (0, Kind::I32, u64::from((-5i32).cast_unsigned())),
            (1, Kind::F64, 6.5f64.to_bits()),
            (3, Kind::F32, (-0.5f32).to_bits().into()),
            (4, Kind::U8, 255),
        ];
        assert_eq!(received(2, 3, &parameters), Some(Received { calls: 2, numbers }));
        assert_eq!(received(7, 9, &[]), None, "stubs 7 and 8 share their code");
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
