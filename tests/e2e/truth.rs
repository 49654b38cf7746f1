//! penfuzz's claims, checked by other programs: each evaluation behaves like the first one, outcomes have the meaning
//! of the source, other compilers build the emitted tests, which take the claimed branches, gcov counts the same, and
//! files for other programs conform to their formats.

#[path = "truth/arguments.rs"]
mod arguments;
#[path = "truth/builds.rs"]
mod builds;
#[path = "truth/ci.rs"]
mod ci;
#[path = "truth/conditions.rs"]
mod conditions;
#[path = "truth/emitted.rs"]
mod emitted;
#[path = "truth/enumerations.rs"]
mod enumerations;
#[path = "truth/formats.rs"]
mod formats;
#[path = "truth/fresh.rs"]
mod fresh;
#[path = "truth/headers.rs"]
mod headers;
#[path = "truth/long.rs"]
mod long;
#[path = "truth/names.rs"]
mod names;
#[path = "truth/outside.rs"]
mod outside;
#[path = "truth/state.rs"]
mod state;
#[path = "truth/thrown.rs"]
mod thrown;
#[path = "truth/undefined.rs"]
mod undefined;
#[path = "truth/units.rs"]
mod units;
#[path = "truth/waiting.rs"]
mod waiting;
