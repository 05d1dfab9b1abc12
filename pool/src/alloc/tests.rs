//! Every crash point of a client, with every crash point of its recoverer, beside a survivor.

use super::caches::Coherence;
use super::model::{Actor, CELLS, HUGE_CLASS, World};
use crate::crash::{Crash, POINTS, aside, is_of_heap};
use crate::flaw::Flaw;
use crate::pool::torture::Random;
use std::collections::BTreeSet;

const CLIENT: u32 = 1;
const SURVIVOR: u32 = 2;
const RECOVERER: u32 = 3;
const LAST: u32 = 4;
const SLABS: usize = 7;
const WORDS: usize = 4;

/// One operation: on a cell of the actor's own, on a shared word, or all slabs given back.
fn act(world: &World, actor: &Actor, random: &mut Random) {
    let kind = random.below(20);
    let class = [0, 0, 0, 1, 1, 1, HUGE_CLASS, HUGE_CLASS + 2][random.below(8) as usize];
    match kind {
        0 => actor.release_all(),
        1..8 => actor.turn_word(world, random.below(WORDS as u64) as usize, class),
        _ => _ = actor.turn_cell(world, random.below(CELLS as u64) as usize, class),
    }
}

/// What the stories of one seed have in common.
#[derive(Clone, Copy, Debug)]
struct Plot {
    seed: u64,
    /// Operations of the client.
    steps: usize,
    coherence: Coherence,
    flaw: Option<Flaw>,
}

/// A client and a survivor allocate and free in turn. The client dies, perhaps; the survivor goes on; a recoverer
/// dies, perhaps; the last one recovers all. Returns the points that client and recoverer passed.
fn story(
    plot: Plot,
    client: Option<Crash>,
    recoverer: Option<Crash>,
) -> (Result<(), String>, [Vec<Crash>; 2]) {
    let Plot { seed, steps, coherence, flaw } = plot;
    let mut world = World::new(4, 2, SLABS, WORDS, flaw);
    world.limit = 1 + (seed % 3) as u32;
    world.coherence = coherence;
    world.watch();
    let arena = world.arena();
    let [mut own, mut other] = [Random(seed), Random(!seed)];
    let survivor = world.start(SURVIVOR, 2).join(&arena, 1);
    let first = world.start(CLIENT, 1).live(client, |me| {
        let actor = me.join(&arena, 0);
        for _ in 0..steps {
            act(&world, &actor, &mut own);
            aside(|| act(&world, &survivor, &mut other));
        }
        actor.leave(&world);
    });
    for _ in 0..3 {
        act(&world, &survivor, &mut other);
    }
    let second = world.start(RECOVERER, 3).live(recoverer, |me| _ = me.recover());
    for _ in 0..3 {
        act(&world, &survivor, &mut other);
    }
    world.start(LAST, 4).live(None, |me| _ = me.recover());
    let end = world.check().and_then(|_| {
        // Another client frees all that is left.
        survivor.leave(&world);
        let view = world.start(LAST, 5);
        for user in 0..2 {
            let last = view.join(&arena, user);
            (0..CELLS).filter(|n| last.has(*n)).for_each(|n| _ = last.turn_cell(&world, n, 0));
            (0..WORDS)
                .filter(|n| world.words[*n].value() != 0)
                .for_each(|n| last.turn_word(&world, n, 0));
            last.leave(&world);
        }
        view.end();
        let contents = world.check()?;
        if contents.free != contents.slabs {
            // Slabs that others emptied while they were in a list are found when memory is needed.
            let last = world.start(LAST, 6).join(&arena, 0);
            last.scavenge();
            last.leave(&world);
        }
        let contents = world.check()?;
        if contents.free != contents.slabs {
            return Err(format!("{} of {} slabs are free", contents.free, contents.slabs));
        }
        world.check_identities()
    });
    (end, [first, second])
}

/// Crashes of the two roles, and the points at which one came.
#[derive(Default)]
struct Stories {
    wrong: Vec<String>,
    covered: BTreeSet<&'static str>,
    count: usize,
}

impl Stories {
    /// All crashes of the client. With `all`, each with all crashes of its recoverer, and else with one of them.
    fn tell(&mut self, plot: Plot, all: bool) {
        let (end, [first, _]) = story(plot, None, None);
        self.wrong.extend(end.err().map(|e| format!("{plot:?}: {e}")));
        self.tell_of(plot, first, all);
    }

    fn tell_of(&mut self, plot: Plot, first: Vec<Crash>, all: bool) {
        let mut random = Random(plot.seed);
        for client in first.into_iter().map(Some) {
            let (end, [_, mut second]) = story(plot, client, None);
            self.wrong.extend(end.err().map(|e| format!("{plot:?}, {client:?}: {e}")));
            if !all {
                second = vec![second[random.below(second.len() as u64) as usize]];
            }
            for recoverer in second.into_iter().map(Some) {
                let (end, _) = story(plot, client, recoverer);
                let wrong = |e| format!("{plot:?}, {client:?} {recoverer:?}: {e}");
                self.wrong.extend(end.err().map(wrong));
                self.covered.extend(client.into_iter().chain(recoverer).map(|crash| crash.point));
                self.count += 1;
            }
            if !self.wrong.is_empty() {
                return;
            }
        }
    }
}

#[test]
fn every_crash_of_a_client_and_of_its_recoverer_is_recovered() {
    let plot = |seed| Plot { seed, steps: 50, coherence: Coherence::Full, flaw: None };
    let mut stories = Stories::default();
    stories.tell(Plot { steps: 16, ..plot(0) }, true);
    for seed in 1..12 {
        stories.tell(plot(seed), false);
        assert!(stories.wrong.is_empty(), "{:#?}", stories.wrong);
    }
    // Other seeds, for points that clients come to rarely.
    let mut missed: Vec<_> = POINTS
        .iter()
        .filter(|point| is_of_heap(point) && !stories.covered.contains(*point))
        .collect();
    for seed in 12..2000 {
        if missed.is_empty() {
            break;
        }
        let (_, [mut first, _]) = story(plot(seed), None, None);
        first.retain(|crash| missed.iter().any(|point| **point == crash.point));
        stories.tell_of(plot(seed), first, true);
        missed.retain(|point| !stories.covered.contains(*point));
    }
    assert!(stories.wrong.is_empty(), "{:#?}", stories.wrong);
    println!("{} pairs of crashes at {} points", stories.count, stories.covered.len());
    assert!(missed.is_empty(), "points that no crash came to: {missed:?}");
}

/// Whoever reads what another host had written sees it, and nothing is written over what came later.
#[test]
fn every_crash_is_recovered_where_caches_are_not_coherent() {
    let mut stories = Stories::default();
    for seed in 0..6 {
        let coherence = Coherence::Limited;
        stories.tell(Plot { seed, steps: 50, coherence, flaw: None }, false);
        assert!(stories.wrong.is_empty(), "{:#?}", stories.wrong);
    }
    println!("{} pairs of crashes at {} points", stories.count, stories.covered.len());
    let points = POINTS.iter().filter(|point| point.starts_with("caches."));
    let missed: Vec<_> = points.filter(|point| !stories.covered.contains(*point)).collect();
    assert!(missed.is_empty(), "points that no crash came to: {missed:?}");
}

/// Whether a story fails when the mistake is made, and how. Some mistakes end in a panic.
fn is_found(flaw: Flaw) -> bool {
    is_found_in(Coherence::Full, flaw)
}

fn is_found_in(coherence: Coherence, flaw: Flaw) -> bool {
    (0..20).any(|seed| {
        let told = std::panic::catch_unwind(|| {
            let mut stories = Stories::default();
            stories.tell(Plot { seed, steps: 40, coherence, flaw: Some(flaw) }, false);
            println!("{flaw:?}: {:?}", stories.wrong);
            !stories.wrong.is_empty()
        });
        told.unwrap_or(true)
    })
}

#[test]
fn a_block_that_is_taken_before_the_step_says_so_is_found() {
    assert!(is_found(Flaw::NoStep));
}

#[test]
fn an_allocation_that_is_not_taken_back_is_found() {
    assert!(is_found(Flaw::NoTakingBack));
}

#[test]
fn a_free_that_is_acknowledged_early_is_found() {
    assert!(is_found(Flaw::EarlyAcknowledgement));
}

#[test]
fn a_collection_before_its_change_is_found() {
    assert!(is_found(Flaw::EarlyCollection));
}

#[test]
fn a_run_that_no_step_holds_is_found() {
    assert!(is_found(Flaw::NoHold));
}

#[test]
fn a_run_that_is_freed_without_a_step_is_found() {
    assert!(is_found(Flaw::NoDrop));
}

#[test]
fn slabs_of_the_dead_that_stay_are_found() {
    assert!(is_found(Flaw::NoRelease));
}

#[test]
fn lines_that_stay_in_a_cache_and_old_copies_are_found() {
    use Flaw::*;
    for flaw in [KeptSlab, KeptLinks, KeptLink, OldSlab, OldLinks, KeptHolding, OldHolding] {
        assert!(is_found_in(Coherence::Limited, flaw), "{flaw:?} was not found");
    }
}
