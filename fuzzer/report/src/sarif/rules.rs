//! The SARIF rules: what each kind of result means, and what to do about it.

use serde_json::{Value, json};

use crate::Exception;

/// One kind of result.
struct Rule {
    id: &'static str,
    /// In camel case, as viewers show it.
    name: &'static str,
    /// `error`, `warning` or `note`.
    level: &'static str,
    short: &'static str,
    help: &'static str,
}

/// The rule for branches that no input takes.
pub const UNREACHED: &str = "unreached-branch";

const RULES: [Rule; 10] = [
    Rule {
        id: "crash",
        name: "Crash",
        level: "error",
        short: "An input ends the program",
        help: "The call in the message ends the program by a signal or an exit. `penfuzz triage DIR` lists the crashes \
               of a campaign with their stacks, and `penfuzz replay` repeats one. Check the arguments in the caller, \
               or document the precondition.",
    },
    Rule {
        id: "hang",
        name: "Hang",
        level: "warning",
        short: "An input makes the function run for too long",
        help: "The call in the message exceeds the limit of loop iterations and calls (--fuel) or of time (--timeout). \
               Look for a loop whose condition does not change for these arguments, or raise the limit.",
    },
    Rule {
        id: "exception-invalid",
        name: "InvalidOperation",
        level: "warning",
        short: "A floating-point operation has no result",
        help: "The operation gives NaN for the arguments in the message, as 0/0 and log(-1) do. Exclude these \
               arguments before the operation.",
    },
    Rule {
        id: "exception-divide-by-zero",
        name: "DivideByZero",
        level: "warning",
        short: "A floating-point operation has a pole",
        help: "The operation gives an infinity from finite operands, as 1/0 and log(0) do. Exclude these arguments \
               before the operation.",
    },
    Rule {
        id: "exception-overflow",
        name: "Overflow",
        level: "warning",
        short: "The result of a floating-point operation is too large",
        help: "The exact result is outside the range of its type. Scale the operands, or compute in another order; \
               `penfuzz exceptions` can say whether that would help.",
    },
    Rule {
        id: "exception-conversion",
        name: "Conversion",
        level: "warning",
        short: "A number is converted to an integer type that cannot hold it",
        help: "The behaviour is undefined (ISO C, 6.3.1.4). Compare the number with the limits of the type first; NaN \
               is outside as well.",
    },
    Rule {
        id: "exception-underflow",
        name: "Underflow",
        level: "note",
        short: "The result of a floating-point operation is subnormal or zero, and inexact",
        help: "The result has fewer significant digits than its type, or none. This is often harmless.",
    },
    Rule {
        id: "exception-subnormal",
        name: "SubnormalSum",
        level: "note",
        short: "The result of an addition or subtraction is subnormal",
        help: "The result is exact, but has fewer significant digits than its type: what is computed from it may be \
               inaccurate. This is often harmless.",
    },
    Rule {
        id: "exception-inexact",
        name: "Inexact",
        level: "note",
        short: "The result of a floating-point operation is rounded",
        help: "Nearly every operation rounds. The result is reported on request only (--inexact).",
    },
    Rule {
        id: UNREACHED,
        name: "UnreachedBranch",
        level: "note",
        short: "No input takes this branch",
        help: "The search found no input that takes this outcome of the condition. That is no proof that none exists. \
               The message has the closest input: the condition may be too strict, the code dead, or the branch may \
               need memory or state that the arguments cannot express.",
    },
];

/// All rules as SARIF, for the tool description.
pub fn all() -> Vec<Value> {
    RULES.iter().map(description).collect()
}

fn description(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": { "text": rule.short },
        "fullDescription": { "text": format!("{}.", rule.short) },
        "help": { "text": rule.help, "markdown": rule.help },
        "defaultConfiguration": { "level": rule.level },
    })
}

/// The index of a rule in [`all`].
pub fn index(id: &str) -> usize {
    RULES.iter().position(|rule| rule.id == id).unwrap_or_default()
}

/// The severity of a rule.
pub fn level(id: &str) -> &'static str {
    RULES[index(id)].level
}

/// The rule for a floating-point exception.
pub fn of_exception(exception: Exception) -> &'static str {
    match exception {
        Exception::Invalid => "exception-invalid",
        Exception::DivideByZero => "exception-divide-by-zero",
        Exception::Overflow => "exception-overflow",
        Exception::Conversion => "exception-conversion",
        Exception::Underflow => "exception-underflow",
        Exception::Subnormal => "exception-subnormal",
        Exception::Inexact => "exception-inexact",
    }
}
