//! A pool, and a client of it.

use crate::PoolError;
use crate::crash::is_dead;
use crate::detect::{CLIENTS_MAX, Change, Detector, Intent, Marked, Word, is_supported};
use crate::identity::process::{Kernel, Process, Processes};
use crate::identity::{ClientTable, Held, Slot};
use crate::recover::{Recovered, Recovery, Redo};
use crate::segment::{Backing, HEADER_BYTES, PAGE_BYTES, Segment, Stamp};
use crate::sync::{AtomicU64, Ordering};
use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

/// A segment with identities. Any thread may use it; it changes nothing that clients share.
pub struct Pool {
    segment: Segment,
    places: Places,
    kernel: Kernel,
    /// Who joins a private pool. Such a pool needs no `/proc`, and no other process asks whether the holders live.
    alone: Option<Process>,
}

/// What is said in the header of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// Where the heap is.
    Heap,
    /// Where the layer above the heap is.
    Refs,
    /// Not 0: programs reclaim what the layers do not know.
    OwnReclaim,
}

/// Where the parts of a pool lie, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Places {
    /// How many identities, with the unused one.
    rows: usize,
    intents: u64,
    notes: u64,
    data: u64,
}

/// The sizes of the structures in shared memory, 16 bits each.
const LAYOUT: u64 = (size_of::<Slot>() as u64)
    | (size_of::<Intent>() as u64) << 16
    | (size_of::<Word>() as u64) << 32
    | (size_of::<AtomicU64>() as u64) << 48;

impl Places {
    fn of(clients: u64) -> Result<Places, PoolError> {
        if clients == 0 || clients > CLIENTS_MAX as u64 {
            return Err(PoolError::Clients { found: clients, max: CLIENTS_MAX as u64 });
        }
        let rows = clients + 1;
        let intents = HEADER_BYTES + rows * size_of::<Slot>() as u64;
        let notes = intents + rows * size_of::<Intent>() as u64;
        let data = (notes + rows * rows * 8).next_multiple_of(PAGE_BYTES);
        Ok(Places { rows: rows as usize, intents, notes, data })
    }
}

impl Pool {
    /// Makes a pool for this many clients at a time. Blocks on the file system.
    pub fn create(backing: &Backing, clients: usize) -> Result<Pool, PoolError> {
        let clients = clients as u64;
        let places = Places::of(clients)?;
        if let Backing::Memory { bytes } | Backing::Private { bytes } | Backing::File { bytes, .. } =
            *backing
            && bytes < places.data
        {
            return Err(PoolError::Bytes { bytes, min: places.data });
        }
        let is_private = matches!(backing, Backing::Private { .. });
        let namespace = if is_private { 0 } else { Kernel::namespace()? };
        let stamp = Stamp { layout: LAYOUT, clients, namespace };
        Pool::checked(Segment::create(backing, &stamp)?, stamp)
    }

    /// Where data begins in a pool for this many clients, in bytes.
    pub fn data_of(clients: usize) -> Result<u64, PoolError> {
        Ok(Places::of(clients as u64)?.data)
    }

    /// The pool in a file or a DAX device. Blocks on the file system. A file that another process cuts while it is
    /// mapped ends this process with SIGBUS.
    pub fn open(path: &Path) -> Result<Pool, PoolError> {
        let (segment, stamp) = Segment::open(path)?;
        Pool::checked(segment, stamp)
    }

    /// The pool in an open file, which may come from another process.
    pub fn of(fd: OwnedFd) -> Result<Pool, PoolError> {
        let (segment, stamp) = Segment::of(fd)?;
        Pool::checked(segment, stamp)
    }

    fn checked(segment: Segment, stamp: Stamp) -> Result<Pool, PoolError> {
        if !is_supported() {
            return Err(PoolError::Cpu);
        }
        if stamp.layout != LAYOUT {
            return Err(PoolError::Layout { found: stamp.layout, supported: LAYOUT });
        }
        let is_private = segment.is_private();
        let own = if is_private { 0 } else { Kernel::namespace()? };
        if stamp.namespace != own {
            return Err(PoolError::Namespace { found: stamp.namespace, own });
        }
        let places = Places::of(stamp.clients)?;
        if segment.bytes() < places.data {
            return Err(PoolError::Bytes { bytes: segment.bytes(), min: places.data });
        }
        let (kernel, alone) = if is_private {
            (Kernel::of_boot(0), Some(Process { pid: std::process::id(), birth: 0 }))
        } else {
            (Kernel::new()?, None)
        };
        Ok(Pool { segment, places, kernel, alone })
    }

    /// How many clients there may be at a time.
    pub fn clients(&self) -> usize {
        self.places.rows - 1
    }

    /// How many identities are leased now: to the living, and to the dead that nobody has recovered.
    pub fn leased(&self) -> usize {
        self.table().leased()
    }

    /// How many dead clients are not recovered yet because other processes have memory of them ([`Client::share`]).
    pub fn outlived(&self) -> Result<usize, PoolError> {
        let (table, processes) = (self.table(), self.processes());
        let mut count = 0;
        for id in table.ids() {
            if let Some(holder) = table.process_of(id)?
                && !processes.is_alive(holder)?
                && processes.is_outlived(id)?
            {
                count += 1;
            }
        }
        Ok(count)
    }

    fn processes(&self) -> InPool<'_> {
        InPool { kernel: &self.kernel, segment: &self.segment }
    }

    /// Leases an identity to the caller. Does not block.
    pub fn join(&self) -> Result<Client<'_>, PoolError> {
        self.join_as(self.own()?)
    }

    fn own(&self) -> Result<Process, PoolError> {
        self.alone.map_or_else(|| self.kernel.own(), Ok)
    }

    /// The same for a process that may be another one in tests.
    pub(crate) fn join_as(&self, me: Process) -> Result<Client<'_>, PoolError> {
        let full = PoolError::Full { clients: self.places.rows - 1 };
        let held = self.table().claim(me).ok_or(full)?;
        Ok(Client { pool: self, held, is_recovering: Cell::new(false) })
    }

    /// Leases one identity after the other to the caller, until one serves the purpose. The first error, if none does.
    pub(crate) fn join_first<'a, T>(
        &'a self,
        purpose: impl Fn(Client<'a>) -> Result<T, PoolError>,
    ) -> Result<T, PoolError> {
        let (me, mut first, mut refused) = (self.own()?, 1, None);
        while let Some(held) = self.table().claim_from(first, me) {
            first = held.id + 1;
            match purpose(Client { pool: self, held, is_recovering: Cell::new(false) }) {
                Ok(end) => return Ok(end),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or(PoolError::Full { clients: self.clients() }))
    }

    /// Leases this identity to the caller. `None`: it is not free.
    pub(crate) fn join_at(&self, id: u16) -> Result<Option<Client<'_>>, PoolError> {
        let held = self.table().claim_at(id, self.own()?);
        Ok(held.map(|held| Client { pool: self, held, is_recovering: Cell::new(false) }))
    }

    /// The memory.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Where data begins, in bytes. Before the first client writes it is zero.
    pub fn data(&self) -> u64 {
        self.places.data
    }

    /// Words in the data.
    #[inline]
    pub fn words(&self, offset: u64, count: usize) -> Result<&[Word], PoolError> {
        self.check(offset)?;
        self.segment.array(offset, count)
    }

    /// Plain atomic words in the data.
    #[inline]
    pub fn atomics(&self, offset: u64, count: usize) -> Result<&[AtomicU64], PoolError> {
        self.check(offset)?;
        self.segment.array(offset, count)
    }

    #[inline]
    fn check(&self, offset: u64) -> Result<(), PoolError> {
        if offset < self.places.data { Err(PoolError::Range { offset, bytes: 0 }) } else { Ok(()) }
    }

    /// Says, for good, that the programs of this pool have more to take back from the dead than blocks and counted
    /// objects: in [`Redo::reclaim`]. From now on a [`Manager`](crate::Manager) recovers nobody. To be called before a
    /// client has such things.
    pub fn set_own_reclaim(&self) {
        self.mark(Mark::OwnReclaim).store(1, Ordering::Release);
    }

    pub(crate) fn has_own_reclaim(&self) -> bool {
        self.mark(Mark::OwnReclaim).load(Ordering::Acquire) != 0
    }

    /// What one user of the pool says of itself to all that have it.
    pub(crate) fn mark(&self, mark: Mark) -> &AtomicU64 {
        &self.segment.marks().expect("a segment has a header")[mark as usize]
    }

    pub(crate) fn table(&self) -> ClientTable<'_> {
        ClientTable::new(self.part(HEADER_BYTES, self.places.rows))
    }

    pub(crate) fn detector(&self) -> Detector<'_> {
        let Places { rows, intents, notes, .. } = self.places;
        Detector::new(self.part(intents, rows), self.part(notes, rows * rows))
    }

    fn part<T: crate::segment::Shared>(&self, offset: u64, count: usize) -> &[T] {
        self.segment.array(offset, count).expect("the segment was checked to hold all parts")
    }
}

/// An identity that this process holds. One thread at a time may use it. Dropping it gives the identity back, unless a
/// change is open or a recovery unfinished: then it is recovered when this process has ended.
pub struct Client<'a> {
    pool: &'a Pool,
    held: Held,
    /// Also makes it of one thread: two under one identity would overwrite each other's intents.
    is_recovering: Cell<bool>,
}

/// The processes of this machine, as far as they have to do with one pool.
struct InPool<'a> {
    kernel: &'a Kernel,
    segment: &'a Segment,
}

impl Processes for InPool<'_> {
    fn own(&self) -> Result<Process, PoolError> {
        self.kernel.own()
    }

    fn is_alive(&self, process: Process) -> Result<bool, PoolError> {
        self.kernel.is_alive(process)
    }

    fn is_outlived(&self, client: u16) -> Result<bool, PoolError> {
        self.segment.is_shared(client)
    }

    fn fence(&self, process: Process, patience: Duration) -> Result<(), PoolError> {
        self.kernel.fence(process, patience)
    }
}

/// A change that took place and is open. Hand it to [`Client::finish`].
#[derive(PartialEq, Eq, Debug)]
#[must_use]
pub struct Done {
    client: u16,
    era: u64,
}

impl Client<'_> {
    /// The identity, from 1 on. No two clients that live have the same.
    pub fn id(&self) -> u16 {
        self.held.id
    }

    pub(crate) fn pool(&self) -> &Pool {
        self.pool
    }

    /// The era of the lease: another one for each holder of the identity.
    pub(crate) fn lease_era(&self) -> u64 {
        self.held.lease.era()
    }

    /// Changes the word at `change.target` from what was seen to `value`, or says what it has instead. The client
    /// writes what belongs to the change, and then finishes it. Lock-free: does not block.
    pub fn exchange(
        &mut self,
        change: &Change,
        seen: Marked,
        value: u64,
    ) -> Result<Result<Done, Marked>, PoolError> {
        let word = &self.pool.words(change.target, 1)?[0];
        let client = self.held.id;
        let exchanged = self.pool.detector().exchange(client, word, seen, value, change)?;
        Ok(exchanged.map(|era| Done { client, era }))
    }

    /// How many changes of words that several clients change were begun under this identity, those of its earlier
    /// holders and of the heap included.
    pub fn changes(&self) -> u64 {
        self.pool.detector().announced(self.held.id)
    }

    /// All that belongs to the change is written. Panics if it is another client's.
    pub fn finish(&mut self, done: Done) {
        assert_eq!(done.client, self.held.id, "a change of another client");
        self.pool.detector().acknowledge(self.held.id, done.era);
    }

    /// Recovers the clients that are dead now. Other clients do not wait; nor does this one for others. `redo` must not
    /// call it again, which is an error. No client of a private pool is ever dead.
    pub fn recover(&self, redo: &impl Redo) -> Result<Recovered, PoolError> {
        struct End<'a>(&'a Cell<bool>);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }
        if self.is_recovering.replace(true) {
            return Err(PoolError::Recovering { client: self.held.id });
        }
        let _end = End(&self.is_recovering);
        if self.pool.alone.is_some() {
            return Ok(Recovered::default());
        }
        let (table, detector) = (self.pool.table(), self.pool.detector());
        let processes = &self.pool.processes();
        Recovery { table, detector, processes }.run(self.held.id, redo)
    }

    /// A descriptor of the pool's file for other processes, which may map memory of this client through it: by `mmap`,
    /// not by [`Pool::of`]. While any process has it, or a mapping of it, this client is not recovered, also if its own
    /// process is dead. So memory that these processes can still write is nobody else's. May be called again. Blocks on
    /// the file system. Panics for a private pool, which no other process has.
    pub fn share(&self) -> Result<OwnedFd, PoolError> {
        self.pool.segment.share(self.held.id)
    }

    /// Whether any process, this one included, has a descriptor of [`Client::share`] of this client, or a mapping of
    /// one. Before it frees memory that others have mapped, a client waits until it is false.
    pub fn is_shared(&self) -> Result<bool, PoolError> {
        self.pool.segment.is_shared(self.held.id)
    }

    /// Kills the process of another client that is believed to hang, and waits until no thread of it can run. Then it
    /// can be recovered, unless others have its memory ([`Client::share`]). False: nobody holds this identity.
    pub fn fence(&self, client: u16, patience: Duration) -> Result<bool, PoolError> {
        let table = self.pool.table();
        if usize::from(client) > table.clients() || client == 0 {
            return Err(PoolError::Clients { found: client.into(), max: table.clients() as u64 });
        }
        let Some(process) = table.process_of(client)? else { return Ok(false) };
        self.pool.kernel.fence(process, patience)?;
        Ok(true)
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        if !is_dead() && self.pool.detector().open(self.held.id).is_none() {
            self.pool.table().leave(self.held);
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod torture;
