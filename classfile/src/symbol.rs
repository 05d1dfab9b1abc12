//! Interned names: one immutable byte string per distinct name, compared by its number.
//!
//! Class, method and field names and descriptors, in the class file's modified UTF-8 (JVMS 4.4.7),
//! which may hold unpaired surrogates and so is not a Rust `str`. The table is process-wide and only
//! grows; it holds no heap state, so several VMs may share it. Any thread; never blocks for long.

use hashbrown::HashTable;
use parking_lot::RwLock;
use rustc_hash::FxBuildHasher;
use std::fmt;
use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::sync::{LazyLock, OnceLock};

/// An interned name: its number. Copy, compared and hashed as a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol(NonZeroU32);

impl Symbol {
    /// The symbol of these modified UTF-8 bytes.
    pub fn intern(bytes: &[u8]) -> Symbol {
        let hash = hash_of(bytes);
        if let Some(known) = TABLE.read().find(hash, bytes) {
            return known;
        }
        let mut table = TABLE.write();
        match table.find(hash, bytes) {
            Some(known) => known,
            None => table.add(hash, bytes),
        }
    }

    /// The symbol of an ASCII (or any UTF-8 without NUL and without supplementary characters) name.
    pub fn of(name: &str) -> Symbol {
        Symbol::intern(name.as_bytes())
    }

    /// Modified UTF-8 bytes. Takes no lock.
    #[inline]
    pub fn bytes(self) -> &'static [u8] {
        let (block, at) = place(self.0.get());
        BLOCKS[block].get().expect("made before its symbols")[at].get().expect("made by intern")
    }

    /// The same bytes, followed in memory by a NUL, for C callers. Lives for ever.
    pub fn c_ptr(self) -> *const std::ffi::c_char {
        self.bytes().as_ptr().cast()
    }

    /// For messages: invalid UTF-8 is replaced.
    pub fn text(self) -> std::borrow::Cow<'static, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// The number, not 0. Constants of a class are kept as numbers.
    pub(crate) fn number(self) -> u32 {
        self.0.get()
    }

    /// The symbol of a number that [`number`](Symbol::number) gave.
    pub(crate) fn of_number(number: u32) -> Symbol {
        Symbol(NonZeroU32::new(number).expect("the number of a symbol"))
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text())
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text())
    }
}

/// Finds symbols by their bytes.
#[derive(Default)]
struct Table {
    numbers: HashTable<Symbol>,
    /// Memory for names to come.
    free: &'static mut [u8],
}

impl Table {
    fn find(&self, hash: u64, bytes: &[u8]) -> Option<Symbol> {
        self.numbers.find(hash, |known| known.bytes() == bytes).copied()
    }

    /// Makes a symbol of bytes that have none.
    fn add(&mut self, hash: u64, bytes: &[u8]) -> Symbol {
        let number = u32::try_from(self.numbers.len() + 1).expect("fewer than 2^32 names");
        let (block, at) = place(number);
        let names = BLOCKS[block].get_or_init(|| {
            std::iter::repeat_with(OnceLock::new).take(FIRST_BLOCK << block).collect()
        });
        names[at].set(self.keep(bytes)).expect("each number is given once");
        let symbol = Symbol::of_number(number);
        self.numbers.insert_unique(hash, symbol, |known| hash_of(known.bytes()));
        symbol
    }

    /// A copy of the bytes that lives for ever, with a NUL behind it. An empty name has an address, too.
    fn keep(&mut self, bytes: &[u8]) -> &'static [u8] {
        let needed = bytes.len() + 1;
        if self.free.len() < needed {
            self.free = vec![0; needed.max(NAME_MEMORY)].leak();
        }
        let (name, rest) = std::mem::take(&mut self.free).split_at_mut(needed);
        self.free = rest;
        name[..bytes.len()].copy_from_slice(bytes);
        &name[..bytes.len()]
    }
}

/// Block and place in it of a symbol's name: the blocks double in size.
#[inline]
fn place(number: u32) -> (usize, usize) {
    let number = number as usize + FIRST_BLOCK - 1;
    let block = (number / FIRST_BLOCK).ilog2() as usize;
    (block, number - (FIRST_BLOCK << block))
}

fn hash_of(bytes: &[u8]) -> u64 {
    FxBuildHasher.hash_one(bytes)
}

/// The names of one block.
type Names = Box<[OnceLock<&'static [u8]>]>;

/// Names of the first block.
const FIRST_BLOCK: usize = 1 << 12;
/// Bytes that are taken from the allocator at a time.
const NAME_MEMORY: usize = 1 << 16;

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(Default::default);
/// The names by number. Written by the one thread that holds the table's lock, read by all without it.
static BLOCKS: [OnceLock<Names>; 21] = [const { OnceLock::new() }; 21];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_one_symbol() {
        assert_eq!(Symbol::of("java/lang/Object"), Symbol::intern(b"java/lang/Object"));
        assert_ne!(Symbol::of("a"), Symbol::of("b"));
        assert_eq!(Symbol::of("").bytes(), b"");
        assert_eq!(Symbol::of(""), Symbol::of(""));
        assert_ne!(Symbol::of(""), Symbol::of("a"));
    }

    #[test]
    fn numbers_have_places_of_their_own() {
        let last = FIRST_BLOCK as u32;
        assert_eq!([1, 2, last].map(place), [(0, 0), (0, 1), (0, FIRST_BLOCK - 1)]);
        assert_eq!([last + 1, 3 * last].map(place), [(1, 0), (1, 2 * FIRST_BLOCK - 1)]);
        assert!(place(u32::MAX).0 < BLOCKS.len());
    }

    #[test]
    fn threads_agree_on_new_names() {
        let names = || (0..20_000).map(|i| Symbol::of(&format!("threads/Name{i}"))).collect();
        let all: Vec<Vec<Symbol>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(names)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|symbols| *symbols == all[0]));
        for (i, symbol) in all[0].iter().enumerate() {
            assert_eq!(symbol.bytes(), format!("threads/Name{i}").as_bytes());
        }
    }
}
