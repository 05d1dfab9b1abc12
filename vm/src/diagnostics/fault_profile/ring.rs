//! Samples on their way from the fault handler to the thread that counts them.
//!
//! A fixed number of slots. A handler takes the next one if it is free, fills it, and marks it full; the reader empties
//! all that are full. Nobody waits: where no slot is free the sample is lost, and counted. Slots are in no order.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The slots.
pub struct Ring {
    slots: Box<[Slot]>,
    /// Samples so far, lost ones included. Relaxed: spreads writers over the slots.
    begun: AtomicUsize,
    /// Faults that lost samples stand for. Relaxed: a figure.
    lost: AtomicU64,
}

struct Slot {
    /// [`FREE`], [`FILLING`] (a handler's), [`FULL`] (the reader's). Release when it becomes full or free, acquire when
    /// it is taken.
    state: AtomicU8,
    /// What follows is written by the handler that fills the slot, and read while it is full; relaxed, by the state.
    root: AtomicU8,
    weight: AtomicU32,
    count: AtomicU32,
    words: [AtomicU64; WORDS],
}

/// A slot that a handler fills. Dropping it makes it full.
pub struct Filling<'r> {
    slot: &'r Slot,
    count: u32,
}

/// A sample that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct Sample<'w> {
    pub root: u8,
    /// The faults that it stands for.
    pub weight: u32,
    pub words: &'w [u64],
}

impl Ring {
    pub fn new() -> Ring {
        let slot = || Slot {
            state: AtomicU8::new(FREE),
            root: AtomicU8::new(0),
            weight: AtomicU32::new(0),
            count: AtomicU32::new(0),
            words: [const { AtomicU64::new(0) }; WORDS],
        };
        let slots = (0..SLOTS).map(|_| slot()).collect();
        Ring { slots, begun: AtomicUsize::new(0), lost: AtomicU64::new(0) }
    }

    /// A slot for a sample; `None`: it is lost. Async-signal-safe.
    pub fn begin(&self, root: u8, weight: u32) -> Option<Filling<'_>> {
        let slot = &self.slots[self.begun.fetch_add(1, Ordering::Relaxed) % SLOTS];
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if slot.state.compare_exchange(FREE, FILLING, acquire, relaxed).is_err() {
            self.lost.fetch_add(u64::from(weight), relaxed);
            return None;
        }
        slot.root.store(root, relaxed);
        slot.weight.store(weight, relaxed);
        Some(Filling { slot, count: 0 })
    }

    /// Shows all samples that are complete, and frees their slots. One thread at a time.
    pub fn take(&self, visit: &mut dyn FnMut(Sample<'_>)) {
        let mut words = [0; WORDS];
        for slot in &self.slots {
            if slot.state.load(Ordering::Acquire) != FULL {
                continue;
            }
            let count = slot.count.load(Ordering::Relaxed) as usize;
            for (word, from) in words.iter_mut().zip(&slot.words[..count]) {
                *word = from.load(Ordering::Relaxed);
            }
            let root = slot.root.load(Ordering::Relaxed);
            let weight = slot.weight.load(Ordering::Relaxed);
            slot.state.store(FREE, Ordering::Release);
            visit(Sample { root, weight, words: &words[..count] });
        }
    }

    /// Samples that handlers have begun.
    pub fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    /// The faults that lost samples stand for.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Filling<'_> {
    /// Appends a word; whether there was room.
    pub fn push(&mut self, word: u64) -> bool {
        let Some(place) = self.slot.words.get(self.count as usize) else { return false };
        place.store(word, Ordering::Relaxed);
        self.count += 1;
        true
    }
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        self.slot.count.store(self.count, Ordering::Relaxed);
        self.slot.state.store(FULL, Ordering::Release);
    }
}

const FREE: u8 = 0;
const FILLING: u8 = 1;
const FULL: u8 = 2;
/// A power of two, so that the number of the next slot may wrap.
const SLOTS: usize = 4096;
/// Frames of a sample at most.
pub const WORDS: usize = 127;

const _: () = assert!(SLOTS.is_power_of_two());

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn taken(ring: &Ring) -> Vec<(u8, u32, Vec<u64>)> {
        let mut all = Vec::new();
        ring.take(&mut |sample| all.push((sample.root, sample.weight, sample.words.to_vec())));
        all
    }

    #[test]
    fn a_sample_is_read_once_when_it_is_complete() {
        let ring = Ring::new();
        let mut first = ring.begin(3, 64).unwrap();
        let second = ring.begin(1, 2).unwrap();
        assert!(first.push(7) && first.push(8));
        assert_eq!(taken(&ring), [], "both are being filled");
        drop(second);
        assert_eq!(taken(&ring), [(1, 2, vec![])]);
        drop(first);
        assert_eq!(taken(&ring), [(3, 64, vec![7, 8])]);
        assert_eq!(taken(&ring), []);
        assert_eq!((ring.begun(), ring.lost()), (2, 0));
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let ring = Ring::new();
        let mut long = ring.begin(0, 1).unwrap();
        assert!((0..WORDS as u64).all(|word| long.push(word)));
        assert!(!long.push(1), "deeper stacks are cut");
        drop(long);
        (1..SLOTS).for_each(|_| drop(ring.begin(0, 1)));
        assert!(ring.begin(0, 64).is_none() && ring.begin(0, 64).is_none());
        assert_eq!(ring.lost(), 128);
        assert_eq!(taken(&ring).len(), SLOTS);
        assert!(ring.begin(0, 64).is_some(), "there is room again");
    }

    #[test]
    fn no_sample_is_torn_or_read_twice() {
        let (ring, done) = (Ring::new(), AtomicBool::new(false));
        const EACH: u64 = 50_000;
        let total = std::thread::scope(|scope| {
            let writers = [1_u64, 2, 3].map(|writer| {
                let ring = &ring;
                scope.spawn(move || {
                    for n in 0..EACH {
                        if let Some(mut filling) = ring.begin(writer as u8, 1) {
                            (0..n % 9).for_each(|_| assert!(filling.push(writer)));
                        }
                    }
                })
            });
            let reader = scope.spawn(|| {
                let mut total = 0;
                loop {
                    let is_last = done.load(Ordering::Acquire);
                    ring.take(&mut |sample| {
                        total += u64::from(sample.weight);
                        assert!(sample.words.iter().all(|word| *word == u64::from(sample.root)));
                    });
                    if is_last {
                        return total;
                    }
                }
            });
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            done.store(true, Ordering::Release);
            reader.join().unwrap()
        });
        assert_eq!(total + ring.lost(), 3 * EACH);
    }
}
