//! What a report claims holds outside penfuzz: other compilers build the emitted tests, which take what is claimed, and gcov counts
//! the same.

#[path = "truth/emitted.rs"]
mod emitted;
