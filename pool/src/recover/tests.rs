//! Every crash point of a client, with every crash point of its recoverer.

use super::model::{View, World};
use crate::crash::{Crash, POINTS, is_of_all};
use crate::flaw::Flaw;
use crate::identity::process::Process;
use std::collections::BTreeSet;

/// Every process of a run has a number of its own, from 1 on.
const CLIENT: u32 = 1;
const SURVIVOR: u32 = 2;
const RECOVERER: u32 = 3;
const LAST: u32 = 4;
const OTHER: u32 = 5;
const EARLY: u32 = 6;

/// A client dies, perhaps; a survivor changes the same word; a recoverer dies, perhaps; the last one recovers all.
/// Returns the points that client and recoverer passed.
fn story(
    client: Option<Crash>,
    recoverer: Option<Crash>,
    flaw: Option<Flaw>,
) -> (Result<(), String>, [Vec<Crash>; 2]) {
    let world = World::new(5, flaw);
    let count = |world: &World, me: &View| world.count(me, 2);
    let recover = |world: &World, me: &View| _ = world.recover(me);
    // The survivor has changed the word before, so that the client vouches.
    world.start(SURVIVOR, 1).live(None, count);
    let survivor = world.start(SURVIVOR, 2);
    // The recoverer gets a lower identity than those that it recovers.
    let _early = world.start(EARLY, 8);
    let lowest = world.table().claim(Process { pid: EARLY, birth: 8 }).unwrap();
    // Another client is dead too, so that the recoverer dies between two.
    let dead = Some(Crash { point: "detect.exchanged", hit: 2 });
    world.start(OTHER, 7).live(dead, count);
    let first = world.start(CLIENT, 3).live(client, count);
    survivor.live(None, count);
    assert!(world.table().leave(lowest));
    let second = world.start(RECOVERER, 4).live(recoverer, recover);
    // The number of the client's process is in use again.
    let _again = world.start(CLIENT, 5);
    world.start(LAST, 6).live(None, recover);
    (world.check(5), [first, second])
}

/// All crashes of the two roles, and the points at which one came.
fn all_stories(flaw: Option<Flaw>) -> (Vec<String>, BTreeSet<&'static str>, usize) {
    let (mut wrong, mut covered, mut stories) = (Vec::new(), BTreeSet::new(), 0);
    let (_, [first, _]) = story(None, None, flaw);
    for client in first.into_iter().map(Some).chain([None]) {
        let (end, [_, second]) = story(client, None, flaw);
        wrong.extend(end.err().map(|e| format!("{client:?}: {e}")));
        for recoverer in second.into_iter().map(Some) {
            let (end, _) = story(client, recoverer, flaw);
            wrong.extend(end.err().map(|e| format!("{client:?} {recoverer:?}: {e}")));
            covered.extend(client.into_iter().chain(recoverer).map(|crash| crash.point));
            stories += 1;
        }
    }
    (wrong, covered, stories)
}

#[test]
fn every_crash_of_a_client_and_of_its_recoverer_is_recovered() {
    let (wrong, covered, stories) = all_stories(None);
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(
        covered,
        POINTS.iter().copied().filter(|point| is_of_all(point)).collect::<BTreeSet<_>>(),
        "points that no crash came to"
    );
    println!("{stories} pairs of crashes at {} points", covered.len());
}

#[test]
fn a_change_without_a_note_is_found() {
    assert!(!all_stories(Some(Flaw::NoVouching)).0.is_empty());
}

#[test]
fn a_recoverer_that_is_not_swept_is_found() {
    // The lease of the dead then names a recoverer that is gone, which the others refuse as damage.
    let found = std::panic::catch_unwind(|| all_stories(Some(Flaw::NoSweep)).0);
    assert!(found.map_or(true, |wrong| !wrong.is_empty()));
}

/// Recoverers that die one after the other, each while it recovers the one before.
#[test]
fn a_chain_of_dead_recoverers_is_recovered() {
    for length in 1..=4 {
        let world = World::new(6, None);
        let at = |point| Some(Crash { point, hit: 1 });
        world.start(1, 1).live(at("detect.exchanged"), |world, me| world.count(me, 1));
        for n in 0..length {
            let recover = |world: &World, me: &View| _ = world.recover(me);
            world.start(2, 2 + n).live(at("recover.taken"), recover);
        }
        world.start(3, 99).live(None, |world, me| {
            let done = world.recover(me);
            assert_eq!((done.clients, done.changes), (1 + length as usize, 1));
        });
        world.check(6).unwrap();
    }
}
