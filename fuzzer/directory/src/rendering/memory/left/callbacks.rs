//! The calls of callbacks: their number, and the numbers that the last call of each passed.

use penfuzz_executor::blocks::Blocks;
use penfuzz_mutators::view::Kind;
use penfuzz_report::{Arg, Place, RECEIVED, arg, literal};

use super::{ADDRESSES, Renderer};

/// The calls of all callbacks that the arguments contain. A callback that was not called counts as unchanged.
pub(super) fn received(renderer: &Renderer, blocks: &Blocks) -> Vec<Arg> {
    let mut found = Vec::new();
    for (i, stub) in renderer.model.stubs.iter().enumerate() {
        let Some(received) = blocks.received(i) else { continue };
        let is_called = received.calls > 0;
        let calls = format!("calls of {}", stub.path);
        found.push(value(&calls, (Kind::I32, received.calls.min(i32::MAX as u64)), arg::received_calls(i), is_called));
        for (parameter, kind, bits) in received.numbers {
            // It may be an address.
            if kind.size() == size_of::<u64>() && !kind.is_float() && ADDRESSES.contains(&bits) {
                continue;
            }
            let name = format!("argument {} of {} in its last call", parameter + 1, stub.path);
            found.push(value(&name, (kind, bits), arg::received(i, parameter), is_called));
        }
    }
    found
}

fn value(name: &str, (kind, bits): (Kind, u64), variable: String, is_called: bool) -> Arg {
    let place = Place {
        expression: variable,
        variable: RECEIVED.to_owned(),
        kind: literal::kind_name(kind).to_owned(),
        only_if_changed: !is_called,
        ..Place::default()
    };
    Arg { place: Some(place), ..literal::arg(name, literal::c_keywords(kind), kind, bits) }
}
