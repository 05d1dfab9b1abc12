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
fn dead(pool: &Pool) -> ManuallyDrop<Client<'_>> {
    let own = Kernel::new().unwrap().own().unwrap();
    let ended = Process { birth: own.birth ^ 1, ..own };
    ManuallyDrop::new(pool.join_as(ended).unwrap())
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
    let reader = reading.read();
    let peek = reader.persistent(0).unwrap().unwrap().object();
    writing.set_persistent(0, None).unwrap();
    drop(writing);
    let is_used = || used_blocks(&heap).unwrap().contains(&peek);
    manager.pass().unwrap();
    assert!(is_used());
    drop(reader);
    manager.pass().unwrap();
    assert!(!is_used());
}
