//! A manager in one process.

use super::*;
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
