//! The arguments of a call, from the bytes of an input.

use penfuzz_report::{Arg, literal};
use penfuzz_target::program::Function;

use super::memory;

/// Arguments of `function` from the bytes of an input, the rounding mode last if it is one.
#[must_use]
pub fn arguments(function: &Function, bytes: &[u8]) -> Vec<Arg> {
    if function.is_harness() {
        return vec![literal::bytes("data", bytes)];
    }
    let layout = function.layout();
    let mut x = bytes.to_vec();
    x.resize(layout.size(), 0);
    layout.normalise(&mut x);
    let mut args: Vec<Arg> = match &function.model {
        Some(model) => memory::arguments(function, model, &x),
        None => function
            .parameters
            .iter()
            .enumerate()
            .filter(|(_, p)| !p.is_output())
            .zip(layout.slots())
            .map(|((i, p), slot)| Arg {
                enumerator: function.enumerator(i, slot.get(&x)),
                ..literal::arg(&p.name, p.value_type(), slot.kind, slot.get(&x))
            })
            .collect(),
    };
    if let Some(mode) = layout.slots().last().filter(|_| function.has_rounding) {
        args.push(literal::rounding(mode.get(&x) & u64::from(function.mode_bits())));
    }
    args
}
