//! Where entries lead, for the pager: a thread that reads an entry accesses its object next.

use crate::hit::HitGeometry;
use std::sync::OnceLock;
use swap::{Chase, Page};

/// The pager is made before it is known where the heap lies, on which places depend; until then nothing leads anywhere.
#[derive(Default)]
pub struct Leads {
    geometry: OnceLock<HitGeometry>,
}

impl Leads {
    /// Once, when the heap's address is known.
    pub fn set(&self, geometry: HitGeometry) {
        assert!(self.geometry.set(geometry).is_ok(), "a heap has one place");
    }
}

/// Async-signal-safe: reads only.
impl Chase for Leads {
    fn is_pointer(&self, offset: usize) -> bool {
        let is_entry = |g: &HitGeometry| (g.entries_at()..g.paged_bytes()).contains(&offset);
        self.geometry.get().is_some_and(is_entry)
    }

    fn word_bytes(&self) -> usize {
        self.geometry.get().map_or(size_of::<u32>(), |geometry| geometry.width().bytes())
    }

    fn target(&self, word: u64) -> Option<Page> {
        let geometry = self.geometry.get()?;
        let offset = geometry.offset_of(word)?;
        (offset < geometry.heap_bytes()).then(|| Page::of_offset(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hit::EntryWidth;

    #[test]
    fn entries_lead_to_the_pages_of_their_objects_and_nothing_else_does() {
        for width in [EntryWidth::Narrow, EntryWidth::Wide] {
            let leads = Leads::default();
            assert!(!leads.is_pointer(1 << 20) && leads.target(1).is_none());
            let geometry = HitGeometry::new(16, 20, 2, width).unwrap().based(1 << 30);
            leads.set(geometry);
            assert_eq!(leads.word_bytes(), width.bytes());
            let entries = geometry.entries_at();
            assert!(leads.is_pointer(entries) && leads.is_pointer(geometry.paged_bytes() - 4));
            assert!(!leads.is_pointer(entries - 4) && !leads.is_pointer(geometry.paged_bytes()));
            assert_eq!(leads.target(geometry.place(4096 + 8)), Some(Page(1)));
            for nothing in [0, 1, geometry.place(geometry.heap_bytes() - 8) + 8, u64::MAX] {
                assert_eq!(leads.target(nothing), None, "{nothing}");
            }
        }
    }
}
