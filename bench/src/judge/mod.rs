//! What the programs that judge the VM are made of.

pub mod directives;
pub mod guest;
pub mod jtreg;
pub mod server_loss;
