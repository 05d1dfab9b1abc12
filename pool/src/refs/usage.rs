//! Counted objects of one process: what they promise, and what callers do wrong.

use super::audit::audit;
use super::client::Refs;
use super::header::Count;
use super::holder::Memory;
use super::tests::{BYTES, CLIENTS, RESERVED, memory, ring, ring_words};
use crate::alloc::{Heap, used_blocks};
use crate::flaw::Flaw;
use crate::pool::torture::{Nothing, Random};
use crate::recover::Recovered;
use crate::{Message, Pool, PoolError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;

/// Blocks that are used.
fn used(refs: &Refs) -> usize {
    used_blocks(refs.heap()).unwrap().len()
}

#[test]
fn objects_of_all_sizes_are_whole_and_freed() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let mut objects = Vec::new();
    for (bytes, embedded) in
        [(0, 0), (1, 0), (8, 1), (64, 3), (900, 0), (5000, 100), (70_000, 7), (3 << 20, 2)]
    {
        for _ in 0..2 {
            let object = client.alloc(bytes, embedded).unwrap();
            assert!(object.object().is_multiple_of(16));
            let data = object.data().unwrap();
            assert!(
                data.len() as u64 * 8 >= bytes && object.embedded().unwrap() == embedded.into()
            );
            data.iter().for_each(|word| word.store(u64::MAX, Relaxed));
            assert!((0..embedded).all(|n| client.get(&object, n).unwrap().is_none()));
            objects.push(object);
        }
    }
    let contents = audit(&refs, &[]).unwrap();
    assert_eq!((contents.objects.len(), contents.kept.len()), (16, 0));
    objects.into_iter().for_each(|object| object.release().unwrap());
    assert!(audit(&refs, &[]).unwrap().objects.is_empty());
    drop(client);
    assert_eq!(used(&refs), 0);
}

#[test]
fn a_list_of_any_length_dies_with_its_first_reference() {
    const LENGTH: u64 = 50_000;
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let mut first = client.alloc(8, 2).unwrap();
    for n in 0..LENGTH {
        let next = client.alloc(8, 2).unwrap();
        client.set(&next, 0, Some(&first)).unwrap();
        // The second reference to the same object.
        client.set(&next, 1, Some(&first)).unwrap();
        next.data().unwrap()[0].store(n, Relaxed);
        first = next;
    }
    assert_eq!(audit(&refs, &[]).unwrap().objects.len() as u64, LENGTH + 1);
    let other = client.share(&first).unwrap();
    drop(first);
    assert_eq!(audit(&refs, &[]).unwrap().objects.len() as u64, LENGTH + 1);
    drop(other);
    assert!(audit(&refs, &[]).unwrap().objects.is_empty());
}

#[test]
fn persistent_roots_outlive_all_clients() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    {
        let client = refs.join().unwrap();
        let (outer, inner) = (client.alloc(8, 1).unwrap(), client.alloc(8, 0).unwrap());
        inner.data().unwrap()[0].store(77, Relaxed);
        client.set(&outer, 0, Some(&inner)).unwrap();
        client.set_persistent(63, Some(&outer)).unwrap();
        // A handle that is forgotten is released with its client.
        std::mem::forget(client.alloc(8, 0).unwrap());
    }
    assert_eq!(used(&refs), 2);
    let client = refs.join().unwrap();
    let inner = {
        let reader = client.read().unwrap();
        let outer = reader.persistent(63).unwrap().unwrap();
        assert!(reader.persistent(0).unwrap().is_none());
        outer.follow(0).unwrap().unwrap().object()
    };
    client.set_persistent(63, None).unwrap();
    drop(client);
    assert_ne!(inner, 0);
    assert_eq!(used(&refs), 0);
}

#[test]
fn copies_change_no_count_that_others_see() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let object = client.alloc(8, 0).unwrap();
    let count = |at: u64| {
        let header = client.holder().memory.header(at).unwrap();
        Count::from_bits(header.word.value()).count()
    };
    let at = object.object();
    let (copy, shared) = (object.clone(), client.share(&object).unwrap());
    assert_eq!(count(at), 2);
    drop(object);
    assert_eq!(count(at), 2);
    drop(copy);
    assert_eq!(count(at), 1);
    drop(shared);
    assert!(audit(&refs, &[]).unwrap().objects.is_empty());
}

#[test]
fn a_reader_keeps_what_lived_with_it_and_no_more() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let [writer, looker] = [0; 2].map(|_| refs.join().unwrap());
    let make = |value: u64| {
        let object = writer.alloc(8, 0).unwrap();
        object.data().unwrap()[0].store(value, Relaxed);
        writer.set_persistent(0, Some(&object)).unwrap();
        object.object()
    };
    make(1);
    let reader = looker.read().unwrap();
    let peek = reader.persistent(0).unwrap().unwrap();
    let second = make(2);
    assert_eq!(peek.data().unwrap()[0].load(Relaxed), 1);
    assert!(peek.share().unwrap().is_none(), "it has lost its last reference");
    assert_eq!(audit(&refs, &[]).unwrap().kept.len(), 1);
    // A new era: what is made from now on is not kept.
    writer.reclaim().unwrap();
    for value in 3..100 {
        make(value);
    }
    let contents = audit(&refs, &[]).unwrap();
    assert!(contents.kept.contains(&peek.object()) && contents.kept.len() == 2, "{contents:?}");
    assert!(contents.kept.contains(&second), "it lived in the reader's era");
    // In the new era the reader finds the last object, and counts it.
    let found = reader.persistent(0).unwrap().unwrap();
    let counted = found.share().unwrap().unwrap();
    drop(reader);
    writer.set_persistent(0, None).unwrap();
    assert_eq!(counted.data().unwrap()[0].load(Relaxed), 99);
    writer.reclaim().unwrap();
    let contents = audit(&refs, &[]).unwrap();
    assert!(contents.kept.is_empty() && contents.objects.len() == 1, "{contents:?}");
}

/// Whether an object stays while a client looks at it that does not count it.
fn is_kept(flaw: Option<Flaw>) -> bool {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap().with_flaw(flaw);
    let [writer, looker] = [0; 2].map(|_| refs.join().unwrap());
    let object = writer.alloc(8, 0).unwrap();
    writer.set_persistent(0, Some(&object)).unwrap();
    let reader = looker.read().unwrap();
    let peek = reader.persistent(0).unwrap().unwrap();
    drop(object);
    writer.set_persistent(0, None).unwrap();
    writer.reclaim().unwrap();
    used_blocks(&heap).unwrap().contains(&peek.object())
}

#[test]
fn an_object_that_is_freed_under_its_reader_is_found() {
    assert!(is_kept(None) && !is_kept(Some(Flaw::NoHazard)));
}

#[test]
fn references_are_sent_in_order_and_once() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let [one, two] = [0; 2].map(|_| refs.join().unwrap());
    let mut sender = one.sender(&ring(&pool, 0)).unwrap();
    let mut receiver = two.receiver(&ring(&pool, 0)).unwrap();
    assert!(two.sender(&ring(&pool, 0)).is_none());
    let make = |value: u64| {
        let object = one.alloc(8, 0).unwrap();
        object.data().unwrap()[0].store(value, Relaxed);
        object
    };
    assert!(receiver.receive().unwrap().is_none());
    for value in 0..4 {
        sender.send(make(value)).unwrap().ok().unwrap();
    }
    let Err(back) = sender.send(make(4)).unwrap() else { panic!("the ring is full") };
    let first = receiver.receive().unwrap().unwrap();
    assert_eq!(first.data().unwrap()[0].load(Relaxed), 0);
    let copy = back.clone();
    sender.send(back).unwrap().ok().unwrap();
    drop(first);
    for value in 1..=4 {
        let object = receiver.receive().unwrap().unwrap();
        assert_eq!(object.data().unwrap()[0].load(Relaxed), value);
        assert_eq!(value == 4, object.object() == copy.object());
    }
    assert_eq!(audit(&refs, &ring_words(&pool)).unwrap().objects.len(), 1);
    // What is no object is not received.
    drop(receiver);
    let mut producer = { one.sender(&ring(&pool, 1)) }.unwrap();
    producer.send(make(5)).unwrap().ok().unwrap();
    pool.atomics(ring_words(&pool)[4], 1).unwrap()[0].store(BYTES + 16, Relaxed);
    let mut receiver = two.receiver(&ring(&pool, 1)).unwrap();
    assert!(matches!(receiver.receive(), Err(PoolError::Range { .. })));
}

#[test]
fn what_another_client_of_the_process_holds_is_sent_on() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let [one, two] = [0; 2].map(|_| refs.join().unwrap());
    let mut sender = one.sender(&ring(&pool, 0)).unwrap();
    let held = two.alloc(8, 0).unwrap();
    for _ in 0..4 {
        assert!(sender.send_shared(&held).unwrap());
    }
    assert!(!sender.send_shared(&held).unwrap(), "the ring is full");
    let object = held.object();
    held.release().unwrap();
    let mut receiver = two.receiver(&ring(&pool, 0)).unwrap();
    for _ in 0..4 {
        assert_eq!(receiver.receive().unwrap().unwrap().object(), object);
    }
    assert!(audit(&refs, &ring_words(&pool)).unwrap().objects.is_empty());
    // An offset means something else in another pool.
    let other_pool = memory();
    let other_heap = Heap::new(&other_pool, RESERVED).unwrap();
    let others = Refs::new(&other_heap, other_pool.data()).unwrap();
    let stranger = others.join().unwrap();
    let strange = stranger.alloc(8, 0).unwrap();
    let refused = sender.send_shared(&strange);
    assert!(matches!(refused, Err(PoolError::OtherClient { .. })));
}

#[test]
fn a_call_copies_nothing() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let [caller, server] = [0; 2].map(|_| refs.join().unwrap());
    let mut to_server = caller.sender(&ring(&pool, 0)).unwrap();
    let mut from_server = caller.receiver(&ring(&pool, 1)).unwrap();
    let [one, two, result] = [20, 22, 0].map(|value| {
        let object = caller.alloc(8, 0).unwrap();
        object.data().unwrap()[0].store(value, Relaxed);
        object
    });
    let message = caller.message(7, &[&one, &two], &result).unwrap();
    drop((one, two));
    to_server.send(message.into_ref()).unwrap().ok().unwrap();
    {
        let mut calls = server.receiver(&ring(&pool, 0)).unwrap();
        let message = Message::of(calls.receive().unwrap().unwrap()).unwrap();
        assert_eq!((message.function().unwrap(), message.arguments().unwrap()), (7, 2));
        let value = |n| message.argument(n).unwrap().data().unwrap()[0].load(Relaxed);
        let sum = value(0) + value(1);
        message.result().unwrap().data().unwrap()[0].store(sum, Relaxed);
        for n in 0..2 {
            assert_eq!(message.argument_data(n).unwrap()[0].load(Relaxed), value(n));
        }
        assert_eq!(message.result_data().unwrap()[0].load(Relaxed), sum);
        assert!(matches!(message.argument(2), Err(PoolError::NoReference { .. })));
        assert!(matches!(message.argument_data(2), Err(PoolError::NoReference { .. })));
        let mut answers = server.sender(&ring(&pool, 1)).unwrap();
        answers.send(message.into_ref()).unwrap().ok().unwrap();
    }
    let answer = from_server.receive().unwrap().unwrap();
    assert_eq!(result.data().unwrap()[0].load(Relaxed), 42);
    assert_eq!(audit(&refs, &ring_words(&pool)).unwrap().objects.len(), 4);
    drop(answer);
    assert_eq!(audit(&refs, &ring_words(&pool)).unwrap().objects.len(), 1);
    // No message: it refers to nothing, or its reference is empty.
    assert!(matches!(Message::of(result), Err(PoolError::NoReference { .. })));
    let object = caller.alloc(8, 1).unwrap();
    let word = &caller.holder().memory.header(object.object()).unwrap().word;
    let empty = Message::of(object).unwrap();
    assert!(matches!(empty.result(), Err(PoolError::NoReference { .. })));
    assert!(matches!(empty.result_data(), Err(PoolError::NoReference { .. })));
    word.reset(Count::new(0, 1).bits());
    assert!(matches!(empty.arguments(), Err(PoolError::NoReference { .. })));
}

/// An argument outlives its message, and the message's reference to it.
#[test]
fn an_argument_stays_while_its_holder_has_it() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let [argument, result] = [0; 2].map(|_| client.alloc(8, 0).unwrap());
    argument.data().unwrap()[0].store(7, Relaxed);
    let reference = client.message(1, &[&argument], &result).unwrap().into_ref();
    drop(argument);
    let message = Message::of(reference.clone()).unwrap();
    let found = message.argument(0).unwrap();
    client.set(&reference, 0, None).unwrap();
    let words = found.data().unwrap();
    assert!(words[0].load(Relaxed) == 7 && used_blocks(&heap).unwrap().contains(&found.object()));
    drop((message, reference));
    assert_eq!(audit(&refs, &[]).unwrap().objects.len(), 2);
    drop(found);
    assert_eq!(audit(&refs, &[]).unwrap().objects.len(), 1);
}

/// The step of a move would name cells of another pool. A second mapping of the same pool is no other one.
#[test]
fn a_ring_of_another_pool_is_refused() {
    let pools = [memory(), memory()];
    let same = Pool::of(pools[0].segment().fd().try_clone_to_owned().unwrap()).unwrap();
    let heap = Heap::new(&pools[0], RESERVED).unwrap();
    let refs = Refs::new(&heap, pools[0].data()).unwrap();
    let client = refs.join().unwrap();
    let refused = |end: &dyn Fn() -> bool| catch_unwind(AssertUnwindSafe(end)).unwrap_err();
    refused(&|| client.sender(&ring(&pools[1], 0)).is_some());
    refused(&|| client.receiver(&ring(&pools[1], 0)).is_some());
    let other = pools[1].join().unwrap();
    refused(&|| ring(&pools[0], 0).producer(&other).is_some());
    refused(&|| ring(&pools[0], 0).consumer(&other).is_some());
    let mut sender = client.sender(&ring(&same, 0)).unwrap();
    let mut receiver = client.receiver(&ring(&pools[0], 0)).unwrap();
    sender.send(client.alloc(8, 0).unwrap()).unwrap().ok().unwrap();
    assert!(receiver.receive().unwrap().is_some());
}

#[test]
fn what_callers_do_wrong_is_an_error() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    for at in [pool.data() + 8, 0, pool.data() + RESERVED, u64::MAX - 63] {
        assert!(matches!(Refs::new(&heap, at), Err(PoolError::Range { .. })), "{at:#x}");
    }
    assert!(Refs::bytes(CLIENTS) < RESERVED && Refs::find(&heap).unwrap().is_none());
    let refs = Refs::new(&heap, pool.data()).unwrap();
    assert!(Refs::find(&heap).unwrap().is_some());
    assert!(matches!(Refs::new(&heap, pool.data() + 64), Err(PoolError::Layout { .. })));
    let [one, two] = [0; 2].map(|_| refs.join().unwrap());
    let object = one.alloc(8, 2).unwrap();
    let no_reference =
        |end: Result<(), PoolError>| matches!(end, Err(PoolError::NoReference { .. }));
    assert!(no_reference(one.set(&object, 2, None)));
    assert!(no_reference(one.get(&object, 2).map(|_| ())));
    assert!(no_reference(one.set_persistent(Refs::PERSISTENT, None)));
    assert!(no_reference(one.read().unwrap().persistent(Refs::PERSISTENT).map(|_| ())));
    assert!(no_reference(one.read().unwrap().of(&object).unwrap().follow(2).map(|_| ())));
    assert!(no_reference(one.alloc(8, u32::MAX).map(|_| ())));
    let other = |end: Result<(), PoolError>| matches!(end, Err(PoolError::OtherClient { .. }));
    assert!(other(two.share(&object).map(|_| ())));
    assert!(other(two.set(&object, 0, None)));
    assert!(other(two.set_persistent(0, Some(&object))));
    assert!(other(two.read().unwrap().of(&object).map(|_| ())));
    for bytes in [BYTES, u64::MAX, u64::MAX - 40] {
        assert!(matches!(one.alloc(bytes, 0), Err(PoolError::NoMemory { .. })));
    }
    // A reference to itself is one more cell.
    one.set(&object, 0, Some(&object)).unwrap();
    one.set(&object, 0, None).unwrap();
    // As many references as there can be.
    let word = &one.holder().memory.header(object.object()).unwrap().word;
    word.reset(Count::new(2, u32::MAX).bits());
    assert!(matches!(one.share(&object), Err(PoolError::References { .. })));
    word.reset(Count::new(2, 1).bits());
    assert_eq!(one.recover(&Nothing(&pool)).unwrap(), Recovered::default());
    assert!(!one.fence(5, std::time::Duration::ZERO).unwrap());
}

/// A count that is no count stops a release, and nothing else.
#[test]
fn a_damaged_count_is_an_error() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let object = client.alloc(8, 0).unwrap();
    let shared = client.share(&object).unwrap();
    let word = &client.holder().memory.header(object.object()).unwrap().word;
    word.reset(Count::new(0, 0).bits());
    assert!(matches!(object.release(), Err(PoolError::Damaged { .. })));
    word.reset(Count::new(0, 2).bits());
    drop(shared);
    client.reclaim().unwrap();
    assert!(audit(&refs, &[]).unwrap().objects.is_empty());
}

/// Objects that a reader keeps, and that refer to each other by what should be the end of a list.
#[test]
fn a_list_of_kept_objects_without_an_end_is_an_error() {
    for length in [1, 2, 3, 7] {
        let pool = memory();
        let heap = Heap::new(&pool, RESERVED).unwrap();
        let refs = Refs::new(&heap, pool.data()).unwrap();
        let [writer, looker] = [0; 2].map(|_| refs.join().unwrap());
        let reader = looker.read().unwrap();
        let mut kept = Vec::new();
        for _ in 0..9 {
            let object = writer.alloc(8, 0).unwrap();
            kept.push(object.object());
            drop(writer.share(&object).unwrap());
        }
        assert_eq!(audit(&refs, &[]).unwrap().kept.len(), 9);
        // The last one refers to this one, and not to none.
        let next = |n: usize| &writer.holder().memory.header(kept[n]).unwrap().next;
        assert_eq!(next(0).load(Relaxed), 0);
        next(0).store(kept[length - 1], Relaxed);
        let reclaimed = writer.reclaim();
        assert!(matches!(reclaimed, Err(PoolError::Damaged { client: 1, .. })), "{reclaimed:?}");
        drop(reader);
        // Others join, though nobody can have this identity.
        drop(writer);
        assert_eq!(refs.join().unwrap().id(), 3);
        next_ends(&pool, kept[0]);
        assert_eq!(refs.join().unwrap().id(), 1);
        drop(looker);
        assert_eq!(used(&refs), 0);
    }
}

fn next_ends(pool: &Pool, object: u64) {
    pool.atomics(object + 24, 1).unwrap()[0].store(0, Relaxed);
}

/// What is in the list of dying objects is freed only if nothing refers to it, and if it is an object.
#[test]
fn a_dying_object_that_is_none_is_an_error() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let object = client.alloc(8, 0).unwrap();
    let _shared = client.share(&object).unwrap();
    let freed = client.alloc(8, 0).unwrap();
    let wrong = [object.object(), freed.object()];
    freed.release().unwrap();
    let holding = client.holder().holding;
    for wrong in wrong {
        holding.dying.store(wrong, Relaxed);
        let end = client.reclaim();
        assert!(matches!(end, Err(PoolError::Damaged { client: 1, .. })), "{end:?}");
        for word in [&holding.dying, &holding.current] {
            word.store(0, Relaxed);
        }
    }
    assert_eq!(audit(&refs, &[]).unwrap().objects.len(), 1);
}

/// Eras of the clock are stored in tags, and the last one is not followed by the first.
#[test]
fn a_clock_that_is_no_clock_is_an_error() {
    for wrong in [(1 << 54) - 1, 1 << 60, u64::MAX] {
        let pool = memory();
        let heap = Heap::new(&pool, RESERVED).unwrap();
        let refs = Refs::new(&heap, pool.data()).unwrap();
        let [writer, looker] = [0; 2].map(|_| refs.join().unwrap());
        let reader = looker.read().unwrap();
        let object = writer.alloc(8, 0).unwrap();
        let shared = writer.share(&object).unwrap();
        writer.set_persistent(0, Some(&object)).unwrap();
        drop(shared);
        writer.set_persistent(0, None).unwrap();
        let clock = &pool.atomics(pool.data(), 1).unwrap()[0];
        clock.store(wrong, Relaxed);
        let is_refused = |end: Result<(), PoolError>| {
            assert!(matches!(end, Err(PoolError::Damaged { what: "the clock", .. })), "{end:?}");
        };
        is_refused(object.release());
        is_refused(writer.reclaim());
        is_refused(writer.read().map(|_| ()));
        is_refused(writer.alloc(8, 0).map(|_| ()));
        is_refused(reader.persistent(0).map(|_| ()));
        assert_eq!(clock.load(Relaxed), wrong);
        clock.store(5, Relaxed);
        drop(reader);
        writer.reclaim().unwrap();
        assert!(audit(&refs, &[]).unwrap().objects.is_empty());
    }
}

/// What the last holder of one identity left cannot be finished. All others can be had.
#[test]
fn an_identity_that_is_damaged_is_passed_over() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let steps: Vec<_> = refs.table().holdings.iter().map(|holding| &holding.step).collect();
    for id in [1, 3] {
        steps[id].store(99, Relaxed);
    }
    let clients: Vec<_> = std::iter::from_fn(|| refs.join().ok()).collect();
    assert_eq!(clients.iter().map(|client| client.id()).collect::<Vec<_>>(), [2, 4, 5]);
    assert!(matches!(refs.join(), Err(PoolError::Damaged { client: 1, found: 99, .. })));
    steps[1].store(0, Relaxed);
    assert_eq!(refs.join().unwrap().id(), 1);
}

/// Threads of one process as clients, and nobody dies.
#[test]
fn threads_share_objects() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    std::thread::scope(|scope| {
        for side in 0..3 {
            let (pool, refs) = (&pool, &refs);
            scope.spawn(move || {
                let client = refs.join().unwrap();
                let mut random = Random(side);
                let mut actor = super::tests::Actor::new(pool, &client, side);
                (0..40_000).for_each(|_| actor.act(&mut random));
                actor.stop_looking();
            });
        }
    });
    let contents = audit(&refs, &ring_words(&pool)).unwrap();
    println!("{} objects at the end", contents.objects.len());
}

/// A freed one may be in pages that were given back.
#[test]
fn objects_that_are_looked_at_again_are_still_there() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let [client, other] = [0; 2].map(|_| refs.join().unwrap());
    let object = client.alloc(8, 0).unwrap();
    let unlink = || {
        client.name(b"name", &object).unwrap();
        assert!(client.forget(b"name", &object).unwrap());
    };
    let recent = || {
        let recent = client.recent.borrow();
        let is_used = |object: &&u64| heap.block_bytes(**object).is_some();
        let freed: Vec<_> = recent.iter().flatten().filter(|object| !is_used(object)).collect();
        assert!(freed.is_empty(), "{freed:x?}");
        recent[1].len()
    };
    // Nobody looks: they are freed at once.
    unlink();
    client.reclaim().unwrap();
    assert_eq!(recent(), 0);
    // They are looked at again.
    let reader = other.read().unwrap();
    (0..3).for_each(|_| unlink());
    client.reclaim().unwrap();
    assert!(recent() > 3);
    drop(reader);
    client.reclaim().unwrap();
    assert_eq!(recent(), 0);
}
