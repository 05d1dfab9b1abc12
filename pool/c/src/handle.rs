//! What C has pointers to.

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use pool::{Allocator, Heap, Manager, Pool, PoolError, Recovered};

use crate::failure::Failure;

/// An open pool: `farheap_pool`. Any thread may use it.
pub struct Opened {
    // Each borrows from those behind it, and is dropped before them.
    manager: Mutex<Option<Manager<'static>>>,
    heap: OnceLock<Heap<'static>>,
    mapping: Mapping,
    /// Clients that have not left.
    clients: AtomicUsize,
}

/// The mapping, at an address of its own.
struct Mapping(NonNull<Pool>);

// SAFETY: a pool may be used by any thread, and this is the one owner of it.
unsafe impl Send for Mapping {}
// SAFETY: the same.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was leaked by `Opened::new`, and the fields that borrow from it are gone.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Opened {
    pub fn new(pool: Pool) -> Opened {
        let mapping = Mapping(NonNull::from(Box::leak(Box::new(pool))));
        let (manager, heap) = (Mutex::default(), OnceLock::new());
        Opened { manager, heap, mapping, clients: AtomicUsize::new(0) }
    }

    pub fn pool(&self) -> &Pool {
        self.lasting()
    }

    /// For what is kept in this structure, or counted by `clients`.
    fn lasting(&self) -> &'static Pool {
        // SAFETY: it is freed with this structure, after the fields that borrow from it; clients, which are outside of
        // it, are counted, and `close` refuses while there are any.
        unsafe { self.mapping.0.as_ref() }
    }

    pub fn heap(&self) -> Result<&Heap<'static>, Failure> {
        self.heap
            .get()
            .ok_or(Failure::Code(libc::ENOENT, "the pool has no heap, or it was not asked for"))
    }

    pub fn make_heap(&self, reserved: u64) -> Result<(), Failure> {
        // Another number than that of the heap is an error, whether this process has it already or not.
        let heap = Heap::new(self.lasting(), reserved)?;
        self.heap.get_or_init(|| heap);
        Ok(())
    }

    pub fn find_heap(&self) -> Result<(), Failure> {
        if let Some(heap) = Heap::find(self.lasting())? {
            self.heap.get_or_init(|| heap);
        }
        self.heap().map(|_| ())
    }

    pub fn recover(&self) -> Result<Recovered, Failure> {
        let broken = Failure::Code(libc::ENOTRECOVERABLE, "recovery has met an internal error");
        let mut manager = self.manager.lock().map_err(|_| broken)?;
        if manager.is_none() {
            *manager = Some(Manager::new(self.lasting())?);
        }
        Ok(manager.as_ref().expect("it was just made").pass()?)
    }

    /// Whether it may be dropped.
    pub fn is_unused(&self) -> bool {
        self.clients.load(Ordering::Acquire) == 0
    }
}

/// A client: `farheap_client`.
pub struct Member {
    /// Whether a thread is inside.
    is_busy: AtomicBool,
    /// Whether a panic has left the client in a state that nobody knows. Under `is_busy`.
    is_broken: bool,
    allocator: ManuallyDrop<Allocator<'static>>,
    pool: NonNull<Opened>,
}

impl Member {
    pub fn join(pool: &Opened) -> Result<Member, Failure> {
        // SAFETY: the heap is part of the pool's structure, which does not move, and is not dropped before this client
        // has left, as it is counted.
        let heap: &'static Heap<'static> = unsafe { NonNull::from(pool.heap()?).as_ref() };
        let allocator = ManuallyDrop::new(heap.join()?);
        pool.clients.fetch_add(1, Ordering::AcqRel);
        let is_busy = AtomicBool::new(false);
        Ok(Member { is_busy, is_broken: false, allocator, pool: NonNull::from(pool) })
    }

    /// Does something with the client, unless another thread does.
    ///
    /// # Safety
    /// `member` is a client that has not left.
    pub unsafe fn with<T>(
        member: *mut Member,
        action: impl FnOnce(&mut Allocator<'static>) -> Result<T, PoolError>,
    ) -> Result<T, Failure> {
        // SAFETY: promised by the caller; the other fields are not touched before the flag is set.
        let is_busy = unsafe { &(*member).is_busy };
        if is_busy.swap(true, Ordering::Acquire) {
            return Err(Failure::Code(libc::EBUSY, "another thread is using the client"));
        }
        // SAFETY: this thread has set the flag, and has these fields alone.
        let (allocator, is_broken) =
            unsafe { (&mut (*member).allocator, &mut (*member).is_broken) };
        let done = if *is_broken {
            Ok(Err(Failure::Code(libc::ENOTRECOVERABLE, "the client has met an internal error")))
        } else {
            catch_unwind(AssertUnwindSafe(|| action(allocator).map_err(Failure::from)))
        };
        *is_broken |= done.is_err();
        is_busy.store(false, Ordering::Release);
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Ends the client.
    ///
    /// # Safety
    /// `member` came from `Box::into_raw`, and has not left; no other thread uses it.
    pub unsafe fn leave(member: *mut Member) -> Result<(), Failure> {
        // SAFETY: promised by the caller.
        unsafe { Member::with(member, |client| client.settle()) }?;
        // SAFETY: promised by the caller. It is dropped once: if that fails, nobody uses it any more.
        let dropped = catch_unwind(AssertUnwindSafe(|| unsafe {
            ManuallyDrop::drop(&mut (*member).allocator);
        }));
        if let Err(panic) = dropped {
            // The caller still has the client, which then answers all calls with an error.
            // SAFETY: promised by the caller.
            unsafe { (*member).is_broken = true };
            resume_unwind(panic);
        }
        // SAFETY: promised by the caller.
        let member = unsafe { Box::from_raw(member) };
        // SAFETY: the pool is not closed before its clients have left.
        unsafe { member.pool.as_ref() }.clients.fetch_sub(1, Ordering::AcqRel);
        Ok(())
    }
}
