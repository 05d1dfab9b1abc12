//! Where one object was copied: the word for which all threads that meet the object race.
//!
//! ```text
//!  0 ── publish(place) ──► place       once; the object's new place, or its own if it stays where it is
//! ```
//!
//! A thread that finds 0 copies the object, completely, to memory that no other thread has, and then publishes the
//! copy. One succeeds; the others take the winner's copy and give their own back. A place is published after its
//! contents (release), and read before them (acquire). No thread writes to an object that has no place yet: running
//! threads hold no address of it, and a thread that needs one calls this first. The old memory is given back after a
//! pause that comes when every object has its place: by then no thread copies any more.

use crate::object::ObjectRef;
#[cfg(not(loom))]
use crate::object::TAG_MASK;
use crate::object::sync::{AtomicU32, AtomicU64, Ordering};
use std::num::NonZeroU64;

/// See the module text. Zeroed memory is a valid one, and so is a new object's header.
#[derive(Clone, Copy)]
pub enum Forward<'a> {
    /// A header without a tag has no place. One with `MOVED` has it for its value. One with `STAYS` keeps its value:
    /// the place is the object's own.
    #[cfg(not(loom))]
    Header(ObjectRef, NonZeroU64),
    /// Has room for the places of a heap of up to [`NARROW_HEAP_BYTES_MAX`](super::forwarding::NARROW_HEAP_BYTES_MAX).
    Narrow(&'a AtomicU32),
    Wide(&'a AtomicU64),
}

impl Forward<'_> {
    /// In the header of an object, whose own place is `own`.
    #[cfg(not(loom))]
    #[inline]
    pub fn of_header(object: ObjectRef, own: NonZeroU64) -> Forward<'static> {
        Forward::Header(object, own)
    }

    /// Models have no objects.
    #[cfg(loom)]
    pub fn of_header(object: ObjectRef, _own: NonZeroU64) -> Forward<'static> {
        unreachable!("the header of {object:?}")
    }

    /// Forgets the place. It is not read any more.
    pub fn clear(self) {
        match self {
            #[cfg(not(loom))]
            Forward::Header(object, _) => {
                debug_assert!(object.header().load(Ordering::Relaxed) & TAGS != MOVED);
                object.klass_word().fetch_and(!TAG_MASK, Ordering::Relaxed);
            }
            Forward::Narrow(word) => word.store(0, Ordering::Relaxed),
            Forward::Wide(word) => word.store(0, Ordering::Relaxed),
        }
    }

    /// The object's place, if it has one.
    #[inline]
    pub fn get(self) -> Option<NonZeroU64> {
        NonZeroU64::new(match self {
            #[cfg(not(loom))]
            Forward::Header(object, own) => place_in(object.header().load(Ordering::Acquire), own),
            Forward::Narrow(word) => word.load(Ordering::Acquire).into(),
            Forward::Wide(word) => word.load(Ordering::Acquire),
        })
    }

    /// Makes this the object's place; `Err` with the place that it has already.
    #[inline]
    pub fn publish(self, place: NonZeroU64) -> Result<(), NonZeroU64> {
        let (order, place) = ((Ordering::AcqRel, Ordering::Acquire), place.get());
        let result = match self {
            #[cfg(not(loom))]
            Forward::Header(object, own) => {
                let header = object.header();
                let old = header.load(Ordering::Acquire);
                match place_in(old, own) {
                    0 => {
                        let new = match place == own.get() {
                            true => old | STAYS,
                            false => old & KLASS_HALF | MOVED | narrow(place) << 32,
                        };
                        // No thread writes to an object that has no place yet, so only a place can have come.
                        let result = header.compare_exchange(old, new, order.0, order.1);
                        result.map_or_else(|held| Err(place_in(held, own)), |_| Ok(()))
                    }
                    held => Err(held),
                }
            }
            Forward::Narrow(word) => {
                let result = word.compare_exchange(0, narrow(place) as u32, order.0, order.1);
                result.map_or_else(|held| Err(held.into()), |_| Ok(()))
            }
            Forward::Wide(word) => {
                word.compare_exchange(0, place, order.0, order.1).map_or_else(Err, |_| Ok(()))
            }
        };
        result.map_err(|held| NonZeroU64::new(held).expect("only 0 was expected"))
    }
}

/// The place that a header has, or 0.
#[cfg(not(loom))]
#[inline]
fn place_in(header: u64, own: NonZeroU64) -> u64 {
    match header & TAGS {
        0 => 0,
        STAYS => own.get(),
        _ => header >> 32,
    }
}

fn narrow(place: u64) -> u64 {
    assert!(place <= u32::MAX.into(), "place {place} in a heap that is too large for it");
    place
}

#[cfg(not(loom))]
const TAGS: u64 = TAG_MASK as u64;
#[cfg(not(loom))]
const MOVED: u64 = 1;
#[cfg(not(loom))]
const STAYS: u64 = 2;
#[cfg(not(loom))]
const KLASS_HALF: u64 = u32::MAX as u64;

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::threads::rendezvous::{Rendezvous, ThreadPoint};
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    struct Thread(ThreadPoint);

    impl AsRef<ThreadPoint> for Thread {
        fn as_ref(&self) -> &ThreadPoint {
            &self.0
        }
    }

    /// One object of one word; the mutator copies it to place 1, the collector to place 2.
    struct World {
        forward: AtomicU64,
        rendezvous: Rendezvous<Thread>,
        old: UnsafeCell<u32>,
        copies: [UnsafeCell<u32>; 2],
    }

    // SAFETY: the model checks accesses to the cells.
    unsafe impl Sync for World {}
    // SAFETY: as above.
    unsafe impl Send for World {}

    impl World {
        /// The action of a thread that meets the object: copies it to place `mine` if need be; returns its place.
        fn resolve(&self, mine: u64) -> usize {
            let forward = Forward::Wide(&self.forward);
            let place = forward.get().unwrap_or_else(|| {
                // SAFETY: loom reports accesses that race.
                let word = self.old.with(|old| unsafe { *old });
                // SAFETY: as above.
                self.copies[mine as usize - 1].with_mut(|copy| unsafe { *copy = word });
                let mine = NonZeroU64::new(mine).unwrap();
                forward.publish(mine).err().unwrap_or(mine)
            });
            place.get() as usize - 1
        }

        fn add(&self, place: usize) -> u32 {
            self.copies[place].with_mut(|copy| {
                // SAFETY: as above.
                unsafe {
                    *copy += 1;
                    *copy
                }
            })
        }
    }

    /// All get the same copy with all that was in the object, nothing that is written to it is lost, and the old
    /// memory can be given back after a handshake.
    #[test]
    fn everybody_gets_one_copy() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let world = Arc::new(World {
                forward: AtomicU64::new(0),
                rendezvous: Rendezvous::new(),
                old: UnsafeCell::new(7),
                copies: [UnsafeCell::new(0), UnsafeCell::new(0)],
            });
            let mutator = Arc::new(Thread(ThreadPoint::new()));
            world.rendezvous.attach(&mutator, |_| ());
            let theirs = world.clone();
            let collector = loom::thread::spawn(move || {
                let place = theirs.resolve(2);
                theirs.rendezvous.handshake(None, &|_| ());
                // SAFETY: as above. The memory is given back.
                theirs.old.with_mut(|old| unsafe { *old = 0 });
                place
            });
            let place = world.resolve(1);
            assert_eq!(world.add(place), 8);
            if mutator.0.poll_requested() {
                world.rendezvous.pass(&mutator);
            }
            assert_eq!(world.resolve(1), place);
            assert_eq!(world.add(place), 9);
            world.rendezvous.enter_safe(&mutator);
            assert_eq!(collector.join().unwrap(), place);
        });
    }
}
