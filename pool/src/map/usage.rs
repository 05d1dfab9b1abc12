//! What a map does, without deaths.

use super::client::{Map, MapOptions, Replaced};
use super::entry::{Entry, Value};
use super::table::{BYTES, Bucket, CLOSED, Content, EMPTY, ENTRIES};
use crate::PoolError;
use crate::alloc::Heap;
use crate::pool::torture::Random;
use crate::refs::audit::audit_with;
use crate::refs::tests::{RESERVED, memory};
use crate::refs::{RefClient, Refs};
use crate::sync::{Ordering, own};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const ANY: MapOptions = MapOptions { entries: 100, capacity: u64::MAX, evicts: true };

/// Objects that the buckets of a map refer to. An error if a key is there twice, or if the counts are wrong.
pub(super) fn objects_of(map: &Map) -> Result<Vec<u64>, String> {
    let (mut objects, mut keys) = (Vec::new(), BTreeSet::new());
    let reader = map.client.read().unwrap();
    let [mut entries, mut bytes] = [0; 2];
    for word in map.table.buckets {
        let value = word.load().value;
        if [EMPTY, CLOSED].contains(&value) {
            continue;
        }
        let content = map.content(value).map_err(|error| error.to_string())?;
        if let Content::Many(node, items) = &content {
            objects.push(*node);
            let count = items.len() as u64;
            bytes += crate::alloc::size_of_block((32 + 8 * count).next_multiple_of(16)).1;
        }
        for n in 0..content.len() {
            let at = Bucket::at(content.item(n));
            let entry = Entry::at(&reader, map.words, at).map_err(|error| error.to_string())?;
            if !keys.insert(entry.key().to_vec()) {
                return Err(format!("{:?} is there twice", entry.key().to_vec()));
            }
            objects.push(at);
            entries += 1;
            bytes += entry.block_bytes();
        }
    }
    let counted = (map.table.sum(ENTRIES), map.table.sum(BYTES));
    if counted != (entries, bytes) {
        return Err(format!("{entries} entries of {bytes} bytes, and {counted:?}"));
    }
    Ok(objects)
}

/// Nobody is at work: the map is whole, and all blocks are known.
pub(crate) fn check(refs: &Refs, map: &Map) -> Result<(), String> {
    check_all(refs, &[map])
}

/// The same with all maps of the pool.
pub(super) fn check_all(refs: &Refs, maps: &[&Map]) -> Result<(), String> {
    let mut objects = Vec::new();
    for map in maps {
        objects.extend(objects_of(map)?);
    }
    audit_with(refs, &[], &objects).map(|_| ())
}

pub(super) fn get(map: &Map, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = vec![];
    map.get(key, &mut value).unwrap().map(|_| value)
}

/// A pool with a layer and a client, for a test.
pub(crate) fn with(test: impl FnOnce(&Refs, &RefClient)) {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    test(&refs, &client);
}

#[test]
fn values_are_put_replaced_and_removed() {
    with(|refs, client| {
        let map = Map::create(client, b"map", &ANY).unwrap();
        assert_eq!(get(&map, b"one"), None);
        let first = map.put(b"one", b"1", 0).unwrap();
        assert_eq!(get(&map, b"one").unwrap(), b"1");
        let second = map.put(b"one", b"uno", 0).unwrap();
        assert!(first != second);
        assert_eq!(map.put_if_absent(b"one", b"2", 0).unwrap(), None);
        assert!(map.put_if_absent(b"two", b"2", 0).unwrap().is_some());
        assert_eq!(map.replace(b"one", first, b"x", 0).unwrap(), Replaced::Changed(second));
        assert_eq!(map.replace(b"none", first, b"x", 0).unwrap(), Replaced::Absent);
        assert_eq!(map.replace_any(b"none", b"x", 0).unwrap(), Replaced::Absent);
        let Replaced::Stored(third) = map.replace(b"one", second, b"eins", 0).unwrap() else {
            panic!("it was the value")
        };
        assert_eq!(get(&map, b"one").unwrap(), b"eins");
        assert!(!map.remove_if(b"one", second).unwrap() && map.remove_if(b"one", third).unwrap());
        assert!(!map.remove(b"one").unwrap() && map.remove(b"two").unwrap());
        assert!(map.is_empty().unwrap() && !map.contains(b"two").unwrap());
        let stats = map.stats().unwrap();
        assert_eq!((stats.entries, stats.bytes, stats.hits, stats.misses), (0, 0, 2, 2));
        check(refs, &map).unwrap();
    });
}

#[test]
fn a_buffer_gets_as_much_of_a_value_as_fits() {
    with(|_, client| {
        let map = Map::create(client, b"map", &ANY).unwrap();
        let version = map.put(b"key", b"a long value", 0).unwrap();
        let mut buffer = [0; 6];
        assert_eq!(map.get_into(b"key", &mut buffer).unwrap(), Some((12, version)));
        assert_eq!(&buffer, b"a long");
        assert_eq!(map.get_into(b"none", &mut buffer).unwrap(), None);
    });
}

/// A table of 16 buckets with thousands of entries.
#[test]
fn many_keys_in_few_buckets_are_all_found() {
    with(|refs, client| {
        let map = Map::create(client, b"map", &MapOptions { entries: 0, ..ANY }).unwrap();
        for n in 0..3000u64 {
            map.put(&n.to_le_bytes(), &(n * n).to_le_bytes(), 0).unwrap();
        }
        for n in (0..3000u64).step_by(3) {
            assert!(map.remove(&n.to_le_bytes()).unwrap());
        }
        for n in 0..3000u64 {
            let wanted = (n % 3 != 0).then(|| (n * n).to_le_bytes().to_vec());
            assert_eq!(get(&map, &n.to_le_bytes()), wanted, "{n}");
        }
        assert_eq!(map.len().unwrap(), 2000);
        let (mut seen, mut from) = (BTreeSet::new(), Some(0));
        while let Some(part) = from {
            let reader = client.read().unwrap();
            let visit = |entry: Entry| assert!(seen.insert(entry.key().to_vec()));
            from = map.scan(&reader, part, visit).unwrap();
        }
        assert_eq!(seen.len(), 2000);
        check(refs, &map).unwrap();
        map.clear().unwrap();
        assert!(map.is_empty().unwrap());
        check(refs, &map).unwrap();
    });
}

#[test]
fn keys_and_values_of_all_sizes_come_back() {
    with(|refs, client| {
        let map = Map::create(client, b"map", &ANY).unwrap();
        let text = |count: usize| (0..count).map(|n| n as u8 ^ count as u8).collect::<Vec<u8>>();
        for (key, value) in [
            (0, 0),
            (1, 7),
            (8, 8),
            (9, 64),
            (100, 1000),
            (65_536, 3),
            (3, 70_000),
            (5, 600_000),
            (6, 20 << 20),
        ] {
            map.put(&text(key), &text(value), 0).unwrap();
            assert!(get(&map, &text(key)).unwrap() == text(value), "{key} {value}");
        }
        assert_eq!(map.len().unwrap(), 9);
        check(refs, &map).unwrap();
        let long = map.put(&text(65_537), b"", 0);
        assert!(matches!(long, Err(PoolError::Key { bytes: 65_537, max: 65_536 })), "{long:?}");
        let large = map.put(b"large", &vec![0; 40 << 20], 0);
        assert!(matches!(large, Err(PoolError::NoMemory { .. })), "{large:?}");
    });
}

#[test]
fn a_map_is_found_by_its_name_in_all_clients() {
    with(|refs, one| {
        let two = refs.join().unwrap();
        assert!(Map::open(&two, b"map").unwrap().is_none());
        let map = Map::create(one, b"map", &ANY).unwrap();
        let other = Map::create(&two, b"map", &MapOptions { entries: 5, ..ANY }).unwrap();
        assert_eq!(other.stats().unwrap().buckets, map.stats().unwrap().buckets);
        let another = Map::create(&two, b"another map", &ANY).unwrap();
        map.put(b"key", b"value", 0).unwrap();
        assert_eq!(get(&other, b"key").unwrap(), b"value");
        assert_eq!(get(&another, b"key"), None);
        other.remove(b"key").unwrap();
        assert!(map.is_empty().unwrap());
        map.put(b"stays", b"here", 0).unwrap();
        assert_eq!(two.names().unwrap(), [b"map".to_vec(), b"another map".to_vec()]);
        drop((map, other, another));
        drop(two);
        let three = refs.join().unwrap();
        let map = Map::open(&three, b"map").unwrap().unwrap();
        assert_eq!(get(&map, b"stays").unwrap(), b"here");
    });
}

#[test]
fn what_a_name_has_is_not_taken_for_a_map() {
    with(|refs, client| {
        let other = client.alloc(1 << 10, 1).unwrap();
        let named = client.name(b"other", &other).unwrap();
        assert_eq!(named.object(), other.object());
        assert!(matches!(Map::open(client, b"other"), Err(PoolError::Kind { .. })));
        let second = client.alloc(8, 0).unwrap();
        assert_eq!(client.name(b"other", &second).unwrap().object(), other.object());
        assert!(!client.forget(b"other", &second).unwrap());
        assert!(!client.forget(b"none", &second).unwrap());
        assert!(client.forget(b"other", &other).unwrap());
        assert!(client.named(b"other").unwrap().is_none() && client.names().unwrap().is_empty());
        assert!(Map::open(client, b"other").unwrap().is_none());
        assert_eq!(client.name(b"other", &second).unwrap().object(), second.object());
        let long = client.name(&[0; 256], &second);
        assert!(matches!(long, Err(PoolError::Key { bytes: 256, max: 255 })));
        for n in 1..RefClient::NAMES_MAX {
            client.name(&[n as u8; 255], &second).unwrap();
        }
        let more = client.name(b"one more", &second);
        assert!(matches!(more, Err(PoolError::Names { max: 64 })));
        assert!(Value::of(second).is_err());
        drop(named);
        drop(other);
        audit_with(refs, &[], &[]).unwrap();
    });
}

#[test]
fn a_destroyed_map_is_closed_for_all_that_have_it() {
    with(|refs, one| {
        let two = refs.join().unwrap();
        let map = Map::create(one, b"map", &ANY).unwrap();
        let other = Map::open(&two, b"map").unwrap().unwrap();
        for n in 0..500u64 {
            map.put(&n.to_le_bytes(), b"value", 0).unwrap();
        }
        assert!(Map::destroy(&two, b"map").unwrap());
        assert!(!Map::destroy(&two, b"map").unwrap());
        let put = map.put(b"key", b"value", 0);
        assert!(matches!(put, Err(PoolError::Closed)), "{put:?}");
        assert!(matches!(other.contains(b"key"), Err(PoolError::Closed)));
        assert!(matches!(other.clear(), Err(PoolError::Closed)));
        check(refs, &map).unwrap();
        let new = Map::create(one, b"map", &ANY).unwrap();
        assert_eq!(get(&new, b"key"), None);
        drop((map, other));
        two.reclaim().unwrap();
        check(refs, &new).unwrap();
    });
}

#[test]
fn counted_values_stay_when_they_are_replaced() {
    with(|refs, client| {
        let map = Map::create(client, b"map", &ANY).unwrap();
        let version = map.put(b"key", b"old", 7_000_000_000_000).unwrap();
        let value = map.get_counted(b"key").unwrap().unwrap();
        assert!(map.get_counted(b"none").unwrap().is_none());
        let copy = value.clone();
        map.put(b"key", b"new", 0).unwrap();
        map.remove(b"key").unwrap();
        for n in 0..200u64 {
            map.put(b"other", &n.to_le_bytes(), 0).unwrap();
        }
        client.reclaim().unwrap();
        assert!(value.bytes().is(b"old") && value.key().is(b"key"));
        assert_eq!((value.version(), value.until()), (version, 7_000_000_000_000));
        drop(value);
        let reference = copy.into_ref();
        let again = Value::of(reference).unwrap();
        assert_eq!(again.bytes().to_vec(), b"old");
        drop(again);
        client.reclaim().unwrap();
        check(refs, &map).unwrap();
        assert_eq!(objects_of(&map).unwrap().len(), 1);
    });
}

#[test]
fn a_reader_sees_what_it_found_until_it_ends() {
    with(|refs, client| {
        let other = refs.join().unwrap();
        let map = Map::create(client, b"map", &ANY).unwrap();
        let theirs = Map::open(&other, b"map").unwrap().unwrap();
        map.put(b"key", b"old", 0).unwrap();
        let mut reader = client.read().unwrap();
        let entry = map.peek(&reader, b"key").unwrap().unwrap();
        for n in 0..1000u64 {
            theirs.put(b"key", &n.to_le_bytes(), 0).unwrap();
        }
        other.reclaim().unwrap();
        assert!(entry.value().is(b"old") && entry.key().is(b"key"));
        let value = entry.share().unwrap().unwrap();
        reader.renew().unwrap();
        other.reclaim().unwrap();
        assert!(value.bytes().is(b"old"));
        let foreign = other.read().unwrap();
        assert!(matches!(map.peek(&foreign, b"key"), Err(PoolError::OtherClient { .. })));
        drop((foreign, reader, value));
        other.reclaim().unwrap();
        client.reclaim().unwrap();
        check(refs, &map).unwrap();
    });
}

#[test]
fn drafts_are_written_in_place() {
    with(|refs, client| {
        let map = Map::create(client, b"map", &ANY).unwrap();
        let mut draft = map.draft(b"key", 11, 0).unwrap();
        assert_eq!(draft.len(), 11);
        draft.write(6, b"world");
        draft.write(0, b"hello ");
        assert_eq!(get(&map, b"key"), None);
        let version = map.put_draft(draft).unwrap();
        assert_eq!(get(&map, b"key").unwrap(), b"hello world");
        assert_eq!(map.get_into(b"key", &mut []).unwrap(), Some((11, version)));
        let other = Map::create(client, b"other", &ANY).unwrap();
        let wrong = other.put_draft(map.draft(b"key", 1, 0).unwrap());
        assert!(matches!(wrong, Err(PoolError::Kind { .. })));
        drop(map.draft(b"key", 1000, 0).unwrap());
        drop(other);
        client.reclaim().unwrap();
        assert!(Map::destroy(client, b"other").unwrap());
        check(refs, &map).unwrap();
    });
}

#[test]
fn counters_are_added_to() {
    with(|_, client| {
        let map = Map::create(client, b"map", &ANY).unwrap();
        assert_eq!(map.add(b"count", 5).unwrap(), 5);
        assert_eq!(map.add(b"count", u64::MAX).unwrap(), 4);
        map.put(b"text", b"text", 0).unwrap();
        assert!(matches!(map.add(b"text", 1), Err(PoolError::NotACounter { bytes: 4 })));
    });
}

#[test]
fn entries_whose_time_is_over_are_not_there() {
    with(|refs, client| {
        let map = Map::create(client, b"map", &ANY).unwrap();
        map.put(b"over", b"1", 1).unwrap();
        map.put(b"later", b"2", u64::MAX).unwrap();
        assert_eq!(get(&map, b"over"), None);
        assert_eq!(get(&map, b"later").unwrap(), b"2");
        let reader = client.read().unwrap();
        let mut seen = 0;
        map.scan(&reader, 0, |_| seen += 1).unwrap();
        assert!(seen <= 1);
        drop(reader);
        assert_eq!(map.replace_any(b"over", b"3", 0).unwrap(), Replaced::Absent);
        assert!(map.put_if_absent(b"over", b"3", 0).unwrap().is_some());
        assert_eq!(map.stats().unwrap().expirations, 1);
        map.put(b"over", b"1", 1).unwrap();
        assert!(!map.remove(b"over").unwrap());
        check(refs, &map).unwrap();
    });
}

#[test]
fn a_full_map_evicts_what_was_not_used() {
    with(|refs, client| {
        let options = MapOptions { entries: 1000, capacity: 128_000, evicts: true };
        let map = Map::create(client, b"map", &options).unwrap();
        let key = |n: u64| n.to_le_bytes();
        for n in 0..100 {
            map.put(&key(n), &[1; 64], 0).unwrap();
        }
        for n in 100..20_000 {
            map.put(&key(n), &[n as u8; 64], 0).unwrap();
            // These are used again and again.
            assert!(map.contains(&key(n % 100)).unwrap(), "{n}");
            let stats = map.stats().unwrap();
            assert!(stats.bytes <= options.capacity + options.capacity / 64, "{stats:?}");
        }
        let stats = map.stats().unwrap();
        assert!(stats.evictions > 15_000 && stats.entries > 600, "{stats:?}");
        assert!(matches!(map.put(b"k", &[0; 200_000], 0), Err(PoolError::NoMemory { .. })));
        check(refs, &map).unwrap();
    });
}

#[test]
fn a_full_map_that_evicts_nothing_refuses() {
    with(|refs, client| {
        let options = MapOptions { entries: 100, capacity: 12_800, evicts: false };
        let map = Map::create(client, b"map", &options).unwrap();
        let put = |n: u64| map.put(&n.to_le_bytes(), &[1; 64], 0);
        let count = (0..200).take_while(|n| put(*n).is_ok()).count();
        assert!((85..=102).contains(&count), "{count}");
        assert!(matches!(put(1000), Err(PoolError::NoMemory { .. })));
        assert!(map.remove(&0u64.to_le_bytes()).unwrap());
        put(1000).unwrap();
        assert_eq!(map.stats().unwrap().evictions, 0);
        check(refs, &map).unwrap();
    });
}

/// Also of values in slabs of another size, and of huge ones.
#[test]
fn a_full_heap_evicts() {
    with(|refs, client| {
        let map = Map::create(client, b"map", &MapOptions { entries: 10_000, ..ANY }).unwrap();
        for bytes in [3000, 200_000, 1 << 20] {
            for n in 0..60_000_000 / bytes as u64 {
                map.put(&n.to_le_bytes(), &vec![n as u8; bytes], 0).unwrap();
                let value = get(&map, &n.to_le_bytes()).unwrap();
                assert!(value.len() == bytes && value.iter().all(|byte| *byte == n as u8));
            }
            check(refs, &map).unwrap();
        }
        assert!(map.stats().unwrap().evictions > 0);
    });
}

/// Random operations beside a model; two clients in turn.
#[test]
fn random_operations_do_what_a_model_does() {
    with(|refs, one| {
        let two = refs.join().unwrap();
        for seed in 0..4 {
            let name = [seed as u8];
            let options = MapOptions { entries: 20, ..ANY };
            let maps = [one, &two].map(|client| Map::create(client, &name, &options).unwrap());
            let (mut model, mut random) = (BTreeMap::new(), Random(seed));
            for step in 0..4000u64 {
                let map = &maps[random.below(2) as usize];
                let key = vec![random.below(150) as u8; 1 + random.below(3) as usize];
                let value = vec![step as u8; random.below(100) as usize];
                let old = model.get(&key).cloned();
                match random.below(8) {
                    0..3 => {
                        map.put(&key, &value, 0).unwrap();
                        model.insert(key, value);
                    }
                    3 => {
                        let put = map.put_if_absent(&key, &value, 0).unwrap();
                        assert_eq!(put.is_some(), old.is_none());
                        model.entry(key).or_insert(value);
                    }
                    4 => {
                        assert_eq!(map.remove(&key).unwrap(), old.is_some());
                        model.remove(&key);
                    }
                    5 => {
                        let put = map.replace_any(&key, &value, 0).unwrap();
                        assert_eq!(matches!(put, Replaced::Stored(_)), old.is_some());
                        if old.is_some() {
                            model.insert(key, value);
                        }
                    }
                    _ => assert_eq!(get(map, &key), old),
                }
                assert_eq!(map.len().unwrap(), model.len() as u64);
            }
            let entries = |map: &Map| {
                let (mut found, mut from) = (BTreeMap::new(), Some(0));
                let reader = map.client().read().unwrap();
                while let Some(part) = from {
                    from = map
                        .scan(&reader, part, |entry| {
                            found.insert(entry.key().to_vec(), entry.value().to_vec());
                        })
                        .unwrap();
                }
                found
            };
            assert_eq!(entries(&maps[0]), model);
            check(refs, &maps[1]).unwrap();
            let [map, other] = maps;
            drop((map, other));
            assert!(Map::destroy(&two, &name).unwrap());
            one.reclaim().unwrap();
        }
    });
}

/// A look-up writes only into the entry and the client's own tally, and into the entry once.
#[test]
fn a_second_look_up_writes_no_shared_word() {
    with(|refs, client| {
        let map = Map::create(client, b"map", &ANY).unwrap();
        map.put(b"key", b"value", 0).unwrap();
        get(&map, b"key").unwrap();
        let pool = refs.heap().pool();
        let entry = objects_of(&map).unwrap()[0];
        let used = &pool.atomics(entry + 32, 1).unwrap()[0];
        assert!(own(used) >> 63 == 1);
        // Any store would be seen.
        let word = own(used);
        used.store(word ^ 1 << 40, Ordering::Relaxed);
        assert!(get(&map, b"key").is_none());
        assert_eq!(own(used), word ^ 1 << 40);
        used.store(word, Ordering::Relaxed);
    });
}
