package columns;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Sorted rows that never change, as bytes in blocks, with an index: the first key of each block, and a filter that
 * excludes most keys that it does not hold.
 */
final class Run {
    private static final int BLOCK_BYTES = 8 << 10;
    private final int columns;
    private final byte[][] blocks;
    private final String[] firstKeys;
    private final Bloom bloom;
    final int rows;
    final long bytes;

    private Run(int columns, List<byte[]> blocks, List<String> firstKeys, Bloom bloom, int rows) {
        this.columns = columns;
        this.blocks = blocks.toArray(new byte[0][]);
        this.firstKeys = firstKeys.toArray(new String[0]);
        this.bloom = bloom;
        this.rows = rows;
        bytes = blocks.stream().mapToLong(block -> block.length).sum();
    }

    /** A run of the rows, whose keys must be sorted; {@code rowsMax} is a bound on their number. */
    static Run of(Iterator<Map.Entry<String, Row>> sorted, int rowsMax, int columns) {
        List<byte[]> blocks = new ArrayList<>();
        List<String> firstKeys = new ArrayList<>();
        Bloom bloom = new Bloom(rowsMax);
        ByteArrayOutputStream block = new ByteArrayOutputStream(BLOCK_BYTES + 2048);
        int rows = 0;
        try {
            while (sorted.hasNext()) {
                Map.Entry<String, Row> entry = sorted.next();
                if (block.size() == 0) {
                    firstKeys.add(entry.getKey());
                }
                Encoding.write(new DataOutputStream(block), entry.getKey(), entry.getValue());
                bloom.add(entry.getKey());
                rows++;
                if (block.size() >= BLOCK_BYTES) {
                    blocks.add(block.toByteArray());
                    block.reset();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (block.size() > 0) {
            blocks.add(block.toByteArray());
        }
        return new Run(columns, blocks, firstKeys, bloom, rows);
    }

    /** This run's cells of the row, or null. */
    Row get(String key) {
        if (!bloom.mayHave(key)) {
            return null;
        }
        int found = Arrays.binarySearch(firstKeys, key);
        int block = found >= 0 ? found : -found - 2;
        if (block < 0) {
            return null;
        }
        Cursor cursor = new Cursor(block, block + 1);
        while (cursor.hasNext()) {
            Map.Entry<String, Row> entry = cursor.next();
            int order = entry.getKey().compareTo(key);
            if (order >= 0) {
                return order == 0 ? entry.getValue() : null;
            }
        }
        return null;
    }

    /** All rows in their order. */
    Iterator<Map.Entry<String, Row>> iterator() {
        return new Cursor(0, blocks.length);
    }

    private final class Cursor implements Iterator<Map.Entry<String, Row>> {
        private int block;
        private final int end;
        private DataInputStream in;

        Cursor(int block, int end) {
            this.block = block;
            this.end = end;
        }

        @Override
        public boolean hasNext() {
            try {
                if (in != null && in.available() > 0) {
                    return true;
                }
                if (block >= end) {
                    return false;
                }
                in = new DataInputStream(new ByteArrayInputStream(blocks[block++]));
                return true;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public Map.Entry<String, Row> next() {
            hasNext();
            try {
                String key = Encoding.readKey(in);
                return Map.entry(key, Encoding.readRow(in, columns));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
