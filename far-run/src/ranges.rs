//! All ranges of this process: far ones, and reservations that become far when they are used.
//!
//! HotSpot reserves its heap in several attempts, and trims what it got. So a wanted mapping is only a *candidate* at
//! first; it becomes far, and memory servers are started, when a part of it is made accessible.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use crate::far_range::FarRange;
use crate::inside::Inside;
use crate::recognise::{Recogniser, Request};
use crate::settings::{Settings, Wanted};
use crate::{environment, signals};

/// The ranges of this process.
pub static RANGES: Ranges = Ranges {
    purpose: OnceLock::new(),
    on: AtomicBool::new(false),
    low: AtomicUsize::new(usize::MAX),
    high: AtomicUsize::new(0),
    table: RwLock::new(Table {
        candidates: [const { None }; CANDIDATES_MAX],
        far: [const { None }; FAR_MAX],
    }),
    making: Mutex::new(()),
};

/// See [`RANGES`]. All methods may be called from any thread.
pub struct Ranges {
    purpose: OnceLock<Purpose>,
    /// Set when the settings are known, cleared in forked children, which have none of the ranges.
    on: AtomicBool,
    /// All ranges lie between these two; without looking at the table. Written with the table
    /// locked; a thread that maps, unmaps or uses a range knows of it by other means than these.
    low: AtomicUsize,
    high: AtomicUsize,
    table: RwLock<Table>,
    /// Held while a range becomes far.
    making: Mutex<()>,
}

struct Purpose {
    settings: Settings,
    recogniser: Recogniser,
}

struct Table {
    candidates: [Option<Span>; CANDIDATES_MAX],
    far: [Option<Arc<FarRange>>; FAR_MAX],
}

/// Addresses from `start` to before `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    /// `bytes` from `start`, rounded up to pages; `None` past the end of the address space.
    pub fn new(start: usize, bytes: usize) -> Option<Span> {
        let end = start.checked_add(bytes.checked_next_multiple_of(swap::PAGE_BYTES)?)?;
        Some(Span { start, end })
    }

    /// Length.
    pub fn bytes(self) -> usize {
        self.end - self.start
    }

    fn meets(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The rest without `other`: the larger piece, if there are two.
    fn without(self, other: Span) -> Option<Span> {
        let left = Span { start: self.start, end: self.end.min(other.start) };
        let right = Span { start: self.start.max(other.end), end: self.end };
        let pieces = [left, right].into_iter().filter(|span| span.start < span.end);
        pieces.max_by_key(|span| span.bytes())
    }
}

/// A part of the span of a call.
pub enum Piece {
    /// The kernel's business.
    Other(Span),
    /// Part of a far range, or all of it.
    Far(Arc<FarRange>, Span),
}

impl Ranges {
    /// Begins to look for mappings. Once, before `main`.
    pub fn start(&self, settings: Settings, recogniser: Recogniser) {
        let set = self.purpose.set(Purpose { settings, recogniser });
        self.on.store(set.is_ok(), Ordering::SeqCst);
    }

    /// A forked child has none of the ranges, and looks for none.
    pub fn forget(&self) {
        self.on.store(false, Ordering::SeqCst);
        self.low.store(usize::MAX, Ordering::SeqCst);
        self.high.store(0, Ordering::SeqCst);
    }

    /// Must the caller look at what this thread maps?
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed) && !Inside::is_entered()
    }

    /// The settings, unless this process has been started without or is a forked child.
    pub fn settings(&self) -> Option<&Settings> {
        let on = self.on.load(Ordering::Relaxed);
        self.purpose.get().filter(|_| on).map(|purpose| &purpose.settings)
    }

    /// Is this a JVM whose heap should have become far, and did not?
    pub fn misses_heap(&self) -> bool {
        let expected = self.purpose.get().is_some_and(|purpose| purpose.recogniser.expects_heap());
        expected && self.each_far().next().is_none()
    }

    /// The far ranges.
    pub fn each_far(&self) -> impl Iterator<Item = Arc<FarRange>> {
        self.table().far.clone().into_iter().flatten()
    }

    /// May any byte of the span belong to a range?
    pub fn may_meet(&self, span: Span) -> bool {
        span.start < self.high.load(Ordering::Relaxed)
            && self.low.load(Ordering::Relaxed) < span.end
    }

    /// Does any byte of the buffer lie in a far range?
    pub fn is_far(&self, start: usize, bytes: usize) -> bool {
        let Some(span) = Span::new(start, bytes) else { return false };
        self.may_meet(span) && !Inside::is_entered() && self.table().far_from(span).is_some()
    }

    /// Whether a far range, or a mapping that may yet become one, has a part of the span.
    pub fn meets(&self, span: Span) -> bool {
        let meets =
            |table: &Table| table.far_from(span).is_some() || table.candidate(span).is_some();
        self.may_meet(span) && meets(&self.table())
    }

    /// A new mapping: makes it a range if it is wanted.
    pub fn consider(&self, request: &Request, span: Span) {
        let Some(purpose) = self.purpose.get() else { return };
        if !purpose.recogniser.is_wanted(request) {
            return;
        }
        let heap_is_known = || {
            purpose.settings.wanted == Wanted::Heap && self.table().far.iter().any(Option::is_some)
        };
        if !heap_is_known() {
            self.change(|table| {
                if let Some(free) = table.candidates.iter_mut().find(|one| one.is_none()) {
                    *free = Some(span);
                }
            });
        }
        if request.is_accessible() {
            self.claim(span);
            for far in self.each_far().filter(|far| far.start() == span.start) {
                far.protect(span.start, span.bytes(), request.protection);
            }
        }
    }

    /// Makes candidates far that the span meets: they are going to be used.
    pub fn claim(&self, span: Span) {
        while self.may_meet(span) && self.table().candidate(span).is_some() {
            self.make_far(span);
        }
    }

    fn make_far(&self, span: Span) {
        let _making = lock(&self.making);
        let (Some(candidate), Some(purpose)) = (self.table().candidate(span), self.purpose.get())
        else {
            return;
        };
        let settings = &purpose.settings;
        let place = self.table().far.iter().position(Option::is_none);
        let made = place.map(|place| {
            let _inside = Inside::enter();
            // Signals are for the program's own threads, not for those that this library starts.
            let _blocked = signals::Blocked::new();
            signals::take_over();
            let _hidden = environment::Hidden::new(settings);
            let bytes = candidate.bytes();
            (place, Arc::new(FarRange::new(candidate.start, bytes, settings)))
        });
        if made.is_none() {
            base::say(format_args!(
                "farheap: more than {FAR_MAX} remote ranges; a range of {} bytes stays local",
                span.bytes()
            ));
        }
        self.change(|table| {
            let only = settings.wanted == Wanted::Heap;
            for one in &mut table.candidates {
                one.take_if(|one| only || *one == candidate);
            }
            if let Some((place, range)) = made {
                table.far[place] = Some(range);
            }
        });
    }

    /// The span was unmapped or replaced: candidates lose it.
    pub fn cut(&self, span: Span) {
        if self.may_meet(span) {
            self.change(|table| {
                for one in &mut table.candidates {
                    *one = one.and_then(|candidate| candidate.without(span));
                }
            });
        }
    }

    /// Ends a far range: its memory is unmapped, its servers end when no thread uses it any more.
    pub fn remove(&self, range: &Arc<FarRange>) {
        let mut removed = None;
        self.change(|table| {
            let is_it = |one: &&mut Option<Arc<FarRange>>| {
                one.as_ref().is_some_and(|one| Arc::ptr_eq(one, range))
            };
            removed = table.far.iter_mut().find(is_it).and_then(Option::take);
        });
        let _inside = Inside::enter();
        drop(removed);
    }

    /// Calls `each` for the span's pieces in order until one returns other than 0, and returns
    /// that.
    pub fn for_pieces(&self, span: Span, mut each: impl FnMut(Piece) -> i32) -> i32 {
        let mut rest = span;
        while rest.start < rest.end {
            let far = match self.may_meet(rest) {
                true => self.table().far_from(rest),
                false => None,
            };
            let next = far.as_ref().map_or(rest.end, |far| far.start().max(rest.start));
            let rc = match far {
                Some(far) if next == rest.start => {
                    let part = Span { start: next, end: far.end().min(rest.end) };
                    rest.start = part.end;
                    each(Piece::Far(far, part))
                }
                _ => {
                    let part = Span { start: rest.start, end: next };
                    rest.start = next;
                    each(Piece::Other(part))
                }
            };
            if rc != 0 {
                return rc;
            }
        }
        0
    }

    fn change(&self, change: impl FnOnce(&mut Table)) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut table);
        self.low.store(table.spans().map(|span| span.start).min().unwrap_or(usize::MAX), RELAXED);
        self.high.store(table.spans().map(|span| span.end).max().unwrap_or(0), RELAXED);
    }

    fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn spans(&self) -> impl Iterator<Item = Span> {
        let far = self.far.iter().flatten();
        let far = far.map(|range| Span { start: range.start(), end: range.end() });
        self.candidates.iter().flatten().copied().chain(far)
    }

    fn candidate(&self, span: Span) -> Option<Span> {
        self.candidates.iter().flatten().copied().find(|candidate| candidate.meets(span))
    }

    /// The lowest far range that meets the span.
    fn far_from(&self, span: Span) -> Option<Arc<FarRange>> {
        let meets = |far: &&Arc<FarRange>| span.meets(Span { start: far.start(), end: far.end() });
        self.far.iter().flatten().filter(meets).min_by_key(|far| far.start()).cloned()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const RELAXED: Ordering = Ordering::Relaxed;
/// HotSpot tries some places for its heap and gives each back before the next.
const CANDIDATES_MAX: usize = 16;
/// Each has memory servers of its own.
const FAR_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    #[test]
    fn what_is_trimmed_is_lost() {
        let whole = span(10, 20);
        assert_eq!(whole.without(span(0, 12)), Some(span(12, 20)));
        assert_eq!(whole.without(span(18, 30)), Some(span(10, 18)));
        assert_eq!(whole.without(span(12, 13)), Some(span(13, 20)));
        assert_eq!(whole.without(span(10, 20)), None);
        assert_eq!(whole.without(span(20, 30)), Some(whole));
    }

    #[test]
    fn spans_are_whole_pages_inside_the_address_space() {
        assert_eq!(Span::new(4096, 1), Some(span(4096, 8192)));
        assert_eq!(Span::new(4096, usize::MAX), None);
        assert_eq!(Span::new(usize::MAX - 4095, 8192), None);
    }
}
