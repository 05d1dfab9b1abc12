//! Semeru: G1's generations, whose old regions are traced all the time; the baseline of the Mako paper.

mod options;

pub use options::SemeruOptions;

use super::g1::{self, G1Options, Variant};
use crate::collector::{CollectorParts, CollectorPlan};
use crate::heap::HeapError;
use crate::heap_core::HeapCore;
use std::sync::Arc;

/// See the module text.
pub struct Plan;

impl CollectorPlan for Plan {
    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError> {
        let variant = Variant {
            title: "Semeru",
            concurrent_title: "Semeru Conc",
            beans: &["Semeru Young Generation", "Semeru Old Generation"],
            options: G1Options { initiating_percent: 0, adaptive_initiating: false, ..core.options.g1 },
            growth_percent: core.options.semeru.growth_percent,
        };
        Ok(g1::build(core, variant))
    }
}
