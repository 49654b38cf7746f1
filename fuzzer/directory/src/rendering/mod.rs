//! Inputs, results and signatures as the report shows them.

pub mod arguments;
pub mod header;
pub mod limits;
pub mod linked;
pub mod memory;
pub mod needed;
pub mod prototypes;
pub mod results;
pub mod single;
