//! Every crash point of a client, with every crash point of its recoverer, beside a survivor.

use super::audit::audit;
use super::client::{RefClient, Refs, RefsRedo};
use super::holder::Memory;
use super::memory::READS;
use super::reader::Reader;
use super::reference::Ref;
use super::{RefReceiver, RefSender};
use crate::PoolError;
use crate::alloc::{Heap, HeapRedo};
use crate::crash::{Crash, POINTS, aside, run};
use crate::flaw::Flaw;
use crate::identity::process::{Process, Processes};
use crate::pool::Pool;
use crate::pool::torture::{Nothing, Random};
use crate::recover::Recovery;
use crate::ring::Ring;
use crate::segment::Backing;
use crate::stories::{Stories, Told, one_fails};
use crate::sync::{AtomicU64, Ordering};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::time::Duration;

pub(crate) const BYTES: u64 = 128 << 20;
pub(crate) const RESERVED: u64 = 16 << 10;
pub(crate) const CLIENTS: usize = 5;
const WORDS: usize = 4;
/// Rings lie behind the layer.
const RINGS_AT: u64 = 8 << 10;
const SERIAL_AT: u64 = 12 << 10;

pub(crate) const CLIENT: u32 = 1;
pub(crate) const SURVIVOR: u32 = 2;
pub(crate) const RECOVERER: u32 = 3;
pub(crate) const LAST: u32 = 4;

/// Which processes live, by number: their birth.
#[derive(Default)]
pub(crate) struct Census([Cell<u32>; 8]);

impl Census {
    pub(crate) fn start(&self, pid: u32, birth: u32) -> Process {
        self.0[pid as usize].set(birth);
        Process { pid, birth }
    }

    pub(crate) fn end(&self, process: Process) {
        self.0[process.pid as usize].set(0);
    }
}

impl Processes for Census {
    fn own(&self) -> Result<Process, PoolError> {
        unreachable!("clients join by name")
    }

    fn is_alive(&self, process: Process) -> Result<bool, PoolError> {
        Ok(self.0[process.pid as usize].get() == process.birth)
    }

    fn fence(&self, _process: Process, _patience: Duration) -> Result<(), PoolError> {
        unreachable!("only a process that has ended is dead here")
    }
}

pub(crate) fn memory() -> Pool {
    Pool::create(&Backing::Memory { bytes: BYTES }, CLIENTS).unwrap()
}

pub(super) fn ring(pool: &Pool, n: u64) -> Ring<'_> {
    Ring::new(pool, pool.data() + RINGS_AT + n * 512, WORDS).unwrap()
}

/// Where the words of both rings are.
pub(super) fn ring_words(pool: &Pool) -> Vec<u64> {
    let words = |n: u64| (0..WORDS as u64).map(move |word| RINGS_AT + n * 512 + 256 + 8 * word);
    (0..2).flat_map(words).map(|at| pool.data() + at).collect()
}

/// A client that does random things.
pub(super) struct Actor<'c> {
    client: &'c RefClient<'c>,
    /// Which ring it sends to, and which persistent roots are its own.
    side: u64,
    /// Marks the objects that it made: it alone writes their references.
    maker: u64,
    /// Counts objects, of all clients.
    serial: &'c AtomicU64,
    held: Vec<Ref<'c>>,
    sender: Option<RefSender<'c>>,
    receiver: Option<RefReceiver<'c>>,
    reader: Option<Reader<'c>>,
    /// What it looks at: objects with their serial numbers.
    looked: Vec<(u64, u64)>,
}

impl<'c> Actor<'c> {
    /// Sides 0 and 1 send to each other.
    pub(super) fn new(pool: &'c Pool, client: &'c RefClient<'c>, side: u64) -> Actor<'c> {
        let (mut sender, mut receiver) = (None, None);
        if side < 2 {
            sender = client.sender(&ring(pool, side));
            receiver = client.receiver(&ring(pool, 1 - side));
        }
        let serial = &pool.atomics(pool.data() + SERIAL_AT, 1).unwrap()[0];
        let maker = serial.fetch_add(1, Ordering::AcqRel);
        let (held, looked) = (vec![], vec![]);
        Actor { client, side, maker, serial, held, sender, receiver, reader: None, looked }
    }

    fn any(&self, random: &mut Random) -> Option<&Ref<'c>> {
        let count = self.held.len() as u64;
        (count > 0).then(|| &self.held[random.below(count) as usize])
    }

    /// One operation. Objects refer to older ones only. It holds a few.
    pub(super) fn act(&mut self, random: &mut Random) {
        if self.held.len() > 60 {
            self.held.truncate(20);
        }
        let word = |object: &Ref, n: usize| object.data().unwrap()[n].load(Ordering::Relaxed);
        match random.below(16) {
            0..4 => {
                let sizes = [24, 24, 40, 700, 3000];
                let bytes = sizes[random.below(5) as usize];
                let object = self.client.alloc(bytes, random.below(4) as u32).unwrap();
                let serial = self.serial.fetch_add(1, Ordering::AcqRel);
                for (n, value) in [serial, self.maker].into_iter().enumerate() {
                    object.data().unwrap()[n].store(value, Ordering::Relaxed);
                }
                self.held.push(object);
            }
            4 | 5 if !self.held.is_empty() => {
                let n = random.below(self.held.len() as u64) as usize;
                self.held.swap_remove(n).release().unwrap();
            }
            6 => {
                let Some(object) = self.any(random) else { return };
                let more = if random.below(2) == 0 {
                    object.clone()
                } else {
                    self.client.share(object).unwrap()
                };
                self.held.push(more);
            }
            7..11 => {
                let (Some(from), Some(to)) = (self.any(random), self.any(random)) else { return };
                let embedded = from.embedded().unwrap();
                if embedded == 0 || word(from, 1) != self.maker {
                    return;
                }
                let is_older = word(to, 0) < word(from, 0);
                let to = (is_older && random.below(4) > 0).then_some(to);
                self.client.set(from, random.below(embedded) as u32, to).unwrap();
            }
            11 => {
                let to = self.any(random).filter(|_| random.below(3) > 0);
                self.client.set_persistent(2 * self.side + random.below(2), to).unwrap();
            }
            12 if !self.held.is_empty() => {
                let n = random.below(self.held.len() as u64) as usize;
                let Some(sender) = &mut self.sender else { return };
                let object = self.held.swap_remove(n);
                if let Err(object) = sender.send(object).unwrap() {
                    self.held.push(object);
                }
            }
            13 => {
                if let Some(receiver) = &mut self.receiver {
                    self.held.extend(receiver.receive().unwrap());
                }
            }
            14 => self.look(random),
            _ => {
                self.stop_looking();
                self.client.reclaim().unwrap();
            }
        }
    }

    /// Follows references from a persistent root, and counts the last object.
    fn look(&mut self, random: &mut Random) {
        let client = self.client;
        let reader = self.reader.get_or_insert_with(|| client.read().unwrap());
        let Some(mut peek) = reader.persistent(random.below(4)).unwrap() else { return };
        loop {
            let serial = peek.data().unwrap()[0].load(Ordering::Relaxed);
            self.looked.push((peek.object(), serial));
            let embedded = client.embedded(peek.object()).unwrap();
            let next = (0..embedded).find_map(|n| peek.follow(n as u32).unwrap());
            let Some(next) = next else { break };
            peek = next;
        }
        // Its reference is the client's.
        let (object, shared) = (peek.object(), client.attach(peek.object()).unwrap());
        assert!(shared.as_ref().is_none_or(|shared| shared.object() == object));
        self.held.extend(shared);
    }

    /// All that it looked at must be as it was.
    pub(super) fn stop_looking(&mut self) {
        for (object, serial) in std::mem::take(&mut self.looked) {
            let header = self.client.holder().memory.header(object).unwrap();
            let is_free = header.word.value() >> 48 == 0xf5f5;
            let data = self.client.data(object).unwrap();
            let found = data[0].load(Ordering::Relaxed);
            assert!(!is_free && found == serial, "{object:#x} was freed while it was looked at");
        }
        self.reader = None;
    }

    fn leave(mut self) {
        self.stop_looking();
    }
}

/// Recovers all that are dead, under an identity of its own.
pub(crate) fn recover(refs: &Refs, census: &Census, me: Process, flaw: Option<Flaw>) {
    let pool = refs.heap().pool();
    let held = pool.table().claim(me).expect("an identity is free");
    let user = RefsRedo { refs, user: &Nothing(pool) };
    let redo = HeapRedo { heap: refs.heap(), user: &user };
    let detector = pool.detector().with_flaw(flaw);
    let recovery = Recovery { table: pool.table(), detector, processes: census };
    recovery.run(held.id, &redo).unwrap();
    assert!(pool.table().leave(held));
}

/// Nobody is at work, and all are recovered: one client releases all that is left, and all blocks are free.
pub(super) fn clear(refs: &Refs, me: Process) -> Result<(), String> {
    let pool = refs.heap().pool();
    {
        let clients: Vec<_> = std::iter::from_fn(|| pool.join_as(me).ok()).collect();
        if clients.len() != CLIENTS {
            return Err(format!("{} of {CLIENTS} identities are free", clients.len()));
        }
        // Each has what the last holder of its identity could not free.
        for client in clients {
            drop(refs.client(client).map_err(|error| error.to_string())?);
        }
    }
    let last = refs.client(pool.join_as(me).unwrap()).unwrap();
    for n in 0..Refs::PERSISTENT {
        last.set_persistent(n, None).map_err(|error| error.to_string())?;
    }
    for n in 0..2 {
        let mut receiver = last.receiver(&ring(pool, n)).ok_or("an end is lost")?;
        while let Some(object) = receiver.receive().map_err(|error| error.to_string())? {
            drop(object);
        }
    }
    drop(last);
    let contents = audit(refs, &ring_words(pool))?;
    let is_empty = contents.objects.is_empty() && contents.kept.is_empty();
    if is_empty && contents.pages.is_empty() {
        Ok(())
    } else {
        Err(format!("{contents:?} is left"))
    }
}

/// A client and a survivor share objects in turn. The client dies, perhaps; the survivor goes on; a recoverer dies,
/// perhaps; the last one recovers all. Returns the points that client and recoverer passed.
fn story(
    (seed, steps): (u64, usize),
    client: Option<Crash>,
    recoverer: Option<Crash>,
    flaw: Option<Flaw>,
) -> Told {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap().with_flaw(flaw);
    let census = Census::default();
    let [mut own, mut other] = [Random(seed), Random(!seed)];
    let survivor = refs.client(pool.join_as(census.start(SURVIVOR, 2)).unwrap()).unwrap();
    let mut surviving = Actor::new(&pool, &survivor, 1);
    let me = census.start(CLIENT, 1);
    let (_, first) = run(client, || {
        let own_client = ManuallyDrop::new(refs.client(pool.join_as(me).unwrap()).unwrap());
        let mut actor = Actor::new(&pool, &own_client, 0);
        for _ in 0..steps {
            actor.act(&mut own);
            aside(|| surviving.act(&mut other));
        }
        actor.leave();
        drop(ManuallyDrop::into_inner(own_client));
    });
    census.end(me);
    for _ in 0..3 {
        surviving.act(&mut other);
    }
    let me = census.start(RECOVERER, 3);
    let (_, second) = run(recoverer, || recover(&refs, &census, me, flaw));
    census.end(me);
    for _ in 0..3 {
        surviving.act(&mut other);
    }
    recover(&refs, &census, census.start(LAST, 4), flaw);
    let end = audit(&refs, &ring_words(&pool));
    surviving.leave();
    drop(survivor);
    let end = end.and_then(|_| clear(&refs, census.start(LAST, 5)));
    (end, [first, second])
}

/// Whether the crash is at a point of this layer, or of a change of a count.
fn is_near(crash: &Crash) -> bool {
    ["refs.", "detect.", "recover."].iter().any(|floor| crash.point.starts_with(floor))
}

/// Tells the story, with crashes of this layer only and all pairs of them if `all`.
fn tell(stories: &mut Stories, plot: (u64, usize), all: bool, flaw: Option<Flaw>) {
    let near: Option<fn(&Crash) -> bool> = if all { Some(is_near) } else { None };
    stories.tell(plot, plot.0, near, |client, recoverer| story(plot, client, recoverer, flaw));
}

/// Points that a recoverer does not come to: it begins no move, and looks at nothing.
const OF_CLIENT: &[&str] = &[
    "refs.reader_listed",
    "refs.upper",
    "refs.lower",
    "refs.move_aimed",
    "refs.move_placed",
    "refs.move_begun",
];

/// Points of this layer that no crash of the role came to.
fn missed(stories: &Stories, role: usize) -> Vec<&'static str> {
    let points = POINTS.iter().filter(|point| point.starts_with("refs."));
    let points = points.filter(|point| role == 0 || !OF_CLIENT.contains(point));
    points.filter(|point| !stories.covered[role].contains(*point)).copied().collect()
}

#[test]
fn every_crash_of_a_client_and_of_its_recoverer_is_recovered() {
    let mut stories = Stories::default();
    for seed in 0..8 {
        let all = seed == 0;
        tell(&mut stories, (seed, if all { 12 } else { 40 }), all, None);
        assert!(stories.wrong.is_empty(), "{:#?}", stories.wrong);
    }
    // Other seeds, for points that they come to rarely.
    for seed in 8..200 {
        let wanted = [0, 1].map(|role| missed(&stories, role));
        if wanted.iter().all(Vec::is_empty) {
            break;
        }
        let of_client = |point: &'static str| {
            ["detect.exchanged", "refs.move_begun"].contains(&point) || wanted[0].contains(&point)
        };
        let of_recoverer = |point: &'static str| wanted[1].contains(&point);
        let plot = (seed, 40);
        stories.tell_wanted(plot, [&of_client, &of_recoverer], |client, recoverer| {
            story(plot, client, recoverer, None)
        });
        assert!(stories.wrong.is_empty(), "{:#?}", stories.wrong);
    }
    println!("{} pairs of crashes", stories.count);
    for role in [0, 1] {
        let missed = missed(&stories, role);
        assert!(missed.is_empty(), "points that no crash of role {role} came to: {missed:?}");
    }
}

/// How many points the recovery of a client passes, and how many headers and cells it asks for. The client died with
/// three objects, beside one that has this many.
fn recovery_beside(others: usize) -> (usize, usize) {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let census = Census::default();
    let survivor = refs.client(pool.join_as(census.start(SURVIVOR, 2)).unwrap()).unwrap();
    let _held: Vec<_> = (0..others).map(|_| survivor.alloc(24, 1).unwrap()).collect();
    let me = census.start(CLIENT, 1);
    let crash = Some(Crash { point: "refs.attached", hit: 3 });
    let (end, _) = run(crash, || {
        let client = ManuallyDrop::new(refs.client(pool.join_as(me).unwrap()).unwrap());
        let [one, two, three] = [0; 3].map(|_| client.alloc(24, 2).unwrap());
        client.set(&one, 0, Some(&two)).unwrap();
        client.set(&two, 0, Some(&three)).unwrap();
        client.set(&one, 1, Some(&three)).unwrap();
    });
    end.unwrap_err();
    census.end(me);
    let before = READS.get();
    let (_, passed) = run(None, || recover(&refs, &census, census.start(LAST, 4), None));
    let reads = READS.get() - before;
    assert_eq!(audit(&refs, &[]).unwrap().objects.len(), others);
    (passed.len(), reads)
}

#[test]
fn recovery_takes_no_longer_if_others_have_more() {
    let (points, reads) = recovery_beside(2);
    assert!(points > 0 && reads > 0);
    assert_eq!(recovery_beside(5000), (points, reads));
}

/// Whether a story fails when the mistake is made.
fn is_found(flaw: Flaw) -> bool {
    one_fails(|stories, seed| tell(stories, (seed, 40), false, Some(flaw)))
}

#[test]
fn a_count_without_an_era_is_found() {
    assert!(is_found(Flaw::NoVouching));
}

#[test]
fn a_release_before_its_step_is_found() {
    assert!(is_found(Flaw::EarlyRelease));
}

#[test]
fn a_count_that_is_acknowledged_early_is_found() {
    assert!(is_found(Flaw::EarlyCount));
}

#[test]
fn a_reference_that_moves_without_a_step_is_found() {
    assert!(is_found(Flaw::NoMoveStep));
}

#[test]
fn a_move_that_is_repeated_late_is_found() {
    assert!(is_found(Flaw::LateMove));
}

#[test]
fn a_change_before_its_count_is_found() {
    assert!(is_found(Flaw::EarlyChange));
}

#[test]
fn roots_of_the_dead_that_stay_are_found() {
    assert!(is_found(Flaw::NoRootRelease));
}
