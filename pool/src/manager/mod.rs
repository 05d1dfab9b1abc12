//! A client that recovers the dead, of whatever layers the pool has.
//!
//! It has no state but its identity. It may be killed at any instruction, and another one started at any time: what it
//! was recovering is in the leases. Several may run. No client waits for it. Without one, clients recover each other,
//! or identities and memory of the dead stay where they are.

use crate::PoolError;
use crate::alloc::{Heap, HeapRedo};
use crate::detect::{Change, Word};
use crate::pool::{Client, Pool};
use crate::recover::{Recovered, Redo};
use crate::refs::{Refs, RefsRedo};

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
    /// an error; so is a dead recoverer of such a client.
    pub fn pass(&self) -> Result<Recovered, PoolError> {
        let user = Others(self.pool);
        let Some(heap) = Heap::find(self.pool)? else { return self.client.recover(&user) };
        match Refs::find(&heap)? {
            None => self.client.recover(&HeapRedo { heap: &heap, user: &user }),
            Some(refs) => {
                let user = RefsRedo { refs: &refs, user: &user };
                let done = self.client.recover(&HeapRedo { heap: &heap, user: &user })?;
                refs.sweep()?;
                Ok(done)
            }
        }
    }

    /// The identity, from 1 on.
    pub fn id(&self) -> u16 {
        self.client.id()
    }
}

/// Words of programs that the manager does not know.
struct Others<'a>(&'a Pool);

impl Redo for Others<'_> {
    fn word(&self, target: u64) -> Result<&Word, PoolError> {
        Ok(&self.0.words(target, 1)?[0])
    }

    fn knows(&self, _: u64) -> bool {
        false
    }

    fn redo(&self, client: u16, _: &Change, _: bool) -> Result<(), PoolError> {
        Err(PoolError::Unfinished { client })
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod torture;
