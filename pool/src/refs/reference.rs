//! A counted reference.

use super::client::RefClient;
use super::header::HEADER_BYTES;
use super::holder::Memory;
use super::roots::copies_at;
use crate::PoolError;
use crate::alloc::size_of_block;
use crate::crash::is_dead;
use crate::sync::{AtomicU64, own, put};
use std::cell::Cell;

/// A counted reference to an object, of one client (*CXLRef*, section 3.1). It names a root in shared memory, which
/// recovery releases. A copy (`clone`) changes no count that others see: only that of the root, without an atomic
/// instruction (section 5.2). The last copy that is dropped releases the root.
pub struct Ref<'c> {
    client: &'c RefClient<'c>,
    root: u64,
    object: u64,
    /// Bytes of the object's block, or those for which it was handed out; 0 while they are not known. The reference
    /// keeps the block, so they stay. What the heap has about a block is in a line that others write when they free
    /// other blocks of its slab.
    block: Cell<u64>,
}

impl<'c> Ref<'c> {
    /// The root was just filled. `block` may be 0.
    #[inline]
    pub(super) fn new(client: &'c RefClient<'_>, root: u64, object: u64, block: u64) -> Ref<'c> {
        Ref { client, root, object, block: Cell::new(block) }
    }

    /// Where the object is: the same in all processes.
    pub fn object(&self) -> u64 {
        self.object
    }

    /// The words of the object behind its references: as many as were asked for, or more. Any client may change them,
    /// at any time.
    #[inline]
    pub fn data(&self) -> Result<&[AtomicU64], PoolError> {
        if self.block.get() == 0 {
            self.block.set(self.client.block_bytes(self.object)?);
        }
        self.client.data_of(self.object, size_of_block(self.block.get()).1)
    }

    /// Where these words are in the pool, in bytes: a multiple of 8.
    pub fn data_at(&self) -> Result<u64, PoolError> {
        Ok(self.client.holder().memory.embedded(self.object, self.embedded()?))
    }

    /// How many embedded references the object has.
    pub fn embedded(&self) -> Result<u64, PoolError> {
        self.client.embedded(self.object)
    }

    /// What the n-th embedded reference refers to, counted. For the client that writes that reference.
    pub(super) fn follow(&self, n: u32) -> Result<Ref<'c>, PoolError> {
        let found = self.client.get(self, n)?;
        found.ok_or(PoolError::NoReference { index: n.into(), count: 0 })
    }

    /// The words of what the n-th embedded reference refers to. It is not counted: nobody may change that reference
    /// meanwhile.
    pub(super) fn data_behind(&self, n: u32) -> Result<&[AtomicU64], PoolError> {
        match self.client.referred(self, n)? {
            0 => Err(PoolError::NoReference { index: n.into(), count: 0 }),
            object => self.client.data(object),
        }
    }

    /// Releases the reference, as dropping it does, and says what went wrong: then it is released later.
    #[inline]
    pub fn release(self) -> Result<(), PoolError> {
        let this = std::mem::ManuallyDrop::new(self);
        this.let_go()
    }

    pub(super) fn is_of(&self, client: &RefClient) -> bool {
        std::ptr::eq(
            std::ptr::from_ref(self.client).cast::<()>(),
            std::ptr::from_ref(client).cast(),
        )
    }

    /// Whether there is no copy.
    pub(super) fn is_single(&self) -> bool {
        self.copies().is_ok_and(|copies| own(copies) == 0)
    }

    /// How far the data of an object without embedded references is from it, bytes.
    pub(crate) const DATA_AT: u64 = HEADER_BYTES;

    /// The client that has the reference.
    pub(crate) fn client(&self) -> &'c RefClient<'c> {
        self.client
    }

    /// The root.
    pub(super) fn root(&self) -> u64 {
        self.root
    }

    /// The root and the object. The caller takes the reference over.
    pub(super) fn into_root(self) -> (u64, u64) {
        let this = std::mem::ManuallyDrop::new(self);
        (this.root, this.object)
    }

    #[inline(always)]
    fn copies(&self) -> Result<&AtomicU64, PoolError> {
        self.client.holder().memory.cell(copies_at(self.root))
    }

    #[inline]
    fn let_go(&self) -> Result<(), PoolError> {
        let copies = self.copies()?;
        match own(copies) {
            0 => self.client.release(self.root, self.object),
            more => {
                put(copies, more - 1);
                Ok(())
            }
        }
    }
}

impl Clone for Ref<'_> {
    fn clone(&self) -> Self {
        let copies = self.copies().expect("a root is in the pool");
        put(copies, own(copies) + 1);
        Ref::new(self.client, self.root, self.object, self.block.get())
    }
}

impl Drop for Ref<'_> {
    #[inline]
    fn drop(&mut self) {
        if !is_dead() {
            // If it fails, the step stays open, or the root is released when the client ends.
            let _ = self.let_go();
        }
    }
}
