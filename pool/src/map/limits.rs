//! What a map does when a bucket, the map or the heap is full.

use super::client::{Map, MapOptions};
use super::usage::{ANY, get, with};
use crate::PoolError;

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
