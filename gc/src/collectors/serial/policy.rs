//! Decisions: which regions move, how much freed memory is kept.

use crate::core::heap_core::HeapCore;
use crate::core::outcome::CollectCause;
use crate::memory::region::{Region, RegionUse};

/// Whether the live objects of a region move. Its live bytes are known.
pub(super) fn moves(core: &HeapCore, region: &Region, cause: CollectCause) -> bool {
    if region.usage() != RegionUse::Objects || region.is_pinned() {
        return false;
    }
    let waste = match cause {
        CollectCause::AllocationFailure | CollectCause::Proactive => {
            core.options.region_waste_percent as usize
        }
        CollectCause::SystemGc
        | CollectCause::ClassMemory
        | CollectCause::HeapInspection
        | CollectCause::HeapDump
        | CollectCause::LastDitch
        | CollectCause::WhiteBoxYoung
        | CollectCause::WhiteBoxMarking
        | CollectCause::WhiteBoxFull
        | CollectCause::Zeal => 0,
    };
    let dead = core.geometry.region_bytes() - region.live_bytes();
    dead * 100 > core.geometry.region_bytes() * waste
}

/// How large the heap may become before the next cycle.
pub(super) fn limit_bytes(core: &HeapCore, live_bytes: usize) -> usize {
    let grown = live_bytes as u64 * u64::from(core.options.growth_percent) / 100;
    (grown as usize).max(core.options.initial_bytes).max(LIMIT_BYTES_MIN)
}

/// Whether humongous objects move too: only when nothing else can help.
pub(super) fn moves_humongous(cause: CollectCause) -> bool {
    matches!(cause, CollectCause::LastDitch | CollectCause::Zeal)
}

/// Freed regions whose memory is kept for the next allocations rather than given back to the system: the amount that
/// will be allocated before the next cycle; little when the program asked for the collection.
pub(super) fn regions_kept(core: &HeapCore, live_bytes: usize, cause: CollectCause) -> usize {
    if !core.has_spare_memory() {
        return 0;
    }
    let wish = match cause.is_user_requested() {
        true => (live_bytes / 4).max(core.options.initial_bytes),
        false => limit_bytes(core, live_bytes).saturating_sub(live_bytes),
    };
    wish / core.geometry.region_bytes()
}

/// Collecting a smaller heap does not pay.
const LIMIT_BYTES_MIN: usize = 64 << 20;
