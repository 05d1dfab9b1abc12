//! A pool that this process has open.

use crate::channel::End;
use crate::directory::{Directory, RESERVED};
use crate::failure::{Failure, Reason};
use crate::map::Maps;
use crate::window::Window;
use pool::{Backing, Heap, Manager, Pool, PoolError, RefClient, Refs};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};
use std::thread;
use std::time::Duration;

/// How many clients a pool has that this module makes: the most that there can be.
pub const CLIENTS: usize = 1023;

/// How often the dead of other processes are recovered.
const INTERVAL: Duration = Duration::from_millis(100);

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
    fn new(pool: Pool) -> Result<Arc<Core>, PoolError> {
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

/// One client that several threads use in turn.
enum Stripe {
    Unused,
    /// In the order of dropping.
    Joined(Maps, Joined),
    Closed,
}

// SAFETY: the maps are those of the client beside them, and used under the same lock.
unsafe impl Send for Stripe {}

/// An open pool. Any thread may use it.
pub struct Shared {
    stripes: Box<[ManuallyDrop<Mutex<Stripe>>]>,
    is_closed: AtomicBool,
    /// Dropping it ends the thread that recovers others.
    keeper: Mutex<Option<Sender<()>>>,
    /// To be closed with the pool.
    ends: Mutex<Vec<Weak<End>>>,
    maps: AtomicUsize,
    core: Mutex<Option<Arc<Core>>>,
}

impl Shared {
    /// Opens the pool in a file. Blocks on the file system.
    pub fn open(path: &Path) -> Result<Shared, Failure> {
        Shared::of(Pool::open(path)?)
    }

    /// Makes a pool of this many bytes. Blocks on the file system.
    pub fn create(path: &Path, bytes: u64) -> Result<Shared, Failure> {
        // Refused before there is a file.
        let min = Directory::bytes_min()?;
        if bytes < min {
            let text = format!("a pool of {bytes} bytes: {min} are the minimum");
            return Err(Failure::Argument(text));
        }
        Shared::of(Pool::create(&Backing::File { path, bytes }, CLIENTS)?)
    }

    fn of(pool: Pool) -> Result<Shared, Failure> {
        let other = |error: PoolError| match error {
            PoolError::Range { .. } | PoolError::Layout { .. } => {
                Failure::Pool(Reason::NotAPool, "a pool of other programs".into())
            }
            error => error.into(),
        };
        if pool.clients() != CLIENTS {
            return Err(Failure::Pool(Reason::NotAPool, "a pool of other programs".into()));
        }
        let core = Core::new(pool).map_err(other)?;
        Directory::new(core.pool())?;
        let stripe = |_| ManuallyDrop::new(Mutex::new(Stripe::Unused));
        let shared = Shared {
            stripes: (0..stripes()).map(stripe).collect(),
            is_closed: AtomicBool::new(false),
            keeper: Mutex::new(Some(keep(core.clone())?)),
            ends: Mutex::default(),
            maps: AtomicUsize::new(0),
            core: Mutex::new(Some(core)),
        };
        Ok(shared)
    }

    /// The memory. An error when the pool is closed.
    pub fn core(&self) -> Result<Arc<Core>, Failure> {
        let core = self.core.lock().map_err(|_| Failure::internal("an earlier panic"))?;
        core.clone().ok_or(CLOSED)
    }

    /// Runs an operation with a client that no other thread uses meanwhile. The thread takes its own stripe, or one
    /// that is free; if all are busy it waits for its own.
    pub fn with<T>(
        &self,
        run: impl FnOnce(&Joined, &mut Maps) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(CLOSED);
        }
        let own = own_stripe() % self.stripes.len();
        let order = (own..self.stripes.len()).chain(0..own);
        let mut is_lost = 0;
        for stripe in order.map(|n| &self.stripes[n]) {
            match stripe.try_lock() {
                Ok(guard) => return self.run(guard, run),
                Err(TryLockError::WouldBlock) => {}
                // A panic was there: the client may have half of something.
                Err(TryLockError::Poisoned(_)) => is_lost += 1,
            }
        }
        if is_lost == self.stripes.len() {
            return Err(Failure::internal("panics met all clients"));
        }
        match self.stripes[own].lock() {
            Ok(guard) => self.run(guard, run),
            Err(_) => Err(Failure::internal("a panic met the client")),
        }
    }

    fn run<T>(
        &self,
        mut stripe: MutexGuard<Stripe>,
        run: impl FnOnce(&Joined, &mut Maps) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Stripe::Unused = &*stripe {
            match self.core()?.join() {
                Ok(joined) => *stripe = Stripe::Joined(Maps::default(), joined),
                Err(failure) => {
                    drop(stripe);
                    return self.run_in_used(run, failure);
                }
            }
        }
        match &mut *stripe {
            Stripe::Joined(maps, joined) => run(joined, maps),
            _ => Err(CLOSED),
        }
    }

    /// There is no identity for another stripe: one that has a client serves more threads.
    fn run_in_used<T>(
        &self,
        run: impl FnOnce(&Joined, &mut Maps) -> Result<T, Failure>,
        failure: Failure,
    ) -> Result<T, Failure> {
        for stripe in &self.stripes {
            if let Ok(mut stripe) = stripe.lock()
                && let Stripe::Joined(maps, joined) = &mut *stripe
            {
                return run(joined, maps);
            }
        }
        Err(failure)
    }

    /// A number for a map.
    pub fn new_map(&self) -> usize {
        self.maps.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes an end of a channel, as [`End::take`].
    pub fn end(&self, name: &str, is_sender: bool) -> Result<Option<Arc<End>>, Failure> {
        let end = End::take(&self.core()?, name, is_sender)?.map(Arc::new);
        let mut ends = self.ends.lock().map_err(|_| Failure::internal("an earlier panic"))?;
        ends.retain(|end| end.strong_count() > 0);
        ends.extend(end.as_ref().map(Arc::downgrade));
        if self.is_closed.load(Ordering::Acquire) {
            end.iter().for_each(|end| end.close());
            return Err(CLOSED);
        }
        Ok(end)
    }

    /// Closes the ends, and gives all identities back but those that buffers need. May be called again. Waits for
    /// operations of other threads.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        if let Ok(ends) = self.ends.lock() {
            ends.iter().filter_map(Weak::upgrade).for_each(|end| end.close());
        }
        if let Ok(mut keeper) = self.keeper.lock() {
            *keeper = None;
        }
        for stripe in &self.stripes {
            // One that a panic has met stays as it is.
            if let Ok(mut stripe) = stripe.lock() {
                *stripe = Stripe::Closed;
            }
        }
        if let Ok(mut core) = self.core.lock() {
            *core = None;
        }
    }
}

impl Drop for Shared {
    /// What a panic has met is not dropped: it is recovered when this process has ended.
    fn drop(&mut self) {
        self.close();
    }
}

const CLOSED: Failure = Failure::Closed("the pool");

fn stripes() -> usize {
    thread::available_parallelism().map_or(4, |count| (count.get() * 2).clamp(4, 32))
}

/// Which stripe the calling thread looks at first.
fn own_stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    OWN.with(|own| *own)
}

/// Starts the thread that recovers the dead, as `pool-manager` does. It never enters the JVM, and ends soon after the
/// sender is dropped. Its own death, with the process, is one that others recover.
fn keep(core: Arc<Core>) -> Result<Sender<()>, Failure> {
    let (sender, receiver) = channel();
    let thread = thread::Builder::new().name("farheap-pool".into()).stack_size(STACK);
    let started = thread.spawn(move || recover(&core, &receiver));
    started.map_err(|error| Failure::Pool(Reason::System, format!("no thread: {error}")))?;
    Ok(sender)
}

const STACK: usize = 256 << 10;

fn recover(core: &Core, end: &Receiver<()>) {
    let mut manager = None;
    loop {
        if manager.is_none() {
            // While all identities are leased there is none; others recover then.
            manager = Manager::new(core.pool()).ok();
        }
        if let Some(manager) = &manager {
            // An error is about one dead client: the others were recovered, and it is tried again.
            let _ = manager.pass();
        }
        match end.recv_timeout(INTERVAL) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}
