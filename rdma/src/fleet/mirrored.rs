//! The memory of one server and of its mirror, as one segment.
//!
//! *Reads* are sent to the owner, and to the mirror when the owner is not whole. *Changes* are sent to both. A
//! server may be lost, and another process take its seat, in the middle of either; so an operation looks at both
//! seats before it begins, and a change looks again after it: if anything is different, it is made once more.
//! That is right because callers change one page at a time (they hold its lock), and changing it twice is as
//! good as once.
//!
//! *Copying* to a new process needs no lock. A thread that changes a page changes the whole copy first. The copier
//! reads a word in the whole copy, writes it to the other, and reads it again: if it is the same, then a thread that
//! changes it later writes to the other later too; if not, it begins again. The two ends of the argument are a store
//! and a load on each side: the copier's "filling" is set before it reads, the writer looks for it after it wrote; so
//! one of them sees the other.
//!
//! A new process has zeroed memory, so pages of zeros are not copied the first time.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::fleet::seat::{Look, SeatState, Seats};
use crate::memory::segment::{Read, Write};
use crate::tcp::page_frame::{PAYLOAD_BYTES_MAX, RANGES_MAX};
use crate::{PeerId, RdmaError, Segment, WORD_BYTES};

/// The pages that one server owns, in two copies.
pub struct Mirrored {
    seats: Arc<Seats>,
    /// Owner and mirror.
    servers: [usize; 2],
    bytes: u64,
}

impl Mirrored {
    /// The pages that `owner` owns of a far space of `bytes`.
    pub fn new(seats: Arc<Seats>, owner: usize, bytes: u64) -> Mirrored {
        let servers = [owner, seats.mirror_of(owner)];
        Mirrored { seats, servers, bytes }
    }

    fn look(&self) -> [Look; 2] {
        self.servers.map(|server| self.seats.look(server))
    }

    fn segment(&self, copy: usize, seen: Look) -> &dyn Segment {
        &**self.seats.segment(self.servers[copy], seen)
    }

    /// Whether an operation on a copy succeeded; `Ok(false)`: that process is lost.
    fn succeeded(
        &self,
        copy: usize,
        seen: Look,
        result: Result<(), RdmaError>,
    ) -> Result<bool, RdmaError> {
        match result {
            Ok(()) => Ok(true),
            // A server that answers nonsense, or cannot do a server's operations, is of no more use than one that
            // does not answer.
            Err(
                RdmaError::PeerLost(_)
                | RdmaError::Deadline { .. }
                | RdmaError::Malformed { .. }
                | RdmaError::Os { .. },
            ) => {
                self.seats.lose(self.servers[copy], seen.incarnation());
                Ok(false)
            }
            Err(other) => Err(other),
        }
    }

    fn lost(&self) -> RdmaError {
        let [owner, mirror] = self.servers.map(|server| PeerId::Server(server as u16));
        RdmaError::CopiesLost { owner, mirror }
    }

    /// Applies a change to both copies, as the module text says; to two whole ones by `apply_to_both`.
    fn change(
        &self,
        apply: impl Fn(&dyn Segment) -> Result<(), RdmaError>,
        apply_to_both: impl Fn([&dyn Segment; 2]) -> [Result<(), RdmaError>; 2],
    ) -> Result<(), RdmaError> {
        loop {
            let seen = self.look();
            if seen.map(Look::state) == [SeatState::Whole; 2] {
                let segments = [0, 1].map(|copy| self.segment(copy, seen[copy]));
                let mut is_safe = false;
                for (copy, result) in apply_to_both(segments).into_iter().enumerate() {
                    is_safe |= self.succeeded(copy, seen[copy], result)?;
                }
                fence(Ordering::SeqCst);
                if self.look() == seen {
                    return if is_safe { Ok(()) } else { Err(self.lost()) };
                }
                continue;
            }
            let order = if seen[0].state() == SeatState::Whole { [0, 1] } else { [1, 0] };
            let mut is_safe = false;
            for copy in order.into_iter().filter(|copy| seen[*copy].state() != SeatState::Empty) {
                let result = apply(self.segment(copy, seen[copy]));
                if self.succeeded(copy, seen[copy], result)? {
                    is_safe |= seen[copy].state() == SeatState::Whole;
                }
            }
            fence(Ordering::SeqCst);
            if self.look() == seen {
                return if is_safe { Ok(()) } else { Err(self.lost()) };
            }
        }
    }
}

impl Segment for Mirrored {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    unsafe fn read_batch(&self, reads: &[Read]) -> Result<(), RdmaError> {
        loop {
            let seen = self.look();
            for copy in [0, 1].into_iter().filter(|copy| seen[*copy].state() == SeatState::Whole) {
                // SAFETY: the caller's promise is passed on.
                let result = unsafe { self.segment(copy, seen[copy]).read_batch(reads) };
                if self.succeeded(copy, seen[copy], result)? {
                    if copy == 1 {
                        self.seats.count_mirror_read();
                    }
                    return Ok(());
                }
            }
            if self.look() == seen {
                return Err(self.lost());
            }
        }
    }

    unsafe fn write_batch(&self, writes: &[Write]) -> Result<(), RdmaError> {
        // SAFETY: the caller's promise is passed on; the writes may be made more than once during the call.
        self.change(
            |segment| unsafe { segment.write_batch(writes) },
            |both| unsafe { write_both(both, writes) },
        )
    }

    fn punch(&self, offset: u64, bytes: u64) -> Result<(), RdmaError> {
        let punch = |segment: &dyn Segment| segment.punch(offset, bytes);
        self.change(punch, |both| both.map(punch))
    }

    fn is_alive(&self) -> bool {
        self.look().iter().any(|seen| seen.state() == SeatState::Whole)
    }

    fn repair(&self, offset: u64, bytes: u64) -> Result<u64, RdmaError> {
        let words = bytes as usize / WORD_BYTES;
        let (mut copied, mut again) = (vec![0; words], vec![0; words]);
        let mut is_first = true;
        loop {
            let seen = self.look();
            let (from, into) = match seen.map(Look::state) {
                [SeatState::Whole, SeatState::Filling] => (0, 1),
                [SeatState::Filling, SeatState::Whole] => (1, 0),
                // No whole copy is left as a source: data that was not copied yet is lost.
                [first, second] if ![first, second].contains(&SeatState::Whole) => {
                    return Err(self.lost());
                }
                _ => return Ok(0),
            };
            let source = self.segment(from, seen[from]);
            let target = self.segment(into, seen[into]);
            if !self.succeeded(from, seen[from], source.read(offset, &mut copied))? {
                continue;
            }
            let is_zero = is_first && copied.iter().all(|word| *word == 0);
            if !is_zero && !self.succeeded(into, seen[into], target.write(offset, &copied))? {
                continue;
            }
            fence(Ordering::SeqCst);
            if !self.succeeded(from, seen[from], source.read(offset, &mut again))? {
                continue;
            }
            if again == copied && self.look() == seen {
                return Ok(if is_zero { 0 } else { bytes });
            }
            is_first = false;
        }
    }
}

/// Writes both copies at the same time: the first is in flight while the second is written. Where a batch is too long
/// to be in flight as a whole it is sent in parts, and where that does not help either (memory that is mapped, all
/// connections in use), one after the other.
///
/// # Safety
/// As for [`Segment::write_batch`].
unsafe fn write_both(both: [&dyn Segment; 2], writes: &[Write]) -> [Result<(), RdmaError>; 2] {
    // SAFETY: the caller's promise is passed on, here and below.
    if let Some(results) = unsafe { write_at_once(both, writes) } {
        return results;
    }
    let mut rest = writes;
    while !rest.is_empty() {
        let (part, others) = rest.split_at(part_of(rest));
        // SAFETY: as above.
        let Some(results) = (unsafe { write_at_once(both, part) }) else { break };
        if results.iter().any(Result::is_err) {
            return results;
        }
        rest = others;
    }
    // SAFETY: as above.
    both.map(|segment| if rest.is_empty() { Ok(()) } else { unsafe { segment.write_batch(rest) } })
}

/// `None`: nothing was done.
///
/// # Safety
/// As for [`Segment::write_batch`].
unsafe fn write_at_once(
    [first, second]: [&dyn Segment; 2],
    writes: &[Write],
) -> Option<[Result<(), RdmaError>; 2]> {
    // SAFETY: the caller's promise is passed on; it is finished below, with nothing else written to it between.
    unsafe {
        let begun = first.begin_write(writes)?;
        let second = second.write_batch(writes);
        Some([first.finish_write(begun, writes), second])
    }
}

/// How many of the writes one request may hold, at least one.
fn part_of(writes: &[Write]) -> usize {
    let mut words = 0;
    let fits = |write: &&Write| {
        words += write.words;
        words <= PAYLOAD_BYTES_MAX / WORD_BYTES
    };
    writes.iter().take(RANGES_MAX).take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::memory::segment::Begun;
    use crate::{ShmSegment, SlowWire, Throttled};

    const BYTES: u64 = 1 << 20;

    fn memory(server: u16) -> Arc<ShmSegment> {
        Arc::new(ShmSegment::create(PeerId::Server(server), BYTES).unwrap())
    }

    fn two() -> (Arc<Seats>, Mirrored, [Arc<ShmSegment>; 2]) {
        let seats = Arc::new(Seats::new(2));
        let memories = [memory(0), memory(1)];
        for (server, memory) in memories.iter().enumerate() {
            seats.fill(server, 0, memory.clone(), SeatState::Whole);
        }
        (seats.clone(), Mirrored::new(seats, 0, BYTES), memories)
    }

    fn read(segment: &dyn Segment, offset: u64) -> u64 {
        let mut word = [0];
        segment.read(offset, &mut word).unwrap();
        word[0]
    }

    #[test]
    fn a_change_reaches_both_copies_and_a_read_survives_the_owner() {
        let (seats, mirrored, memories) = two();
        mirrored.write(64, &[7]).unwrap();
        assert_eq!([memories[0].load(64), memories[1].load(64)], [7, 7]);
        memories[0].mark_dead();
        assert_eq!(read(&mirrored, 64), 7);
        assert_eq!((seats.losses(), seats.mirror_reads()), (1, 1));
        mirrored.write(64, &[8]).unwrap();
        assert_eq!(memories[1].load(64), 8);
        memories[1].mark_dead();
        assert!(matches!(mirrored.read(64, &mut [0]), Err(RdmaError::CopiesLost { .. })));
        assert!(matches!(mirrored.write(64, &[1]), Err(RdmaError::CopiesLost { .. })));
    }

    #[test]
    fn a_copy_that_is_not_whole_is_written_and_not_read() {
        let (seats, mirrored, memories) = two();
        mirrored.write(0, &[1, 2]).unwrap();
        memories[0].mark_dead();
        assert_eq!(read(&mirrored, 0), 1);
        let new = memory(0);
        seats.fill(0, 1, new.clone(), SeatState::Filling);
        assert_eq!(read(&mirrored, 0), 1);
        mirrored.write(8, &[3]).unwrap();
        assert_eq!((new.load(0), new.load(8)), (0, 3));
        assert_eq!(mirrored.repair(0, 4096).unwrap(), 4096);
        assert_eq!((new.load(0), new.load(8)), (1, 3));
        // Zeros need not be copied.
        assert_eq!(mirrored.repair(8192, 4096).unwrap(), 0);
        assert!(seats.complete(0, 1));
        memories[1].mark_dead();
        assert_eq!(read(&mirrored, 8), 3);
        // The process that was lost first is not taken for the one that came after it.
        seats.lose(0, 0);
        assert_eq!(seats.look(0).state(), SeatState::Whole);
    }

    /// Memory that is written as over a network, one request at a time, and to which something may happen while it is
    /// written for the first time.
    struct Remote {
        inner: Arc<ShmSegment>,
        event: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    }

    impl Segment for Remote {
        fn bytes(&self) -> u64 {
            self.inner.bytes()
        }

        unsafe fn read_batch(&self, reads: &[Read]) -> Result<(), RdmaError> {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.inner.read_batch(reads) }
        }

        unsafe fn write_batch(&self, writes: &[Write]) -> Result<(), RdmaError> {
            // SAFETY: as above.
            let result = unsafe { self.inner.write_batch(writes) };
            if let Some(event) = self.event.lock().unwrap().take() {
                event();
            }
            result
        }

        unsafe fn begin_write(&self, writes: &[Write]) -> Option<Begun> {
            (part_of(writes) == writes.len()).then(Begun::default)
        }

        unsafe fn finish_write(&self, _: Begun, writes: &[Write]) -> Result<(), RdmaError> {
            // SAFETY: as above.
            unsafe { self.write_batch(writes) }
        }

        fn punch(&self, offset: u64, bytes: u64) -> Result<(), RdmaError> {
            self.inner.punch(offset, bytes)
        }

        fn is_alive(&self) -> bool {
            self.inner.is_alive()
        }
    }

    fn two_remote() -> (Arc<Seats>, Mirrored, [Arc<ShmSegment>; 2]) {
        let seats = Arc::new(Seats::new(2));
        let memories = [memory(0), memory(1)];
        for (server, memory) in memories.iter().enumerate() {
            let remote = Remote { inner: memory.clone(), event: Mutex::new(None) };
            seats.fill(server, 0, Arc::new(remote), SeatState::Whole);
        }
        (seats.clone(), Mirrored::new(seats, 0, BYTES), memories)
    }

    fn write_pages(mirrored: &Mirrored, pages: u64) {
        let words = vec![7; 512];
        let writes: Vec<Write> = (0..pages)
            .map(|page| Write { offset: page * 4096, from: words.as_ptr(), words: 512 })
            .collect();
        // SAFETY: the words outlive the call.
        unsafe { mirrored.write_batch(&writes) }.unwrap();
    }

    #[test]
    fn a_batch_of_several_requests_reaches_both_copies() {
        let (seats, mirrored, memories) = two_remote();
        write_pages(&mirrored, 200);
        assert_eq!(seats.losses(), 0);
        let has_all = |memory: &Arc<ShmSegment>| (0..200).all(|page| memory.load(page * 4096) == 7);
        assert!(memories.iter().all(has_all));
    }

    /// In one request and in several: the server that fails is lost, the other has everything.
    #[test]
    fn of_two_that_are_written_at_once_the_one_that_fails_is_lost() {
        for (pages, dead) in [(1, 0), (1, 1), (200, 0), (200, 1)] {
            let (seats, mirrored, memories) = two_remote();
            memories[dead].mark_dead();
            write_pages(&mirrored, pages);
            let states = [0, 1].map(|server| seats.look(server).state());
            assert_eq!(states[dead], SeatState::Empty, "{pages} pages, {dead}");
            assert_eq!(states[1 - dead], SeatState::Whole, "{pages} pages, {dead}");
            assert!((0..pages).all(|page| memories[1 - dead].load(page * 4096) == 7));
        }
        let (_, mirrored, memories) = two_remote();
        memories.iter().for_each(|memory| memory.mark_dead());
        assert!(matches!(mirrored.write(0, &[1]), Err(RdmaError::CopiesLost { .. })));
    }

    /// Memory of a server that answers nonsense.
    struct Broken;

    impl Broken {
        fn nonsense() -> RdmaError {
            RdmaError::Malformed { peer: PeerId::Server(0), what: "nonsense" }
        }
    }

    impl Segment for Broken {
        fn bytes(&self) -> u64 {
            BYTES
        }

        unsafe fn read_batch(&self, _: &[Read]) -> Result<(), RdmaError> {
            Err(Broken::nonsense())
        }

        unsafe fn write_batch(&self, _: &[Write]) -> Result<(), RdmaError> {
            Err(Broken::nonsense())
        }

        fn punch(&self, _: u64, _: u64) -> Result<(), RdmaError> {
            Err(Broken::nonsense())
        }

        fn is_alive(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_copy_that_answers_nonsense_is_lost() {
        let seats = Arc::new(Seats::new(2));
        let whole = memory(1);
        seats.fill(0, 0, Arc::new(Broken), SeatState::Whole);
        seats.fill(1, 0, whole.clone(), SeatState::Whole);
        let mirrored = Mirrored::new(seats.clone(), 0, BYTES);
        mirrored.write(64, &[7]).unwrap();
        let mut read = [0];
        mirrored.read(64, &mut read).unwrap();
        assert_eq!((read, whole.load(64)), ([7], 7));
        assert_eq!(seats.look(0).state(), SeatState::Empty);
    }

    /// A half copied seat is no copy, no matter which thread notices first that its source is lost.
    #[test]
    fn a_source_that_is_lost_while_it_is_copied_is_the_loss_of_both() {
        let (seats, mirrored, memories) = two();
        mirrored.write(64, &[7]).unwrap();
        memories[0].mark_dead();
        mirrored.read(64, &mut [0]).unwrap();
        seats.fill(0, 1, memory(0), SeatState::Filling);
        memories[1].mark_dead();
        assert!(matches!(mirrored.repair(0, 4096), Err(RdmaError::CopiesLost { .. })));
        assert!(matches!(mirrored.repair(4096, 4096), Err(RdmaError::CopiesLost { .. })));
    }

    #[test]
    fn a_process_that_comes_while_a_page_is_written_gets_the_page_too() {
        for server in 0..2 {
            let seats = Arc::new(Seats::new(2));
            let new = memory(server as u16);
            let (their_seats, their_new) = (seats.clone(), new.clone());
            let event = move || {
                assert!(their_seats.lose(server, 0));
                their_seats.fill(server, 1, their_new, SeatState::Filling);
            };
            let event = Mutex::new(Some(Box::new(event) as Box<dyn FnOnce() + Send>));
            let old = Remote { inner: memory(server as u16), event };
            seats.fill(server, 0, Arc::new(old), SeatState::Whole);
            seats.fill(1 - server, 0, memory(1 - server as u16), SeatState::Whole);
            Mirrored::new(seats, 0, BYTES).write(64, &[7]).unwrap();
            assert_eq!(new.load(64), 7, "server {server}");
        }
    }

    /// Over memory that answers late, and in any number of pages: writes of two copies take the time of one.
    #[test]
    fn both_copies_are_written_at_once() {
        let latency = Duration::from_millis(40);
        let seats = Arc::new(Seats::new(2));
        let memories = [memory(0), memory(1)];
        for (server, memory) in memories.iter().enumerate() {
            let slow = Throttled::new(memory.clone(), SlowWire::new(latency, 0));
            seats.fill(server, 0, Arc::new(slow), SeatState::Whole);
        }
        let mirrored = Mirrored::new(seats, 0, BYTES);
        let words = vec![3; 512];
        let from = words.as_ptr();
        let writes: Vec<Write> =
            (0..100).map(|page| Write { offset: page * 4096, from, words: 512 }).collect();
        for _ in 0..3 {
            let began = Instant::now();
            // SAFETY: the words outlive the call.
            unsafe { mirrored.write_batch(&writes) }.unwrap();
            let took = began.elapsed();
            assert!(took >= latency, "{took:?}");
            if took < latency * 7 / 4 {
                assert!((0..100).all(|n| memories.iter().all(|m| m.load(n * 4096) == 3)));
                return;
            }
        }
        panic!("two copies take twice as long as one");
    }

    /// A writer beside the copier, through many losses of one server: nothing is lost.
    #[test]
    fn writes_beside_the_copier_are_not_lost() {
        const PAGES: u64 = 16;
        let (seats, mirrored, _) = two();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut last = [0; PAGES as usize];
                let mut count = 1;
                while !stop.load(Ordering::Relaxed) {
                    let page = count * 7 % PAGES;
                    mirrored.write(page * 4096, &[count]).unwrap();
                    last[page as usize] = count;
                    count += 1;
                }
                last
            });
            for round in 1..400 {
                let server = round as usize % 2;
                let seen = seats.look(server);
                seats.lose(server, seen.incarnation());
                let incarnation = seats.next_incarnation(server).unwrap();
                let new = memory(server as u16);
                seats.fill(server, incarnation, new, SeatState::Filling);
                (0..PAGES).for_each(|page| {
                    mirrored.repair(page * 4096, 4096).unwrap();
                });
                assert!(seats.complete(server, incarnation));
            }
            stop.store(true, Ordering::Relaxed);
            let last = writer.join().unwrap();
            for (page, expected) in (0..).zip(last) {
                for server in 0..2 {
                    let copy = seats.segment(server, seats.look(server));
                    assert_eq!(read(&**copy, page * 4096), expected, "page {page} of {server}");
                }
            }
        });
    }
}
