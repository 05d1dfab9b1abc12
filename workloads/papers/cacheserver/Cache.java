package cacheserver;

import java.util.HashMap;
import java.util.Map;

/**
 * Items by key, as many as fit into a number of bytes: the least recently used one is evicted first. Divided by the
 * keys' hashes into segments, each with its own lock and its share of the bytes.
 */
final class Cache {
    /** The overhead of an item beyond key and value, about. */
    private static final int OVERHEAD_BYTES = 120;
    private final Segment[] segments = new Segment[16];

    /** A value with the flags that its writer gave it, in a list by last use. */
    static final class Item {
        final String key;
        final byte[] value;
        final int flags;
        private Item newer;
        private Item older;

        Item(String key, byte[] value, int flags) {
            this.key = key;
            this.value = value;
            this.flags = flags;
        }

        private long bytes() {
            return OVERHEAD_BYTES + key.length() + value.length;
        }
    }

    /** When an item is stored. */
    enum Mode { SET, ADD, REPLACE }

    Cache(long bytesMax) {
        for (int i = 0; i < segments.length; i++) {
            segments[i] = new Segment(bytesMax / segments.length);
        }
    }

    Item get(String key) {
        return segment(key).get(key);
    }

    boolean store(Item item, Mode mode) {
        return segment(item.key).store(item, mode);
    }

    boolean delete(String key) {
        return segment(key).delete(key);
    }

    /** The resulting number, or null if there is no item; throws if the item is no number. */
    Long add(String key, long delta) {
        return segment(key).add(key, delta);
    }

    void clear() {
        for (Segment segment : segments) {
            segment.clear();
        }
    }

    long items() {
        long items = 0;
        for (Segment segment : segments) {
            items += segment.count(0);
        }
        return items;
    }

    long bytes() {
        long bytes = 0;
        for (Segment segment : segments) {
            bytes += segment.count(1);
        }
        return bytes;
    }

    long evictions() {
        long evictions = 0;
        for (Segment segment : segments) {
            evictions += segment.count(2);
        }
        return evictions;
    }

    private Segment segment(String key) {
        return segments[(key.hashCode() * 0x9E3779B9) >>> 28];
    }

    private static final class Segment {
        private final Map<String, Item> items = new HashMap<>();
        private final long bytesMax;
        /** The ring's end: its older neighbour is the newest item, its newer neighbour the oldest. */
        private final Item ring = new Item("", new byte[0], 0);
        private long bytes;
        private long evictions;

        Segment(long bytesMax) {
            this.bytesMax = bytesMax;
            ring.newer = ring;
            ring.older = ring;
        }

        synchronized Item get(String key) {
            Item item = items.get(key);
            if (item != null) {
                unlink(item);
                link(item);
            }
            return item;
        }

        synchronized boolean store(Item item, Mode mode) {
            Item before = items.get(item.key);
            if (mode != Mode.SET && (before == null) != (mode == Mode.ADD)) {
                return false;
            }
            if (before != null) {
                drop(before);
            }
            items.put(item.key, item);
            bytes += item.bytes();
            link(item);
            while (bytes > bytesMax && ring.newer != item) {
                drop(ring.newer);
                evictions++;
            }
            return true;
        }

        synchronized boolean delete(String key) {
            Item item = items.get(key);
            if (item != null) {
                drop(item);
            }
            return item != null;
        }

        synchronized Long add(String key, long delta) {
            Item item = get(key);
            if (item == null) {
                return null;
            }
            long sum = Long.parseLong(new String(item.value, Protocol.CHARSET)) + delta;
            store(new Item(key, Long.toString(sum).getBytes(Protocol.CHARSET), item.flags), Mode.SET);
            return sum;
        }

        synchronized void clear() {
            items.clear();
            ring.newer = ring;
            ring.older = ring;
            bytes = 0;
        }

        synchronized long count(int what) {
            return what == 0 ? items.size() : what == 1 ? bytes : evictions;
        }

        private void drop(Item item) {
            items.remove(item.key);
            unlink(item);
            bytes -= item.bytes();
        }

        private void link(Item item) {
            item.older = ring.older;
            item.newer = ring;
            ring.older.newer = item;
            ring.older = item;
        }

        private static void unlink(Item item) {
            item.older.newer = item.newer;
            item.newer.older = item.older;
        }
    }
}
