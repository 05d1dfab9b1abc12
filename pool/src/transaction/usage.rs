//! What transactions do, without deaths.

use super::commit::Commit;
use super::tests::{Actor, OPTIONS, check_rows, fill};
use super::{Transaction, Transactions};
use crate::PoolError;
use crate::map::tests::NAME;
use crate::map::usage::with;
use crate::map::{Map, MapOptions};
use crate::pool::torture::Random;
use crate::sync::{AtomicU64, Ordering};
use std::thread;

fn on_map(test: impl FnOnce(&Transactions)) {
    with(|_, client| {
        let map = Map::create(client, NAME, &OPTIONS).unwrap();
        test(&Transactions::new(&map).unwrap());
    });
}

fn get(transactions: &Transactions, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = vec![];
    transactions.get(key, &mut value).unwrap().then_some(value)
}

fn put(transactions: &Transactions, rows: &[(&[u8], &[u8])]) {
    let put = |t: &mut Transaction| {
        rows.iter().try_for_each(|(key, value)| t.put(key, value))?;
        Ok(Some(()))
    };
    transactions.run(put).unwrap();
}

/// A transaction that has intents in its rows, and was not decided.
fn taken<'t, 'm, 'c>(of: &'t Transactions<'m, 'c>, keys: &[&[u8]]) -> Commit<'t, 'm, 'c> {
    let mut transaction = of.begin();
    for key in keys {
        transaction.put(key, b"new").unwrap();
    }
    let mut commit = Commit::new(of, transaction.rows);
    for _ in keys {
        assert_eq!(commit.step().unwrap(), None);
    }
    commit
}

#[test]
fn a_transaction_reads_what_it_writes_and_others_do_not() {
    on_map(|of| {
        put(of, &[(b"one", b"1"), (b"two", b"2")]);
        let mut transaction = of.begin();
        transaction.put(b"one", b"uno").unwrap();
        transaction.remove(b"two").unwrap();
        assert_eq!(transaction.get(b"one").unwrap(), Some(&b"uno"[..]));
        assert_eq!(transaction.get(b"two").unwrap(), None);
        assert_eq!(
            (get(of, b"one").unwrap(), get(of, b"two").unwrap()),
            (b"1".into(), b"2".into())
        );
        assert!(transaction.commit().unwrap());
        assert_eq!((get(of, b"one").unwrap(), get(of, b"two")), (b"uno".into(), None));
        assert_eq!(of.map().len().unwrap(), 1);
    });
}

#[test]
fn a_transaction_fails_if_what_it_has_read_was_changed() {
    on_map(|of| {
        put(of, &[(b"one", b"1"), (b"two", b"2")]);
        for written in [None, Some(&b"one"[..]), Some(b"two"), Some(b"three")] {
            let mut transaction = of.begin();
            transaction.get(b"one").unwrap();
            transaction.get(b"two").unwrap();
            if let Some(written) = written {
                transaction.put(written, b"mine").unwrap();
            }
            put(of, &[(b"one", b"other")]);
            assert!(!transaction.commit().unwrap(), "{written:?}");
            assert_eq!((get(of, b"two").unwrap(), get(of, b"three")), (b"2".into(), None));
            put(of, &[(b"one", b"1")]);
        }
        assert_eq!(of.conflicts(), 4);
    });
}

#[test]
fn absent_rows_that_were_read_must_be_absent_together() {
    on_map(|of| {
        let mut transaction = of.begin();
        assert_eq!(transaction.get(b"one").unwrap(), None);
        put(of, &[(b"one", b"1"), (b"two", b"2")]);
        of.run(|t| t.remove(b"two").map(Some)).unwrap();
        assert_eq!(transaction.get(b"two").unwrap(), None);
        assert!(!transaction.commit().unwrap(), "one was there when two was absent");
        let declined = of.run(|t| Ok(t.get(b"four")?.or(None).map(<[u8]>::to_vec))).unwrap();
        assert_eq!(declined, None);
        let absent =
            |t: &mut Transaction| Ok(Some((t.get(b"x")?.is_none(), t.get(b"y")?.is_none())));
        assert_eq!(of.run(absent).unwrap(), Some((true, true)));
        // That took intents, and left none.
        assert_eq!(of.map().len().unwrap(), 1);
    });
}

#[test]
fn an_error_over_rows_of_several_moments_is_no_result() {
    on_map(|of| {
        put(of, &[(b"one", b"1"), (b"two", b"1")]);
        let mut runs = 0;
        let done = of.run(|t| {
            runs += 1;
            let one = t.get(b"one")?.map(<[u8]>::to_vec);
            if runs == 1 {
                put(of, &[(b"one", b"2"), (b"two", b"2")]);
            }
            let two = t.get(b"two")?;
            if one.as_deref() == two { Ok(Some(())) } else { Err(PoolError::Row { bytes: 0 }) }
        });
        assert!(matches!(done, Ok(Some(()))) && runs == 2, "{done:?} after {runs}");
        let refused = of.run(|t| {
            t.get(b"one")?;
            Err::<Option<()>, _>(PoolError::Row { bytes: 7 })
        });
        assert!(matches!(refused, Err(PoolError::Row { bytes: 7 })), "{refused:?}");
    });
}

#[test]
fn rows_of_an_undecided_transaction_have_their_old_values() {
    on_map(|of| {
        put(of, &[(b"one", b"1"), (b"two", b"2")]);
        let mut commit = taken(of, &[b"one", b"two", b"zero"]);
        let values = || [b"one", b"two"].map(|key| get(of, key).unwrap());
        assert_eq!((values(), get(of, b"zero")), ([b"1".to_vec(), b"2".to_vec()], None));
        // It is decided: all have the new ones before they are written.
        assert_eq!(commit.step().unwrap(), None);
        assert_eq!(
            (values(), get(of, b"zero")),
            ([0; 2].map(|_| b"new".to_vec()), Some(b"new".into()))
        );
        // Another client that comes to one of them writes them.
        of.settle(b"two").unwrap();
        assert!(
            of.look(b"two").unwrap().plain.is_some() && of.look(b"one").unwrap().plain.is_none()
        );
        of.settle(b"one").unwrap();
        assert!(
            of.look(b"zero").unwrap().plain.is_some() && of.look(b"one").unwrap().plain.is_some()
        );
        while commit.step().unwrap().is_none() {}
        assert_eq!(values(), [0; 2].map(|_| b"new".to_vec()));
    });
}

#[test]
fn a_transaction_that_was_aborted_puts_intents_in_vain() {
    on_map(|of| {
        put(of, &[(b"one", b"1"), (b"two", b"2")]);
        for key in [b"one", b"two"] {
            let mut commit = taken(of, &[b"one", b"two", b"zero"]);
            of.settle(key).unwrap();
            assert_eq!(get(of, key).unwrap().len(), 1);
            // A row that it takes late has its old value as well.
            assert_eq!(commit.step().unwrap(), None);
            assert_eq!((get(of, b"one").unwrap(), get(of, b"zero")), (b"1".into(), None));
            let done = loop {
                if let Some(done) = commit.step().unwrap() {
                    break done;
                }
            };
            assert!(!done && of.map().len().unwrap() == 2);
        }
    });
}

#[test]
fn a_row_that_is_put_is_settled_before() {
    on_map(|of| {
        put(of, &[(b"one", b"1"), (b"two", b"2")]);
        let mut undecided = taken(of, &[b"one", b"two"]);
        of.put(b"two", b"put").unwrap();
        assert_eq!(
            (get(of, b"one").unwrap(), get(of, b"two").unwrap()),
            (b"1".into(), b"put".into())
        );
        while undecided.step().unwrap().is_none() {}
        assert_eq!(
            (get(of, b"one").unwrap(), get(of, b"two").unwrap()),
            (b"1".into(), b"put".into())
        );
        let mut decided = taken(of, &[b"one", b"two"]);
        assert_eq!(decided.step().unwrap(), None);
        of.put(b"two", b"last").unwrap();
        while decided.step().unwrap().is_none() {}
        assert_eq!(
            (get(of, b"one").unwrap(), get(of, b"two").unwrap()),
            (b"new".into(), b"last".into())
        );
        of.put(b"three", b"3").unwrap();
        assert_eq!(get(of, b"three").unwrap(), b"3");
    });
}

#[test]
fn a_transaction_that_finds_no_memory_changes_nothing() {
    on_map(|of| {
        let large = vec![1; 1 << 20];
        put(of, &[(b"one", &large), (b"two", &large)]);
        let filler = |n: u64| [b'f', n as u8];
        let is_full = |error| matches!(error, Err(PoolError::NoMemory { .. }));
        let count = (0..256).find(|n| is_full(of.put(&filler(*n), &large))).expect("it is full");
        let mut failures = 0;
        // In a heap in which nothing, one row, two rows and so on find room.
        for freed in 0..8 {
            let (next, mut transaction) = (vec![2 + freed as u8; 1 << 20], of.begin());
            transaction.put(b"one", &next).unwrap();
            transaction.put(b"two", &next).unwrap();
            let committed = transaction.commit();
            let [one, two] = [b"one", b"two"].map(|key| get(of, key).unwrap());
            assert!(one == two && one.len() == next.len(), "half of it is there");
            assert_eq!(one == next, committed.is_ok(), "{committed:?}");
            failures += u64::from(is_full(committed.map(|_| ())));
            of.run(|t| t.remove(&filler(count - 1 - freed)).map(Some)).unwrap();
            of.map().client().reclaim().unwrap();
        }
        assert!((2..8).contains(&failures), "{failures} failures");
    });
}

#[test]
fn rows_that_no_transaction_wrote_are_refused() {
    on_map(|of| {
        of.map().put(b"strange", b"value", 0).unwrap();
        let error = of.get(b"strange", &mut vec![]).unwrap_err();
        assert!(matches!(error, PoolError::Row { bytes: 5 }), "{error}");
    });
    with(|_, client| {
        let options = MapOptions { evicts: true, ..OPTIONS };
        let map = Map::create(client, NAME, &options).unwrap();
        let error = Transactions::new(&map).err();
        assert!(matches!(error, Some(PoolError::Evicts)), "{error:?}");
    });
}

/// Three transactions over the same rows, one step after the other in any order: the sum stays, and each that was told
/// to be committed has happened.
#[test]
fn steps_of_several_transactions_come_in_any_order() {
    for seed in 0..3_000 {
        on_map(|of| {
            let mut random = Random(seed);
            let keys = [b"a", b"b", b"c", b"d"];
            for key in keys {
                put(of, &[(key, &[100])]);
            }
            let (mut open, mut expected) = (vec![], [100; 4]);
            let (mut begun, mut ended) = (0, 0);
            while ended < 6 {
                if begun < 6 && open.len() < 3 {
                    let mut transaction = of.begin();
                    let first = random.below(4) as usize;
                    let other = (first + 1 + random.below(3) as usize) % 4;
                    for (n, is_more) in [(first, false), (other, true)] {
                        let value = transaction.get(keys[n]).unwrap().unwrap()[0];
                        let next = if is_more { value + 1 } else { value - 1 };
                        transaction.put(keys[n], &[next]).unwrap();
                    }
                    begun += 1;
                    open.push((Commit::new(of, transaction.rows), first, other));
                }
                let n = random.below(open.len() as u64) as usize;
                if let Some(done) = open[n].0.step().unwrap() {
                    let (_, first, other) = open.swap_remove(n);
                    ended += 1;
                    if done {
                        expected[first] -= 1;
                        expected[other] += 1;
                    }
                }
            }
            let found = keys.map(|key| get(of, key).unwrap()[0]);
            assert_eq!(found, expected, "seed {seed}");
        });
    }
}

#[test]
fn threads_see_all_of_a_transaction_or_nothing() {
    with(|refs, client| {
        let map = Map::create(client, NAME, &OPTIONS).unwrap();
        let transactions = Transactions::new(&map).unwrap();
        fill(&transactions);
        let told = [0; 3].map(|_| AtomicU64::new(0));
        thread::scope(|scope| {
            for (side, told) in told.iter().enumerate() {
                scope.spawn(move || {
                    let client = refs.join().unwrap();
                    let map = Map::create(&client, NAME, &OPTIONS).unwrap();
                    let transactions = Transactions::new(&map).unwrap();
                    let actor = Actor::new(&transactions, side as u8, told);
                    let mut random = Random(side as u64);
                    for _ in 0..10_000 {
                        actor.act(&mut random, &mut || {});
                    }
                });
            }
        });
        assert!(told.iter().all(|told| told.load(Ordering::Acquire) > 0));
        check_rows(&transactions, &told.each_ref()).unwrap();
    });
}
