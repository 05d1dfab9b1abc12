package columns;

import harness.Checksum;
import harness.Crew;
import harness.Figures;
import harness.Histogram;
import harness.Numbers;
import harness.Pace;
import harness.Rng;
import harness.Zipf;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;

/**
 * A mix of the Yahoo Cloud Serving Benchmark on a column store: rows of ten columns, keys that are asked for by
 * Zipf's law with exponent 0.99, inserts of new rows, updates of a column, reads of a row.
 *
 * <p>Arguments: rows at first, operations, inserts and updates in a hundred operations (the rest are reads), memory
 * table's size in KiB, threads, operations a second of all threads (0: as fast as they can). Latencies are measured
 * against the moment at which an operation was meant to start.
 *
 * <p>There are sixteen clients, each with rows of its own that others do not touch, and each thread serves some of
 * them in turn. So every read has one right answer, and the rows at the end depend on nothing but the arguments.
 */
public final class ColumnStore {
    private static final int CLIENTS = 16;
    private static final int COLUMNS = 10;
    private static final int VALUE_BYTES = 50;

    private final Store store;
    private final Client[] clients = new Client[CLIENTS];

    private ColumnStore(int rows, int operations, int tableKilobytes) {
        store = new Store(COLUMNS, (long) tableKilobytes << 10);
        for (int i = 0; i < CLIENTS; i++) {
            clients[i] = new Client(i, rows / CLIENTS, operations / CLIENTS);
        }
    }

    public static void main(String[] args) throws Exception {
        int[] n = Numbers.of(args, "rows operations inserts updates table-kilobytes threads operations-a-second",
            1600, 8000, 50, 25, 256, 2, 0);
        Figures.require(n[0] >= CLIENTS * 2 && n[2] + n[3] <= 100, "there are rows, and inserts and updates up to 100");
        new ColumnStore(n[0], n[1], n[4]).run(n[2], n[3], Math.max(1, n[5]), n[6]);
    }

    private void run(int inserts, int updates, int threads, int perSecond) throws Exception {
        long start = System.nanoTime();
        Crew.run("loader", threads, worker -> {
            for (int c = worker; c < CLIENTS; c += threads) {
                clients[c].load();
            }
        });
        Figures.metric("load_s", Figures.seconds(start));
        Histogram[] times = new Histogram[threads];
        start = System.nanoTime();
        Crew.run("server", threads, worker -> times[worker] = serve(worker, threads, inserts, updates, perSecond));
        double seconds = Figures.seconds(start);
        Histogram all = new Histogram();
        Arrays.stream(times).forEach(all::add);
        Figures.metric("run_s", seconds);
        Figures.metric("operations_per_s", all.total() / seconds);
        all.report("operation");
        Figures.peak();
        Figures.require(store.logIsComplete(), "the log lacks writes");
        System.err.println(store.shape());
        report("before");
        store.settle();
        report("settled");
        System.err.println(store.shape());
        store.close();
        long reads = 0;
        Checksum read = new Checksum();
        for (Client client : clients) {
            reads += client.reads;
            read.add(client.read.toString());
        }
        Figures.result("operations", all.total());
        Figures.result("reads", reads + " " + read);
    }

    private Histogram serve(int worker, int threads, int inserts, int updates, int perSecond) throws Exception {
        Histogram times = new Histogram();
        Pace pace = new Pace((double) perSecond / threads);
        int left = worker < CLIENTS ? clients[worker].operations : 0;
        while (left-- > 0) {
            for (int c = worker; c < CLIENTS; c += threads) {
                long intended = pace.await();
                clients[c].operate(inserts, updates);
                times.add(System.nanoTime() - intended);
            }
        }
        return times;
    }

    /** All rows, in their order, and that they are as many as were inserted. */
    private void report(String name) {
        Checksum checksum = new Checksum();
        int rows = 0;
        for (Iterator<Map.Entry<String, Row>> all = store.scan(); all.hasNext(); rows++) {
            Map.Entry<String, Row> entry = all.next();
            checksum.add(entry.getKey());
            for (Cell cell : entry.getValue().cells()) {
                checksum.add(cell.value()).add(cell.time());
            }
        }
        int expected = Arrays.stream(clients).mapToInt(client -> client.rows).sum();
        Figures.require(rows == expected, rows + " rows instead of " + expected);
        Figures.result(name, rows + " rows " + checksum);
    }

    /** One user at a time, and the rows that belong to them. */
    private final class Client {
        private final int number;
        private final int operations;
        private final Rng rng;
        private final Zipf zipf;
        private final Checksum read = new Checksum();
        /** The last write to a row's columns: the number of the operation. */
        private int[][] written;
        private int rows;
        private int now;
        private int reads;

        Client(int number, int rows, int operations) {
            this.number = number;
            this.operations = operations;
            rng = new Rng(500 + number);
            zipf = new Zipf(rows, 0.99);
            written = new int[rows][];
        }

        void load() throws InterruptedException {
            for (int row = written.length; row > 0; row--) {
                insert();
            }
        }

        void operate(int inserts, int updates) throws InterruptedException {
            int kind = rng.below(100);
            if (kind < inserts) {
                insert();
                return;
            }
            int row = Zipf.scatter(zipf.next(rng), rows);
            if (kind < inserts + updates) {
                update(row, rng.below(COLUMNS));
            } else {
                read(row);
            }
        }

        private void insert() throws InterruptedException {
            now++;
            Cell[] cells = new Cell[COLUMNS];
            for (int column = 0; column < COLUMNS; column++) {
                cells[column] = cell(rows, column);
            }
            if (rows == written.length) {
                written = Arrays.copyOf(written, rows + rows / 2);
            }
            written[rows] = new int[COLUMNS];
            Arrays.fill(written[rows], now);
            store.put(key(rows++), new Row(cells));
        }

        private void update(int row, int column) throws InterruptedException {
            now++;
            Cell[] cells = new Cell[COLUMNS];
            cells[column] = cell(row, column);
            written[row][column] = now;
            store.put(key(row), new Row(cells));
        }

        private void read(int row) {
            Row found = store.get(key(row));
            if (found == null) {
                Figures.wrong(key(row) + " is gone");
            }
            for (int column = 0; column < COLUMNS; column++) {
                Cell cell = found.cells()[column];
                if (cell == null || cell.time() != written[row][column]) {
                    Figures.wrong(key(row) + " is old");
                }
                long mark = mark(row, column, written[row][column]);
                if (ByteBuffer.wrap(cell.value()).getLong() != mark) {
                    Figures.wrong(key(row) + " is wrong");
                }
                read.add(mark);
            }
            reads++;
        }

        private Cell cell(int row, int column) {
            byte[] value = new byte[VALUE_BYTES];
            ByteBuffer.wrap(value).putLong(mark(row, column, now));
            return new Cell(value, now);
        }

        private long mark(int row, int column, int time) {
            return (((long) number << 32 | row) * 31 + column) * 0x9E3779B97F4A7C15L + time;
        }

        /** Neighbours in number are not neighbours in the order of keys. */
        private String key(int row) {
            return String.format("user%08x%08x", Integer.reverse(row * 0x9E3779B9), number);
        }
    }
}
