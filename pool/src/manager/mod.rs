//! A client that recovers the dead, of whatever layers the pool has.
//!
//! It has no state but its identity. It may be killed at any instruction, and another one started at any time: what it
//! was recovering is in the leases. Several may run. No client waits for it. Without one, clients recover each other,
//! or identities and memory of the dead stay where they are.

use crate::PoolError;
use crate::alloc::{Heap, HeapRedo};
use crate::detect::{Change, Word};
use crate::pool::{Client, Mark, Pool};
use crate::recover::{Recovered, Redo};
use crate::refs::{Refs, RefsRedo};
use std::sync::atomic::Ordering;

/// Recovers the dead of a pool. One thread at a time may use it.
pub struct Manager<'a> {
    pool: &'a Pool,
    client: Client<'a>,
}

impl<'a> Manager<'a> {
    /// Leases an identity to the manager. An error if all are leased: it should join first.
    pub fn new(pool: &'a Pool) -> Result<Manager<'a>, PoolError> {
        Ok(Manager { pool, client: pool.join()? })
    }

    /// Recovers all that are dead now, in the heap and the counted objects that the pool has now. Does not block. A
    /// dead client that has a change open which is neither's is left to its program, which alone can finish it, and is
    /// an error; so is a dead recoverer of such a client, and one that died after a new layer was made while this
    /// runs: the next pass recovers it. All are left to their programs after [`Pool::set_own_reclaim`].
    pub fn pass(&self) -> Result<Recovered, PoolError> {
        let mut user = Others { pool: self.pool, has_heap: false, has_refs: false };
        let Some(heap) = Heap::find(self.pool)? else { return self.client.recover(&user) };
        user.has_heap = true;
        match Refs::find(&heap)? {
            None => self.client.recover(&HeapRedo { heap: &heap, user: &user }),
            Some(refs) => {
                user.has_refs = true;
                let user = RefsRedo { refs: &refs, user: &user };
                let done = self.client.recover(&HeapRedo { heap: &heap, user: &user });
                // An error of it comes again, in a pass that has recovered nobody.
                let swept = refs.sweep();
                let done = done?;
                if done == Recovered::default() { swept.map(|()| done) } else { Ok(done) }
            }
        }
    }

    /// The identity, from 1 on.
    pub fn id(&self) -> u16 {
        self.client.id()
    }
}

/// Words of programs that the manager does not know, and what it knows.
struct Others<'a> {
    pool: &'a Pool,
    has_heap: bool,
    has_refs: bool,
}

impl Redo for Others<'_> {
    fn word(&self, target: u64) -> Result<&Word, PoolError> {
        Ok(&self.pool.words(target, 1)?[0])
    }

    fn knows(&self, _: Option<u64>) -> bool {
        false
    }

    fn can_reclaim(&self) -> Result<(), PoolError> {
        if self.pool.has_own_reclaim() {
            return Err(PoolError::OwnReclaim);
        }
        // The dead client may have made a layer, used it and died, since the pass looked for one.
        let is_known =
            |mark: Mark, known| known || self.pool.mark(mark).load(Ordering::Acquire) == 0;
        if is_known(Mark::Heap, self.has_heap) && is_known(Mark::Refs, self.has_refs) {
            Ok(())
        } else {
            Err(PoolError::NewLayer)
        }
    }

    fn redo(&self, client: u16, _: &Change, _: bool) -> Result<(), PoolError> {
        Err(PoolError::Unfinished { client })
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod torture;
