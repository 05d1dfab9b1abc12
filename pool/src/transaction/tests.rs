//! Every crash of a client of transactions, in the middle of those of a survivor.

use super::commit::Commit;
use super::{Transaction, Transactions};
use crate::alloc::Heap;
use crate::crash::{Crash, POINTS, aside, run};
use crate::flaw::Flaw;
use crate::map::tests::{NAME, clear};
use crate::map::usage::check;
use crate::map::{Map, MapOptions};
use crate::pool::torture::Random;
use crate::refs::Refs;
use crate::refs::tests::{CLIENT, Census, LAST, RECOVERER, RESERVED, SURVIVOR, memory, recover};
use crate::stories::{Stories, Told, one_fails};
use crate::sync::own;
use crate::sync::{AtomicU64, Ordering};
use std::mem::ManuallyDrop;

/// Few buckets, so that most have several entries.
pub(super) const OPTIONS: MapOptions = MapOptions { entries: 0, capacity: u64::MAX, evicts: false };
const ACCOUNTS: u8 = 5;
const BALANCE: u64 = 1000;
/// Rows that are all there, or none.
const FAMILY: u8 = 3;

fn account(n: u8) -> [u8; 2] {
    [b'a', n]
}

fn member(n: u8) -> [u8; 2] {
    [b'f', n]
}

/// Rows that one side writes: all have the number of its last transaction.
fn own_row(side: u8, n: u8) -> [u8; 3] {
    [b'o', side, n]
}

fn number(value: Option<&[u8]>) -> u64 {
    value.map_or(0, |value| u64::from_le_bytes(value[..8].try_into().unwrap()))
}

/// Makes the accounts.
pub(super) fn fill(transactions: &Transactions) {
    for n in 0..ACCOUNTS {
        let put = |t: &mut Transaction| t.put(&account(n), &BALANCE.to_le_bytes()).map(Some);
        transactions.run(put).unwrap();
    }
}

/// A client that does random things.
pub(super) struct Actor<'a, 'm, 'c> {
    transactions: &'a Transactions<'m, 'c>,
    side: u8,
    /// The number of its last transaction that it was told to be committed.
    told: &'a AtomicU64,
}

impl<'a, 'm, 'c> Actor<'a, 'm, 'c> {
    /// What it was told before must be there.
    pub(super) fn new(
        transactions: &'a Transactions<'m, 'c>,
        side: u8,
        told: &'a AtomicU64,
    ) -> Actor<'a, 'm, 'c> {
        let actor = Actor { transactions, side, told };
        actor.told.store(actor.check_own().unwrap(), Ordering::Release);
        actor
    }

    /// One operation, perhaps several transactions of it. `between` comes between its changes of rows.
    pub(super) fn act(&self, random: &mut Random, between: &mut dyn FnMut()) {
        match random.below(10) {
            0..4 => self.transfer(random, between),
            4..6 => self.change_own(random, between),
            6..8 => self.change_family(random, between),
            8 => self.look(),
            _ => {
                let key = [b's', random.below(4) as u8];
                let is_put = random.below(2) == 0;
                let change = |t: &mut Transaction| {
                    if is_put {
                        t.put(&key, b"single")?
                    } else {
                        t.remove(&key)?
                    }
                    Ok(Some(()))
                };
                self.transactions.run(change).unwrap();
            }
        }
    }

    fn commit(&self, transaction: Transaction, between: &mut dyn FnMut()) -> bool {
        if transaction.rows.len() < 2 || transaction.is_read_only() {
            return transaction.commit().unwrap();
        }
        let mut commit = Commit::new(self.transactions, transaction.rows);
        loop {
            if let Some(done) = commit.step().unwrap() {
                return done;
            }
            between();
        }
    }

    /// Moves money from one account to others.
    fn transfer(&self, random: &mut Random, between: &mut dyn FnMut()) {
        let [from, to] = [0; 2].map(|_| random.below(ACCOUNTS.into()) as u8);
        let count = 1 + random.below(2) as u8;
        loop {
            let mut transaction = self.transactions.begin();
            let balance = number(transaction.get(&account(from)).unwrap());
            let amount = random.below(balance / u64::from(count) / 2 + 1);
            let less = (balance - amount * u64::from(count)).to_le_bytes();
            transaction.put(&account(from), &less).unwrap();
            for n in 0..count {
                let to = account((to + n) % ACCOUNTS);
                let more = number(transaction.get(&to).unwrap()) + amount;
                transaction.put(&to, &more.to_le_bytes()).unwrap();
            }
            if self.commit(transaction, between) {
                return;
            }
        }
    }

    fn change_own(&self, random: &mut Random, between: &mut dyn FnMut()) {
        let next = own(self.told) + 1;
        let mut value = next.to_le_bytes().to_vec();
        value.resize(8 + random.below(100) as usize, 7);
        loop {
            let mut transaction = self.transactions.begin();
            for n in 0..3 {
                transaction.put(&own_row(self.side, n), &value).unwrap();
            }
            if self.commit(transaction, between) {
                break;
            }
        }
        self.told.store(next, Ordering::Release);
        assert_eq!(self.check_own(), Ok(next));
    }

    /// Makes the family, or removes it.
    fn change_family(&self, random: &mut Random, between: &mut dyn FnMut()) {
        let name = random.below(1000).to_le_bytes();
        loop {
            let mut transaction = self.transactions.begin();
            let is_there = transaction.get(&member(0)).unwrap().is_some();
            for n in 0..FAMILY {
                let key = member(n);
                match is_there {
                    true => transaction.remove(&key).unwrap(),
                    false => transaction.put(&key, &name).unwrap(),
                }
            }
            if self.commit(transaction, between) {
                return;
            }
        }
    }

    /// What is read together was there together.
    fn look(&self) {
        let checked = |t: &mut Transaction| {
            let found = [sum(t)?, family(t)?];
            Ok(Some(found))
        };
        let [sum, family] = self.transactions.run(checked).unwrap().unwrap();
        assert_eq!((sum, family), (total(), 0));
    }

    /// The number of its last transaction. An error if it is wrong.
    fn check_own(&self) -> Result<u64, String> {
        let (told, mut value) = (own(self.told), vec![]);
        let mut numbers = [0; 3];
        for (n, number_of) in numbers.iter_mut().enumerate() {
            value.clear();
            let is_there = self.transactions.get(&own_row(self.side, n as u8), &mut value).unwrap();
            *number_of = number(is_there.then_some(&value[..]));
        }
        let is_known = [told, told + 1].contains(&numbers[0]);
        if is_known && numbers.iter().all(|number| *number == numbers[0]) {
            Ok(numbers[0])
        } else {
            Err(format!("the rows of {} have {numbers:?}, and it was told {told}", self.side))
        }
    }
}

fn total() -> u64 {
    u64::from(ACCOUNTS) * BALANCE
}

fn sum(transaction: &mut Transaction) -> Result<u64, crate::PoolError> {
    (0..ACCOUNTS).try_fold(0, |sum, n| Ok(sum + number(transaction.get(&account(n))?)))
}

/// How many members are unlike the first one.
fn family(transaction: &mut Transaction) -> Result<u64, crate::PoolError> {
    let first = transaction.get(&member(0))?.map(<[u8]>::to_vec);
    (1..FAMILY).try_fold(0, |count, n| {
        Ok(count + u64::from(transaction.get(&member(n))? != first.as_deref()))
    })
}

/// Nobody is at work.
pub(super) fn check_rows(transactions: &Transactions, sides: &[&AtomicU64]) -> Result<(), String> {
    let found = |t: &mut Transaction| Ok(Some((sum(t)?, family(t)?)));
    let found = transactions.run(found).unwrap().unwrap();
    if found != (total(), 0) {
        return Err(format!("{found:?} in place of {}", total()));
    }
    for (side, told) in sides.iter().enumerate() {
        Actor { transactions, side: side as u8, told }.check_own()?;
    }
    let mut keys = vec![];
    transactions.scan(|key, _| keys.push(key.to_vec())).unwrap();
    for key in keys {
        transactions.settle(&key).unwrap();
        let found = transactions.look(&key).unwrap();
        if found.plain.is_none() {
            return Err(format!("{key:?} was settled, and has {found:?}"));
        }
    }
    Ok(())
}

/// A client and a survivor are at work in turn, also between two changes of the client. The client dies, perhaps; the
/// survivor goes on, before and after recovery.
fn story(
    (seed, steps): (u64, usize),
    client: Option<Crash>,
    recoverer: Option<Crash>,
    flaw: Option<Flaw>,
) -> Told {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let census = Census::default();
    let [mut own, mut other, mut turns] = [seed, !seed, seed << 32].map(Random);
    let told = [0; 2].map(|_| AtomicU64::new(0));
    let survivor = refs.client(pool.join_as(census.start(SURVIVOR, 2)).unwrap()).unwrap();
    let map = Map::create(&survivor, NAME, &OPTIONS).unwrap();
    let transactions = Transactions::new(&map).unwrap().with_flaw(flaw);
    fill(&transactions);
    let surviving = Actor::new(&transactions, 1, &told[1]);
    let me = census.start(CLIENT, 1);
    let (_, first) = run(client, || {
        let own_client = ManuallyDrop::new(refs.client(pool.join_as(me).unwrap()).unwrap());
        {
            let map = Map::create(&own_client, NAME, &OPTIONS).unwrap();
            let transactions = Transactions::new(&map).unwrap().with_flaw(flaw);
            let actor = Actor::new(&transactions, 0, &told[0]);
            for _ in 0..steps {
                actor.act(&mut own, &mut || {
                    if turns.below(6) == 0 {
                        aside(|| surviving.act(&mut other, &mut || {}));
                    }
                });
            }
        }
        drop(ManuallyDrop::into_inner(own_client));
    });
    census.end(me);
    for _ in 0..4 {
        surviving.act(&mut other, &mut || {});
    }
    let me = census.start(RECOVERER, 3);
    let (_, second) = run(recoverer, || recover(&refs, &census, me, None));
    census.end(me);
    recover(&refs, &census, census.start(LAST, 4), None);
    for _ in 0..2 {
        surviving.act(&mut other, &mut || {});
    }
    let end = check_rows(&transactions, &[&told[0], &told[1]])
        .and_then(|()| check(&refs, &map))
        .and_then(|()| {
            drop(map);
            clear(&refs, &pool, &survivor, 1)
        });
    (end, [first, second])
}

#[test]
fn a_client_that_dies_at_any_point_has_changed_all_rows_or_none() {
    let mut stories = Stories::default();
    let plot = (0, 5);
    stories.tell(plot, 0, None, |client, recoverer| story(plot, client, recoverer, None));
    // Others with the crashes that matter most here: what a map does is tested there.
    for seed in 1..5 {
        let plot = (seed, 10);
        let wanted: [&dyn Fn(&'static str) -> bool; 2] =
            [&|point| point.starts_with("transaction."), &|point| point == "recover.redone"];
        stories.tell_wanted(plot, wanted, |client, recoverer| story(plot, client, recoverer, None));
    }
    assert!(stories.wrong.is_empty(), "{:#?}", stories.wrong);
    println!("{} pairs of crashes", stories.count);
    let points = POINTS.iter().filter(|point| point.starts_with("transaction."));
    let missed: Vec<_> = points.filter(|point| !stories.covered[0].contains(*point)).collect();
    assert!(missed.is_empty(), "points that no crash came to: {missed:?}");
}

/// Whether a story fails when the mistake is made.
fn is_found(flaw: Flaw) -> bool {
    one_fails(|stories, seed| {
        let plot = (seed, 8);
        let of_rows: [&dyn Fn(&'static str) -> bool; 2] =
            [&|point| point.starts_with("transaction."), &|_| false];
        stories.tell_wanted(plot, of_rows, |client, recoverer| {
            story(plot, client, recoverer, Some(flaw))
        });
    })
}

#[test]
fn a_row_that_is_changed_before_the_decision_is_found() {
    assert!(is_found(Flaw::EarlyApply));
}

#[test]
fn a_primary_row_that_is_changed_before_the_others_is_found() {
    assert!(is_found(Flaw::EarlyEnd));
}

#[test]
fn a_row_that_is_rolled_back_without_a_look_at_the_primary_row_is_found() {
    assert!(is_found(Flaw::BlindRollBack));
}
