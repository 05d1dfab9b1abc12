package columns;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Map;
import java.util.TreeMap;

/**
 * Writes in the order in which they came, in segments, until the tables that have them are flushed. It stands for
 * the log that others keep on disk: after a crash it restores the memory tables.
 */
final class CommitLog {
    private static final int SEGMENT_BYTES = 1 << 20;
    private final Deque<Segment> segments = new ArrayDeque<>();
    private long nextNumber;

    private static final class Segment {
        final long number;
        final byte[] bytes = new byte[SEGMENT_BYTES];
        int end;

        Segment(long number) {
            this.number = number;
        }
    }

    synchronized void append(byte[] row) {
        if (segments.isEmpty() || SEGMENT_BYTES - segments.getLast().end < row.length) {
            begin();
        }
        Segment last = segments.getLast();
        System.arraycopy(row, 0, last.bytes, last.end, row.length);
        last.end += row.length;
    }

    /** Begins a segment, and returns its number: later writes are in it or in later ones. */
    synchronized long begin() {
        segments.addLast(new Segment(nextNumber));
        return nextNumber++;
    }

    /** Segments before this one are no longer needed. */
    synchronized void release(long number) {
        while (!segments.isEmpty() && segments.getFirst().number < number) {
            segments.removeFirst();
        }
    }

    synchronized int size() {
        return segments.size();
    }

    /** The rows that the log's writes make up. */
    synchronized Map<String, Row> replay(int columns) throws IOException {
        Map<String, Row> rows = new TreeMap<>();
        for (Segment segment : segments) {
            byte[] bytes = Arrays.copyOf(segment.bytes, segment.end);
            DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
            while (in.available() > 0) {
                rows.merge(Encoding.readKey(in), Encoding.readRow(in, columns), Row::with);
            }
        }
        return rows;
    }
}
