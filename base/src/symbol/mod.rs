//! Interned names: one immutable byte string per distinct name, compared by its number.
//!
//! Class, method and field names and descriptors, in the class file's modified UTF-8 (JVMS 4.4.7), which may hold
//! unpaired surrogates and so is not a Rust `str`. The table is process-wide; it holds no heap state, so several VMs
//! may share it. Any thread; never blocks for long.
//!
//! Names go when classes do. A name stays while one of these is true:
//!
//! * it was interned by [`Symbol::of`], or by a thread without a [`Scope`];
//! * something keeps it: [`Kept`], a constant pool;
//! * a scope has not ended that had begun when the name was interned, or lost its last owner.
//!
//! Whoever takes a name from what keeps it, a class say, makes sure that this lives as long as the name is in hand, or
//! has a scope.

mod epoch;
mod memory;
mod table;

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;

/// An interned name: its number. Copy, compared and hashed as a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol(NonZeroU32);

impl Symbol {
    /// The symbol of these modified UTF-8 bytes, for as long as the module text says.
    pub fn intern(bytes: &[u8]) -> Symbol {
        Symbol(table::intern(bytes, false))
    }

    /// The symbol of an ASCII (or any UTF-8 without NUL and without supplementary characters) name, which the VM
    /// itself uses: it stays for the life of the process.
    pub fn of(name: &str) -> Symbol {
        Symbol(table::intern(name.as_bytes(), true))
    }

    /// Modified UTF-8 bytes. Takes no lock. They live as long as the name, whatever the type says.
    #[inline]
    pub fn bytes(self) -> &'static [u8] {
        table::bytes(self.0)
    }

    /// The same bytes, followed in memory by a NUL, for C callers. Lives as long as the name.
    pub fn c_ptr(self) -> *const std::ffi::c_char {
        self.bytes().as_ptr().cast()
    }

    /// For messages: invalid UTF-8 is replaced.
    pub fn text(self) -> std::borrow::Cow<'static, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// The number, not 0, by which pools of constants keep it.
    pub fn number(self) -> u32 {
        self.0.get()
    }

    /// The symbol of a number that [`number`](Symbol::number) gave.
    pub fn of_number(number: u32) -> Symbol {
        Symbol(NonZeroU32::new(number).expect("the number of a symbol"))
    }

    /// One more owner, which will give it to [`release`].
    pub fn keep(self) {
        table::keep(self.0);
    }
}

/// One owner less of each of these symbols, which were [kept](Symbol::keep).
pub fn release(symbols: impl Iterator<Item = Symbol>) {
    table::release(symbols.map(|symbol| symbol.0));
}

/// Frees the names that nothing keeps: for the end of an unloading of classes. Any thread. The result says how many.
pub fn sweep() -> usize {
    table::sweep()
}

/// Calls the function with the bytes of each name in the process and its number of owners, which leaves out what keeps
/// a name for ever. No name is interned meanwhile, and the function must not do so. Any thread.
pub fn visit(mut visit: impl FnMut(&[u8], u32)) {
    table::visit(&mut visit);
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

/// While a thread has one, names that it interns need not live for ever: they stay until the scope has ended, and go
/// with a later sweep unless something keeps them. Scopes nest; the outermost one counts.
///
/// Nothing that was interned in a scope may be in use after its end, unless it is kept.
#[must_use]
pub struct Scope(PhantomData<*const ()>);

impl Scope {
    /// Any thread; takes a lock for a moment.
    #[expect(clippy::new_without_default, reason = "it begins something")]
    pub fn new() -> Scope {
        epoch::enter();
        Scope(PhantomData)
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        epoch::leave(table::list);
    }
}

/// A symbol and a share in it: it stays at least as long as this.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Kept(Symbol);

impl Kept {
    /// The caller has the symbol in hand.
    pub fn new(symbol: Symbol) -> Kept {
        symbol.keep();
        Kept(symbol)
    }

    pub fn get(&self) -> Symbol {
        self.0
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        release(std::iter::once(self.0));
    }
}

impl std::borrow::Borrow<Symbol> for Kept {
    fn borrow(&self) -> &Symbol {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn equal_names_are_one_symbol() {
        assert_eq!(Symbol::of("java/lang/Object"), Symbol::intern(b"java/lang/Object"));
        assert_ne!(Symbol::of("a"), Symbol::of("b"));
        assert_eq!(Symbol::of("").bytes(), b"");
        assert_eq!(Symbol::of(""), Symbol::intern(b""));
        assert_ne!(Symbol::of(""), Symbol::of("a"));
    }

    #[test]
    fn names_of_all_lengths_come_out_as_they_went_in() {
        let _alone = SWEEPS.lock();
        for round in 0..3 {
            let scope = Scope::new();
            let text = |length: usize| vec![b'a' + round; length];
            let lengths = (0..300).chain([65_533, 65_534, 65_535, 65_536, 200_000]);
            let all: Vec<_> =
                lengths.map(|length| (length, Symbol::intern(&text(length)))).collect();
            for (length, symbol) in all {
                assert_eq!(symbol.bytes(), text(length));
                // SAFETY: a NUL follows the bytes of a name.
                assert_eq!(unsafe { *symbol.c_ptr().add(length) }, 0);
            }
            drop(scope);
            sweep();
        }
    }

    #[test]
    fn a_name_stays_while_it_is_in_hand_or_kept_and_goes_then() {
        let _alone = SWEEPS.lock();
        let is_there = |symbol: Symbol| table::has(symbol.0);
        let scope = Scope::new();
        let [dropped, kept, again] = ["dropped", "kept", "again"]
            .map(|name| Symbol::intern(format!("goes/{name}").as_bytes()));
        let owner = Kept::new(kept);
        sweep();
        sweep();
        assert!([dropped, kept, again].into_iter().all(is_there), "in a scope");
        drop(scope);
        let later = Scope::new();
        assert_eq!(Symbol::intern(b"goes/again"), again);
        sweep();
        assert!(!is_there(dropped) && is_there(kept) && is_there(again));
        // In this scope a name that loses its owner stays, too: it may have been read from the owner.
        drop(owner);
        sweep();
        assert!(is_there(kept));
        drop(later);
        sweep();
        assert!(!is_there(kept) && !is_there(again));
        // The name may come back, and then for ever.
        let symbol = Symbol::intern(b"goes/again");
        sweep();
        sweep();
        assert_eq!(symbol.bytes(), b"goes/again");
    }

    /// Threads intern, keep and drop names of a small set, and look at what they have in hand; one sweeps.
    #[test]
    fn threads_agree_on_names_that_come_and_go() {
        let _alone = SWEEPS.lock();
        let done = AtomicBool::new(false);
        let work = |seed: u64| {
            let mut state = seed;
            let mut random = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize
            };
            let mut owners: Vec<(usize, Kept)> = Vec::new();
            for _ in 0..40_000 {
                let _scope = Scope::new();
                let mut hand = Vec::new();
                for _ in 0..random() % 5 {
                    let number = random() % 20_000;
                    hand.push((number, Symbol::intern(name(number).as_bytes())));
                }
                if let Some(&(number, symbol)) = hand.first() {
                    assert_eq!(symbol, Symbol::intern(name(number).as_bytes()));
                    owners.push((number, Kept::new(symbol)));
                }
                if owners.len() > 20 {
                    let (number, owner) = owners.swap_remove(random() % 20);
                    hand.push((number, owner.get()));
                }
                for (number, symbol) in hand {
                    assert_eq!(symbol.text(), name(number), "seed {seed}");
                }
            }
        };
        fn name(number: usize) -> String {
            format!("threads/{}", "n".repeat(number % 50) + &number.to_string())
        }
        let freed = std::thread::scope(|scope| {
            let sweeper = scope.spawn(|| {
                let mut freed = 0;
                while !done.load(Ordering::Relaxed) {
                    freed += sweep();
                    std::thread::yield_now();
                }
                freed
            });
            let threads: Vec<_> = (1..4).map(|seed| scope.spawn(move || work(seed))).collect();
            let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            done.store(true, Ordering::Relaxed);
            assert!(ends.iter().all(Result::is_ok));
            sweeper.join().unwrap()
        });
        assert!(freed > 1_000, "{freed}");
    }

    /// One test sweeps at a time: others have names in hand without a scope.
    static SWEEPS: Mutex<()> = Mutex::new(());
}
