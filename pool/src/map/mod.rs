//! A map from byte strings to byte strings, which many processes use at once.

mod change;
mod client;
mod entry;
mod evict;
mod hash;
mod table;

pub use client::{Map, MapOptions, MapStats, Replaced};
pub use entry::{Bytes, Draft, Entry, Value};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod torture;
#[cfg(test)]
mod usage;
