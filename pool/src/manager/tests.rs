//! A manager in one process.

use super::*;
use crate::alloc::used_blocks;
use crate::detect::Marked;
use crate::segment::Backing;
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

/// Only the program of the dead knows what belongs to its change.
#[test]
fn a_change_of_another_program_is_left_to_it() {
    let pool = memory();
    let mut client = ManuallyDrop::new(pool.join().unwrap());
    let change = Change { target: pool.data(), operation: [0; 5] };
    let _open = client.exchange(&change, Marked::default(), 1).unwrap().unwrap();
    let refused = Others(&pool).redo(client.id(), &change, true);
    assert!(matches!(refused, Err(PoolError::Unfinished { client: 1 })));
    assert_eq!(Others(&pool).word(pool.data()).unwrap().value(), 1);
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
