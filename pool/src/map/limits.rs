//! What a map does when a bucket, the map or the heap is full.

use super::client::{Map, MapOptions, MapStats};
use super::usage::{ANY, check, check_all, get, objects_of, with};
use crate::PoolError;
use crate::pool::torture::Random;
use crate::refs::{Ref, RefClient};

/// Keys, all of the bucket with this number.
fn keys_of(map: &Map, bucket: usize, count: usize) -> Vec<[u8; 8]> {
    let buckets = map.table.buckets.len();
    let keys = (0u64..).map(u64::to_le_bytes);
    keys.filter(|key| map.hash(key).unwrap().place(buckets) == bucket).take(count).collect()
}

/// The bucket's limit is no lack of memory: making room would not help.
#[test]
fn a_full_bucket_refuses() {
    with(|_, client| {
        let map = Map::create(client, b"map", &MapOptions { entries: 0, ..ANY }).unwrap();
        let keys = keys_of(&map, 3, 2);
        map.put(&keys[0], b"0", 0).unwrap();
        // The same entry again and again.
        let seen = map.table.buckets[3].load();
        let max = (1 << 15) - 1;
        let node = map.node(max, std::iter::repeat_n(seen.value, max)).unwrap();
        let value = super::table::Bucket::node(max, node.object());
        let (at, none) = (map.table.bucket_at(3), (0, [0; 2]));
        client.swap((at, seen, value), &mut [None, Some(node)], [0; 2], none).unwrap().unwrap();
        let put = map.put(&keys[1], b"1", 0);
        assert!(matches!(put, Err(PoolError::Bucket { max: 32_767 })), "{put:?}");
        assert_eq!(get(&map, &keys[1]), None);
        assert!(map.remove(&keys[0]).unwrap());
        assert!(map.put_if_absent(&keys[1], b"1", 0).unwrap().is_some());
    });
}

/// What has no room in the slabs of its kind needs an entry of the same kind to go.
#[test]
fn a_full_heap_evicts_entries_of_the_kind_that_is_needed() {
    for block in [1008, 1024, 64 << 10, 512 << 10] {
        with(|_, client| {
            let map = Map::create(client, b"map", &MapOptions { entries: 50_000, ..ANY }).unwrap();
            // The header of the object, the words of the entry, and the key.
            let value = vec![7; block - 32 - 24 - 8];
            for n in 0..(64 << 20) / block as u64 {
                map.put(&n.to_le_bytes(), &value, 0)
                    .unwrap_or_else(|e| panic!("{block}, {n}: {e}"));
            }
            assert!(map.stats().unwrap().evictions > 0, "{block}");
        });
    }
}

/// All small blocks that are free.
fn fill<'c>(client: &'c RefClient<'c>) -> Vec<Ref<'c>> {
    // Their roots are made before.
    drop((0..60_000).map(|_| client.alloc(0, 0).unwrap()).collect::<Vec<_>>());
    client.reclaim().unwrap();
    let sizes = (32u64..=1024).rev().step_by(16).map(|bytes| bytes - 32);
    sizes.flat_map(|bytes| std::iter::from_fn(move || client.alloc(bytes, 0).ok())).collect()
}

#[test]
fn a_full_heap_makes_room_for_a_node() {
    with(|refs, client| {
        let client: &RefClient = client;
        let map = Map::create(client, b"map", &MapOptions { entries: 1000, ..ANY }).unwrap();
        // The largest node that is a small block.
        let keys = keys_of(&map, 3, 124);
        for key in &keys[..123] {
            map.put(key, b"value", 0).unwrap();
        }
        for bucket in 10..200 {
            map.put(&keys_of(&map, bucket, 1)[0], &[1; 1024 - 64], 0).unwrap();
        }
        let mut draft = map.draft(&keys[123], 4, 0).unwrap();
        draft.write(0, b"more");
        let filling = fill(client);
        map.put_draft(draft).unwrap();
        assert_eq!(get(&map, &keys[123]).unwrap(), b"more");
        assert!(map.stats().unwrap().evictions > 0);
        drop(filling);
        check(refs, &map).unwrap();
    });
}

fn is_within(stats: &MapStats) -> bool {
    stats.bytes <= stats.capacity + stats.capacity / 64
}

#[test]
fn many_clients_together_keep_to_the_capacity() {
    with(|refs, client| {
        let others: Vec<_> = std::iter::from_fn(|| refs.join().ok()).collect();
        let options = MapOptions { entries: 2000, capacity: 128_000, evicts: true };
        let clients = std::iter::once(client).chain(&others);
        let maps: Vec<_> = clients.map(|one| Map::create(one, b"map", &options).unwrap()).collect();
        let mut random = Random(7);
        for round in 0..500 {
            let map = &maps[random.below(maps.len() as u64) as usize];
            for n in 0..random.below(100) {
                let key = [round, n].map(u64::to_le_bytes).concat();
                map.put(&key, &[1; 64], 0).unwrap();
                let stats = map.stats().unwrap();
                assert!(is_within(&stats), "{round} {n} {stats:?}");
            }
        }
        let stats = maps[0].stats().unwrap();
        assert!(maps.len() > 4 && stats.evictions > 0 && stats.bytes > 64_000, "{stats:?}");
        check(refs, &maps[0]).unwrap();
    });
}

/// Clients that come later leave less to the first one.
#[test]
fn a_client_that_comes_divides_the_room() {
    with(|refs, client| {
        let options = MapOptions { entries: 2000, capacity: 128_000, evicts: true };
        let map = Map::create(client, b"map", &options).unwrap();
        map.put(b"key", &[1; 64], 0).unwrap();
        let before = map.room.get();
        let others: Vec<_> = std::iter::from_fn(|| refs.join().ok()).collect();
        for other in &others {
            Map::create(other, b"map", &options).unwrap();
        }
        map.put(b"key", &[1; 64], 0).unwrap();
        let share = options.capacity / 64 / (others.len() as u64 + 1);
        assert!(before > share && map.room.get() <= share, "{before} {}", map.room.get());
    });
}

/// With 253 entries of one bucket, the node has 512 bytes more than with 252, and does not fit.
#[test]
fn nodes_are_within_the_capacity() {
    with(|refs, client| {
        let options = MapOptions { entries: 0, capacity: 18_300, evicts: true };
        let map = Map::create(client, b"map", &options).unwrap();
        for key in keys_of(&map, 3, 1000) {
            map.put(&key, b"", 0).unwrap();
            let stats = map.stats().unwrap();
            assert!(is_within(&stats), "{stats:?}");
        }
        check(refs, &map).unwrap();
    });
}

/// There are few buckets, and the hand has to come back to each of them.
#[test]
fn a_large_value_makes_as_much_room_as_it_takes() {
    with(|refs, client| {
        let options = MapOptions { entries: 0, capacity: 128_000, evicts: true };
        let map = Map::create(client, b"map", &options).unwrap();
        for n in 0..2000u64 {
            map.put(&n.to_le_bytes(), &[1; 32], 0).unwrap();
        }
        map.put(b"large", &[1; 90_000], 0).unwrap();
        let stats = map.stats().unwrap();
        assert!(is_within(&stats) && stats.entries > 20, "{stats:?}");
        assert_eq!(get(&map, b"large").unwrap().len(), 90_000);
        check(refs, &map).unwrap();
    });
}

/// Buckets with three entries, of which one cannot go by itself without memory for another node.
#[test]
fn all_entries_are_removed_from_a_full_heap() {
    with(|refs, client| {
        let client: &RefClient = client;
        let options = MapOptions { entries: 100, capacity: u64::MAX, evicts: false };
        let maps = [&b"one"[..], b"two"].map(|name| Map::create(client, name, &options).unwrap());
        for map in &maps {
            for key in (0..20).flat_map(|bucket| keys_of(map, bucket, 3)) {
                map.put(&key, b"value", 0).unwrap();
            }
        }
        // That is looked at in both ways.
        let value = maps[0].get_counted(&keys_of(&maps[0], 5, 1)[0]).unwrap().unwrap();
        let filling = fill(client);
        let removed = maps[0].remove(&keys_of(&maps[0], 0, 1)[0]);
        assert!(matches!(removed, Err(PoolError::NoMemory { .. })), "{removed:?}");
        maps[0].clear().unwrap();
        assert!(maps[0].is_empty().unwrap() && value.bytes().is(b"value"));
        assert!(Map::destroy(client, b"two").unwrap());
        assert!(matches!(maps[1].len(), Err(PoolError::Closed)));
        drop((filling, value));
        client.reclaim().unwrap();
        check_all(refs, &[&maps[0], &maps[1]]).unwrap();
        assert!(objects_of(&maps[0]).unwrap().is_empty());
    });
}

/// What is looked at when its bucket is emptied stays until the reader ends.
#[test]
fn a_reader_keeps_the_entries_of_a_bucket_that_is_emptied() {
    with(|refs, client| {
        let other = refs.join().unwrap();
        let map = Map::create(client, b"map", &ANY).unwrap();
        let theirs = Map::open(&other, b"map").unwrap().unwrap();
        let keys = keys_of(&map, 3, 3);
        keys[..2].iter().for_each(|key| _ = map.put(key, b"value", 0).unwrap());
        let reader = client.read().unwrap();
        let entry = map.peek(&reader, &keys[0]).unwrap().unwrap();
        // The reader found the entry in another node than that which is taken out.
        theirs.put(&keys[2], b"third", 0).unwrap();
        other.reclaim().unwrap();
        theirs.clear().unwrap();
        for n in 0..1000u64 {
            theirs.put(&n.to_le_bytes(), b"other", 0).unwrap();
            theirs.remove(&n.to_le_bytes()).unwrap();
        }
        other.reclaim().unwrap();
        assert!(entry.value().is(b"value") && entry.key().is(&keys[0]));
        drop(reader);
        (0..3).for_each(|_| other.reclaim().unwrap());
        client.reclaim().unwrap();
        check(refs, &map).unwrap();
        let contents = crate::refs::audit::audit_with(refs, &[], &[]).unwrap();
        assert!(contents.kept.is_empty() && contents.objects.len() <= 2, "{contents:?}");
    });
}

/// No entry can go by itself: each bucket needs another node then.
#[test]
fn a_full_heap_evicts_whole_buckets_if_it_must() {
    with(|refs, client| {
        let client: &RefClient = client;
        let map = Map::create(client, b"map", &MapOptions { entries: 0, ..ANY }).unwrap();
        for key in (0..16).flat_map(|bucket| keys_of(&map, bucket, 30)) {
            map.put(&key, b"value", 0).unwrap();
        }
        let filling = fill(client);
        map.put(b"new key.", b"value", 0).unwrap();
        assert_eq!(get(&map, b"new key.").unwrap(), b"value");
        let stats = map.stats().unwrap();
        assert!(
            stats.evictions >= 30 && stats.entries == 16 * 30 + 1 - stats.evictions,
            "{stats:?}"
        );
        drop(filling);
        check(refs, &map).unwrap();
    });
}

#[test]
fn a_reader_that_stays_does_not_empty_the_cache() {
    with(|refs, client| {
        let other = refs.join().unwrap();
        let map = Map::create(client, b"map", &ANY).unwrap();
        let put = |n: u64| map.put(&n.to_le_bytes(), &[3; 40_000], 0);
        for n in 0..1000 {
            put(n).unwrap();
        }
        let before = map.stats().unwrap();
        assert!(before.evictions > 0 && before.entries > 300, "{before:?}");
        let reader = other.read().unwrap();
        let refused = (1000..1100).find_map(|n| put(n).err());
        assert!(matches!(refused, Some(PoolError::NoMemory { .. })), "{refused:?}");
        let after = map.stats().unwrap();
        assert!(after.entries > before.entries - 50, "{after:?}");
        drop(reader);
        put(2000).unwrap();
        check(refs, &map).unwrap();
    });
}
