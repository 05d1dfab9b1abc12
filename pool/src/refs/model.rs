//! Counted objects without memory and processes of the system, in every order: clients that attach, release and change,
//! one that dies, recoverers, and readers. The protocols are the real ones; the heap is a mark of each object, whether
//! it was freed.

use super::header::{Count, Header};
use super::holder::{Holder, Memory, OF_REFS, RefTable};
use super::holding::{CURRENT_AT, HOLDING_BYTES, Holding};
use super::shared::Swap;
use crate::PoolError;
use crate::crash::{Crash, run};
use crate::detect::{Change, Detector, Intent, Word};
use crate::flaw::Flaw;
use crate::identity::process::{Process, Processes};
use crate::identity::{ClientTable, Held, Slot};
use crate::recover::{Recovery, Redo};
use crate::sync::{AtomicU64, Ordering, own, put};
use loom::sync::Arc;
use loom::thread;
use std::panic::catch_unwind;
use std::time::Duration;

/// Offsets: objects by 64, cells by 8, holdings.
const OBJECTS_AT: u64 = 1 << 10;
const CELLS_AT: u64 = 1 << 12;
const HOLDINGS_AT: u64 = 1 << 14;
/// The shared cell.
const SHARED_AT: u64 = 1 << 13;

/// Cells: two roots of each user, the embedded reference of each object, the word of a ring and its count.
const ROOTS: usize = 2;
const USERS: usize = 3;
const EMBEDDED: usize = ROOTS * USERS;
const OBJECTS: usize = 3;
const SLOT: usize = EMBEDDED + OBJECTS;
const SENT: usize = SLOT + 1;
const CELLS: usize = SENT + 1;

struct World {
    slots: Vec<Slot>,
    intents: Vec<Intent>,
    notes: Vec<AtomicU64>,
    holdings: Vec<Holding>,
    clock: AtomicU64,
    readers: Vec<AtomicU64>,
    headers: Vec<Header>,
    /// 1: the object was freed.
    freed: Vec<AtomicU64>,
    cells: Vec<AtomicU64>,
    /// A cell that all change.
    shared: Word,
    births: Vec<AtomicU64>,
    flaw: Option<Flaw>,
}

fn object(n: usize) -> u64 {
    OBJECTS_AT + 64 * n as u64
}

fn cell(n: usize) -> u64 {
    CELLS_AT + 8 * n as u64
}

fn root(user: usize, n: usize) -> u64 {
    cell(user * ROOTS + n)
}

fn embedded(n: usize) -> u64 {
    cell(EMBEDDED + n)
}

impl World {
    fn new(flaw: Option<Flaw>) -> World {
        fn some<T: Default>(count: usize) -> Vec<T> {
            (0..count).map(|_| T::default()).collect()
        }
        let rows = USERS + 1;
        World {
            slots: some(rows),
            intents: some(rows),
            notes: some(rows * rows),
            holdings: some(rows),
            clock: AtomicU64::new(0),
            readers: some(1),
            headers: some(OBJECTS),
            freed: some(OBJECTS),
            cells: some(CELLS),
            shared: Word::default(),
            births: some(8),
            flaw,
        }
    }

    fn table(&self) -> RefTable<'_> {
        RefTable {
            detector: self.detector(),
            clock: &self.clock,
            readers: &self.readers,
            holdings: &self.holdings,
            holdings_at: HOLDINGS_AT,
            flaw: self.flaw,
        }
    }

    fn detector(&self) -> Detector<'_> {
        Detector::new(&self.intents, &self.notes).with_flaw(self.flaw)
    }

    fn clients(&self) -> ClientTable<'_> {
        ClientTable::new(&self.slots)
    }

    fn holder(&self, id: u16) -> Holder<'_, &World> {
        Holder::new(self.table(), self, id)
    }

    /// A new object for the user's root.
    fn make(&self, n: usize, root: u64) {
        self.headers[n].init(Count::new(1, 1), 1);
        put(self.cell(root).unwrap(), object(n));
    }

    /// A process gets an identity.
    fn join(&self, pid: u32) -> Actor<'_> {
        self.births[pid as usize].store(pid.into(), Ordering::Release);
        let process = Process { pid, birth: pid };
        let held = self.clients().claim(process).expect("an identity is free");
        Actor { world: self, held, process }
    }

    /// The process does this under an identity, and dies at the point.
    fn die(&self, pid: u32, crash: Crash, steps: impl FnOnce(&Actor)) {
        let (end, _) = run(Some(crash), || steps(&self.join(pid)));
        end.expect_err("it came to its point");
        self.births[pid as usize].store(0, Ordering::Release);
    }

    /// Each count is the number of cells that have the object; an object without one is free.
    fn check(&self) {
        for n in 0..OBJECTS {
            let cells = self.cells[..SENT].iter().filter(|cell| own(cell) == object(n)).count();
            let cells = cells + usize::from(self.shared.value() == object(n));
            let count = Count::from_bits(self.headers[n].word.value()).count();
            let is_free = self.freed[n].load(Ordering::Acquire) == 1;
            assert_eq!(
                is_free,
                cells == 0,
                "object {n} has {cells} references, and counts {count}"
            );
            assert!(is_free || count == cells as u64, "object {n} counts {count}, and has {cells}");
        }
    }
}

/// A process with an identity.
struct Actor<'a> {
    world: &'a World,
    held: Held,
    process: Process,
}

impl<'a> Actor<'a> {
    fn holder(&self) -> Holder<'a, &'a World> {
        self.world.holder(self.held.id)
    }

    fn attach(&self, object: u64, cell: u64) {
        assert!(self.holder().attach(object, cell).unwrap(), "it is dying");
    }

    fn release(&self, cell: u64) {
        let object = own(self.world.cell(cell).unwrap());
        self.holder().release_root(cell, object).unwrap();
    }

    fn change(&self, cell: u64, to: u64) {
        let old = own(self.world.cell(cell).unwrap());
        assert!(self.holder().change(cell, old, to).unwrap());
        self.holder().drain().unwrap();
    }

    fn recover(&self) {
        let (table, detector) = (self.world.clients(), self.world.detector());
        let recovery = Recovery { table, detector, processes: self };
        recovery.run(self.held.id, self.world).unwrap();
        assert!(self.world.clients().leave(self.held));
    }

    /// Looks at what the cell has: it must not be freed meanwhile.
    fn look(&self, cell: u64) {
        let holder = self.holder();
        holder.begin_looking().unwrap();
        let found = holder.look(cell).unwrap();
        if found != 0 {
            let freed = &self.world.freed[((found - OBJECTS_AT) / 64) as usize];
            assert_eq!(freed.load(Ordering::Acquire), 0, "{found} was freed under its reader");
        }
        holder.end_looking();
    }
}

impl Memory for &World {
    fn header(&self, object: u64) -> Result<&Header, PoolError> {
        let n = (object - OBJECTS_AT) as usize / 64;
        assert_eq!(self.freed[n].load(Ordering::Acquire), 0, "object {n} is free");
        Ok(&self.headers[n])
    }

    fn word(&self, at: u64) -> Result<&Word, PoolError> {
        World::word_at(self, at)
    }

    fn cell(&self, at: u64) -> Result<&AtomicU64, PoolError> {
        World::cell(self, at)
    }

    fn embedded(&self, object: u64, _: u64) -> u64 {
        embedded((object - OBJECTS_AT) as usize / 64)
    }

    fn class_of(&self, _: u64) -> Option<usize> {
        None
    }

    fn free_from(&self, cell: u64) -> Result<(), PoolError> {
        let cell = World::cell(self, cell)?;
        let n = (own(cell) - OBJECTS_AT) as usize / 64;
        assert_eq!(self.freed[n].swap(1, Ordering::AcqRel), 0, "object {n} is freed twice");
        put(cell, 0);
        Ok(())
    }
}

impl World {
    fn word_at(&self, at: u64) -> Result<&Word, PoolError> {
        if at == SHARED_AT {
            return Ok(&self.shared);
        }
        Ok(&self.headers[(at - OBJECTS_AT) as usize / 64].word)
    }

    fn cell(&self, at: u64) -> Result<&AtomicU64, PoolError> {
        if let Some(at) = at.checked_sub(HOLDINGS_AT) {
            assert_eq!(at % HOLDING_BYTES, CURRENT_AT);
            return Ok(&self.holdings[(at / HOLDING_BYTES) as usize].current);
        }
        Ok(&self.cells[(at - CELLS_AT) as usize / 8])
    }
}

impl Processes for Actor<'_> {
    fn own(&self) -> Result<Process, PoolError> {
        Ok(self.process)
    }

    fn is_alive(&self, process: Process) -> Result<bool, PoolError> {
        let birth = self.world.births[process.pid as usize].load(Ordering::Acquire);
        Ok(birth == u64::from(process.birth))
    }

    fn fence(&self, _process: Process, _patience: Duration) -> Result<(), PoolError> {
        unreachable!("only a process that has ended is dead here")
    }
}

impl Redo for World {
    fn word(&self, target: u64) -> Result<&Word, PoolError> {
        self.word_at(target & !OF_REFS)
    }

    fn redo(&self, client: u16, change: &Change, has_happened: bool) -> Result<(), PoolError> {
        self.holder(client).redo(change, has_happened)
    }

    /// The first user is the one that dies.
    fn reclaim(&self, client: u16) -> Result<(), PoolError> {
        let holder = self.holder(client);
        holder.settle()?;
        holder.unlist_reader();
        holder.drain()?;
        for n in 0..ROOTS {
            let object = own(World::cell(self, root(0, n))?);
            if object != 0 {
                holder.release_root(root(0, n), object)?;
            }
        }
        holder.revisit().map(|_| ())
    }
}

/// Every order with at most two preemptions.
fn explore(body: impl Fn() + Send + Sync + 'static) {
    explore_within(2, body);
}

fn explore_within(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 50_000;
    builder.check(body);
}

fn spawn(
    world: &Arc<World>,
    pid: u32,
    steps: impl FnOnce(&Actor) + 'static,
) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || steps(&world.join(pid)))
}

/// Object 0 refers to object 1; both have a root of the second user. Object 2 is not used.
fn two_objects(world: &World) {
    world.make(0, root(1, 0));
    world.make(1, root(1, 1));
    world.freed[2].store(1, Ordering::Release);
    let maker = world.join(6);
    maker.attach(object(1), embedded(0));
    assert!(world.clients().leave(maker.held));
}

/// The first user dies at the point, with a reference to object 0. The second one releases both of its references,
/// while a third one recovers the dead.
fn after_death(point: &'static str, hit: usize, flaw: Option<Flaw>) {
    explore(move || {
        let world = Arc::new(World::new(flaw));
        two_objects(&world);
        world.die(1, Crash { point, hit }, |first| {
            first.attach(object(0), root(0, 0));
            first.attach(object(1), root(0, 1));
            first.change(root(0, 1), object(0));
            first.release(root(0, 0));
            first.release(root(0, 1));
        });
        let survivor = spawn(&world, 2, |second| {
            second.release(root(1, 0));
            second.release(root(1, 1));
        });
        world.join(3).recover();
        survivor.join().unwrap();
        world.check();
    });
}

#[test]
fn model_references_are_released_while_another_client_is_recovered() {
    for (point, hit) in [
        ("detect.vouched", 1),
        ("detect.exchanged", 1),
        ("detect.exchanged", 3),
        ("refs.cleared", 1),
        ("detect.exchanged", 5),
    ] {
        after_death(point, hit, None);
    }
}

/// The release of the first user is open, while the second one changes the same count.
#[test]
fn model_a_count_that_is_acknowledged_early_is_found() {
    let early = || after_death("detect.acknowledged", 5, Some(Flaw::EarlyCount));
    assert!(catch_unwind(early).is_err());
}

#[test]
fn model_a_count_without_an_era_is_found() {
    let bare = || after_death("detect.exchanged", 1, Some(Flaw::NoVouching));
    assert!(catch_unwind(bare).is_err());
}

/// Two recoverers, one of which dies, of a client that died with the last reference.
#[test]
fn model_a_recoverer_dies_while_another_one_recovers() {
    for point in ["refs.dying_pushed", "refs.dying_popped", "refs.cleared", "refs.closed"] {
        explore(move || {
            let world = Arc::new(World::new(None));
            world.make(0, root(0, 0));
            (1..OBJECTS).for_each(|n| world.freed[n].store(1, Ordering::Release));
            world.die(1, Crash { point: "refs.release_begun", hit: 1 }, |first| {
                first.attach(object(0), root(0, 1));
                first.release(root(0, 0));
            });
            let other = spawn(&world, 2, |second| second.recover());
            let crash = Crash { point, hit: 1 };
            let _ = run(Some(crash), || world.join(3).recover());
            world.births[3].store(0, Ordering::Release);
            other.join().unwrap();
            world.join(4).recover();
            world.check();
        });
    }
}

/// The last two references are embedded ones, which two clients release, while a third one looks at one of them.
fn looks(flaw: Option<Flaw>) {
    // One is enough for both mistakes, and there are three threads.
    explore_within(1, move || {
        let world = Arc::new(World::new(flaw));
        two_objects(&world);
        let maker = world.join(6);
        maker.attach(object(1), embedded(2));
        maker.release(root(1, 1));
        assert!(world.clients().leave(maker.held));
        let reader = spawn(&world, 1, |reader| reader.look(embedded(0)));
        let other = spawn(&world, 2, |other| {
            other.holder().release(embedded(0), object(1)).unwrap();
            other.holder().drain().unwrap();
        });
        let last = world.join(3);
        last.holder().release(embedded(2), object(1)).unwrap();
        last.holder().drain().unwrap();
        reader.join().unwrap();
        other.join().unwrap();
        (1..=USERS as u16).for_each(|id| _ = world.holder(id).revisit().unwrap());
        world.check();
    });
}

#[test]
fn model_an_object_is_not_freed_while_it_is_looked_at() {
    looks(None);
}

#[test]
fn model_an_object_that_is_freed_under_its_reader_is_found() {
    assert!(catch_unwind(|| looks(Some(Flaw::NoHazard))).is_err());
}

#[test]
fn model_a_cell_that_is_cleared_late_is_found() {
    assert!(catch_unwind(|| looks(Some(Flaw::LateClear))).is_err());
}

/// A reader follows a reference that another client changes.
fn changes(flaw: Option<Flaw>) {
    explore(move || {
        let world = Arc::new(World::new(flaw));
        two_objects(&world);
        world.freed[2].store(0, Ordering::Release);
        world.make(2, root(2, 0));
        let reader = spawn(&world, 1, |reader| reader.look(embedded(0)));
        let writer = world.join(2);
        writer.release(root(1, 1));
        writer.change(embedded(0), object(2));
        writer.release(root(2, 0));
        reader.join().unwrap();
        writer.holder().revisit().unwrap();
        world.check();
    });
}

#[test]
fn model_a_reference_is_changed_while_it_is_looked_at() {
    changes(None);
}

#[test]
fn model_a_change_under_a_reader_that_is_not_looked_for_is_found() {
    assert!(catch_unwind(|| changes(Some(Flaw::NoHazard))).is_err());
}

/// A client dies while it sends its only reference. It is received once, beside the recovery.
fn sends(point: &'static str, flaw: Option<Flaw>) {
    explore(move || {
        let world = Arc::new(World::new(flaw));
        world.make(0, root(0, 0));
        (1..OBJECTS).for_each(|n| world.freed[n].store(1, Ordering::Release));
        world.die(1, Crash { point, hit: 1 }, |first| {
            let count = (cell(SENT), 1);
            first.holder().transfer(object(0), [root(0, 0), cell(SLOT)], count).unwrap();
        });
        let receiver = spawn(&world, 2, |second| {
            if World::cell(second.world, cell(SENT)).unwrap().load(Ordering::Acquire) == 1 {
                let places = [cell(SLOT), root(1, 0)];
                second.holder().transfer(object(0), places, (0, 0)).unwrap();
            }
        });
        world.join(3).recover();
        receiver.join().unwrap();
        world.check();
    });
}

#[test]
fn model_a_reference_that_was_begun_to_be_sent_is_received_once() {
    for point in ["refs.move_begun", "refs.moved", "refs.move_cleared", "refs.move_counted"] {
        sends(point, None);
    }
}

#[test]
fn model_a_move_that_is_repeated_late_is_found() {
    assert!(catch_unwind(|| sends("refs.move_counted", Some(Flaw::LateMove))).is_err());
}

/// A new object for the shared cell, which the user's root has.
fn make_open(world: &World, n: usize, root: u64) {
    let first =
        if world.flaw == Some(Flaw::PrivateEntry) { Count::new(0, 1) } else { Count::open(0) };
    world.headers[n].init(first, 1);
    put(world.cell(root).unwrap(), object(n));
}

impl Actor<'_> {
    /// Gives the shared cell what the root has, or nothing, and frees what it had.
    fn swap(&self, root: u64) {
        let holder = self.holder();
        holder.begin_looking().unwrap();
        loop {
            let seen = holder.look_by(|| self.world.shared.load()).unwrap();
            let (value, roots) = match root {
                0 => (0, [0; 2]),
                root => (own(self.world.cell(root).unwrap()), [root, 0]),
            };
            let swap = Swap { roots, olds: [seen.value, 0], ..Swap::default() };
            if holder.swap(SHARED_AT, seen, value, &swap).unwrap().is_ok() {
                break;
            }
        }
        holder.end_looking();
        holder.revisit().unwrap();
    }

    /// Looks at what the shared cell has, and counts it, perhaps.
    fn look_shared(&self, root: u64) {
        let holder = self.holder();
        holder.begin_looking().unwrap();
        let found = holder.look_by(|| self.world.shared.value()).unwrap();
        if found != 0 {
            if root != 0 {
                assert!(
                    holder.attach(found, root).unwrap(),
                    "{found} was released under its reader"
                );
            }
            let freed = &self.world.freed[((found - OBJECTS_AT) / 64) as usize];
            assert_eq!(freed.load(Ordering::Acquire), 0, "{found} was freed under its reader");
        }
        holder.end_looking();
    }
}

/// All that readers kept is freed.
fn revisit_all(world: &World) {
    for id in 1..=USERS as u16 {
        // What was put aside while somebody looked is freed by the second look.
        (0..2).for_each(|_| _ = world.holder(id).revisit().unwrap());
    }
}

/// The first user dies while it replaces the object of the shared cell. The second one empties the cell, while a third
/// one recovers the dead.
fn swaps(point: &'static str, hit: usize, flaw: Option<Flaw>) {
    explore(move || {
        let world = Arc::new(World::new(flaw));
        world.freed[2].store(1, Ordering::Release);
        make_open(&world, 0, root(1, 0));
        let maker = world.join(6);
        maker.swap(root(1, 0));
        assert!(world.clients().leave(maker.held));
        world.die(1, Crash { point, hit }, |first| {
            make_open(&world, 1, root(0, 0));
            first.swap(root(0, 0));
        });
        let survivor = spawn(&world, 2, |second| second.swap(0));
        world.join(3).recover();
        survivor.join().unwrap();
        revisit_all(&world);
        world.check();
    });
}

#[test]
fn model_a_shared_cell_is_emptied_beside_the_recovery_of_who_filled_it() {
    for point in
        ["detect.vouched", "detect.exchanged", "shared.placed", "shared.linked", "shared.kept"]
    {
        swaps(point, 1, None);
    }
}

#[test]
fn model_a_shared_cell_without_a_note_is_found() {
    assert!(catch_unwind(|| swaps("detect.exchanged", 1, Some(Flaw::NoVouching))).is_err());
}

/// Two clients fill the shared cell, and one of them empties it.
#[test]
fn model_two_clients_change_a_shared_cell() {
    explore(|| {
        let world = Arc::new(World::new(None));
        world.freed[2].store(1, Ordering::Release);
        make_open(&world, 0, root(0, 0));
        make_open(&world, 1, root(1, 0));
        let other = spawn(&world, 1, |first| first.swap(root(0, 0)));
        let second = world.join(2);
        second.swap(root(1, 0));
        second.swap(0);
        other.join().unwrap();
        revisit_all(&world);
        world.check();
    });
}

/// A client takes out of the shared cell what another one looks at, and counts, perhaps.
fn takes(counted: bool, flaw: Option<Flaw>) {
    explore(move || {
        let world = Arc::new(World::new(flaw));
        (1..OBJECTS).for_each(|n| world.freed[n].store(1, Ordering::Release));
        make_open(&world, 0, root(1, 0));
        let writer = world.join(2);
        writer.swap(root(1, 0));
        let to = if counted { root(0, 0) } else { 0 };
        let reader = spawn(&world, 1, move |reader| reader.look_shared(to));
        writer.swap(0);
        reader.join().unwrap();
        revisit_all(&world);
        world.check();
    });
}

#[test]
fn model_what_a_shared_cell_had_is_not_freed_under_its_reader() {
    takes(false, None);
    takes(true, None);
}

#[test]
fn model_a_private_object_in_a_shared_cell_is_found() {
    assert!(catch_unwind(|| takes(true, Some(Flaw::PrivateEntry))).is_err());
}

#[test]
fn model_an_object_of_a_shared_cell_that_is_freed_under_its_reader_is_found() {
    assert!(catch_unwind(|| takes(false, Some(Flaw::NoHazard))).is_err());
}
