//! SmallBank: each customer has a checking and a savings account.

use super::store::{Key, Rows, Store};
use super::{Job, sums};
use crate::common::board::Board;
use crate::common::zipf::Random;

const CUSTOMERS: u64 = 100_000;
const CHECKING: u8 = 20;
const SAVINGS: u8 = 21;
const BALANCE: i64 = 10_000;

/// A client at work. Nine of ten customers are among the first 4 %.
pub struct Work<'a> {
    board: &'a Board<'a>,
    customers: u64,
    random: Random,
    /// Only what leaves the sum as it is: for clients that are killed, and cannot tell what they did last.
    is_closed: bool,
    declined: u64,
}

pub fn customers(share: f64) -> u64 {
    ((CUSTOMERS as f64 * share) as u64).max(1_000)
}

fn checking(customer: u64) -> Key {
    Key::new(CHECKING, customer, 0)
}

fn savings(customer: u64) -> Key {
    Key::new(SAVINGS, customer, 0)
}

fn balance(rows: &mut dyn Rows, key: Key) -> i64 {
    let value = rows.get(key).expect("an account");
    i64::from_le_bytes(value.try_into().expect("a balance"))
}

fn put(rows: &mut dyn Rows, key: Key, balance: i64) {
    rows.put(key, &balance.to_le_bytes());
}

pub fn fill(store: &impl Store, share: f64) {
    for customer in 0..customers(share) {
        store.put(checking(customer), &BALANCE.to_le_bytes());
        store.put(savings(customer), &BALANCE.to_le_bytes());
    }
}

impl<'a> Work<'a> {
    pub fn new(board: &'a Board<'a>, share: f64, seed: u64, is_closed: bool) -> Work<'a> {
        let (customers, random) = (customers(share), Random::new(seed));
        Work { board, customers, random, is_closed, declined: 0 }
    }

    fn customer(&mut self) -> u64 {
        let among = if self.random.below(10) < 9 { self.customers / 25 } else { self.customers };
        self.random.below(among)
    }

    /// Two different ones.
    fn pair(&mut self) -> (u64, u64) {
        let one = self.customer();
        loop {
            let other = self.customer();
            if other != one {
                return (one, other);
            }
        }
    }

    /// Moves all that a customer has to another one.
    fn amalgamate(&mut self, store: &impl Store) -> bool {
        let (one, other) = self.pair();
        let keys = [savings(one), checking(one), checking(other)];
        let body = |rows: &mut dyn Rows| {
            let sum = balance(rows, keys[0]) + balance(rows, keys[1]);
            let to = balance(rows, keys[2]);
            put(rows, keys[0], 0);
            put(rows, keys[1], 0);
            put(rows, keys[2], to + sum);
            Some(())
        };
        store.run(&keys, body).is_some()
    }

    fn balance(&mut self, store: &impl Store) -> bool {
        let customer = self.customer();
        let keys = [savings(customer), checking(customer)];
        let sum = |rows: &mut dyn Rows| Some(balance(rows, keys[0]) + balance(rows, keys[1]));
        std::hint::black_box(store.run(&keys, sum)).is_some()
    }

    /// Changes one account, which must not fall below zero.
    fn change(&mut self, store: &impl Store, key: Key, amount: i64) -> bool {
        let body = |rows: &mut dyn Rows| {
            let after = balance(rows, key) + amount;
            if after < 0 {
                return None;
            }
            put(rows, key, after);
            Some(())
        };
        let is_done = store.run(&[key], body).is_some();
        if is_done {
            self.board.add(sums::NET, amount as u64);
        }
        is_done
    }

    fn send_payment(&mut self, store: &impl Store) -> bool {
        let (from, to) = self.pair();
        let (keys, amount) = ([checking(from), checking(to)], 500);
        let body = |rows: &mut dyn Rows| {
            let (from, to) = (balance(rows, keys[0]), balance(rows, keys[1]));
            if from < amount {
                return None;
            }
            put(rows, keys[0], from - amount);
            put(rows, keys[1], to + amount);
            Some(())
        };
        store.run(&keys, body).is_some()
    }

    /// A check that is not covered by both accounts costs one more.
    fn write_check(&mut self, store: &impl Store) -> bool {
        let (customer, amount) = (self.customer(), 500);
        let keys = [savings(customer), checking(customer)];
        let body = |rows: &mut dyn Rows| {
            let (saved, before) = (balance(rows, keys[0]), balance(rows, keys[1]));
            let cost = if saved + before < amount { amount + 1 } else { amount };
            put(rows, keys[1], before - cost);
            Some(cost)
        };
        let cost = store.run(&keys, body).expect("it does not decline");
        self.board.add(sums::NET, cost.wrapping_neg() as u64);
        true
    }
}

impl Job for Work<'_> {
    fn act(&mut self, store: &impl Store) {
        let kinds = if self.is_closed { 55 } else { 100 };
        let is_done = match self.random.below(kinds) {
            0..15 => self.amalgamate(store),
            15..30 => self.balance(store),
            30..55 => self.send_payment(store),
            55..70 => {
                let customer = self.customer();
                self.change(store, checking(customer), 130)
            }
            70..85 => {
                let customer = self.customer();
                let amount = 2_000 * (self.random.below(2) as i64) - 1_000;
                self.change(store, savings(customer), amount)
            }
            _ => self.write_check(store),
        };
        self.declined += u64::from(!is_done);
    }

    fn declined(&self) -> u64 {
        self.declined
    }
}

/// Nobody is at work: the money is what there was, and what was paid in and out.
pub fn check(store: &impl Store, board: &Board, share: f64) -> Result<(), String> {
    let (mut sum, mut accounts) = (0, 0);
    store.scan(|_, value| {
        sum += i64::from_le_bytes(value.try_into().expect("a balance"));
        accounts += 1;
    });
    let all = 2 * customers(share);
    let expected = all as i64 * BALANCE + board.value(sums::NET) as i64;
    if (accounts, sum) == (all, expected) {
        Ok(())
    } else {
        Err(format!("{accounts} accounts of {all} have {sum}, and should have {expected}"))
    }
}
