//! A heap without memory and processes of the system: a few small slabs, clients with cells, words that they share,
//! and whether the blocks are right. The protocols are the real ones.

use super::OF_HEAP;
use super::arena::{Arena, Limits, Memory, Owner, PARTIAL, Root};
use super::audit::{Contents, audit, audit_huge};
use super::caches::{Caches, Coherence};
use super::class::Class;
use super::holding::Holding;
use super::huge::{Huge, HugeHolding};
use super::slab::{Remote, Slab};
use crate::PoolError;
use crate::crash::{Crash, run};
use crate::detect::{Change, Detector, Intent, Word};
use crate::flaw::Flaw;
use crate::identity::process::{Process, Processes};
use crate::identity::{ClientTable, Held, Slot};
#[cfg(not(loom))]
use crate::private_caches::{self, from_above, on_host};
use crate::recover::{Recovered, Recovery, Redo};
use crate::sync::{AtomicU64, Ordering};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// In a model all memory is coherent.
#[cfg(loom)]
fn on_host<T>(_host: u32, steps: impl FnOnce() -> T) -> T {
    steps()
}

const SHIFT: u32 = 6;
const CLASSES: [Class; 2] = [Class::new(16, SHIFT), Class::new(32, SHIFT)];
/// Where the first word of the memory is.
const BASE: u64 = 64;
const REMOTES_AT: u64 = 1 << 20;
const WORDS_AT: u64 = 1 << 30;
const ROOTS_AT: u64 = 1 << 40;
/// Names the heap for huge blocks.
const HUGE: u64 = 1 << 50;

const GRANULES: usize = 6;

/// Blocks of this class and above come from no slab.
pub(super) const HUGE_CLASS: usize = CLASSES.len();

/// Cells of one client.
pub(super) const CELLS: usize = 5;

pub(super) struct World {
    slots: Vec<Slot>,
    intents: Vec<Intent>,
    notes: Vec<AtomicU64>,
    memory: Vec<AtomicU64>,
    roots: Vec<Root>,
    holdings: Vec<Holding>,
    slabs: Vec<Slab>,
    remotes: Vec<Remote>,
    huge_holdings: Vec<HugeHolding>,
    granules: Vec<AtomicU64>,
    top: AtomicU64,
    /// Words that all clients share.
    pub words: Vec<Word>,
    /// By number: the birth of the process that has it. 0: there is none.
    births: Vec<AtomicU64>,
    /// How many users have cells.
    users: usize,
    /// Slabs that a client keeps in a list.
    pub limit: u32,
    pub coherence: Coherence,
    /// By identity: where its last holder is or was. A process is on a host of its own.
    hosts: Vec<AtomicU32>,
    flaw: Option<Flaw>,
}

/// A process of the model.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub world: &'a World,
    own: Process,
}

/// A process with an identity, which changes the cells of one user.
pub(super) struct Actor<'a> {
    pub owner: Owner<'a>,
    pub held: Held,
    user: usize,
    host: u32,
}

impl World {
    pub(super) fn new(
        clients: usize,
        users: usize,
        slabs: usize,
        words: usize,
        flaw: Option<Flaw>,
    ) -> World {
        fn some<T: Default>(count: usize) -> Vec<T> {
            (0..count).map(|_| T::default()).collect()
        }
        let rows = clients + 1;
        World {
            slots: some(rows),
            intents: some(rows),
            notes: some(rows * rows),
            memory: some(users * CELLS + ((slabs + GRANULES) << SHIFT) / 8),
            roots: some(PARTIAL + CLASSES.len()),
            holdings: some(rows),
            slabs: some(slabs),
            remotes: some(slabs),
            huge_holdings: some(rows),
            granules: some(GRANULES),
            top: AtomicU64::new(0),
            words: some(words),
            births: some(8),
            users,
            limit: 1,
            coherence: Coherence::Full,
            hosts: some(rows),
            flaw,
        }
    }

    pub(super) fn arena(&self) -> Arena<'_> {
        Arena {
            detector: self.detector(),
            memory: self.memory(),
            roots: &self.roots,
            holdings: &self.holdings,
            slabs: &self.slabs,
            remotes: &self.remotes,
            roots_at: ROOTS_AT,
            remotes_at: REMOTES_AT,
            data_at: BASE + (self.users * CELLS * 8) as u64,
            slab_shift: SHIFT,
            classes: &CLASSES,
            limits: Limits { empty: self.limit, sized: self.limit, resident: 1 },
            caches: Caches::new(self.coherence),
            flaw: self.flaw,
        }
    }

    fn memory(&self) -> Memory<'_> {
        Memory {
            words: &self.memory,
            base: BASE,
            #[cfg(not(loom))]
            segment: None,
        }
    }

    pub(super) fn huge(&self) -> Huge<'_> {
        Huge {
            detector: self.detector(),
            memory: self.memory(),
            holdings: &self.huge_holdings,
            granules: &self.granules,
            top: &self.top,
            name: HUGE,
            data_at: BASE + (self.users * CELLS * 8 + (self.slabs.len() << SHIFT)) as u64,
            granule_shift: SHIFT,
            caches: Caches::new(self.coherence),
            flaw: self.flaw,
        }
    }

    /// Has only those words be coherent that are when coherence is limited, and no others, in lines of a block.
    #[cfg(not(loom))]
    pub(super) fn watch(&self) {
        if self.coherence == Coherence::Full {
            return private_caches::forget();
        }
        fn all<T>(values: &[T]) -> std::ops::Range<usize> {
            let range = values.as_ptr_range();
            range.start as usize..range.end as usize
        }
        // Cells are the users' business.
        let blocks = all(&self.memory[self.users * CELLS..]);
        let own = [blocks, all(&self.slabs), all(&self.holdings), all(&self.huge_holdings)];
        private_caches::watch(&own, CLASSES[0].bytes as usize);
    }

    fn host_of(&self, client: u16) -> u32 {
        self.hosts[usize::from(client)].load(Ordering::Relaxed)
    }

    pub(super) fn table(&self) -> ClientTable<'_> {
        ClientTable::new(&self.slots)
    }

    fn detector(&self) -> Detector<'_> {
        Detector::new(&self.intents, &self.notes).with_flaw(self.flaw)
    }

    /// A process starts.
    pub(super) fn start(&self, pid: u32, birth: u32) -> View<'_> {
        self.births[pid as usize].store(birth.into(), Ordering::Release);
        View { world: self, own: Process { pid, birth } }
    }

    /// Nobody is at work: the used blocks are those of the cells and words, once each.
    pub(super) fn check(&self) -> Result<Contents, String> {
        #[cfg(not(loom))]
        return from_above(|| self.check_all());
        #[cfg(loom)]
        self.check_all()
    }

    fn check_all(&self) -> Result<Contents, String> {
        let mut contents = audit(&self.arena())?;
        contents.used.extend(audit_huge(&self.huge())?);
        let cells = self.memory[..self.users * CELLS].iter();
        let cells = cells.map(|cell| cell.load(Ordering::Acquire));
        let words = self.words.iter().map(|word| word.load().value);
        let mut known: Vec<u64> = cells.chain(words).filter(|block| *block != 0).collect();
        known.sort_unstable();
        if known != contents.used {
            return Err(format!("{:?} are used, and {known:?} are known", contents.used));
        }
        Ok(contents)
    }

    /// All identities are free.
    pub(super) fn check_identities(&self) -> Result<(), String> {
        let free = std::iter::from_fn(|| self.table().claim(Process { pid: 7, birth: 7 })).count();
        let all = self.table().clients();
        if free == all { Ok(()) } else { Err(format!("{free} of {all} identities are free")) }
    }
}

impl<'a> View<'a> {
    /// Runs its steps, perhaps until a crash, and ends. Returns the points that were passed.
    pub(super) fn live(self, crash: Option<Crash>, steps: impl FnOnce(&View<'a>)) -> Vec<Crash> {
        let (_, passed) = run(crash, || steps(&self));
        self.end();
        passed
    }

    pub(super) fn end(&self) {
        self.world.births[self.own.pid as usize].store(0, Ordering::Release);
    }

    /// Gets an identity. The arena outlives the process.
    pub(super) fn join(&self, arena: &'a Arena<'a>, user: usize) -> Actor<'a> {
        let held = self.world.table().claim(self.own).expect("an identity is free");
        self.world.hosts[usize::from(held.id)].store(self.own.pid, Ordering::Relaxed);
        let actor = Actor { owner: arena.owner(held.id), held, user, host: self.own.pid };
        on_host(actor.host, || {
            actor.owner.refresh_holding();
            self.world.huge().owner(held.id).flush_holding();
        });
        actor
    }

    /// What a recoverer does, under an identity of its own.
    pub(super) fn recover(&self) -> Recovered {
        let held = self.world.table().claim(self.own).expect("an identity is free");
        let (table, detector) = (self.world.table(), self.world.detector());
        let done = Recovery { table, detector, processes: self }.run(held.id, self.world).unwrap();
        self.world.table().leave(held);
        done
    }
}

impl Actor<'_> {
    fn cell(&self, n: usize) -> (u64, &AtomicU64) {
        let at = BASE + ((self.user * CELLS + n) * 8) as u64;
        (at, self.owner.arena.memory.word(at).unwrap())
    }

    /// From `HUGE_CLASS` on, a run of this many granules more than one.
    fn get(&self, world: &World, class: usize, cell: u64) -> Option<u64> {
        let got = self.get_any(world, class, cell);
        if let Some(offset) = got {
            // Other users may free it.
            self.owner.arena.memory.flush(&self.owner.arena.caches, offset, CLASSES[0].bytes);
        }
        got
    }

    fn get_any(&self, world: &World, class: usize, cell: u64) -> Option<u64> {
        if let Some(more) = class.checked_sub(HUGE_CLASS) {
            let bytes = (more as u64 + 1) << SHIFT;
            return world.huge().owner(self.held.id).alloc(bytes, cell).unwrap();
        }
        let block = self.owner.alloc(class, cell);
        block.or_else(|| self.owner.alloc_refilled(class, cell).unwrap())
    }

    /// Whether the cell has a block.
    pub(super) fn has(&self, n: usize) -> bool {
        self.cell(n).1.load(Ordering::Relaxed) != 0
    }

    /// Fills the cell if it is empty, and else frees its block. False: there was no memory.
    pub(super) fn turn_cell(&self, world: &World, n: usize, class: usize) -> bool {
        on_host(self.host, || self.turn_cell_here(world, n, class))
    }

    fn turn_cell_here(&self, world: &World, n: usize, class: usize) -> bool {
        let (at, cell) = self.cell(n);
        let offset = cell.load(Ordering::Relaxed);
        let huge = world.huge();
        let huge = huge.owner(self.held.id);
        if offset != 0 {
            if huge.huge.has(offset) {
                huge.free(offset, Some((at, cell))).unwrap();
            } else {
                self.owner.free(offset, Some((at, cell))).unwrap();
            }
            return true;
        }
        // Some blocks are filled before the cell has them.
        let is_fresh = n % 2 == 1;
        let got = self.get(world, class, if is_fresh { 0 } else { at });
        match got {
            Some(offset) if is_fresh && class >= HUGE_CLASS => {
                huge.store_fresh((at, cell), offset);
            }
            Some(offset) if is_fresh => self.owner.store_fresh((at, cell), offset),
            Some(offset) if class >= HUGE_CLASS => huge.store(cell, offset),
            Some(offset) => self.owner.store(cell, offset),
            None => {}
        }
        got.is_some()
    }

    /// The same of a word that all share. Nothing if another client was faster.
    pub(super) fn turn_word(&self, world: &World, n: usize, class: usize) {
        on_host(self.host, || self.turn_word_here(world, n, class));
    }

    fn turn_word_here(&self, world: &World, n: usize, class: usize) {
        let place = (&world.words[n], WORDS_AT + n as u64 * 16);
        let seen = place.0.load();
        let huge = world.huge();
        let huge = huge.owner(self.held.id);
        if seen.value != 0 {
            let _ = if huge.huge.has(seen.value) {
                huge.withdraw(place, seen, 0).unwrap()
            } else {
                self.owner.withdraw(place, seen, 0).unwrap()
            };
            return;
        }
        let Some(offset) = self.get(world, class, 0) else { return };
        if class >= HUGE_CLASS {
            let _ = huge.publish(place, seen, offset).unwrap();
            huge.settled().unwrap();
        } else {
            let _ = self.owner.publish(place, seen, offset).unwrap();
            self.owner.settled().unwrap();
        }
    }

    /// Gives its slabs to the heap.
    pub(super) fn release_all(&self) {
        on_host(self.host, || self.owner.release_all().unwrap());
    }

    /// Finds all slabs that others have emptied.
    pub(super) fn scavenge(&self) {
        on_host(self.host, || _ = self.owner.scavenge().unwrap());
    }

    /// Gives its slabs and its identity back.
    pub(super) fn leave(self, world: &World) {
        on_host(self.host, || {
            self.owner.settled().unwrap();
            self.owner.release_all().unwrap();
            let huge = world.huge();
            let huge = huge.owner(self.held.id);
            huge.settled().unwrap();
            self.owner.write_holding_back();
            huge.flush_holding();
        });
        assert!(world.table().leave(self.held));
    }
}

impl Processes for View<'_> {
    fn own(&self) -> Result<Process, PoolError> {
        Ok(self.own)
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
        let at = target & !OF_HEAP;
        Ok(match at {
            ROOTS_AT.. => &self.roots[(at - ROOTS_AT) as usize / size_of::<Root>()].word,
            WORDS_AT.. => &self.words[(at - WORDS_AT) as usize / 16],
            _ => &self.remotes[(at - REMOTES_AT) as usize / size_of::<Remote>()].word,
        })
    }

    fn redo(&self, client: u16, change: &Change, has_happened: bool) -> Result<(), PoolError> {
        // The recoverer is where the dead client was.
        on_host(self.host_of(client), || {
            if change.operation[4] == HUGE {
                return self.huge().owner(client).redo(change, has_happened);
            }
            self.arena().owner(client).redo(change, has_happened)
        })
    }

    fn reclaim(&self, client: u16) -> Result<(), PoolError> {
        on_host(self.host_of(client), || {
            let (arena, huge) = (self.arena(), self.huge());
            let (slabs, runs) = (arena.owner(client), huge.owner(client));
            slabs.reclaim()?;
            runs.settle()?;
            slabs.write_holding_back();
            runs.flush_holding();
            Ok(())
        })
    }
}

#[cfg(loom)]
mod explored {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;
    use std::panic::catch_unwind;

    /// Every order with at most two preemptions.
    fn explore(body: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.max_branches = 50_000;
        builder.check(body);
    }

    /// A thread in which a process gets an identity and does this.
    fn spawn(
        world: &Arc<World>,
        pid: u32,
        steps: impl FnOnce(&World, &Actor) + 'static,
    ) -> thread::JoinHandle<()> {
        let world = world.clone();
        thread::spawn(move || {
            let arena = world.arena();
            steps(&world, &world.start(pid, pid).join(&arena, 1));
        })
    }

    /// The owner of a slab whose free blocks are all in its shared word needs one, while another client frees the first
    /// or another block of it.
    fn frees_beside_the_owner(is_first: bool, flaw: Option<Flaw>) {
        explore(move || {
            let world = Arc::new(World::new(3, 2, 2, 2, flaw));
            let arena = world.arena();
            let owner = world.start(1, 1).join(&arena, 0);
            (0..2).for_each(|n| owner.turn_word(&world, n, 0));
            (0..2).for_each(|n| _ = owner.turn_cell(&world, n, 0));
            if !is_first {
                world.start(3, 3).join(&arena, 1).turn_word(&world, 0, 0);
            }
            let other = spawn(&world, 2, |world, other| other.turn_word(world, 1, 0));
            owner.turn_cell(&world, 2, 0);
            other.join().unwrap();
            world.check().unwrap();
        });
    }

    #[test]
    fn model_blocks_are_freed_beside_the_owner() {
        frees_beside_the_owner(true, None);
        frees_beside_the_owner(false, None);
    }

    #[test]
    fn model_a_collection_before_its_change_is_found() {
        assert!(
            catch_unwind(|| frees_beside_the_owner(false, Some(Flaw::EarlyCollection))).is_err()
        );
    }

    /// Two clients free the two blocks of a slab that nobody owns.
    #[test]
    fn model_one_client_gets_a_detached_slab() {
        explore(|| {
            let world = Arc::new(World::new(3, 2, 2, 2, None));
            let arena = world.arena();
            let owner = world.start(1, 1).join(&arena, 0);
            (0..2).for_each(|n| owner.turn_word(&world, n, 1));
            owner.turn_cell(&world, 0, 1);
            let other = spawn(&world, 2, |world, other| other.turn_word(world, 0, 1));
            spawn(&world, 3, |world, other| other.turn_word(world, 1, 1)).join().unwrap();
            other.join().unwrap();
            world.check().unwrap();
        });
    }

    /// Two clients need a slab, and there is one that is partly used and one that is free.
    #[test]
    fn model_two_clients_take_slabs_of_the_heap() {
        explore(|| {
            let world = Arc::new(World::new(3, 2, 2, 1, None));
            let arena = world.arena();
            let first = world.start(1, 1).join(&arena, 0);
            (0..3).for_each(|n| _ = first.turn_cell(&world, n, 1));
            (0..2).for_each(|n| _ = first.turn_cell(&world, n, 1));
            first.release_all();
            let other = spawn(&world, 2, |world, other| _ = other.turn_cell(world, 0, 1));
            first.turn_cell(&world, 0, 1);
            other.join().unwrap();
            world.check().unwrap();
        });
    }

    /// Two clients want runs that overlap, beside one that is freed.
    fn runs(crash: Option<Crash>, flaw: Option<Flaw>) {
        explore(move || {
            let world = Arc::new(World::new(3, 2, 1, 1, flaw));
            world.start(1, 1).live(crash, |me| {
                let arena = me.world.arena();
                let actor = me.join(&arena, 0);
                actor.turn_cell(me.world, 0, HUGE_CLASS + 1);
                actor.turn_cell(me.world, 0, HUGE_CLASS);
            });
            let other = spawn(&world, 2, |world, other| {
                other.turn_cell(world, 0, HUGE_CLASS + 2);
            });
            world.start(3, 3).recover();
            other.join().unwrap();
            world.check().unwrap();
        });
    }

    #[test]
    fn model_runs_are_claimed_beside_recovery() {
        for (point, hit) in [("huge.claimed", 1), ("huge.marked", 1), ("huge.cleared_granule", 1)] {
            runs(Some(Crash { point, hit }), None);
        }
    }

    #[test]
    fn model_a_run_that_is_freed_without_a_step_is_found() {
        let crash = Some(Crash { point: "huge.cleared_granule", hit: 1 });
        assert!(catch_unwind(|| runs(crash, Some(Flaw::NoDrop))).is_err());
    }

    /// Two clients claim runs at the same time.
    #[test]
    fn model_a_granule_has_one_claimant() {
        explore(|| {
            let world = Arc::new(World::new(2, 2, 1, 1, None));
            let arena = world.arena();
            let first = world.start(1, 1).join(&arena, 0);
            let other = spawn(&world, 2, |world, other| {
                other.turn_cell(world, 0, HUGE_CLASS + 1);
            });
            first.turn_cell(&world, 0, HUGE_CLASS + 1);
            other.join().unwrap();
            world.check().unwrap();
        });
    }

    /// A client dies at the point, in the middle of three operations. Another frees a block of its slab, while a third
    /// one recovers it.
    fn after_death(point: &'static str, hit: usize, flaw: Option<Flaw>) {
        explore(move || {
            let world = Arc::new(World::new(3, 2, 3, 2, flaw));
            {
                let arena = world.arena();
                world.start(1, 1).live(Some(Crash { point, hit }), |me| {
                    let actor = me.join(&arena, 0);
                    (0..2).for_each(|n| actor.turn_word(me.world, n, 1));
                    actor.turn_cell(me.world, 0, 0);
                    actor.turn_word(me.world, 1, 1);
                    actor.turn_cell(me.world, 1, 1);
                });
            }
            let other = spawn(&world, 2, |world, other| {
                if world.words[0].value() != 0 {
                    other.turn_word(world, 0, 1);
                }
            });
            world.start(3, 3).recover();
            other.join().unwrap();
            world.check().unwrap();
        });
    }

    #[test]
    fn model_blocks_are_freed_while_their_owner_is_recovered() {
        for (point, hit) in [
            ("alloc.taken", 2),
            ("alloc.taken", 4),
            ("alloc.freed", 1),
            ("detect.exchanged", 4),
            ("alloc.change_finished", 4),
            ("alloc.closed", 8),
        ] {
            after_death(point, hit, None);
        }
    }

    #[test]
    fn model_an_allocation_that_is_not_taken_back_is_found() {
        let flaw = Some(Flaw::NoTakingBack);
        assert!(catch_unwind(|| after_death("alloc.taken", 2, flaw)).is_err());
    }
}
