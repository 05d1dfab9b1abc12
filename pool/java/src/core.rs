//! The mapping of a pool with its layers, and clients of it.

use crate::directory::{Directory, RESERVED};
use crate::failure::Failure;
use crate::window::Window;
use pool::{Heap, Pool, PoolError, RefClient, Refs};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The mapping with its layers. It lives until the last that uses it is gone.
pub struct Core {
    // Each borrows from those behind it.
    refs: NonNull<Refs<'static>>,
    heap: NonNull<Heap<'static>>,
    pool: NonNull<Pool>,
    /// The same memory, for reading only.
    window: Window,
}

// SAFETY: pool, heap and layer may be used by any thread.
unsafe impl Send for Core {}
// SAFETY: the same.
unsafe impl Sync for Core {}

impl Core {
    pub fn new(pool: Pool) -> Result<Arc<Core>, PoolError> {
        let window = Window::readable(&pool)?;
        let pool = NonNull::from(Box::leak(Box::new(pool)));
        // SAFETY: it is freed by `Core::drop`, or below, after what borrows from it.
        let heap = match Heap::new(unsafe { pool.as_ref() }, RESERVED) {
            Ok(heap) => NonNull::from(Box::leak(Box::new(heap))),
            Err(error) => {
                // SAFETY: nothing borrows from it.
                drop(unsafe { Box::from_raw(pool.as_ptr()) });
                return Err(error);
            }
        };
        // SAFETY: as above.
        let at = unsafe { pool.as_ref() }.data() + Directory::REFS_AT;
        // SAFETY: as above.
        match Refs::new(unsafe { heap.as_ref() }, at) {
            Ok(refs) => {
                let refs = NonNull::from(Box::leak(Box::new(refs)));
                Ok(Arc::new(Core { refs, heap, pool, window }))
            }
            Err(error) => {
                // SAFETY: nothing borrows from them; the heap borrows from the pool.
                unsafe {
                    drop(Box::from_raw(heap.as_ptr()));
                    drop(Box::from_raw(pool.as_ptr()));
                }
                Err(error)
            }
        }
    }

    pub fn pool(&self) -> &Pool {
        // SAFETY: it lives as long as the core.
        unsafe { self.pool.as_ref() }
    }

    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Where words of the pool are in it.
    pub fn offset_of(&self, words: *const AtomicU64) -> Result<u64, PoolError> {
        let data = self.pool().data();
        let base = self.pool().atomics(data, 1)?.as_ptr() as u64 - data;
        Ok(words as u64 - base)
    }

    /// What others see of the heap.
    pub fn heap(&self) -> &Heap<'_> {
        // SAFETY: it lives as long as the core.
        unsafe { self.heap.as_ref() }
    }

    /// Leases an identity.
    pub fn join(self: &Arc<Core>) -> Result<Joined, Failure> {
        // SAFETY: the layer lives as long as the core, which the result keeps.
        let refs: &'static Refs<'static> = unsafe { self.refs.as_ref() };
        let client = NonNull::from(Box::leak(Box::new(refs.join()?)));
        Ok(Joined { client, core: self.clone() })
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: clients keep the core, so none is left; each borrows from those behind it only.
        unsafe {
            drop(Box::from_raw(self.refs.as_ptr()));
            drop(Box::from_raw(self.heap.as_ptr()));
            drop(Box::from_raw(self.pool.as_ptr()));
        }
    }
}

/// A client of a pool, with what it borrows from. It does not move: ends of rings and references borrow from it.
pub struct Joined {
    client: NonNull<RefClient<'static>>,
    core: Arc<Core>,
}

// SAFETY: a client may be used by one thread at a time, and every one is under a lock.
unsafe impl Send for Joined {}

impl Joined {
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The pool, as for [`Joined::extended`].
    ///
    /// # Safety
    /// What borrows from the result is dropped before `self`.
    pub unsafe fn extended_pool(&self) -> &'static Pool {
        // SAFETY: the core keeps it until `self` is dropped.
        unsafe { self.core.pool.as_ref() }
    }

    /// The client for those that are kept beside this, and dropped before it.
    ///
    /// # Safety
    /// What borrows from the result is dropped before `self`.
    pub unsafe fn extended(&self) -> &'static RefClient<'static> {
        // SAFETY: it lives until `self` is dropped.
        unsafe { self.client.as_ref() }
    }
}

impl Deref for Joined {
    type Target = RefClient<'static>;

    fn deref(&self) -> &RefClient<'static> {
        // SAFETY: it lives until `self` is dropped.
        unsafe { self.client.as_ref() }
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        // SAFETY: what borrows from it is dropped before, and the core lives until afterwards.
        drop(unsafe { Box::from_raw(self.client.as_ptr()) });
    }
}
