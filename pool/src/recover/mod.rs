//! Finishing what the dead began.
//!
//! Any client may recover others, at any time, while all others work. Nobody waits for it: what a dead client left
//! open disturbs no one, it only keeps an identity, and what its operation had in hand.
//!
//! 1. **Take.** The recoverer puts its identity into the lease of the dead ([`ClientTable::take_over`]). From here on
//!    the dead is its own, unless it dies too. It takes none that it cannot finish ([`Redo::knows`],
//!    [`Redo::can_reclaim`]): as long as it lives, no other could.
//! 2. **Sweep.** If the dead was a recoverer, its unfinished recoveries become those of this one.
//! 3. **Redo.** If the dead had a change open, `detect` says whether it took place, and [`Redo`] finishes it. A
//!    recoverer may die after that: then it is redone. So it must be idempotent.
//! 4. **Acknowledge** the change.
//! 5. **Reclaim** what else the dead had ([`Redo::reclaim`]), and **free** the identity.
//!
//! The work for one dead client does not depend on what is in the pool: its record, a column of notes, and the leases.
//! What it had is reclaimed in as many steps as the user of the pool needs.

use crate::PoolError;
use crate::crash::crash_point;
use crate::detect::{Change, Detector, ERA_MAX, Word};
use crate::identity::process::Processes;
use crate::identity::{ClientId, ClientTable, Held};

/// How the operations of those that use the pool are finished.
pub trait Redo {
    /// The word at this offset of the pool. An error if there can be none: the offset comes out of shared memory.
    fn word(&self, target: u64) -> Result<&Word, PoolError>;

    /// Whether it can finish changes of the word at this offset, or, if there is none, of all words of the pool. A
    /// client that has another change open is left to others.
    fn knows(&self, _target: Option<u64>) -> bool {
        true
    }

    /// Finishes a change of the dead client: `has_happened` says whether its compare-and-swap took place. Called at
    /// least once, by one recoverer at a time. Must not block on other clients.
    fn redo(&self, client: u16, change: &Change, has_happened: bool) -> Result<(), PoolError>;

    /// Whether it can take back all that clients may have now. Asked when one was found dead, before it is taken over:
    /// an error leaves it to others.
    fn can_reclaim(&self) -> Result<(), PoolError> {
        Ok(())
    }

    /// Takes back what else the dead client held. Called at least once, after its change was finished, by one recoverer
    /// at a time, which may announce changes in the name of the dead. Programs that need it say so by
    /// [`Pool::set_own_reclaim`](crate::Pool::set_own_reclaim), as managers cannot do it.
    fn reclaim(&self, _client: u16) -> Result<(), PoolError> {
        Ok(())
    }
}

/// What one pass over all clients did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Recovered {
    /// Dead clients whose identities are free again.
    pub clients: usize,
    /// Those of them that had a change open.
    pub changes: usize,
}

/// The structures that recovery works on.
pub(crate) struct Recovery<'a, P> {
    pub table: ClientTable<'a>,
    pub detector: Detector<'a>,
    pub processes: &'a P,
}

impl<P: Processes> Recovery<'_, P> {
    /// Recovers all that are dead now. A client that cannot be recovered keeps its identity; the others are recovered
    /// all the same, and the first error is returned.
    pub(crate) fn run(&self, by: ClientId, redo: &impl Redo) -> Result<Recovered, PoolError> {
        let (mut done, mut failed) = (Recovered::default(), None);
        for id in self.table.ids().filter(|id| *id != by) {
            match self.table.take_over(id, by, self.processes, || self.may_take(id, redo)) {
                Ok(Some(taken)) => {
                    let ended = self.finish_all(taken, by, redo, &mut done);
                    failed = failed.or(ended.err());
                }
                Ok(None) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(done), Err)
    }

    /// An error if the user cannot finish what the dead client, or one that it was recovering, has begun.
    fn may_take(&self, dead: ClientId, redo: &impl Redo) -> Result<(), PoolError> {
        redo.can_reclaim()?;
        if redo.knows(None) {
            return Ok(());
        }
        for client in self.table.charges(dead) {
            if let Some(open) = self.detector.open(client)
                && !redo.knows(Some(open.change.target))
            {
                return Err(PoolError::Unfinished { client });
            }
        }
        Ok(())
    }

    /// Finishes a client that was taken over, and those that it was recovering.
    fn finish_all(
        &self,
        taken: Held,
        by: ClientId,
        redo: &impl Redo,
        done: &mut Recovered,
    ) -> Result<(), PoolError> {
        let mut taken = vec![taken];
        let mut first_error = Ok(());
        while let Some(dead) = taken.pop() {
            taken.extend(self.table.sweep(dead.id, by));
            crash_point!("recover.swept");
            let finished = self.finish(dead, redo);
            match finished {
                Ok(had_change) => {
                    done.clients += 1;
                    done.changes += usize::from(had_change);
                }
                Err(error) => first_error = first_error.and(Err(error)),
            }
        }
        first_error
    }

    /// Whether there was a change to finish.
    fn finish(&self, dead: Held, redo: &impl Redo) -> Result<bool, PoolError> {
        let open = self.detector.open(dead.id);
        if let Some(open) = open {
            if open.era > ERA_MAX {
                let (what, client, found) = ("the era", dead.id, open.era);
                return Err(PoolError::Damaged { what, client, found });
            }
            let word = redo.word(open.change.target)?;
            let has_happened = self.detector.has_happened(dead.id, open.era, word);
            redo.redo(dead.id, &open.change, has_happened)?;
            crash_point!("recover.redone");
            self.detector.acknowledge(dead.id, open.era);
            crash_point!("recover.acknowledged");
        }
        redo.reclaim(dead.id)?;
        crash_point!("recover.reclaimed");
        // A recoverer that lives is the only one: see `identity`.
        assert!(self.table.free(dead), "client {} has another recoverer", dead.id);
        crash_point!("recover.freed");
        Ok(open.is_some())
    }
}

#[cfg(test)]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
