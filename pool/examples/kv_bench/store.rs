//! One store of rows, in a pool and as the peer.

use pool::{PoolError, Transaction, Transactions};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// The name of a row: a table, a number in it, and a number in that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key([u8; 8]);

impl Key {
    pub fn new(table: u8, number: u64, part: u8) -> Key {
        assert!(number < 1 << 48);
        Key((u64::from(table) << 56 | number << 8 | u64::from(part)).to_le_bytes())
    }

    pub fn of(bytes: &[u8]) -> Key {
        Key(bytes.try_into().expect("a key of this program"))
    }

    pub fn table(self) -> u8 {
        self.0[7]
    }

    pub fn number(self) -> u64 {
        u64::from_le_bytes(self.0) << 8 >> 16
    }

    pub fn part(self) -> u8 {
        self.0[0]
    }
}

/// The rows of a transaction. It writes none before it has decided whether it declines.
pub trait Rows {
    fn get(&mut self, key: Key) -> Option<&[u8]>;
    fn put(&mut self, key: Key, value: &[u8]);
    fn remove(&mut self, key: Key);
}

/// What the loads run on.
pub trait Store {
    /// Copies a row into a buffer. False: it is absent.
    fn get(&self, key: Key, into: &mut Vec<u8>) -> bool;

    /// Runs a transaction of these rows, until it is committed. `None`: it has declined.
    fn run<T>(&self, keys: &[Key], body: impl FnMut(&mut dyn Rows) -> Option<T>) -> Option<T>;

    fn put(&self, key: Key, value: &[u8]);

    /// All rows. Nobody is at work.
    fn scan(&self, visit: impl FnMut(Key, &[u8]));

    /// Transactions that were repeated, or that waited for others.
    fn conflicts(&self) -> u64;
}

impl Store for Transactions<'_, '_> {
    fn get(&self, key: Key, into: &mut Vec<u8>) -> bool {
        into.clear();
        Transactions::get(self, &key.0, into).expect("a map")
    }

    fn run<T>(&self, _keys: &[Key], mut body: impl FnMut(&mut dyn Rows) -> Option<T>) -> Option<T> {
        Transactions::run(self, |rows| Ok::<_, PoolError>(body(rows))).expect("memory")
    }

    fn put(&self, key: Key, value: &[u8]) {
        Transactions::put(self, &key.0, value).expect("memory");
    }

    fn scan(&self, mut visit: impl FnMut(Key, &[u8])) {
        Transactions::scan(self, |key, value| visit(Key::of(key), value)).expect("a map");
    }

    fn conflicts(&self) -> u64 {
        Transactions::conflicts(self)
    }
}

impl Rows for Transaction<'_, '_, '_> {
    fn get(&mut self, key: Key) -> Option<&[u8]> {
        Transaction::get(self, &key.0).expect("a map")
    }

    fn put(&mut self, key: Key, value: &[u8]) {
        Transaction::put(self, &key.0, value).expect("a map");
    }

    fn remove(&mut self, key: Key) {
        Transaction::remove(self, &key.0).expect("a map");
    }
}

const PARTS: usize = 64;

type Part = HashMap<Key, Box<[u8]>>;

/// The peer: a `HashMap` in parts, each with a lock. A transaction has the locks of all its rows.
pub struct Locked {
    parts: Vec<Mutex<Part>>,
    waits: AtomicU64,
}

impl Locked {
    pub fn new() -> Locked {
        Locked { parts: (0..PARTS).map(|_| Mutex::default()).collect(), waits: AtomicU64::new(0) }
    }

    fn lock(&self, n: usize) -> MutexGuard<'_, Part> {
        self.parts[n].try_lock().unwrap_or_else(|_| {
            self.waits.fetch_add(1, Ordering::Relaxed);
            self.parts[n].lock().expect("no thread panics")
        })
    }
}

fn part_of(key: Key) -> usize {
    let hash = u64::from_le_bytes(key.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 58) as usize % PARTS
}

impl Store for Locked {
    fn get(&self, key: Key, into: &mut Vec<u8>) -> bool {
        into.clear();
        let part = self.lock(part_of(key));
        let found = part.get(&key);
        into.extend_from_slice(found.map_or(&[], |value| value));
        found.is_some()
    }

    fn run<T>(&self, keys: &[Key], mut body: impl FnMut(&mut dyn Rows) -> Option<T>) -> Option<T> {
        let mut parts: Vec<_> = keys.iter().map(|key| part_of(*key)).collect();
        parts.sort_unstable();
        parts.dedup();
        let parts = parts.into_iter().map(|n| (n, self.lock(n))).collect();
        body(&mut LockedRows(parts))
    }

    fn put(&self, key: Key, value: &[u8]) {
        self.lock(part_of(key)).insert(key, value.into());
    }

    fn scan(&self, mut visit: impl FnMut(Key, &[u8])) {
        for n in 0..PARTS {
            self.lock(n).iter().for_each(|(key, value)| visit(*key, value));
        }
    }

    fn conflicts(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }
}

struct LockedRows<'a>(Vec<(usize, MutexGuard<'a, Part>)>);

impl LockedRows<'_> {
    fn part(&mut self, key: Key) -> &mut Part {
        let n = part_of(key);
        let found = self.0.iter_mut().find(|(part, _)| *part == n);
        &mut found.expect("the transaction has named the row").1
    }
}

impl Rows for LockedRows<'_> {
    fn get(&mut self, key: Key) -> Option<&[u8]> {
        self.part(key).get(&key).map(|value| &value[..])
    }

    fn put(&mut self, key: Key, value: &[u8]) {
        self.part(key).insert(key, value.into());
    }

    fn remove(&mut self, key: Key) {
        self.part(key).remove(&key);
    }
}
