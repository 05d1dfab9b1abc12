package columns;

import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;

/** The newest writes, sorted: a skip list that many threads change at a time. */
final class Memtable {
    final ConcurrentSkipListMap<String, Row> rows = new ConcurrentSkipListMap<>();
    private final AtomicLong bytes = new AtomicLong();
    /** The number of the log's first segment with a write of this table. */
    final long firstSegment;

    Memtable(long firstSegment) {
        this.firstSegment = firstSegment;
    }

    /** Returns how large the table is then, about. */
    long put(String key, Row row) {
        rows.merge(key, row, Row::with);
        return bytes.addAndGet(row.bytes() + 2L * key.length());
    }
}
