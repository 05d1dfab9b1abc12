//! Every crash point of a client of a map, with every crash point of its recoverer, beside a survivor.

use super::client::{Map, MapOptions, Replaced};
use super::entry::Value;
use super::usage::check;
use crate::alloc::Heap;
use crate::crash::{Crash, POINTS, aside, run};
use crate::flaw::Flaw;
use crate::pool::Pool;
use crate::pool::torture::Random;
use crate::refs::audit::audit_with;
use crate::refs::tests::{CLIENT, Census, LAST, RECOVERER, RESERVED, SURVIVOR, memory, recover};
use crate::refs::{Reader, Ref, RefClient, Refs};
use crate::stories::{Stories, Told, one_fails};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering;

pub(crate) const NAME: &[u8] = b"map";

/// Keys of each side, and those that both write.
const OWN: u64 = 10;
const COMMON: u8 = 9;

/// What a client knows of the keys that it alone writes.
#[derive(Default, Debug)]
pub(super) struct Model {
    values: BTreeMap<Vec<u8>, Vec<u8>>,
    /// What it is doing, and was not told to be done: the key has this value, or the one before.
    open: Option<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Model {
    fn begin(&mut self, key: &[u8], value: Option<Vec<u8>>) {
        self.open = Some((key.to_vec(), value));
    }

    fn end(&mut self) {
        let Some((key, value)) = self.open.take() else { return };
        match value {
            Some(value) => self.values.insert(key, value),
            None => self.values.remove(&key),
        };
    }

    /// Whether the map has what was put and not removed. Entries may be missing if the map evicts.
    pub(super) fn check(&self, map: &Map, side: u8, evicts: bool) -> Result<(), String> {
        for n in 0..OWN {
            let key = vec![side, n as u8];
            let found = value_of(map, &key);
            let known = self.values.get(&key);
            let is_open =
                self.open.as_ref().is_some_and(|(open, value)| *open == key && *value == found);
            if found.as_ref() != known && !is_open && !(evicts && found.is_none()) {
                return Err(format!("{key:?} has {found:?}, not {known:?}; open: {:?}", self.open));
            }
        }
        Ok(())
    }
}

fn value_of(map: &Map, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = vec![];
    map.get(key, &mut value).unwrap().map(|_| value)
}

/// A value begins with its key, and has the same byte from there on.
fn check_value(key: &[u8], value: &[u8]) {
    let (head, rest) = value.split_at(key.len());
    let is_whole = head == key && rest.iter().all(|byte| *byte == rest[0]);
    assert!(is_whole, "{key:?} has {value:?}");
}

/// A client that does random things.
pub(super) struct Actor<'c> {
    client: &'c RefClient<'c>,
    map: Map<'c>,
    side: u8,
    model: &'c RefCell<Model>,
    held: Vec<(Value<'c>, Vec<u8>)>,
    reader: Option<Reader<'c>>,
    /// Entries that it looks at, with their versions.
    looked: Vec<(u64, u64)>,
}

impl<'c> Actor<'c> {
    pub(super) fn new(
        client: &'c RefClient<'c>,
        side: u8,
        options: &MapOptions,
        model: &'c RefCell<Model>,
    ) -> Actor<'c> {
        let map = Map::create(client, NAME, options).unwrap();
        Actor { client, map, side, model, held: vec![], reader: None, looked: vec![] }
    }

    fn key(&self, random: &mut Random) -> (Vec<u8>, bool) {
        let is_own = random.below(2) == 0;
        let side = if is_own { self.side } else { COMMON };
        (vec![side, random.below(OWN) as u8], is_own)
    }

    /// One operation.
    pub(super) fn act(&mut self, random: &mut Random) {
        let (key, is_own) = self.key(random);
        let bytes = [8, 40, 40, 200, 3000][random.below(5) as usize];
        let mut value = key.clone();
        value.resize(key.len() + bytes, random.below(256) as u8);
        let kind = random.below(16);
        if is_own && kind < 9 {
            self.model.borrow_mut().begin(&key, (kind < 6).then(|| value.clone()));
        }
        match kind {
            0..3 => _ = self.map.put(&key, &value, 0).unwrap(),
            3 => {
                if self.map.put_if_absent(&key, &value, 0).unwrap().is_none() && is_own {
                    // It has the value from before.
                    self.model.borrow_mut().open = None;
                }
            }
            4 => {
                let replaced = self.map.replace_any(&key, &value, 0).unwrap();
                if !matches!(replaced, Replaced::Stored(_)) && is_own {
                    self.model.borrow_mut().open = None;
                }
            }
            5 => {
                let mut draft = self.map.draft(&key, value.len(), 0).unwrap();
                draft.write(0, &value);
                self.map.put_draft(draft).unwrap();
            }
            6..9 => _ = self.map.remove(&key).unwrap(),
            9 => {
                if let Some(held) = self.map.get_counted(&key).unwrap() {
                    let copy = held.bytes().to_vec();
                    check_value(&key, &copy);
                    self.held.push((held, copy));
                }
                if self.held.len() > 8 {
                    self.held.drain(..5);
                }
            }
            10 => drop(self.map.draft(&key, 100, 0).unwrap()),
            11 => {
                self.stop_looking();
                if random.below(3) == 0 {
                    self.client.reclaim().unwrap();
                }
            }
            12 | 13 => self.look(&key),
            14 => {
                let named = self.client.alloc(8, 0).unwrap();
                let name = [b'n', random.below(2) as u8];
                let other = self.client.name(&name, &named).unwrap();
                if random.below(2) == 0 {
                    self.client.forget(&name, &other).unwrap();
                }
            }
            _ => {
                if let Some(value) = value_of(&self.map, &key) {
                    check_value(&key, &value);
                }
            }
        }
        if is_own && kind < 9 {
            self.model.borrow_mut().end();
        }
    }

    fn look(&mut self, key: &[u8]) {
        let client = self.client;
        let reader = self.reader.get_or_insert_with(|| client.read().unwrap());
        let mut found = vec![];
        found.extend(self.map.peek(reader, key).unwrap());
        self.map.scan(reader, 0, |entry| found.push(entry)).unwrap();
        for entry in found {
            check_value(&entry.key().to_vec(), &entry.value().to_vec());
            self.looked.push((entry.offset(), entry.version()));
        }
    }

    /// All that it looked at must be as it was.
    pub(super) fn stop_looking(&mut self) {
        let pool = self.client.heap().pool();
        for (object, version) in std::mem::take(&mut self.looked) {
            let words = pool.atomics(object, 6).unwrap();
            let is_free = words[0].load(Ordering::Relaxed) >> 48 == 0xf5f5;
            let found = words[Ref::DATA_AT as usize / 8 + 1].load(Ordering::Relaxed);
            assert!(!is_free && found == version, "{object:#x} was freed while it was looked at");
        }
        self.reader = None;
        for (held, copy) in &self.held {
            assert!(held.bytes().is(copy), "a counted value has changed");
        }
    }

    fn leave(mut self) {
        self.stop_looking();
    }
}

/// Nobody is at work, and all are recovered: the map is destroyed, and all blocks are free but those of forgotten
/// names, which are `names` at most.
pub(crate) fn clear(
    refs: &Refs,
    pool: &Pool,
    last: &RefClient,
    names: usize,
) -> Result<(), String> {
    assert!(Map::destroy(last, NAME).unwrap());
    for name in last.names().unwrap() {
        let object = last.named(&name).unwrap().expect("it has a name");
        assert!(last.forget(&name, &object).unwrap());
    }
    // Each has what the last holder of its identity could not free.
    let clients: Vec<_> = std::iter::from_fn(|| pool.join().ok()).collect();
    if clients.len() + 1 != pool.clients() {
        return Err(format!("{} of {} identities are free", clients.len(), pool.clients()));
    }
    for client in clients {
        drop(refs.client(client).map_err(|error| error.to_string())?);
    }
    last.reclaim().unwrap();
    let contents = audit_with(refs, &[], &[])?;
    if contents.objects.len() <= names && contents.kept.is_empty() {
        Ok(())
    } else {
        Err(format!("{contents:?} is left"))
    }
}

/// The kind of a story.
#[derive(Clone, Copy, Debug)]
struct Plot {
    seed: u64,
    steps: usize,
    evicts: bool,
}

impl Plot {
    fn options(self) -> MapOptions {
        let capacity = if self.evicts { 6_000 } else { u64::MAX };
        // Few buckets, so that most have several entries.
        MapOptions { entries: 0, capacity, evicts: self.evicts }
    }
}

/// A client and a survivor use a map in turn. The client dies, perhaps; the survivor goes on; a recoverer dies,
/// perhaps; the last one recovers all. Returns the points that client and recoverer passed.
fn story(plot: Plot, client: Option<Crash>, recoverer: Option<Crash>, flaw: Option<Flaw>) -> Told {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap().with_flaw(flaw);
    let census = Census::default();
    let [mut own, mut other] = [Random(plot.seed), Random(!plot.seed)];
    let options = plot.options();
    let models = [0; 2].map(|_| RefCell::new(Model::default()));
    let survivor = refs.client(pool.join_as(census.start(SURVIVOR, 2)).unwrap()).unwrap();
    let mut surviving = Actor::new(&survivor, 1, &options, &models[1]);
    let me = census.start(CLIENT, 1);
    let (_, first) = run(client, || {
        let own_client = ManuallyDrop::new(refs.client(pool.join_as(me).unwrap()).unwrap());
        let mut actor = Actor::new(&own_client, 0, &options, &models[0]);
        for _ in 0..plot.steps {
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
    let sides = models.iter().enumerate();
    let mut end = sides
        .map(|(side, model)| model.borrow().check(&surviving.map, side as u8, plot.evicts))
        .fold(Ok(()), Result::and);
    end = end.and_then(|()| check(&refs, &surviving.map));
    surviving.leave();
    end = end.and_then(|()| clear(&refs, &pool, &survivor, 3));
    (end, [first, second])
}

/// Whether the crash is at a point of a change of a bucket or a count.
pub(super) fn is_near(crash: &Crash) -> bool {
    ["shared.", "refs.", "detect.", "recover."].iter().any(|floor| crash.point.starts_with(floor))
}

/// Tells the story, with crashes of changes only and all pairs of them if `all`.
fn tell(stories: &mut Stories, plot: Plot, all: bool, flaw: Option<Flaw>) {
    let near: Option<fn(&Crash) -> bool> = if all { Some(is_near) } else { None };
    stories.tell(plot, plot.seed, near, |client, recoverer| story(plot, client, recoverer, flaw));
}

/// Where a client died, if its recoverer has to do with spare objects.
const BEFORE_RARE: &[&str] = &["shared.spared", "shared.spare_aimed", "shared.take_begun"];

/// Points that a recoverer does not come to: it changes no bucket, and keeps no spare objects.
const OF_CLIENT: &[&str] = &[
    "shared.aimed",
    "shared.spare_linked",
    "shared.spared",
    "shared.take_aimed",
    "shared.take_begun",
];

/// Points of a change of a bucket that no crash of the role came to.
fn missed(stories: &Stories, role: usize) -> Vec<&'static str> {
    let points = POINTS.iter().filter(|point| point.starts_with("shared."));
    // That one is in `closing`.
    let points = points.filter(|point| **point != "shared.embraced");
    let points = points.filter(|point| role == 0 || !OF_CLIENT.contains(point));
    points.filter(|point| !stories.covered[role].contains(*point)).copied().collect()
}

#[test]
fn every_crash_of_a_client_and_of_its_recoverer_is_recovered() {
    let mut stories = Stories::default();
    for seed in 0..6 {
        let all = seed < 2;
        let plot = Plot { seed, steps: if all { 16 } else { 40 }, evicts: seed % 2 == 1 };
        tell(&mut stories, plot, all, None);
        assert!(stories.wrong.is_empty(), "{:#?}", stories.wrong);
    }
    // Other seeds, for points that they come to rarely.
    for seed in 6..60 {
        let wanted = missed(&stories, 1);
        if wanted.is_empty() {
            break;
        }
        let plot = Plot { seed, steps: 40, evicts: seed % 2 == 1 };
        let of_client = |point: &'static str| BEFORE_RARE.contains(&point);
        let of_recoverer = |point: &'static str| wanted.contains(&point);
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

/// Whether a story fails when the mistake is made.
fn is_found(flaw: Flaw) -> bool {
    one_fails(|stories, seed| {
        tell(stories, Plot { seed, steps: 40, evicts: seed % 2 == 1 }, false, Some(flaw));
    })
}

#[test]
fn a_bucket_that_is_changed_without_a_note_is_found() {
    assert!(is_found(Flaw::NoVouching));
}

#[test]
fn a_change_of_a_bucket_that_is_acknowledged_early_is_found() {
    assert!(is_found(Flaw::EarlySwap));
}

#[test]
fn a_root_that_keeps_what_a_bucket_has_is_found() {
    assert!(is_found(Flaw::NoRootClear));
}

#[test]
fn a_list_that_depends_on_how_often_it_is_written_is_found() {
    assert!(is_found(Flaw::RelativeList));
}

#[test]
fn a_spare_object_that_is_taken_without_a_step_is_found() {
    assert!(is_found(Flaw::NoTakeStep));
}

#[test]
fn an_entry_that_is_made_as_a_private_object_is_found() {
    assert!(is_found(Flaw::PrivateEntry));
}

#[test]
fn an_entry_that_is_freed_under_its_reader_is_found() {
    assert!(is_found(Flaw::NoHazard));
}
