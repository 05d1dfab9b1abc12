//! A pool that this process has open.

use crate::channel::End;
use crate::core::{Core, Joined};
use crate::directory::Directory;
use crate::failure::{Failure, Reason};
use crate::map::{Maps, Table};
use crate::message::{Held, Kind, Message, Owner};
use pool::{Backing, Manager, Map, Pool, PoolError, Ref, RefClient, Value};
use std::mem::{ManuallyDrop, forget};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread;
use std::time::Duration;

/// How many clients a pool has that this module makes: the most that there can be.
pub const CLIENTS: usize = 1023;

/// How often the dead of other processes are recovered.
const INTERVAL: Duration = Duration::from_millis(100);

/// One client that several threads use in turn.
enum Stripe {
    Unused,
    Joined(Used),
    Closed,
}

/// A client with what it has. The order is that of dropping.
pub struct Used {
    pub maps: Maps,
    /// Values that are seen by buffers.
    views: usize,
    /// It is kept for these views only.
    is_closed: bool,
    /// The number of the stripe.
    number: usize,
    /// The count of maps that were gone when the client last dropped such maps.
    gone: usize,
    /// How often the client is to free what it has put aside, as it has let go of something large.
    reclaims: u8,
    /// For how many passes of the library's thread nobody has used it.
    idle: u8,
    pub client: Joined,
}

impl Used {
    /// Drops the maps that are gone by now.
    fn drop_gone(&mut self, gone: usize) {
        if self.gone != gone {
            self.gone = gone;
            if self.maps.drop_gone() {
                self.reclaims = RECLAIMS;
            }
        }
    }

    /// Frees what the client has let go of. If it fails, the client does it later by itself.
    fn reclaim(&mut self) {
        if self.reclaims > 0 {
            self.reclaims -= 1;
            let _ = self.client.reclaim();
        }
    }
}

/// After this many passes of the library's thread a client is idle.
const IDLE: u8 = 2;

/// What somebody looked at the first time is free the second time, or the third.
const RECLAIMS: u8 = 3;

// SAFETY: the maps are those of the client beside them, and used under the same lock.
unsafe impl Send for Used {}

/// A stripe whose client counts a value.
struct Viewer {
    shared: Arc<Shared>,
    number: usize,
}

impl Owner for Viewer {
    fn release(&self, reference: Ref<'static>) -> Result<(), Failure> {
        let Ok(mut stripe) = self.shared.stripes[self.number].lock() else {
            // It is released when this process has ended.
            forget(reference);
            return Err(Failure::internal("a panic met the client"));
        };
        let released = reference.release();
        if let Stripe::Joined(used) = &mut *stripe {
            used.views -= 1;
            if used.is_closed && used.views == 0 {
                *stripe = Stripe::Closed;
            }
        }
        Ok(released?)
    }
}

/// An open pool. Any thread may use it.
pub struct Shared {
    stripes: Box<[ManuallyDrop<Mutex<Stripe>>]>,
    is_closed: AtomicBool,
    /// Dropping it ends the thread that recovers others.
    keeper: Mutex<Option<Sender<()>>>,
    /// To be closed with the pool.
    ends: Mutex<Vec<Weak<End>>>,
    /// Those that Java has.
    tables: Mutex<Vec<Weak<Table>>>,
    /// How many of them are gone by now.
    gone: AtomicUsize,
    core: Mutex<Option<Arc<Core>>>,
}

impl Shared {
    /// Opens the pool in a file. Blocks on the file system.
    pub fn open(path: &Path) -> Result<Arc<Shared>, Failure> {
        Shared::of(Pool::open(path)?)
    }

    /// Makes a pool of this many bytes. Blocks on the file system.
    pub fn create(path: &Path, bytes: u64) -> Result<Arc<Shared>, Failure> {
        // Refused before there is a file.
        let min = Directory::bytes_min()?;
        if bytes < min {
            let text = format!("a pool of {bytes} bytes: {min} are the minimum");
            return Err(Failure::Argument(text));
        }
        Shared::of(Pool::create(&Backing::File { path, bytes }, CLIENTS)?)
    }

    fn of(pool: Pool) -> Result<Arc<Shared>, Failure> {
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
        let shared = Arc::new(Shared {
            stripes: (0..stripes()).map(stripe).collect(),
            is_closed: AtomicBool::new(false),
            keeper: Mutex::default(),
            ends: Mutex::default(),
            tables: Mutex::default(),
            gone: AtomicUsize::new(0),
            core: Mutex::new(Some(core.clone())),
        });
        let keeper = keep(core, Arc::downgrade(&shared))?;
        *shared.keeper.lock().map_err(|_| Failure::internal("an earlier panic"))? = Some(keeper);
        Ok(shared)
    }

    /// The memory. An error when the pool is closed.
    pub fn core(&self) -> Result<Arc<Core>, Failure> {
        let core = self.core.lock().map_err(|_| Failure::internal("an earlier panic"))?;
        core.clone().ok_or(CLOSED)
    }

    /// Runs an operation with a client that no other thread uses meanwhile. The thread takes its own stripe, or one
    /// that is free; if all are busy it waits for its own.
    pub fn with<T>(&self, run: impl FnOnce(&mut Used) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(CLOSED);
        }
        let own = own_stripe() % self.stripes.len();
        let order = (own..self.stripes.len()).chain(0..own);
        for n in order.clone() {
            // One that is poisoned was met by a panic: the client may have half of something.
            if let Ok(guard) = self.stripes[n].try_lock() {
                return self.run(n, guard, run);
            }
        }
        let mut usable = order.filter_map(|n| Some((n, self.stripes[n].lock().ok()?)));
        let (n, guard) = usable.next().ok_or(Failure::internal("panics met all clients"))?;
        self.run(n, guard, run)
    }

    fn run<T>(
        &self,
        number: usize,
        mut stripe: MutexGuard<Stripe>,
        run: impl FnOnce(&mut Used) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Stripe::Unused = &*stripe {
            match self.core()?.join() {
                Ok(client) => {
                    *stripe = Stripe::Joined(Used {
                        maps: Maps::default(),
                        views: 0,
                        is_closed: false,
                        number,
                        gone: 0,
                        reclaims: 0,
                        idle: 0,
                        client,
                    });
                }
                Err(failure) => {
                    drop(stripe);
                    return self.run_in_used(run, failure);
                }
            }
        }
        match &mut *stripe {
            Stripe::Joined(used) if !used.is_closed => {
                used.drop_gone(self.gone.load(Ordering::Acquire));
                used.idle = 0;
                run(used)
            }
            _ => Err(CLOSED),
        }
    }

    /// There is no identity for another stripe: one that has a client serves more threads.
    fn run_in_used<T>(
        &self,
        run: impl FnOnce(&mut Used) -> Result<T, Failure>,
        failure: Failure,
    ) -> Result<T, Failure> {
        for stripe in &self.stripes {
            if let Ok(mut stripe) = stripe.lock()
                && let Stripe::Joined(used) = &mut *stripe
                && !used.is_closed
            {
                return run(used);
            }
        }
        Err(failure)
    }

    /// Finds a value, and makes a buffer's message of it. `None`: there is none.
    pub fn view(
        self: &Arc<Shared>,
        find: impl FnOnce(&mut Used) -> Result<Option<Value<'static>>, Failure>,
    ) -> Result<Option<Message>, Failure> {
        let found = self.with(|used| {
            let Some(value) = find(used)? else { return Ok(None) };
            used.views += 1;
            let core = used.client.core().clone();
            let (first, length) = (value.bytes().as_ptr(), value.bytes().len());
            let owner = Viewer { shared: self.clone(), number: used.number };
            Ok(Some((Held::new(value.into_ref(), Arc::new(owner)), core, first, length)))
        })?;
        let Some((held, core, first, length)) = found else { return Ok(None) };
        let at = core.offset_of(first.cast())?;
        Message::seen(held, core, at, length, Kind::Value).map(Some)
    }

    /// Java has this map now.
    pub fn know(&self, table: &Arc<Table>) {
        // After a panic, others find out by using it that it is gone.
        if let Ok(mut tables) = self.tables.lock() {
            tables.retain(|table| table.upgrade().is_some_and(|table| !table.is_gone()));
            tables.push(Arc::downgrade(table));
        }
    }

    /// A map is gone. The stripes that nobody uses drop it at once.
    pub fn lose(&self, table: &Table) {
        if table.set_gone() {
            self.gone.fetch_add(1, Ordering::AcqRel);
            self.sweep();
        }
    }

    /// Removes the map of a name. False: there is none.
    pub fn destroy_map(&self, name: &[u8]) -> Result<bool, Failure> {
        let is_done = self.with(|used| {
            let is_done = Map::destroy(&used.client, name)?;
            // It still counts the table, for those that have just found the name.
            used.reclaims = RECLAIMS;
            self.check_names(&used.client);
            Ok(is_done)
        })?;
        self.sweep();
        Ok(is_done)
    }

    /// The stripes that nobody uses drop what is gone, and free it.
    fn sweep(&self) {
        let gone = self.gone.load(Ordering::Acquire);
        for stripe in &self.stripes {
            if let Ok(mut stripe) = stripe.try_lock()
                && let Stripe::Joined(used) = &mut *stripe
            {
                used.drop_gone(gone);
                used.reclaim();
            }
        }
    }

    /// Runs something once more if there was no memory for it, after the clients that no thread uses now have given
    /// back what they keep for later.
    pub fn retried<T>(&self, mut run: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
        match run() {
            Err(Failure::Pool(Reason::Memory, _)) => {
                self.reclaim();
                run()
            }
            done => done,
        }
    }

    /// The clients that no thread uses now give back what they keep. Those that are idle leave the pool; the next
    /// thread that needs one joins again. Waits for nobody.
    pub fn reclaim(&self) {
        let gone = self.gone.load(Ordering::Acquire);
        for stripe in &self.stripes {
            let Ok(mut stripe) = stripe.try_lock() else { continue };
            let Stripe::Joined(used) = &mut *stripe else { continue };
            used.drop_gone(gone);
            let is_needed = used.is_closed || used.views > 0 || used.maps.has_first();
            if used.idle >= IDLE && !is_needed {
                *stripe = Stripe::Unused;
            } else {
                // If it fails, the client does it later by itself.
                let _ = used.client.reclaim();
            }
        }
        let ends = self.ends.try_lock().map(|ends| ends.clone()).unwrap_or_default();
        ends.iter().filter_map(Weak::upgrade).for_each(|end| end.reclaim());
    }

    /// Finds the maps that anybody has destroyed: others have their names, or nothing has.
    fn check_names(&self, client: &RefClient) {
        let Ok(known) = self.tables.lock().map(|tables| tables.clone()) else { return };
        for table in known.iter().filter_map(Weak::upgrade).filter(|table| !table.is_gone()) {
            if let Ok(named) = client.named(&table.name)
                && named.is_none_or(|named| named.object() != table.at)
                && table.set_gone()
            {
                self.gone.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    /// Lets go of maps that were destroyed by other processes.
    fn refresh(&self) {
        for stripe in &self.stripes {
            if let Ok(stripe) = stripe.try_lock()
                && let Stripe::Joined(used) = &*stripe
            {
                self.check_names(&used.client);
                break;
            }
        }
        for stripe in &self.stripes {
            if let Ok(mut stripe) = stripe.try_lock()
                && let Stripe::Joined(used) = &mut *stripe
            {
                used.idle = used.idle.saturating_add(1);
            }
        }
        self.sweep();
    }

    /// Takes an end of a channel, as [`End::take`].
    pub fn end(
        self: &Arc<Shared>,
        name: &str,
        is_sender: bool,
    ) -> Result<Option<Arc<End>>, Failure> {
        let end = End::take(self, name, is_sender)?.map(Arc::new);
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
                match &mut *stripe {
                    Stripe::Joined(used) if used.views > 0 => {
                        used.is_closed = true;
                        used.maps = Maps::default();
                    }
                    _ => *stripe = Stripe::Closed,
                }
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

/// Starts the thread that recovers the dead, as `pool-manager` does, and lets go of maps that others have destroyed. It
/// never enters the JVM, and ends soon after the sender is dropped. Its own death, with the process, is one that others
/// recover.
fn keep(core: Arc<Core>, shared: Weak<Shared>) -> Result<Sender<()>, Failure> {
    let (sender, receiver) = channel();
    let thread = thread::Builder::new().name("farheap-pool".into()).stack_size(STACK);
    let started = thread.spawn(move || recover(&core, &shared, &receiver));
    started.map_err(|error| Failure::Pool(Reason::System, format!("no thread: {error}")))?;
    Ok(sender)
}

const STACK: usize = 256 << 10;

fn recover(core: &Core, shared: &Weak<Shared>, end: &Receiver<()>) {
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
        if let Some(shared) = shared.upgrade() {
            shared.refresh();
        }
        match end.recv_timeout(INTERVAL) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}
