//! What can fail, and is not the fault of this crate.

use std::io;
use std::path::PathBuf;

/// An operation on a pool that failed. Nothing was changed unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// A file could not be opened or made.
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    /// There is a pool at this place.
    #[error("{path}: there is a pool or another file already")]
    Exists { path: PathBuf },
    /// Neither a regular file nor a DAX device.
    #[error("{path}: neither a regular file nor a DAX device")]
    NotMemory { path: PathBuf },
    /// A system call failed.
    #[error("{call}: {source}")]
    Kernel { call: &'static str, source: io::Error },
    /// The file cannot hold a header.
    #[error("a file of {bytes} bytes is too short for a pool")]
    TooShort { bytes: u64 },
    /// The first word is not that of a pool.
    #[error("not a pool: it begins with {found:#018x}")]
    NotAPool { found: u64 },
    /// Another version of this program made the pool.
    #[error("a pool of version {found}; this program has version {supported}")]
    Version { found: u64, supported: u64 },
    /// The structures in the pool have other sizes than here.
    #[error("a pool of layout {found:#x}; this program has layout {supported:#x}")]
    Layout { found: u64, supported: u64 },
    /// The file was cut or extended.
    #[error("the header says {header} bytes, and the file has {file}")]
    Size { header: u64, file: u64 },
    /// The header's number of clients is impossible, or a caller's is.
    #[error("{found} clients; a pool has 1 to {max}")]
    Clients { found: u64, max: u64 },
    /// A caller's size is impossible.
    #[error("a pool of {bytes} bytes: it must be a multiple of 4096, and {min} at least")]
    Bytes { bytes: u64, min: u64 },
    /// Process numbers of another namespace would name other processes.
    #[error("the pool belongs to another namespace of process numbers ({found:#x}, not {own:#x})")]
    Namespace { found: u64, own: u64 },
    /// No compare-and-swap of 16 bytes.
    #[error("this CPU lacks cmpxchg16b")]
    Cpu,
    /// All identities are leased.
    #[error("all {clients} identities of the pool are leased")]
    Full { clients: usize },
    /// The client did not finish its last change.
    #[error("client {client} has a change open")]
    Unfinished { client: u16 },
    /// A recovery has begun another one.
    #[error("client {client} is recovering others already")]
    Recovering { client: u16 },
    /// The client made as many changes as eras can count. Its identity is never leased again.
    #[error("client {client} has used up its eras")]
    EraExhausted { client: u16 },
    /// Clients may have what this recovery does not know: a heap or counted objects were made since it began. The next
    /// one knows them.
    #[error("the pool has another layer since the recovery began")]
    NewLayer,
    /// Programs of the pool have more to take back from the dead than a manager knows.
    #[error("the programs of the pool recover its dead clients themselves")]
    OwnReclaim,
    /// A process that must not run any more may still run. Nothing of it may be recovered.
    #[error("process {pid} cannot be fenced: {reason}")]
    Unfenced { pid: u32, reason: String },
    /// A word of the pool has a value that no program of this version writes.
    #[error("the pool is damaged: {what} of client {client} is {found:#x}")]
    Damaged { what: &'static str, client: u16, found: u64 },
    /// A heap has no block of this size.
    #[error("no memory for {bytes} bytes")]
    NoMemory { bytes: u64 },
    /// No used block begins at this offset.
    #[error("no block of a heap begins at {offset:#x}")]
    NotABlock { offset: u64 },
    /// An object has as many references as can be counted.
    #[error("the object at {object:#x} cannot have more references")]
    References { object: u64 },
    /// An object has fewer embedded references, or the layer fewer persistent roots.
    #[error("there is no reference {index} among {count}")]
    NoReference { index: u64, count: u64 },
    /// The object is counted by another client: of another pool, or of another identity.
    #[error("the object at {object:#x} is held by another client")]
    OtherClient { object: u64 },
    /// A key of a map, or a name, is too long.
    #[error("a key or name of {bytes} bytes; {max} are possible")]
    Key { bytes: u64, max: u64 },
    /// All names of a layer are given away.
    #[error("a pool has {max} names, and all are given away")]
    Names { max: u64 },
    /// The object of this name is no map, or the reference is to no entry of a map.
    #[error("the object at {object:#x} is of another kind")]
    Kind { object: u64 },
    /// A bucket of a map has as many entries as it can have.
    #[error("a bucket of the map has {max} entries, and cannot have more")]
    Bucket { max: u64 },
    /// Transactions need a map that keeps what is put.
    #[error("a map that evicts entries loses parts of transactions")]
    Evicts,
    /// A value in a map of transactions that none of them wrote.
    #[error("a value of {bytes} bytes that no transaction wrote")]
    Row { bytes: u64 },
    /// The map was destroyed.
    #[error("the map was destroyed")]
    Closed,
    /// A value that is no counter.
    #[error("a counter has 8 bytes, and the value has {bytes}")]
    NotACounter { bytes: u64 },
    /// Counts of objects are in memory that is not coherent between all clients.
    #[error("objects, maps and transactions need memory that is coherent everywhere")]
    Coherence,
    /// A range that is not in the data of the pool, or not aligned.
    #[error("{bytes} bytes at {offset:#x} are not aligned data of the pool")]
    Range { offset: u64, bytes: u64 },
}

impl PoolError {
    /// The last error of the C library, of this call.
    pub(crate) fn last(call: &'static str) -> PoolError {
        PoolError::Kernel { call, source: io::Error::last_os_error() }
    }
}
