//! This process as a client of a pool: an identity, and huge blocks that it owns.
//!
//! Blocks that other processes map are freed when none of them can write any more, by whoever frees them. They map
//! through a descriptor that the pool makes for this ([`Client::share`](pool::Client::share)): it is a lock, which the
//! kernel drops with the last descriptor and the last mapping. This process looks at the lock before it frees; the
//! recovery of the pool does if this process was killed. So no descriptor, no number of a process and no message has to
//! be right for it.

use pool::{Backing, Heap, HugeUse, Manager, Pool, PoolError, Ref, RefClient, Refs};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::RdmaError;
use crate::memory::pool_segment::PoolOptions;
use crate::wire::conversation::lock;

/// Blocks of a pool that this process owns. A thread of its own has the identity, since one thread at a time may use
/// it. Dropping the lease frees the blocks, and gives the identity back. If the process is killed, the recovery of the
/// pool does it.
pub struct PoolLease {
    pool: Arc<Pool>,
    /// Where the blocks' whole pages begin in the pool.
    places: Box<[u64]>,
    /// For other processes, until it is taken.
    shared: Mutex<Option<OwnedFd>>,
    /// The thread, which ends with the channel, and says whether it has freed the blocks. `None`: it has ended.
    holder: Mutex<Option<(Sender<()>, JoinHandle<bool>)>>,
}

/// What the thread has got.
struct Taken {
    places: Vec<u64>,
    shared: Option<OwnedFd>,
}

/// How long the blocks of a dead client, and of this one, may be in the way because processes that have them mapped
/// are ending.
const PATIENCE: Duration = Duration::from_secs(2);

/// Clients of a pool that is made here, at a time.
pub const CLIENTS: usize = 127;

/// What of a block is not whole pages: the head of a counted object is in front of them.
const HEAD_BYTES: u64 = 4096;

/// Blocks of this size and above are huge, that is, have pages of their own.
const HUGE_MIN: u64 = 1 << 20;

/// Free memory of a file system below which no pool in it is used: what the client itself writes into the pool.
const FREE_MIN: u64 = 1 << 20;

impl PoolLease {
    /// Opens the pool, or makes it if there is none; recovers the clients that are dead; leases an identity, and
    /// allocates a block for each of these numbers of bytes, whole pages, which are zero. Blocks on the file system.
    pub fn take(options: &PoolOptions, pieces: Vec<u64>) -> Result<PoolLease, RdmaError> {
        let failed = |error: PoolError| pool_error(&options.path, reason(error));
        let pool = Arc::new(open(options, &pieces).map_err(failed)?);
        check_length(options, &pool)?;
        let (ready, taken) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let (held, is_shared) = (pool.clone(), options.is_shared);
        let hold = move || match hold(&held, (&pieces, is_shared), &ready, &ended) {
            Ok(is_free) => is_free,
            Err(refused) => {
                // Nobody waits for it any more if the blocks were allocated.
                let _ = ready.send(Err(refused));
                true
            }
        };
        let holder = thread::Builder::new().name("pool lease".into()).spawn(hold);
        let holder = holder.map_err(|source| RdmaError::Os { what: "a thread", source })?;
        let Taken { places, shared } = match taken.recv() {
            Ok(Ok(taken)) => taken,
            Ok(Err(refused)) => {
                let _ = holder.join();
                return Err(pool_error(&options.path, refused));
            }
            Err(_) => return Err(pool_error(&options.path, "its client ended".into())),
        };
        let (places, shared) = (places.into(), Mutex::new(shared));
        Ok(PoolLease { pool, places, shared, holder: Mutex::new(Some((end, holder))) })
    }

    /// The pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Where the pages of each block begin in the pool, in bytes.
    pub fn places(&self) -> &[u64] {
        &self.places
    }

    /// The descriptor for other processes, once, if it was asked for.
    pub fn take_shared(&self) -> Option<OwnedFd> {
        lock(&self.shared).take()
    }

    /// Frees the blocks. Nobody may use them from now on. Blocks on the file system, and for as long as other processes
    /// that have them mapped are ending, 2 s at most. False: they have not ended. Then recovery frees the blocks, after
    /// this process and they have ended.
    pub fn end(&self) -> bool {
        drop(self.take_shared());
        let Some((end, holder)) = lock(&self.holder).take() else { return true };
        drop(end);
        holder.join().unwrap_or(false)
    }
}

impl Drop for PoolLease {
    fn drop(&mut self) {
        self.end();
    }
}

/// Space for huge blocks that blocks of these sizes take.
pub fn huge_bytes(pieces: &[u64]) -> u64 {
    let of_one = |bytes: &u64| {
        // The object's header is the heap's own.
        (block_bytes(*bytes) + HEAD_BYTES).next_multiple_of(Heap::GRANULE_BYTES)
    };
    pieces.iter().map(of_one).sum()
}

fn block_bytes(bytes: u64) -> u64 {
    (bytes + HEAD_BYTES).max(HUGE_MIN)
}

/// Length of a new pool with room for this many bytes of far spaces.
fn length_for(bytes: u64) -> Result<u64, PoolError> {
    // Each far space has a granule more for each piece of it, and two of a length of their own.
    let huge = bytes.saturating_add(bytes / 64).saturating_add(8 * Heap::GRANULE_BYTES);
    Heap::bytes_of_huge(CLIENTS, Refs::bytes(CLIENTS), huge)
}

fn open(options: &PoolOptions, pieces: &[u64]) -> Result<Pool, PoolError> {
    let path = &*options.path;
    let backing = match Pool::open(path) {
        // A device that was never written.
        Err(PoolError::NotAPool { found: 0 }) if !path.is_file() => Backing::Device { path },
        Err(PoolError::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            let bytes = match options.pool_bytes {
                Some(bytes) => length_for(bytes)?,
                None => Heap::bytes_of_huge(CLIENTS, Refs::bytes(CLIENTS), huge_bytes(pieces))?,
            };
            Backing::File { path, bytes }
        }
        end => return end,
    };
    match Pool::create(&backing, CLIENTS) {
        // Another process was faster. And mappings of a file that was made without a name never get one, by which
        // figures find them.
        Ok(_) | Err(PoolError::Exists { .. }) => Pool::open(path),
        Err(error) => Err(error),
    }
}

/// The length that is asked for is that of the pool.
fn check_length(options: &PoolOptions, pool: &Pool) -> Result<(), RdmaError> {
    let Some(asked) = options.pool_bytes else { return Ok(()) };
    let wanted = length_for(asked).map_err(|error| pool_error(&options.path, reason(error)))?;
    let found = pool.segment().bytes();
    if found == wanted {
        return Ok(());
    }
    let (asked, found) = (asked >> 20, found >> 20);
    let reason = format!(
        "it exists, with a length of {found} MiB, which is not that for {asked} MiB of heaps"
    );
    Err(pool_error(&options.path, reason))
}

/// Has the identity and the blocks until the channel ends. False: they are left to recovery.
fn hold(
    pool: &Pool,
    (pieces, is_shared): (&[u64], bool),
    ready: &Sender<Result<Taken, String>>,
    end: &Receiver<()>,
) -> Result<bool, String> {
    let free = pool.segment().free_bytes().map_err(reason)?;
    if free < FREE_MIN {
        return Err(format!("its file system is full: {} KiB are free", free >> 10));
    }
    // What dead clients had is free before this one looks for memory.
    if let Err(error) = Manager::new(pool).and_then(|manager| recover(pool, &manager)) {
        // The others were recovered. What they left is not needed if there is room.
        log::warn!("a dead client of the pool cannot be recovered: {error}");
    }
    let heap = match Heap::find(pool).map_err(reason)? {
        Some(heap) => heap,
        None => Heap::of_huge(pool, Refs::bytes(pool.clients())).map_err(reason)?,
    };
    let refs = match Refs::find(&heap).map_err(reason)? {
        Some(refs) => refs,
        None => Refs::new(&heap, pool.data()).map_err(reason)?,
    };
    let client = refs.join().map_err(reason)?;
    let blocks = allocate(&client, pieces).map_err(|error| match error {
        PoolError::NoMemory { .. } => full(heap.huge_use(), pieces),
        other => reason(other),
    })?;
    let place = |block: &Ref| (block.object() + 1).next_multiple_of(HEAD_BYTES);
    let places: Vec<u64> = blocks.iter().map(place).collect();
    for (place, bytes) in places.iter().zip(pieces) {
        // A block that was freed is zero already, but not all of a device that was used for something else before.
        pool.segment().punch(*place, *bytes).map_err(reason)?;
    }
    let shared = is_shared.then(|| client.client().share()).transpose().map_err(reason)?;
    let _ = ready.send(Ok(Taken { places, shared }));
    let _ = end.recv();
    let is_used = || client.client().is_shared().unwrap_or(true);
    if until(|| !is_used()) {
        return Ok(true);
    }
    // The identity stays leased as long as this process lives.
    std::mem::forget(blocks);
    std::mem::forget(client);
    Ok(false)
}

/// Recovers the dead. Waits a moment for those whose memory is mapped by other processes, which end when their VM does.
fn recover(pool: &Pool, manager: &Manager) -> Result<(), PoolError> {
    manager.pass()?;
    if pool.outlived()? == 0 {
        return Ok(());
    }
    if !until(|| pool.outlived().is_ok_and(|count| count == 0)) {
        log::warn!("processes of a dead client of the pool still have its memory");
    }
    manager.pass().map(|_| ())
}

/// Waits for something, for a while. False: in vain.
fn until(is_so: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

fn allocate<'c>(client: &'c RefClient, pieces: &[u64]) -> Result<Vec<Ref<'c>>, PoolError> {
    pieces.iter().map(|bytes| client.alloc(block_bytes(*bytes), 0)).collect()
}

/// Says that a heap does not fit.
fn full(space: HugeUse, pieces: &[u64]) -> String {
    let [wanted, used, all] = [huge_bytes(pieces), space.used, space.bytes].map(|n| n >> 20);
    format!("no room for {wanted} MiB of this heap: {used} of {all} MiB are used")
}

fn pool_error(path: &Path, reason: String) -> RdmaError {
    RdmaError::Pool { path: path.into(), reason }
}

/// The text of an error, without the path that is in front of it anyway.
fn reason(error: PoolError) -> String {
    match error {
        PoolError::File { source, .. } => source.to_string(),
        PoolError::NotMemory { .. } => "neither a regular file nor a DAX device".into(),
        PoolError::Exists { .. } => "there is another file".into(),
        other => other.to_string(),
    }
}
