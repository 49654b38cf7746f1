//! penfuzz's claims, checked by other programs: each evaluation behaves like the first one, outcomes have the meaning
//! of the source, other compilers build the emitted tests, which take the claimed branches, gcov counts the same, and
//! files for other programs conform to their formats.

mod arguments;
mod builds;
mod checked;
mod ci;
mod compiles;
mod conditions;
mod emitted;
mod enumerations;
mod formats;
mod fresh;
mod headers;
mod long;
mod names;
mod outside;
mod state;
mod thrown;
mod undefined;
mod uninitialized;
mod units;
mod waiting;
