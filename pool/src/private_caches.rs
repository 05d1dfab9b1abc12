//! Hosts with caches that nothing keeps coherent, for tests: whether each load sees what was stored last.
//!
//! The machine that tests run on is coherent, so a line that was not written back, or not dropped, does no harm there.
//! Here each word of some memory remembers who stored it last and when, and each host remembers when it dropped its
//! copy of a line last, and whether it has changed it since. A load that on other hardware could see an older value
//! panics, and so does one of a word that another host's changed copy could replace. Caches never drop a line by
//! themselves, and load one again as soon as it was dropped, which is the worst case for what is old; they may write it
//! back at any time, which is the worst case for what is changed in two places.
//!
//! A thread has memory of its own. Without [`watch`] all memory is coherent.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

/// Who uses a cache: processes of one host have one.
pub(crate) type Host = u32;

thread_local! {
    static MEMORY: RefCell<Option<Memory>> = const { RefCell::new(None) };
}

struct Memory {
    /// Addresses that are not coherent.
    watched: Vec<Range<usize>>,
    line_bytes: usize,
    host: Host,
    /// Counts the stores.
    now: u64,
    words: HashMap<usize, Stored>,
    /// By line: the hosts' copies of it.
    copies: HashMap<usize, Vec<HostCopy>>,
}

/// The last store to a word.
#[derive(Clone, Copy)]
struct Stored {
    when: u64,
    by: Host,
    /// A copy of its line that is older than the store, and was changed, may replace it.
    is_lost: bool,
}

/// A host's copy of a line. Each host has one of each, from the beginning on.
#[derive(Clone, Copy)]
struct HostCopy {
    host: Host,
    since: u64,
    is_changed: bool,
}

/// From now on this memory of the thread is not coherent, in lines of `line_bytes`. All caches are empty.
pub(crate) fn watch(watched: &[Range<usize>], line_bytes: usize) {
    let (words, copies) = Default::default();
    let memory = Memory { watched: watched.to_vec(), line_bytes, host: 0, now: 1, words, copies };
    MEMORY.with(|own| *own.borrow_mut() = Some(memory));
}

/// All memory is coherent again.
pub(crate) fn forget() {
    MEMORY.with(|own| *own.borrow_mut() = None);
}

/// Does this on a host.
pub(crate) fn on_host<T>(host: Host, steps: impl FnOnce() -> T) -> T {
    /// Goes back to the host before, also if the steps panic.
    struct Back(Host);
    impl Drop for Back {
        fn drop(&mut self) {
            with(|memory| memory.host = self.0);
        }
    }
    let _back = with(|memory| std::mem::replace(&mut memory.host, host)).map(Back);
    steps()
}

/// Looks at all memory as it was stored last, from no host.
pub(crate) fn from_above<T>(look: impl FnOnce() -> T) -> T {
    let memory = MEMORY.with(|own| own.borrow_mut().take());
    let seen = look();
    MEMORY.with(|own| *own.borrow_mut() = memory);
    seen
}

/// The host writes its copies of a range back, and drops them.
pub(crate) fn flush(first: usize, bytes: usize) {
    with(|memory| {
        let (begin, end) = (first / memory.line_bytes, (first + bytes).div_ceil(memory.line_bytes));
        for line in begin..end {
            let since = memory.now;
            *memory.copy_of(line) = HostCopy { host: memory.host, since, is_changed: false };
        }
    });
}

/// A load of the word at this address.
pub(crate) fn load(address: usize) {
    with(|memory| {
        if !memory.is_watched(address) {
            return;
        }
        let host = memory.host;
        let since = memory.copy(address, "loads", false).since;
        if let Some(word) = memory.words.get(&address) {
            let is_stale = word.when > since && word.by != host;
            assert!(!is_stale, "host {host} loads an old copy of what host {} has stored", word.by);
            assert!(!word.is_lost, "host {host} loads what an old copy may have replaced");
        }
    });
}

/// A store of the word at this address.
pub(crate) fn store(address: usize) {
    with(|memory| {
        if !memory.is_watched(address) {
            return;
        }
        memory.now += 1;
        let (host, line, now) = (memory.host, address / memory.line_bytes, memory.now);
        let since = memory.copy(address, "stores into", true).since;
        // The whole line is written back, with what is old in it.
        let words = line * memory.line_bytes..(line + 1) * memory.line_bytes;
        for other in words.step_by(8).filter(|other| *other != address) {
            if let Some(word) = memory.words.get_mut(&other) {
                word.is_lost |= word.when > since && word.by != host;
            }
        }
        memory.words.insert(address, Stored { when: now, by: host, is_lost: false });
    });
}

/// An atomic change of the word at this address, which only coherent memory has.
pub(crate) fn change(address: usize) {
    with(|memory| {
        assert!(!memory.is_watched(address), "an atomic change of memory that is not coherent");
    });
}

impl Memory {
    fn is_watched(&self, address: usize) -> bool {
        self.watched.iter().any(|range| range.contains(&address))
    }

    /// This host's copy of a line.
    fn copy_of(&mut self, line: usize) -> &mut HostCopy {
        let own = self.host;
        let copies = self.copies.entry(line).or_default();
        let at = copies.iter().position(|copy| copy.host == own).unwrap_or(copies.len());
        if at == copies.len() {
            copies.push(HostCopy { host: own, since: 0, is_changed: false });
        }
        &mut copies[at]
    }

    /// The same of the line that has a word. No other host has one that it changed.
    fn copy(&mut self, address: usize, what: &str, changes: bool) -> HostCopy {
        let (own, line) = (self.host, address / self.line_bytes);
        for HostCopy { host, is_changed, .. } in self.copies.get(&line).into_iter().flatten() {
            let is_kept = *host != own && *is_changed;
            assert!(!is_kept, "host {own} {what} a line that host {host} has not written back");
        }
        let copy = self.copy_of(line);
        copy.is_changed |= changes;
        *copy
    }
}

fn with<T>(act: impl FnOnce(&mut Memory) -> T) -> Option<T> {
    MEMORY.with(|own| own.borrow_mut().as_mut().map(act))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Two lines of two words, at address 64.
    const WORD: [usize; 4] = [64, 72, 80, 88];

    /// Whether the steps break the rules.
    fn breaks(steps: impl FnOnce()) -> bool {
        watch(std::slice::from_ref(&(WORD[0]..96)), 16);
        let broken = catch_unwind(AssertUnwindSafe(steps)).is_err();
        forget();
        broken
    }

    fn written_back(host: Host, word: usize) {
        on_host(host, || {
            store(word);
            flush(word, 8);
        });
    }

    fn dropped(host: Host, word: usize) {
        on_host(host, || flush(word, 8));
    }

    #[test]
    fn what_was_written_back_and_dropped_is_seen() {
        assert!(!breaks(|| {
            written_back(1, WORD[0]);
            dropped(2, WORD[0]);
            on_host(2, || load(WORD[0]));
            written_back(2, WORD[1]);
            dropped(1, WORD[1]);
            on_host(1, || load(WORD[1]));
        }));
    }

    #[test]
    fn what_was_not_written_back_is_found() {
        assert!(breaks(|| {
            on_host(1, || store(WORD[0]));
            on_host(2, || load(WORD[0]));
        }));
        assert!(breaks(|| {
            on_host(1, || store(WORD[0]));
            on_host(2, || store(WORD[1]));
        }));
        assert!(!breaks(|| {
            on_host(1, || store(WORD[0]));
            on_host(2, || store(WORD[2]));
        }));
    }

    #[test]
    fn an_old_copy_is_found() {
        assert!(breaks(|| {
            dropped(2, WORD[0]);
            written_back(1, WORD[0]);
            on_host(2, || load(WORD[0]));
        }));
        // A cache may have loaded it before anybody asked for it.
        assert!(breaks(|| {
            written_back(1, WORD[0]);
            on_host(2, || load(WORD[0]));
        }));
    }

    #[test]
    fn an_old_copy_that_is_written_back_is_found() {
        assert!(breaks(|| {
            written_back(1, WORD[0]);
            written_back(2, WORD[1]);
            dropped(1, WORD[0]);
            on_host(1, || load(WORD[0]));
        }));
    }

    #[test]
    fn an_atomic_change_is_found() {
        assert!(breaks(|| change(WORD[0])));
        assert!(!breaks(|| change(96)));
    }
}
