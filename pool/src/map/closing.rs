//! Every crash of a client that destroys a map: it is destroyed for all, or as it was.

use super::client::{Map, MapOptions};
use super::tests::{NAME, clear, is_near};
use super::usage::{check_all, get};
use crate::PoolError;
use crate::alloc::Heap;
use crate::crash::{Crash, POINTS, run};
use crate::pool::torture::Random;
use crate::refs::tests::{CLIENT, Census, LAST, RECOVERER, RESERVED, SURVIVOR, memory, recover};
use crate::refs::{RefClient, Refs};
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;

const OPTIONS: MapOptions = MapOptions { entries: 0, capacity: u64::MAX, evicts: false };

/// Entries: in the few buckets of the table there are several of each.
const ENTRIES: u64 = 40;

/// A node takes its entries with it.
const EMBRACED: &str = "shared.embraced";

fn key(n: u64) -> [u8; 8] {
    n.to_le_bytes()
}

/// Whether the map is destroyed; then it is for all operations.
fn is_destroyed(map: &Map) -> bool {
    let found = map.contains(&key(0));
    let destroyed = matches!(found, Err(PoolError::Closed));
    for done in [
        map.len().map(|_| ()),
        map.is_empty().map(|_| ()),
        map.stats().map(|_| ()),
        map.scan(&map.client.read().unwrap(), 0, |_| ()).map(|_| ()),
        map.put(&key(0), b"value", 0).map(|_| ()),
        map.draft(&key(0), 5, 0).map(|_| ()),
    ] {
        assert_eq!(matches!(done, Err(PoolError::Closed)), destroyed, "{done:?}");
    }
    assert_eq!(Map::open(map.client(), NAME).unwrap().is_none(), destroyed);
    if !destroyed {
        let missing = (0..ENTRIES).find(|n| get(map, &key(*n)).is_none());
        assert_eq!((missing, map.len().unwrap()), (None, ENTRIES));
    }
    destroyed
}

/// A client destroys a map, and dies. Returns the points that it and its recoverer
/// passed, and whether the map was destroyed.
fn story(client: Option<Crash>, recoverer: Option<Crash>) -> ([Vec<Crash>; 2], bool) {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let census = Census::default();
    let survivor = refs.client(pool.join_as(census.start(SURVIVOR, 2)).unwrap()).unwrap();
    let map = Map::create(&survivor, NAME, &OPTIONS).unwrap();
    for n in 0..ENTRIES {
        map.put(&key(n), &[n as u8; 100], 0).unwrap();
    }
    let me = census.start(CLIENT, 1);
    let (end, first) = run(client, || {
        let client: ManuallyDrop<RefClient> =
            ManuallyDrop::new(refs.client(pool.join_as(me).unwrap()).unwrap());
        assert!(Map::destroy(&client, NAME).unwrap());
        drop(ManuallyDrop::into_inner(client));
    });
    census.end(me);
    let destroyed = end.is_ok() || is_destroyed(&map);
    let me = census.start(RECOVERER, 3);
    let (_, second) = run(recoverer, || recover(&refs, &census, me, None));
    census.end(me);
    recover(&refs, &census, census.start(LAST, 4), None);
    assert_eq!(is_destroyed(&map), destroyed);
    let new = Map::create(&survivor, NAME, &OPTIONS).unwrap();
    assert_eq!(new.len().unwrap(), if destroyed { 0 } else { ENTRIES });
    new.put(&key(0), b"another value", 0).unwrap();
    assert_eq!(get(&new, &key(0)).unwrap(), b"another value");
    let maps = [&map, &new];
    check_all(&refs, if destroyed { &maps } else { &maps[1..] })
        .unwrap_or_else(|wrong| panic!("{client:?} {recoverer:?}: {wrong}"));
    drop((map, new));
    clear(&refs, &pool, &survivor, 1)
        .unwrap_or_else(|wrong| panic!("{client:?} {recoverer:?}: {wrong}"));
    ([first, second], destroyed)
}

#[test]
fn a_map_whose_destroyer_dies_is_destroyed_or_as_it_was() {
    let ([first, _], _) = story(None, None);
    let (mut random, mut ends) = (Random(1), BTreeSet::new());
    let mut covered = [BTreeSet::new(), BTreeSet::new()];
    for client in first {
        if !is_near(&client) && !client.point.starts_with("map.") {
            continue;
        }
        let ([_, second], destroyed) = story(Some(client), None);
        covered[0].insert(client.point);
        ends.insert(destroyed);
        let any = second[random.below(second.len() as u64) as usize];
        let embraces = second.iter().find(|crash| crash.point == EMBRACED);
        for recoverer in embraces.into_iter().chain([&any]) {
            story(Some(client), Some(*recoverer));
            covered[1].insert(recoverer.point);
        }
    }
    let mut points = POINTS.iter().filter(|point| point.starts_with("map."));
    assert!(points.all(|point| covered[0].contains(point)) && ends.len() == 2);
    assert!(covered.iter().all(|covered| covered.contains(EMBRACED)));
}

/// Two clients destroy it, and one makes another one meanwhile.
#[test]
fn a_map_is_destroyed_by_several() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let [one, two] = [0; 2].map(|_| refs.join().unwrap());
    let map = Map::create(&one, NAME, &OPTIONS).unwrap();
    map.put(&key(0), b"value", 0).unwrap();
    map.table.begin_closing();
    assert!(is_destroyed(&map) && Map::open(&two, NAME).unwrap().is_none());
    let new = Map::create(&two, NAME, &OPTIONS).unwrap();
    new.put(&key(1), b"new", 0).unwrap();
    assert!(matches!(map.len(), Err(PoolError::Closed)));
    assert_eq!((new.len().unwrap(), get(&new, &key(0))), (1, None));
    check_all(&refs, &[&map, &new]).unwrap();
    assert!(Map::destroy(&one, NAME).unwrap() && !Map::destroy(&two, NAME).unwrap());
    assert!(matches!(new.stats(), Err(PoolError::Closed)));
}
