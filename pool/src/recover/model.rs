//! A pool without memory and processes of the system: clients that count, recoverers, and whether the counts are
//! right. The protocols are the real ones, the look-ups included; only what the kernel knows of processes is modelled.

use super::{Recovered, Recovery, Redo};
use crate::PoolError;
use crate::crash::{Crash, run};
use crate::detect::{Change, Detector, Intent, Word};
use crate::flaw::Flaw;
use crate::identity::process::{Process, Processes};
use crate::identity::{ClientTable, Slot};
use crate::sync::{AtomicU64, Ordering};
use std::time::Duration;

/// One word that clients increment, and how often each identity did.
pub(crate) struct World {
    slots: Vec<Slot>,
    intents: Vec<Intent>,
    notes: Vec<AtomicU64>,
    pub word: Word,
    ledger: Vec<AtomicU64>,
    /// Recoverers that are redoing now, by identity.
    redoing: Vec<AtomicU64>,
    /// By number: the birth of the process that has it. 0: there is none.
    births: Vec<AtomicU64>,
    flaw: Option<Flaw>,
}

/// A process of the model.
pub(crate) struct View<'a> {
    world: &'a World,
    own: Process,
}

impl World {
    pub(crate) fn new(clients: usize, flaw: Option<Flaw>) -> World {
        fn some<T: Default>(count: usize) -> Vec<T> {
            (0..count).map(|_| T::default()).collect()
        }
        let rows = clients + 1;
        World {
            slots: some(rows),
            intents: some(rows),
            notes: some(rows * rows),
            word: Word::default(),
            ledger: some(rows),
            redoing: some(rows),
            births: some(8),
            flaw,
        }
    }

    pub(crate) fn table(&self) -> ClientTable<'_> {
        let mut table = ClientTable::new(&self.slots);
        table.flaw = self.flaw;
        table
    }

    pub(crate) fn detector(&self) -> Detector<'_> {
        Detector::new(&self.intents, &self.notes).with_flaw(self.flaw)
    }

    /// A process starts.
    pub(crate) fn start(&self, pid: u32, birth: u32) -> View<'_> {
        self.births[pid as usize].store(birth.into(), Ordering::Release);
        View { world: self, own: Process { pid, birth } }
    }

    /// What a client does: an identity, increments, and the identity back.
    pub(crate) fn count(&self, process: &View, increments: usize) {
        let Some(held) = self.table().claim(process.own) else { return };
        for _ in 0..increments {
            self.increment(held.id);
        }
        assert!(self.table().leave(held));
    }

    pub(crate) fn increment(&self, id: u16) {
        let entry = &self.ledger[usize::from(id)];
        let after = entry.load(Ordering::Relaxed) + 1;
        let change = Change { target: 0, operation: [after, 0, 0, 0, 0] };
        let detector = self.detector();
        let mut seen = self.word.load();
        loop {
            match detector.exchange(id, &self.word, seen, seen.value + 1, &change).unwrap() {
                Ok(era) => {
                    entry.store(after, Ordering::Relaxed);
                    detector.acknowledge(id, era);
                    return;
                }
                Err(other) => seen = other,
            }
        }
    }

    /// What a recoverer does, under an identity of its own.
    pub(crate) fn recover(&self, process: &View) -> Recovered {
        let Some(held) = self.table().claim(process.own) else { return Recovered::default() };
        let recovery =
            Recovery { table: self.table(), detector: self.detector(), processes: process };
        let done = recovery.run(held.id, self).unwrap();
        self.table().leave(held);
        done
    }

    /// All are dead or gone, and recovered: the counts agree, and all identities are free.
    pub(crate) fn check(&self, identities: usize) -> Result<(), String> {
        let counted: u64 = self.ledger.iter().map(|entry| entry.load(Ordering::Acquire)).sum();
        let value = self.word.load().value;
        if counted != value {
            return Err(format!("{value} increments, and {counted} are known"));
        }
        let me = Process { pid: 7, birth: 7 };
        let free = std::iter::from_fn(|| self.table().claim(me)).count();
        if free != identities {
            return Err(format!("{free} of {identities} identities are free"));
        }
        Ok(())
    }
}

impl View<'_> {
    /// Runs its steps, perhaps until a crash, and ends. Returns the points that were passed.
    pub(crate) fn live(
        self,
        crash: Option<Crash>,
        steps: impl FnOnce(&World, &View),
    ) -> Vec<Crash> {
        let (_, passed) = run(crash, || steps(self.world, &self));
        self.world.births[self.own.pid as usize].store(0, Ordering::Release);
        passed
    }
}

impl Processes for View<'_> {
    fn own(&self) -> Result<Process, PoolError> {
        Ok(self.own)
    }

    fn is_alive(&self, process: Process) -> Result<bool, PoolError> {
        let birth = self.world.births[process.pid as usize].load(Ordering::Acquire);
        Ok(birth == u64::from(process.birth))
    }

    fn fence(&self, _process: Process, _patience: Duration) -> Result<(), PoolError> {
        unreachable!("only a process that has ended is dead here")
    }
}

impl Redo for World {
    fn word(&self, target: u64) -> Result<&Word, PoolError> {
        if target == 0 {
            Ok(&self.word)
        } else {
            Err(PoolError::Range { offset: target, bytes: 16 })
        }
    }

    fn redo(&self, client: u16, change: &Change, has_happened: bool) -> Result<(), PoolError> {
        let redoing = &self.redoing[usize::from(client)];
        assert_eq!(redoing.fetch_add(1, Ordering::AcqRel), 0, "two recoverers of one client");
        if has_happened {
            self.ledger[usize::from(client)].store(change.operation[0], Ordering::Release);
        }
        redoing.fetch_sub(1, Ordering::AcqRel);
        Ok(())
    }
}

#[cfg(loom)]
mod explored {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;
    use std::panic::catch_unwind;

    /// Every order with at most two preemptions.
    fn explore(body: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(body);
    }

    type Steps = fn(&World, &View);

    /// A client that increments once dies at the point. Then the steps run in processes of their own at the same
    /// time, the second until a crash of its own, and at the end somebody recovers what is left.
    fn after_death(
        first: &'static str,
        steps: [Steps; 2],
        crash: Option<Crash>,
        flaw: Option<Flaw>,
    ) {
        explore(move || {
            let world = Arc::new(World::new(3, flaw));
            let death = Crash { point: first, hit: 1 };
            world.start(1, 1).live(Some(death), |world, me| world.count(me, 1));
            let other = world.clone();
            let thread = thread::spawn(move || {
                other.start(2, 2).live(None, steps[0]);
            });
            world.start(3, 3).live(crash, steps[1]);
            thread.join().unwrap();
            world.start(1, 4).live(None, |world, me| _ = world.recover(me));
            world.check(3).unwrap();
        });
    }

    const COUNT: Steps = |world, me| world.count(me, 1);
    const RECOVER: Steps = |world, me| _ = world.recover(me);

    const AT_DETECT: [&str; 5] = [
        "detect.recorded",
        "detect.announced",
        "detect.vouched",
        "detect.exchanged",
        "detect.acknowledged",
    ];

    #[test]
    fn model_survivors_change_the_word_while_the_dead_is_recovered() {
        for point in AT_DETECT {
            after_death(point, [COUNT, RECOVER], None, None);
        }
    }

    #[test]
    fn model_one_of_two_recoverers_recovers() {
        for point in ["detect.exchanged", "identity.claimed", "identity.held"] {
            after_death(point, [RECOVER, RECOVER], None, None);
        }
    }

    #[test]
    fn model_a_recoverer_dies_while_another_looks() {
        let points = ["recover.taken", "recover.swept", "recover.redone", "recover.acknowledged"];
        for point in points.into_iter().chain(["recover.reclaimed", "recover.freed"]) {
            let crash = Crash { point, hit: 1 };
            after_death("detect.exchanged", [RECOVER, RECOVER], Some(crash), None);
        }
    }

    /// A recoverer that knows no word.
    struct Stranger;

    impl Redo for Stranger {
        fn word(&self, target: u64) -> Result<&Word, PoolError> {
            Err(PoolError::Range { offset: target, bytes: 16 })
        }

        fn knows(&self, _: Option<u64>) -> bool {
            false
        }

        fn redo(&self, client: u16, _: &Change, _: bool) -> Result<(), PoolError> {
            Err(PoolError::Unfinished { client })
        }
    }

    /// What such a recoverer does.
    fn recover_others(world: &World, process: &View) {
        let held = world.table().claim(process.own).expect("an identity is free");
        let recovery =
            Recovery { table: world.table(), detector: world.detector(), processes: process };
        // An error, unless the other one was faster.
        let _ = recovery.run(held.id, &Stranger);
        assert!(world.table().leave(held), "it has taken what it cannot finish");
    }

    /// One that knows the change recovers it, or dies meanwhile, beside one that does not know it.
    #[test]
    fn model_a_change_is_left_to_those_that_know_it() {
        for point in ["recover.taken", "recover.redone"] {
            let crash = Crash { point, hit: 1 };
            after_death("detect.exchanged", [recover_others, RECOVER], Some(crash), None);
        }
        after_death("detect.exchanged", [recover_others, RECOVER], None, None);
    }

    #[test]
    fn model_a_note_that_comes_late_is_found() {
        let late =
            || after_death("detect.exchanged", [COUNT, RECOVER], None, Some(Flaw::LateVouching));
        assert!(catch_unwind(late).is_err());
    }

    #[test]
    fn model_notes_that_are_read_first_are_found() {
        let first =
            || after_death("detect.exchanged", [COUNT, RECOVER], None, Some(Flaw::NotesFirst));
        assert!(catch_unwind(first).is_err());
    }

    /// Claims of one identity, while its claims are revoked.
    fn claims() {
        explore(move || {
            let world = Arc::new(World::new(1, None));
            let claim = |pid, birth| {
                let world = world.clone();
                thread::spawn(move || {
                    let process = world.start(pid, birth);
                    world.table().claim(process.own)
                })
            };
            let claims = [claim(2, 20), claim(3, 30)];
            let reviser = world.start(4, 40);
            world.table().take_over(1, 1, &reviser, || Ok(())).unwrap();
            let held: Vec<_> = claims.into_iter().map(|claim| claim.join().unwrap()).collect();
            let expected = [Process { pid: 2, birth: 20 }, Process { pid: 3, birth: 30 }];
            let holders: Vec<_> = (0..2).filter(|n| held[*n].is_some()).collect();
            assert!(holders.len() <= 1, "two hold one identity");
            let process = world.table().process_of(1).unwrap();
            assert_eq!(process, holders.first().map(|n| expected[*n]));
        });
    }

    #[test]
    fn model_an_identity_has_one_holder_and_its_signature() {
        claims();
    }
}
