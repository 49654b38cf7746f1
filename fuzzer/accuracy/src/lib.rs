//! Measures how wrong a numeric function can be, and where: the search looks for inputs whose results differ most from
//! those of a reference.
//!
//! | step | where |
//! | --- | --- |
//! | the reference: MPFR, or another implementation in C | [`reference`] |
//! | fast comparison: a C function in a wider type, accurate to about a thousandth of an ulp | [`comparator`] |
//! | exact comparison of candidates for the largest error; reported errors do not depend on the fast one | `precise` |
//! | cores of `FPBench` as functions and as references | [`fpcore`] |
//! | functions of shared libraries as black boxes | [`library`] |
//! | the value left in `errno` | [`errno`] |
//! | the number that is compared, and the function's own estimate of its error | [`value`] |
//! | arguments that vary, and those that are held | [`inputs`] |
//! | function and reference, loaded | [`pair`] |
//! | one evaluation of both | [`objective`] |
//! | exhaustive search over small domains | [`exhaustive`] |
//! | the search for the largest error, and for the largest in each region | [`penfuzz_mutators::extremes`] |
//! | baseline searches that the default search is compared with | [`controls`] |
//! | contribution of each operation's rounding to the worst error | [`sources`] |
//! | start points, regions and methods of a search | `search` |
//! | the processes of a search, and their messages | [`run`], `worker` |
//! | results that are stored in an output directory | [`kept`], [`store`] |
//! | the report | [`answer`], [`page`], [`plot`] |
//! | tests that expect the values of the reference | [`emitted`] |
//!
//! Function and reference may crash, hang or exit, so all calls run in child processes. When a call ends its process,
//! the search continues in a new one with other random numbers.

pub mod answer;
mod aside;
pub mod comparator;
pub mod controls;
pub mod emitted;
pub mod enclosure;
pub mod errno;
pub mod exhaustive;
pub mod fpcore;
pub mod inputs;
pub mod kept;
pub mod libm;
pub mod library;
mod loaded_code;
mod local;
pub mod objective;
pub mod page;
pub mod pair;
pub mod plot;
pub mod precise;
pub mod reference;
mod roundings;
mod search;
pub mod sources;
pub mod specification;
mod starts;
pub mod store;
mod supervisor;
mod types;
pub mod value;
mod worker;

pub use self::{
    supervisor::run,
    types::{Answer, Bound, Class, Compared, Counts, Exact, Found, Options},
};
