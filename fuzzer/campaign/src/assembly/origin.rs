//! The origin of a report that this process makes.

use penfuzz_report::origin::Origin;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

pub(super) fn now() -> Origin {
    let now = OffsetDateTime::now_utc();
    let now = now.replace_nanosecond(0).unwrap_or(now);
    Origin {
        program: format!("penfuzz {}", env!("CARGO_PKG_VERSION")),
        compiler: format!("clang {}", penfuzz_cc::LLVM_MAJOR),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        date: now.format(&Rfc3339).unwrap_or_default(),
    }
}
