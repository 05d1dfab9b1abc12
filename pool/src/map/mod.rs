//! A map from byte strings to byte strings, which many processes use at once.

mod client;
mod entry;

pub use client::{Map, MapOptions, MapStats, Replaced};
pub use entry::{Bytes, Draft, Entry, Value};
