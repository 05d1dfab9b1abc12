//! The managed heap: geometry, object headers, allocation, reference codecs, barriers, safepoints and
//! collectors. Knows neither class files nor Cranelift; the VM that uses it implements
//! [`VmBinding`](threads::binding::VmBinding).
//!
//! Glossary (one word, one meaning): *region* a fixed-size piece of the heap; *tablet* a block of entries of
//! one server, with their bitmaps (Mako); *entry* one word of a tablet, naming one object; *slot* a word that
//! holds an encoded reference; *root* a word outside the heap that holds a plain address; *cycle* one whole
//! collection; *pause* time in which mutators are stopped; *handshake* a point that each mutator passes once
//! without stopping all; *fault*, *fetch*, *flush*, *evict* are for pages; *evacuate* is for objects; *agent*
//! the collector's part on a memory server; *lease* the right to work on a region that no mutator maps.
//!
//! The rule on which everything hangs: **registers, frames, handles and roots hold plain addresses
//! ([`ObjectRef`](object::ObjectRef)); heap slots and [`RootSlot`](object::RootSlot)s hold encoded words.** Only a
//! [`BarrierSet`](barrier::BarrierSet) translates.

// Output is printed by `base::say` and its like, which do not panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod agent;
pub mod barrier;
mod collectors;
pub mod core;
pub mod heap;
pub mod hit;
pub mod memory;
pub mod metrics;
pub mod object;
pub mod options;
pub mod threads;
pub mod tracing;
