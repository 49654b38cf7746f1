//! What penfuzz claims is so outside penfuzz: each evaluation is as the first one, outcomes mean what the source says,
//! other compilers build the emitted tests, which take what is claimed, gcov counts the same, and the files for other
//! programs are what their formats ask for.

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
