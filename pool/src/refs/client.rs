//! The layer in a pool, and a client of it.

use super::header::{Count, EMBEDDED_MAX, HEADER_BYTES};
use super::holder::{Holder, Memory, OF_REFS, RefTable};
use super::holding::{HOLDING_BYTES, Holding, IDLE};
use super::memory::HeapMemory;
use super::reader::Reader;
use super::reference::Ref;
use crate::PoolError;
use crate::alloc::{Allocator, Heap};
use crate::crash::is_dead;
use crate::detect::{Change, Word};
use crate::pool::Client;
use crate::recover::{Recovered, Redo};
use crate::sync::{AtomicU64, own, put};
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// Counted objects in a heap (CXL-SHM, section 3). Any thread may use it. Zeros are a layer without objects.
///
/// ```text
///   0        64        192                704     1728
///   +--------+---------+------------------+-------+----------------------------+
///   | clock  | readers | persistent roots | names | holdings, by identity      |
///   +--------+---------+------------------+-------+----------------------------+
/// ```
pub struct Refs<'a> {
    heap: &'a Heap<'a>,
    table: RefTable<'a>,
    persistent_at: u64,
}

/// A client of the layer. One thread at a time may use it. Dropping it releases all references that it has.
pub struct RefClient<'a> {
    holder: Holder<'a, HeapMemory<'a>>,
    persistent_at: u64,
    /// Empty roots of the client's pages.
    empty: RefCell<Vec<u64>>,
    /// After how many releases it looks again at the objects that readers kept.
    until_revisit: Cell<u64>,
    /// Objects of the client's lists of unlinked ones, those of the list that is looked at next in the second place.
    /// All are still kept.
    pub(super) recent: RefCell<[Vec<u64>; 2]>,
    /// How many readers it has now.
    pub(super) looking: Cell<u32>,
    /// Whether it has received a reference since it sent one.
    pub(super) has_received: Cell<bool>,
    allocator: Allocator<'a>,
}

const READERS_AT: u64 = 64;
const READER_WORDS: usize = 16;
const PERSISTENT_AT: u64 = 192;
const NAMES_AT: u64 = PERSISTENT_AT + 8 * Refs::PERSISTENT;
const HOLDINGS_AT: u64 = NAMES_AT + 16 * NAMES;

const _: () = {
    assert!(READERS_AT + 8 * READER_WORDS as u64 <= PERSISTENT_AT);
    assert!(READER_WORDS * 64 > crate::detect::CLIENTS_MAX);
    assert!(HOLDINGS_AT.is_multiple_of(64) && HOLDING_BYTES.is_multiple_of(64));
};

/// Names that objects may have.
pub(super) const NAMES: u64 = 64;

/// A number of the structures' sizes.
const STRUCTURES: u64 = HOLDING_BYTES >> 6;

/// After how many releases, at least, a client looks again at the objects that readers kept.
const REVISIT: u64 = 64;

impl<'a> Refs<'a> {
    /// How many persistent roots there are.
    pub const PERSISTENT: u64 = 64;

    /// Bytes that the layer takes of the user's part of a pool with this many clients.
    pub const fn bytes(clients: usize) -> u64 {
        HOLDINGS_AT + (clients as u64 + 1) * HOLDING_BYTES
    }

    /// The layer over a heap, at an offset that is a multiple of 64 in the part of the pool that the user of the heap
    /// has reserved. All processes name the same offset. An error if the part is too short,
    /// or if others have the layer at another offset.
    pub fn new(heap: &'a Heap<'a>, at: u64) -> Result<Refs<'a>, PoolError> {
        let pool = heap.pool();
        let bytes = Refs::bytes(pool.clients());
        let end = at.checked_add(bytes).filter(|end| *end <= heap.start());
        if end.is_none() || !at.is_multiple_of(64) {
            return Err(PoolError::Range { offset: at, bytes });
        }
        let holdings_at = at + HOLDINGS_AT;
        let table = RefTable {
            detector: pool.detector(),
            clock: &pool.atomics(at, 1)?[0],
            readers: pool.atomics(at + READERS_AT, READER_WORDS)?,
            holdings: pool.segment().array::<Holding>(holdings_at, pool.clients() + 1)?,
            holdings_at,
            #[cfg(test)]
            flaw: None,
        };
        heap.stamp_layer(at << 8 | STRUCTURES)?;
        Ok(Refs { heap, table, persistent_at: at + PERSISTENT_AT })
    }

    /// The layer that others have made over the heap. `None`: there is none.
    pub fn find(heap: &'a Heap<'a>) -> Result<Option<Refs<'a>>, PoolError> {
        match heap.layer() {
            0 => Ok(None),
            // The stamp is compared with that of this program.
            found => Refs::new(heap, found >> 8).map(Some),
        }
    }

    /// Leases an identity to the caller, and makes it a client of the layer. Does not block. An error if the last
    /// holders of all free identities left something that cannot be finished.
    pub fn join(&'a self) -> Result<RefClient<'a>, PoolError> {
        self.heap.pool().join_first(|client| self.client(client))
    }

    pub(crate) fn client(&'a self, client: Client<'a>) -> Result<RefClient<'a>, PoolError> {
        let allocator = self.heap.allocator(client)?;
        let mut holder = self.holder(allocator.id());
        // The last holder could not free what others looked at, or was recovered without the layer.
        holder.reclaim()?;
        holder.memory.keeps = true;
        Ok(RefClient {
            holder,
            persistent_at: self.persistent_at,
            empty: RefCell::default(),
            until_revisit: Cell::new(REVISIT),
            recent: RefCell::default(),
            looking: Cell::new(0),
            has_received: Cell::new(false),
            allocator,
        })
    }

    /// Frees what readers kept from the last holders of identities that are free now. Does not block. For those that
    /// have an identity themselves. Each identity is leased for a moment; the last free one is left to those that join,
    /// which do the same. The first error is returned; the others are swept all the same.
    pub(crate) fn sweep(&'a self) -> Result<(), PoolError> {
        let (pool, mut first_error) = (self.heap.pool(), Ok(()));
        for (id, holding) in self.table.holdings.iter().enumerate().skip(1) {
            if holding.keeps()
                && pool.table().has_free(2)
                && let Some(client) = pool.join_at(id as u16)?
            {
                let swept = self.heap.reclaim(client.id(), || self.holder(client.id()).reclaim());
                first_error = first_error.and(swept);
            }
        }
        first_error
    }

    pub(super) fn holder(&'a self, id: u16) -> Holder<'a, HeapMemory<'a>> {
        Holder::new(self.table, HeapMemory { blocks: self.heap.blocks(id), keeps: false }, id)
    }

    #[cfg(test)]
    pub(crate) fn with_flaw(mut self, flaw: Option<crate::flaw::Flaw>) -> Self {
        self.table.flaw = flaw;
        self.table.detector = self.table.detector.with_flaw(flaw);
        self
    }

    #[cfg(test)]
    pub(crate) fn heap(&self) -> &'a Heap<'a> {
        self.heap
    }

    #[cfg(test)]
    pub(super) fn table(&self) -> RefTable<'a> {
        self.table
    }

    /// Where the words of names are.
    #[cfg(test)]
    pub(super) fn name_words(&self) -> impl Iterator<Item = u64> + use<> {
        let at = self.persistent_at + (NAMES_AT - PERSISTENT_AT);
        (0..NAMES).map(move |n| at + 16 * n)
    }

    #[cfg(test)]
    pub(super) fn persistent_at(&self) -> u64 {
        self.persistent_at
    }
}

impl<'a> RefClient<'a> {
    /// Makes an object of at least this many bytes of data, with `embedded` empty references in front of them (section
    /// 5.1). The data is undefined. If the client dies, the object is freed. Without atomic instructions while a slab
    /// of the client has room.
    #[inline]
    pub fn alloc(&self, bytes: u64, embedded: u32) -> Result<Ref<'_>, PoolError> {
        self.alloc_of(bytes, embedded, Count::new)
    }

    /// The same for an object whose first count is this one.
    #[inline(always)]
    pub(super) fn alloc_of(
        &self,
        bytes: u64,
        embedded: u32,
        first: impl Fn(u32, u32) -> Count,
    ) -> Result<Ref<'_>, PoolError> {
        self.settled()?;
        let all = bytes.checked_add(HEADER_BYTES + 8 * u64::from(embedded));
        // A multiple of 16 is aligned to 16 bytes.
        let Some(all) = all.and_then(|all| all.checked_next_multiple_of(16)) else {
            return Err(PoolError::NoMemory { bytes });
        };
        if embedded > EMBEDDED_MAX {
            return Err(PoolError::NoReference {
                index: embedded.into(),
                count: EMBEDDED_MAX.into(),
            });
        }
        let (memory, birth) = (&self.holder.memory, self.holder.era()?);
        let root = self.take_root()?;
        let init = |object: u64| {
            let header = memory.header(object).expect("a block of the heap, of 16 bytes at least");
            header.init(first(embedded, 1), birth);
            for n in 0..embedded.into() {
                let cell = memory.cell(memory.embedded(object, n)).expect("the block has it");
                put(cell, 0);
            }
        };
        let mut made = memory.blocks.alloc_into(root, all, init);
        if made.is_err() && (self.holder.has_kept() || self.holder.has_spares()) {
            made = self
                .revisit()
                .and_then(|()| self.holder.free_spares())
                .and_then(|()| memory.blocks.alloc_into(root, all, init));
        }
        match made {
            Ok(object) => Ok(Ref::new(self, root, object, all)),
            Err(error) => {
                self.empty.borrow_mut().push(root);
                Err(error)
            }
        }
    }

    /// Makes the n-th embedded reference of an object refer to another one, or to nothing. Readers, and recovery, see
    /// the old or the new one (section 5.4). One client at a time may write an object's references; after its death,
    /// another one may once it was recovered. An object that refers to itself, also through others, is never freed.
    pub fn set(&self, object: &Ref, n: u32, to: Option<&Ref>) -> Result<(), PoolError> {
        self.check(object)?;
        let count = self.embedded(object.object())?;
        if u64::from(n) >= count {
            return Err(PoolError::NoReference { index: n.into(), count });
        }
        self.set_cell(self.holder.memory.embedded(object.object(), n.into()), to)
    }

    /// Gets a counted reference to what the n-th embedded reference of an object refers to. Only for the client that
    /// writes that reference: others use a [`Reader`].
    pub fn get(&self, object: &Ref, n: u32) -> Result<Option<Ref<'_>>, PoolError> {
        match self.referred(object, n)? {
            0 => Ok(None),
            other => self.attach(other),
        }
    }

    /// The object that the n-th embedded reference refers to, which is not counted. 0: none.
    #[inline]
    pub(super) fn referred(&self, object: &Ref, n: u32) -> Result<u64, PoolError> {
        self.check(object)?;
        let count = self.embedded(object.object())?;
        if u64::from(n) >= count {
            return Err(PoolError::NoReference { index: n.into(), count });
        }
        let cell = self.holder.memory.embedded(object.object(), n.into());
        Ok(own(self.holder.memory.cell(cell)?))
    }

    /// Makes the n-th persistent root refer to an object, or to nothing: it outlives all clients (section 6.4). One
    /// client at a time may write a persistent root, as for [`RefClient::set`].
    pub fn set_persistent(&self, n: u64, to: Option<&Ref>) -> Result<(), PoolError> {
        self.set_cell(self.persistent(n)?, to)
    }

    /// Another reference to the same object, which is counted by itself. One compare-and-swap.
    pub fn share(&self, object: &Ref) -> Result<Ref<'_>, PoolError> {
        self.check(object)?;
        let shared = self.attach(object.object())?;
        shared.ok_or_else(|| self.holder.damaged("a count", 0))
    }

    /// Begins to look at objects without counting them. Does not block.
    #[inline]
    pub fn read(&self) -> Result<Reader<'_>, PoolError> {
        Reader::new(self)
    }

    /// Frees the dying objects that readers kept, if they look at them no more. It also happens by itself, after
    /// some releases.
    pub fn reclaim(&self) -> Result<(), PoolError> {
        self.settled()?;
        self.revisit()?;
        self.holder.free_spares()
    }

    /// Recovers the clients that are dead now: all that they hold is released (section 3.2). Others do not wait for it,
    /// and it waits for nobody. It takes time in proportion to what each dead one held. `redo` is for what else the
    /// user has in the pool. All that recover clients of a pool with counted objects do it by this.
    pub fn recover(&self, redo: &impl Redo) -> Result<Recovered, PoolError> {
        self.allocator.recover(&RefsRedo { refs: &self.as_refs(), user: redo })
    }

    /// Kills the process of a client that is believed to hang, and waits until it is dead, as
    /// [`Client::fence`].
    pub fn fence(&self, client: u16, patience: Duration) -> Result<bool, PoolError> {
        self.allocator.fence(client, patience)
    }

    /// The identity, from 1 on.
    pub fn id(&self) -> u16 {
        self.allocator.id()
    }

    /// The client of the pool: for rings.
    pub fn client(&self) -> &Client<'a> {
        &self.allocator
    }

    pub(super) fn holder(&self) -> &Holder<'a, HeapMemory<'a>> {
        &self.holder
    }

    pub(crate) fn heap(&self) -> &'a Heap<'a> {
        self.holder.memory.blocks.heap()
    }

    /// Where the names of objects are.
    pub(super) fn names_at(&self) -> u64 {
        self.persistent_at + (NAMES_AT - PERSISTENT_AT)
    }

    /// All words in the data of the pool, and the offset of the first one.
    #[inline(always)]
    pub(crate) fn words(&self) -> (&'a [AtomicU64], u64) {
        self.holder.memory.blocks.words()
    }

    fn as_refs(&self) -> Refs<'a> {
        Refs { heap: self.heap(), table: self.holder.table, persistent_at: self.persistent_at }
    }

    /// Errors leave steps open, and dying objects.
    #[inline]
    pub(super) fn settled(&self) -> Result<(), PoolError> {
        let holding = self.holder.holding;
        if own(&holding.step) == IDLE && own(&holding.dying) == 0 && own(&holding.current) == 0 {
            return Ok(());
        }
        self.holder.settle()?;
        self.holder.drain().map(|_| ())
    }

    /// Where a persistent root is.
    pub(super) fn persistent(&self, n: u64) -> Result<u64, PoolError> {
        if n >= Refs::PERSISTENT {
            return Err(PoolError::NoReference { index: n, count: Refs::PERSISTENT });
        }
        Ok(self.persistent_at + 8 * n)
    }

    /// How many embedded references an object has.
    #[inline]
    pub(crate) fn embedded(&self, object: u64) -> Result<u64, PoolError> {
        let word = self.holder.memory.header(object)?.word.value();
        Ok(Count::from_bits(word).embedded())
    }

    /// The words of an object behind its references, as many as its block has.
    #[inline]
    pub(super) fn data(&self, object: u64) -> Result<&'a [AtomicU64], PoolError> {
        self.data_of(object, self.block_bytes(object)?)
    }

    /// The same if the bytes of its block are known.
    #[inline]
    pub(super) fn data_of(&self, object: u64, block: u64) -> Result<&'a [AtomicU64], PoolError> {
        let begin = self.holder.memory.embedded(0, self.embedded(object)?);
        let words = block.saturating_sub(begin) / 8;
        self.heap().pool().atomics(object + begin, words as usize)
    }

    /// Bytes of the block of an object.
    #[inline]
    pub(super) fn block_bytes(&self, object: u64) -> Result<u64, PoolError> {
        let heap = self.heap();
        let bytes = heap.small_block_bytes(object).or_else(|| heap.block_bytes(object));
        bytes.ok_or(PoolError::NotABlock { offset: object })
    }

    /// An empty root.
    #[inline]
    pub(super) fn take_root(&self) -> Result<u64, PoolError> {
        let root = self.empty.borrow_mut().pop();
        if let Some(root) = root { Ok(root) } else { self.take_new_root() }
    }

    #[cold]
    fn take_new_root(&self) -> Result<u64, PoolError> {
        let mut empty = self.empty.borrow_mut();
        empty.extend(self.holder.add_page()?);
        Ok(empty.pop().expect("a page has roots"))
    }

    /// The root is empty.
    #[inline]
    pub(super) fn give_root(&self, root: u64) {
        self.empty.borrow_mut().push(root);
    }

    /// A new root for an object that another root, or a reader, keeps from being freed. `None`: it is dying.
    pub(crate) fn attach(&self, object: u64) -> Result<Option<Ref<'_>>, PoolError> {
        self.settled()?;
        let root = self.take_root()?;
        let attached = self.holder.attach(object, root);
        match attached {
            Ok(true) => Ok(Some(Ref::new(self, root, object, 0))),
            Ok(false) => {
                self.give_root(root);
                Ok(None)
            }
            Err(error) => {
                self.give_root(root);
                Err(error)
            }
        }
    }

    /// Releases a root.
    #[inline]
    pub(super) fn release(&self, root: u64, object: u64) -> Result<(), PoolError> {
        self.settled()?;
        self.holder.release_root(root, object)?;
        self.give_root(root);
        self.count_release()
    }

    #[inline]
    fn count_release(&self) -> Result<(), PoolError> {
        if !self.holder.has_kept() {
            return Ok(());
        }
        self.count_kept(1)
    }

    /// Objects were released or unlinked that count as this many small ones.
    #[inline]
    pub(super) fn count_kept(&self, weight: u64) -> Result<(), PoolError> {
        match self.until_revisit.get().checked_sub(weight) {
            None | Some(0) => self.revisit(),
            Some(more) => {
                self.until_revisit.set(more);
                Ok(())
            }
        }
    }

    /// A look takes time in proportion to what is kept: there are as many releases between two of them.
    #[cold]
    fn revisit(&self) -> Result<(), PoolError> {
        self.touch_recent();
        let looked = self.holder.revisit();
        let mut recent = self.recent.borrow_mut();
        if matches!(looked, Ok((_, true))) {
            recent.swap(0, 1);
        } else {
            // Some are freed. A load would bring back pages that were given back.
            recent[0].clear();
        }
        self.until_revisit.set(looked?.0.max(REVISIT));
        Ok(())
    }

    /// Loads the headers of objects that are looked at next. A list is followed one object at a time; these loads wait
    /// for memory together.
    fn touch_recent(&self) {
        let mut recent = self.recent.borrow_mut();
        let headers = recent[1].drain(..).map(|object| self.holder.memory.header(object));
        let sum = headers.flatten().map(|header| header.word.value()).fold(0, u64::wrapping_add);
        std::hint::black_box(sum);
    }

    fn set_cell(&self, at: u64, to: Option<&Ref>) -> Result<(), PoolError> {
        self.settled()?;
        let object = match to {
            Some(to) => {
                self.check(to)?;
                to.object()
            }
            None => 0,
        };
        let old = own(self.holder.memory.cell(at)?);
        let is_alive = match (old, object) {
            _ if old == object => return Ok(()),
            (0, _) => self.holder.attach(object, at)?,
            (_, 0) => {
                self.holder.release(at, old)?;
                true
            }
            _ => self.holder.change(at, old, object)?,
        };
        if !is_alive {
            return Err(self.holder.damaged("a count", 0));
        }
        self.holder.drain()?;
        self.count_release()
    }

    /// A reference of another client, or of another pool, would be counted in the wrong place.
    pub(crate) fn check(&self, object: &Ref) -> Result<(), PoolError> {
        if object.is_of(self) {
            Ok(())
        } else {
            Err(PoolError::OtherClient { object: object.object() })
        }
    }
}

impl Drop for RefClient<'_> {
    fn drop(&mut self) {
        if !is_dead() {
            // If it fails, the next holder of the identity does it.
            let _ = self.holder.reclaim();
        }
    }
}

/// Recovery of the layer, and of what its user has in the same pool.
pub(crate) struct RefsRedo<'a, R> {
    pub refs: &'a Refs<'a>,
    pub user: &'a R,
}

impl<R: Redo> Redo for RefsRedo<'_, R> {
    fn word(&self, target: u64) -> Result<&Word, PoolError> {
        if target & OF_REFS == 0 {
            return self.user.word(target);
        }
        Ok(&self.refs.heap.pool().words(target & !OF_REFS, 1)?[0])
    }

    fn knows(&self, target: Option<u64>) -> bool {
        target.is_some_and(|target| target & OF_REFS != 0) || self.user.knows(target)
    }

    fn can_reclaim(&self) -> Result<(), PoolError> {
        self.user.can_reclaim()
    }

    fn redo(&self, client: u16, change: &Change, has_happened: bool) -> Result<(), PoolError> {
        if change.target & OF_REFS == 0 {
            return self.user.redo(client, change, has_happened);
        }
        self.refs.holder(client).redo(change, has_happened)
    }

    fn reclaim(&self, client: u16) -> Result<(), PoolError> {
        self.refs.holder(client).reclaim()?;
        self.user.reclaim(client)
    }
}
