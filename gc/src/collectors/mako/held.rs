//! Tracing of what the holders of classes hold that are found alive ([`Holders`]).
//!
//! Agents report the classes of the objects that they have traced, when tracing is over. The slots of those of their
//! holders that are new are further roots.

use super::remote::{Agents, Lost};
use super::{Mako, Shared};
use crate::hit::EntryIndex;
use crate::object::ObjectRef;
use crate::threads::mutator::WorldStopped;
use crate::tracing::holders::Holders;
use std::sync::atomic::Ordering;

/// Traces what is held by the holders that were found since the last time, at most `rounds` times: each may find
/// others. Tracing is over before and after. Returns whether anything was traced.
pub fn trace(
    shared: &Shared,
    agents: &Agents,
    holders: &Holders,
    hurry: bool,
    rounds: usize,
) -> Result<bool, Lost> {
    let mut any = false;
    if !holders.may_die() {
        return Ok(any);
    }
    for _ in 0..rounds {
        agents.take_holders(holders)?;
        let mut held = Vec::new();
        shared.core.visit_found_holders(holders, &mut |slot| {
            let entry = EntryIndex(slot.word().load(Ordering::Relaxed) as u32);
            if !entry.is_null() && !shared.names_young(entry) {
                held.push(entry);
            }
        });
        if held.is_empty() {
            break;
        }
        agents.send_roots(&held)?;
        agents.await_end_of_tracing(hurry)?;
        any = true;
    }
    Ok(any)
}

impl Mako {
    /// The holders of a cycle that begins, in its pre-tracing pause. `young` objects are not in its snapshot.
    pub(super) fn begin_holders(&self, is_full: bool, young: &[ObjectRef]) -> Holders {
        let holders = match is_full {
            true => self.core.holders(),
            false => self.core.holders_beside_program(),
        };
        for object in young {
            holders.scans(&self.core.layouts, *object);
        }
        holders
    }

    /// In the pre-evacuation pause, when all else is traced. Returns whether anything was traced.
    pub(super) fn complete_held(
        &self,
        world: &WorldStopped,
        holders: &Holders,
    ) -> Result<bool, Lost> {
        self.core.note_holders_in_use(world, holders);
        trace(&self.shared, &self.agents, holders, true, usize::MAX)
    }
}

/// Beside the program. The rest is done in the pause.
pub const ROUNDS_MAX: usize = 16;
