//! A manager in one process.

use super::*;
use crate::alloc::used_blocks;
use crate::crash::{Crash, run};
use crate::detect::Marked;
use crate::identity::process::{Kernel, Process, Processes};
use crate::segment::Backing;
use std::cell::Cell;
use std::mem::ManuallyDrop;

const BYTES: u64 = 64 << 20;
const RESERVED: u64 = 16 << 10;

fn memory() -> Pool {
    Pool::create(&Backing::Memory { bytes: BYTES }, 3).unwrap()
}

#[test]
fn the_layers_of_a_pool_are_found_when_there_are_some() {
    let pool = memory();
    let manager = Manager::new(&pool).unwrap();
    assert_eq!((manager.id(), manager.pass().unwrap()), (1, Recovered::default()));
    let heap = Heap::new(&pool, RESERVED).unwrap();
    assert_eq!(manager.pass().unwrap(), Recovered::default());
    let found = Heap::find(&pool).unwrap().unwrap();
    assert!(found.start() == heap.start() && Refs::find(&found).unwrap().is_none());
    Refs::new(&heap, pool.data()).unwrap();
    assert!(Refs::find(&found).unwrap().is_some());
    assert_eq!(manager.pass().unwrap(), Recovered::default());
}

#[test]
fn a_full_pool_has_no_place_for_a_manager() {
    let pool = memory();
    let _clients: Vec<_> = (0..3).map(|_| pool.join().unwrap()).collect();
    assert!(matches!(Manager::new(&pool), Err(PoolError::Full { .. })));
}

/// A client whose process has ended.
fn ended(pool: &Pool) -> Client<'_> {
    let own = Kernel::new().unwrap().own().unwrap();
    pool.join_as(Process { birth: own.birth ^ 1, ..own }).unwrap()
}

fn dead(pool: &Pool) -> ManuallyDrop<Client<'_>> {
    ManuallyDrop::new(ended(pool))
}

/// A program that finishes changes of its word, and counts them.
struct Program<'a>(&'a Pool, Cell<u32>);

impl Redo for Program<'_> {
    fn word(&self, target: u64) -> Result<&Word, PoolError> {
        Ok(&self.0.words(target, 1)?[0])
    }

    fn redo(&self, _: u16, change: &Change, has_happened: bool) -> Result<(), PoolError> {
        assert!(change.target == self.0.data() && has_happened);
        self.1.set(self.1.get() + 1);
        Ok(())
    }
}

/// Only the program of the dead knows what belongs to its change. The manager does not take it away from it.
#[test]
fn a_change_of_another_program_is_left_to_it() {
    // Without layers, with a heap, and with counted objects.
    for layers in 0..3 {
        let pool = Pool::create(&Backing::Memory { bytes: BYTES }, 5).unwrap();
        if layers > 0 {
            let heap = Heap::new(&pool, RESERVED).unwrap();
            if layers > 1 {
                Refs::new(&heap, pool.data() + 64).unwrap();
            }
        }
        let manager = Manager::new(&pool).unwrap();
        let mut client = dead(&pool);
        let change = Change { target: pool.data(), operation: [0; 5] };
        let _open = client.exchange(&change, Marked::default(), 1).unwrap().unwrap();
        let _idle = dead(&pool);
        let own = pool.join().unwrap();
        let pass = manager.pass();
        assert!(matches!(pass, Err(PoolError::Unfinished { client: 2 })), "{pass:?}");
        // The other one was recovered.
        let program = Program(&pool, Cell::new(0));
        let done = own.recover(&program).unwrap();
        assert_eq!((done, program.1.get()), (Recovered { clients: 1, changes: 1 }, 1));
        assert_eq!(manager.pass().unwrap(), Recovered::default());
    }
}

/// Nor does it take a recoverer that died while it had such a client.
#[test]
fn a_dead_recoverer_of_another_program_is_left_to_it() {
    let pool = Pool::create(&Backing::Memory { bytes: BYTES }, 5).unwrap();
    let manager = Manager::new(&pool).unwrap();
    let mut client = dead(&pool);
    let change = Change { target: pool.data(), operation: [0; 5] };
    let _open = client.exchange(&change, Marked::default(), 1).unwrap().unwrap();
    let program = Program(&pool, Cell::new(0));
    // One takes the client and dies, another one takes it from the dead and dies: then the first has none any more.
    for expected in [2, 3] {
        let recoverer = dead(&pool);
        let point = Some(Crash { point: "recover.taken", hit: 1 });
        run(point, || _ = recoverer.recover(&program)).0.unwrap_err();
        assert_eq!(recoverer.id(), expected + 1);
        let pass = manager.pass();
        assert!(matches!(pass, Err(PoolError::Unfinished { client: 2 })), "{pass:?}");
    }
    let own = pool.join().unwrap();
    let done = own.recover(&program).unwrap();
    assert_eq!((done, program.1.get()), (Recovered { clients: 2, changes: 1 }, 1));
    assert_eq!(manager.pass().unwrap(), Recovered::default());
}

/// A client makes a layer, uses it and dies while the manager looks at others. It must not take the client for one that
/// has nothing.
#[test]
fn layers_that_are_made_during_a_pass_are_recovered_by_the_next_one() {
    for has_heap in [false, true] {
        let pool = memory();
        let manager = Manager::new(&pool).unwrap();
        let known = has_heap.then(|| Heap::new(&pool, RESERVED).unwrap());
        let user = Others { pool: &pool, has_heap, has_refs: false };
        // Now the pass has looked for layers.
        let heap = Heap::new(&pool, RESERVED).unwrap();
        let refs = Refs::new(&heap, pool.data()).unwrap();
        let client = ManuallyDrop::new(refs.client(ended(&pool)).unwrap());
        let held = ManuallyDrop::new(client.alloc(8, 0).unwrap());
        assert!(used_blocks(&heap).unwrap().contains(&held.object()));
        let end = match &known {
            Some(heap) => manager.client.recover(&HeapRedo { heap, user: &user }),
            None => manager.client.recover(&user),
        };
        assert!(matches!(end, Err(PoolError::NewLayer)), "{end:?}");
        assert_eq!(manager.pass().unwrap(), Recovered { clients: 1, changes: 0 });
        assert_eq!(used_blocks(&heap).unwrap(), []);
    }
}

/// What only programs can take back stays for them.
#[test]
fn a_pool_whose_programs_reclaim_themselves_is_left_to_them() {
    let pool = memory();
    let manager = Manager::new(&pool).unwrap();
    pool.set_own_reclaim();
    assert_eq!(manager.pass().unwrap(), Recovered::default());
    let _dead = dead(&pool);
    let pass = manager.pass();
    assert!(matches!(pass, Err(PoolError::OwnReclaim)), "{pass:?}");
    let program = Program(&pool, Cell::new(0));
    assert_eq!(pool.join().unwrap().recover(&program).unwrap().clients, 1);
}

/// All data of a pool without a heap is its user's.
#[test]
fn data_at_the_end_of_a_pool_is_no_heap() {
    let pool = memory();
    let words = (pool.segment().bytes() - pool.data()) / 8;
    for word in pool.atomics(pool.data(), words as usize).unwrap().iter().rev().take(512) {
        word.store(u64::MAX, Ordering::Relaxed);
    }
    let manager = Manager::new(&pool).unwrap();
    let _dead = dead(&pool);
    assert_eq!(manager.pass().unwrap().clients, 1);
    assert!(Heap::find(&pool).unwrap().is_none());
}

/// What a reader kept from a client that has left is freed when the reader has ended.
#[test]
fn what_readers_kept_is_freed_after_its_client_has_left() {
    let pool = Pool::create(&Backing::Memory { bytes: BYTES }, 4).unwrap();
    let manager = Manager::new(&pool).unwrap();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let [reading, writing] = [0; 2].map(|_| refs.join().unwrap());
    let object = writing.alloc(8, 0).unwrap();
    writing.set_persistent(0, Some(&object)).unwrap();
    drop(object);
    let reader = reading.read().unwrap();
    let peek = reader.persistent(0).unwrap().unwrap().object();
    writing.set_persistent(0, None).unwrap();
    drop(writing);
    let is_used = || used_blocks(&heap).unwrap().contains(&peek);
    // One look at what is kept is one era.
    let clock = || pool.atomics(pool.data(), 1).unwrap()[0].load(Ordering::Relaxed);
    let before = clock();
    manager.pass().unwrap();
    assert!(is_used() && clock() == before + 1);
    // The last free identity is left to those that join.
    let [last, other] = [0; 2].map(|_| pool.join().unwrap());
    assert_eq!((last.id(), other.id()), (3, 4));
    drop(last);
    manager.pass().unwrap();
    assert_eq!(clock(), before + 1);
    drop(other);
    drop(reader);
    manager.pass().unwrap();
    assert!(!is_used());
}

/// What cannot be swept hides neither what was recovered nor the rest.
#[test]
fn an_identity_that_cannot_be_swept_is_an_error_of_its_own() {
    let pool = Pool::create(&Backing::Memory { bytes: BYTES }, 5).unwrap();
    let manager = Manager::new(&pool).unwrap();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let writers = [0; 2].map(|_| refs.join().unwrap());
    let reading = refs.join().unwrap();
    let reader = reading.read().unwrap();
    let kept = [0, 1].map(|n| {
        let object = writers[n].alloc(8, 0).unwrap();
        drop(writers[n].share(&object).unwrap());
        object.object()
    });
    drop(writers);
    drop(reader);
    // The list of the first one has no end.
    let next = &pool.atomics(kept[0] + 24, 1).unwrap()[0];
    next.store(kept[0], Ordering::Relaxed);
    let client = ended(&pool);
    assert_eq!(client.id(), 2);
    drop(client);
    let held = pool.join().unwrap();
    let _dead = dead(&pool);
    drop(held);
    assert_eq!(manager.pass().unwrap(), Recovered { clients: 1, changes: 0 });
    assert_eq!(used_blocks(&heap).unwrap(), [kept[0]]);
    let pass = manager.pass();
    assert!(matches!(pass, Err(PoolError::Damaged { client: 2, .. })), "{pass:?}");
    next.store(0, Ordering::Relaxed);
    manager.pass().unwrap();
    assert_eq!(used_blocks(&heap).unwrap(), []);
}
