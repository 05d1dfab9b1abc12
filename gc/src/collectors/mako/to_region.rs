//! Which side may write where in a to-region: mutators, which move the objects that they meet, or the agent.
//!
//! ```text
//!            begin_copying              copied                        (take finds no room)
//! ALONE ────────────────────► COPYING ──────────► COPIED ──────────────────────────────────► VOID
//!                                                   │   begin_naming             named
//!                                                   └─────────────────► NAMING ─────────► NAMED
//!
//! ALONE    | the VM's ...                               |     the agent begins behind it when the tablets are away
//! COPYING  | the VM's |   the agent's   | the VM's ...  |     no room: wait for the end of COPYING
//! COPIED   |    "     |  copies, still  |      "        |     the agent's work is done, nothing names it
//! VOID     |    "     | the VM's ...    |  full         |     and has to be done again
//! NAMING   |    "     |  objects        |  the VM's ... |     no room: wait for the next part, or NAMED
//! NAMED    |    "     |    "            |      "        |     nothing is moved any more
//! ```
//!
//! The agent's part has room for all objects that the VM has not moved when it begins to copy, so it never lacks any.
//! That of the VM may. Then the VM takes back the part with the agent's copies, which were made in vain, but not as
//! long as the agent writes to it, nor once entries are to name the copies. No other thread waits, and none waits
//! during the handshake that follows when tablets close ([`Gate`](super::gate::Gate) says why): the agent's copies are
//! complete by then, and named after it.

use crate::hit::TabletId;
use crate::object::sync::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::ops::Range;
use swap::PAGE_BYTES;

/// The to-region of one group. Its lock makes moving objects of the group exclusive.
pub struct ToRegion {
    share: Mutex<Share>,
    went_on: Condvar,
}

/// The state that the lock of a to-region protects. Heap offsets.
pub struct Share {
    stage: Stage,
    /// Where the VM moves the next object to.
    top: usize,
    /// The end of the part to which it may.
    limit: usize,
    /// Behind all objects that the VM has moved.
    end: usize,
    /// How often entries of a part of the tablets were made to name copies.
    parts: u32,
    /// The agent's part while it copies and when it has. Begins and ends with a page.
    copies: Range<usize>,
    /// The tablets with the entries of objects that the VM has moved.
    pub tablets: BTreeSet<TabletId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Alone,
    Copying,
    Copied,
    Void,
    Naming,
    Named,
}

/// Whether there is room for an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    At(usize),
    /// When the agent has copied, or its copies are named: [`ToRegion::wait`].
    Later,
    /// More was moved than lives in the group.
    Never,
}

impl ToRegion {
    /// All of `range` is the VM's.
    pub fn new(range: Range<usize>) -> ToRegion {
        let share = Share {
            stage: Stage::Alone,
            top: range.start,
            limit: range.end,
            end: range.start,
            parts: 0,
            copies: range.start..range.start,
            tablets: BTreeSet::new(),
        };
        ToRegion { share: Mutex::new(share), went_on: Condvar::new() }
    }

    pub fn lock(&self) -> MutexGuard<'_, Share> {
        self.share.lock()
    }

    /// Gives the agent a part for the objects that the VM has not moved of the group's `live_bytes`, if that leaves
    /// the VM `spare_bytes`. By the cycle, before it writes the group's entries for the agent, and before tablets
    /// close.
    pub fn begin_copying(&self, live_bytes: usize, spare_bytes: usize) -> bool {
        let mut share = self.share.lock();
        // So far the VM has moved objects to the beginning alone.
        let left = live_bytes.saturating_sub(share.top - share.copies.start);
        let start = share.top.next_multiple_of(PAGE_BYTES);
        // When the VM takes it back, the part left to the agent begins with a page again.
        let end = start + left.next_multiple_of(PAGE_BYTES) + PAGE_BYTES;
        if share.stage != Stage::Alone || end + spare_bytes > share.limit {
            return false;
        }
        share.stage = Stage::Copying;
        share.copies = start..end;
        share.top = end;
        true
    }

    /// The agent no longer writes to its part, whether it has copied or is lost.
    pub fn copied(&self) {
        self.go_on(Stage::Copying, Stage::Copied);
    }

    /// Entries are to name the agent's copies, if those count: then they will to the end. By the cycle, after the
    /// handshake. True if so.
    pub fn begin_naming(&self) -> bool {
        self.go_on(Stage::Copied, Stage::Naming)
    }

    /// All entries name objects in the to-region, or the rest is given up.
    pub fn named(&self) {
        self.go_on(Stage::Naming, Stage::Named);
    }

    /// Moves from stage `from` to stage `to`, if it is in `from`.
    fn go_on(&self, from: Stage, to: Stage) -> bool {
        let mut share = self.share.lock();
        let goes_on = share.stage == from;
        if goes_on {
            share.stage = to;
            self.went_on.notify_all();
        }
        goes_on
    }

    /// The entries of a part of the tablets name the copies.
    pub fn part_named(&self) {
        self.share.lock().parts += 1;
        self.went_on.notify_all();
    }

    /// Returns when there may be room again, or no need for it.
    pub fn wait(&self) {
        let mut share = self.share.lock();
        let before = share.parts;
        while matches!(share.stage, Stage::Copying | Stage::Naming) && share.parts == before {
            self.went_on.wait(&mut share);
        }
    }

    /// Where the agent writes: its copies, or if it has none that count, the rest of the region now.
    pub fn agents(&self) -> Range<usize> {
        let share = self.share.lock();
        match share.stage {
            Stage::Alone | Stage::Void => {
                let start = share.top.next_multiple_of(PAGE_BYTES);
                start..share.limit.max(start)
            }
            Stage::Copying | Stage::Copied | Stage::Naming | Stage::Named => share.copies.clone(),
        }
    }

    /// Whether the agent is copying.
    pub fn is_copying(&self) -> bool {
        self.share.lock().stage == Stage::Copying
    }

    /// Whether entries are being made to name the agent's copies.
    pub fn has_copies(&self) -> bool {
        self.share.lock().stage == Stage::Naming
    }

    /// Whether the agent has copied in vain.
    pub fn is_void(&self) -> bool {
        self.share.lock().stage == Stage::Void
    }
}

impl Share {
    /// Takes room for an object that the VM moves.
    pub fn take(&mut self, bytes: usize) -> Room {
        if bytes > self.limit - self.top {
            match self.stage {
                Stage::Copying | Stage::Naming => return Room::Later,
                Stage::Copied => {
                    self.stage = Stage::Void;
                    (self.top, self.limit) = (self.copies.start, self.copies.end);
                }
                Stage::Alone | Stage::Void | Stage::Named => {}
            }
            if bytes > self.limit - self.top {
                return Room::Never;
            }
        }
        let at = self.top;
        self.top += bytes;
        self.end = self.end.max(self.top);
        Room::At(at)
    }

    /// Behind all objects that the VM has moved: the beginning of the region if there is nothing.
    pub fn end(&self) -> usize {
        self.end
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const PAGE: usize = PAGE_BYTES;

    #[test]
    fn copies_lie_between_what_the_vm_moves_and_are_taken_back_when_there_is_no_other_room() {
        let to = ToRegion::new(0..16 * PAGE);
        assert_eq!(to.lock().take(24), Room::At(0));
        assert!(!to.begin_copying(11 * PAGE, 4 * PAGE), "less to spare than asked for");
        assert!(to.begin_copying(10 * PAGE + 32, 3 * PAGE));
        assert!(to.is_copying() && !to.begin_copying(8, 0));
        assert_eq!(to.agents(), PAGE..13 * PAGE);
        assert_eq!(to.lock().take(3 * PAGE - 8), Room::At(13 * PAGE));
        assert_eq!(to.lock().take(16), Room::Later);
        assert_eq!(to.lock().take(8), Room::At(16 * PAGE - 8));
        to.copied();
        assert_eq!((to.agents(), to.is_void()), (PAGE..13 * PAGE, false));
        assert_eq!(to.lock().take(16), Room::At(PAGE));
        assert_eq!((to.agents(), to.is_void()), (2 * PAGE..13 * PAGE, true));
        assert_eq!(to.lock().end(), 16 * PAGE);
        assert_eq!(to.lock().take(12 * PAGE), Room::Never);
    }

    #[test]
    fn copies_need_no_room_for_what_the_vm_has_moved() {
        let to = ToRegion::new(0..16 * PAGE);
        assert_eq!(to.lock().take(6 * PAGE), Room::At(0));
        assert!(to.begin_copying(14 * PAGE, PAGE), "it is 6 + 8 pages, and one that is free");
        assert_eq!((to.agents(), to.lock().take(PAGE)), (6 * PAGE..15 * PAGE, Room::At(15 * PAGE)));
    }

    #[test]
    fn copies_that_are_being_named_are_not_taken_back() {
        let to = ToRegion::new(0..16 * PAGE);
        assert!(to.begin_copying(10 * PAGE, 3 * PAGE) && !to.begin_naming());
        to.copied();
        assert_eq!(to.lock().take(5 * PAGE), Room::At(11 * PAGE));
        assert!(to.begin_naming() && to.has_copies() && !to.begin_naming());
        assert_eq!((to.agents(), to.lock().take(8)), (0..11 * PAGE, Room::Later));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| to.wait());
            to.named();
            waiting.join().unwrap();
        });
        assert_eq!((to.agents(), to.lock().end()), (0..11 * PAGE, 16 * PAGE));
        let in_vain = ToRegion::new(0..16 * PAGE);
        assert!(in_vain.begin_copying(10 * PAGE, 3 * PAGE));
        in_vain.copied();
        assert_eq!(in_vain.lock().take(6 * PAGE), Room::At(0));
        assert!(in_vain.is_void() && !in_vain.begin_naming() && !in_vain.has_copies());
    }

    #[test]
    fn without_copies_the_agent_begins_behind_the_vm() {
        let to = ToRegion::new(32 * PAGE..48 * PAGE);
        assert_eq!((to.agents(), to.lock().end()), (32 * PAGE..48 * PAGE, 32 * PAGE));
        assert_eq!(to.lock().take(PAGE + 8), Room::At(32 * PAGE));
        to.copied();
        assert_eq!((to.agents(), to.lock().end()), (34 * PAGE..48 * PAGE, 33 * PAGE + 8));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    /// Three pages: one for the agent's copies, one that they leave free, one for the VM.
    struct World {
        to: ToRegion,
        /// The contents of the agent's page, written by the agent or by the thread that has taken it back.
        copies: UnsafeCell<u32>,
    }

    // SAFETY: the model checks accesses to the cell.
    unsafe impl Sync for World {}
    // SAFETY: as above.
    unsafe impl Send for World {}

    /// The VM moves objects into the agent's part only when the agent no longer writes to it, and no thread waits for
    /// ever, nor when the agent has copied.
    #[test]
    fn a_part_has_one_writer_at_a_time() {
        loom::model(|| {
            let to = ToRegion::new(0..3 * PAGE_BYTES);
            let world = Arc::new(World { to, copies: UnsafeCell::new(0) });
            assert!(world.to.begin_copying(PAGE_BYTES, PAGE_BYTES));
            let theirs = world.clone();
            let agent = loom::thread::spawn(move || {
                // SAFETY: loom reports the access if it races.
                theirs.copies.with_mut(|c| unsafe { *c += 1 });
                theirs.to.copied();
                assert!(!theirs.to.is_copying());
            });
            let mover = |world: &World| {
                loop {
                    let mut share = world.to.lock();
                    match share.take(PAGE_BYTES) {
                        Room::At(place) if place < 2 * PAGE_BYTES => {
                            // SAFETY: as above.
                            world.copies.with_mut(|c| unsafe { *c += 1 });
                            return;
                        }
                        Room::At(_) => return,
                        Room::Later => {
                            drop(share);
                            world.to.wait();
                        }
                        Room::Never => panic!("there is room for three pages"),
                    }
                }
            };
            let theirs = world.clone();
            let other = loom::thread::spawn(move || mover(&theirs));
            mover(&world);
            other.join().unwrap();
            agent.join().unwrap();
            assert!(world.to.is_void());
        });
    }
}
