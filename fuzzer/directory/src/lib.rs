//! The output directory of a campaign: what it holds, and what is derived from it by evaluating its inputs again.
//!
//! | module | contents |
//! | --- | --- |
//! | [`output`] | the files of the directory: durable store, manifest, recovery, AFL++'s files, reports |
//! | [`replay`] | inputs evaluated again, each in a process of its own |
//! | [`shrink`] | few tests with simple arguments |
//! | [`rendering`] | inputs and results as the report shows them |
//! | [`test_check`] | the emitted tests, compiled and run |

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod object;
pub mod output;
pub mod rendering;
pub mod replay;
pub mod shrink;
pub mod test_check;
