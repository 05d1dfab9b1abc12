//! Leases step by step.

use super::lease::{Lease, State};
use super::*;
use crate::flaw::Flaw;
use std::time::Duration;

/// Processes that the test lists as alive.
struct Alive<'a>(&'a [Process]);

impl Processes for Alive<'_> {
    fn own(&self) -> Result<Process, PoolError> {
        Ok(self.0[0])
    }

    fn is_alive(&self, process: Process) -> Result<bool, PoolError> {
        Ok(self.0.contains(&process))
    }

    fn fence(&self, _process: Process, _patience: Duration) -> Result<(), PoolError> {
        unreachable!("these tests do not fence")
    }
}

fn slots(clients: usize) -> Vec<Slot> {
    (0..=clients).map(|_| Slot::default()).collect()
}

fn process(pid: u32) -> Process {
    Process { pid, birth: pid * 10 }
}

#[test]
fn identities_are_leased_once_and_again_after_they_are_left() {
    let slots = slots(2);
    let table = ClientTable::new(&slots);
    let [first, second] = [1, 2].map(|pid| table.claim(process(pid)).unwrap());
    assert_eq!((first.id, second.id), (1, 2));
    assert_eq!(table.claim(process(3)), None);
    assert!(table.leave(first));
    assert!(!table.leave(first), "left twice");
    let third = table.claim(process(3)).unwrap();
    assert_eq!(third.id, 1);
    assert!(third.lease.era() > first.lease.era());
    assert_eq!(table.process_of(1).unwrap(), Some(process(3)));
}

#[test]
fn the_living_are_not_taken_over() {
    let slots = slots(2);
    let table = ClientTable::new(&slots);
    let [first, second] = [1, 2].map(|pid| table.claim(process(pid)).unwrap());
    let all = [process(1), process(2)];
    assert_eq!(table.take_over(first.id, second.id, &Alive(&all), || Ok(())).unwrap(), None);
    // The same number, and another process.
    let again = [Process { birth: 99, ..process(1) }, process(2)];
    let taken = table.take_over(first.id, second.id, &Alive(&again), || Ok(())).unwrap().unwrap();
    assert_eq!(taken.lease.state(), State::Recovering);
    assert!(!table.leave(second), "a recovery is unfinished");
    assert!(table.free(taken));
    assert!(!table.free(taken), "freed twice");
    assert!(table.leave(second));
}

#[test]
fn the_last_era_is_not_leased() {
    let slots = slots(1);
    slots[1].lease.store(Lease::new(ERA_MAX, State::Free, 0).bits(), Ordering::Relaxed);
    assert_eq!(ClientTable::new(&slots).claim(process(1)), None);
}

#[test]
fn damaged_leases_are_errors() {
    let slots = slots(2);
    let table = ClientTable::new(&slots);
    let me = table.claim(process(1)).unwrap();
    let found = |lease: Lease| {
        slots[2].lease.store(lease.bits(), Ordering::Relaxed);
        table.take_over(2, me.id, &Alive(&[process(1)]), || Ok(()))
    };
    // A signature of another era; recoverers that cannot be; one that is gone.
    for lease in [
        Lease::new(5, State::Held, 77),
        Lease::new(5, State::Recovering, 0),
        Lease::new(5, State::Recovering, 3),
        Lease::new(5, State::Recovering, 70_000),
    ] {
        let damaged = found(lease);
        assert!(matches!(damaged, Err(PoolError::Damaged { client: 2, .. })), "{lease:?}");
    }
}

/// A recoverer looks at the lease of another one that is dead, and sleeps. Meanwhile that one is recovered, its
/// identity is leased anew, and the new holder becomes the recoverer of the same client. The sleeper must not take
/// from it. Returns whether it did.
fn takes_from_the_living(flaw: Option<Flaw>) -> bool {
    let slots = slots(4);
    let mut table = ClientTable::new(&slots);
    table.flaw = flaw;
    let claim = |pid| table.claim(process(pid)).unwrap();
    let [dead, old, sleeper, other] = [1, 2, 3, 4].map(claim);
    table.take_over(dead.id, old.id, &Alive(&[process(3)]), || Ok(())).unwrap().unwrap();
    // `take_over` of the sleeper, up to its exchange.
    let seen = slots[usize::from(dead.id)].look();
    assert!(table.is_recoverer_dead(dead.id, seen, &Alive(&[process(3), process(4)])).unwrap());

    let alive = Alive(&[process(3), process(4)]);
    let taken = table.take_over(old.id, other.id, &alive, || Ok(())).unwrap().unwrap();
    assert_eq!(table.sweep(old.id, other.id).len(), 1);
    assert!(table.free(taken));
    let new = table.claim(process(5)).unwrap();
    assert_eq!(new.id, old.id);
    // `other` dies too, and the new holder takes what it had.
    let alive = Alive(&[process(3), process(5)]);
    table.take_over(dead.id, new.id, &alive, || Ok(())).unwrap().unwrap();

    table.take(dead.id, seen, sleeper.id).is_some()
}

#[test]
fn a_recoverer_that_slept_takes_nothing_from_the_living() {
    assert!(!takes_from_the_living(None));
}

#[test]
fn take_overs_in_the_same_era_are_found() {
    assert!(takes_from_the_living(Some(Flaw::SameEra)));
}

/// A claimer whose claim was revoked wakes when another process holds the identity. Returns whether its signature then
/// is in the place of the holder's.
fn signs_for_another(flaw: Option<Flaw>) -> bool {
    let slots = slots(1);
    let mut table = ClientTable::new(&slots);
    table.flaw = flaw;
    let claiming = Lease::new(1, State::Claiming, 1);
    assert!(slots[1].turn(Lease::from_bits(0), claiming));
    assert_eq!(table.take_over(1, 1, &Alive(&[process(1)]), || Ok(())).unwrap(), None);
    let held = table.claim(process(2)).unwrap();
    let has_signed = table.sign(&slots[1], claiming, process(1).birth);
    assert_eq!(table.process_of(held.id).is_err(), has_signed);
    has_signed
}

#[test]
fn a_claimer_that_slept_does_not_sign_for_another() {
    assert!(!signs_for_another(None));
}

#[test]
fn a_blind_signature_is_found() {
    assert!(signs_for_another(Some(Flaw::BlindSignature)));
}
