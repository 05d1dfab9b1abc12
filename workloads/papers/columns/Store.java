package columns;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A column store in the manner of log-structured merge trees. A write goes into the commit log and the memory table;
 * a table that is full is turned aside for a thread that makes a sorted run of it, while a new one takes the writes.
 * A read puts together the cells of a row in the table, those turned aside and the runs. Where four runs are of about
 * the same size, another thread makes one of them, with the latest cell of each column.
 *
 * <p>Invariants: tables and runs in {@link #view} hold every write that was acknowledged; a run replaces the table or
 * the runs that it was made from in one step; the log holds all that is in tables. Writers share a lock, which
 * turning a table aside takes alone, so that no thread writes to a table that has been turned aside. When too many
 * tables wait, writers wait too.
 */
final class Store {
    private static final int WAITING_MAX = 2;
    private static final int SAME_SIZE_MIN = 4;

    /** The tables and runs that readers see, newest first. Never changed, only replaced. */
    private record View(Memtable table, List<Memtable> waiting, List<Run> runs) {}

    private final int columns;
    private final long tableBytes;
    private final CommitLog log = new CommitLog();
    private final ReentrantReadWriteLock writers = new ReentrantReadWriteLock();
    /** Changed under this object's monitor. */
    private volatile View view;
    private final Thread flusher = new Thread(this::flushAlways, "flusher");
    private final Thread compactor = new Thread(this::compactAlways, "compactor");
    private boolean closed;
    private boolean compacting;
    private Throwable failure;
    private int flushes;
    private int compactions;

    /** A store of rows with this many columns, whose memory tables are flushed at this size. */
    Store(int columns, long tableBytes) {
        this.columns = columns;
        this.tableBytes = tableBytes;
        view = new View(new Memtable(log.begin()), List.of(), List.of());
        // A program that fails in another thread shall end.
        flusher.setDaemon(true);
        compactor.setDaemon(true);
        flusher.start();
        compactor.start();
    }

    void put(String key, Row row) throws InterruptedException {
        byte[] bytes = Encoding.bytes(key, row);
        Memtable table;
        long size;
        writers.readLock().lock();
        try {
            log.append(bytes);
            table = view.table;
            size = table.put(key, row);
        } finally {
            writers.readLock().unlock();
        }
        if (size >= tableBytes) {
            turnAside(table);
        }
    }

    /** The latest cells of a row, or null if there is none. */
    Row get(String key) {
        View now = view;
        Row row = now.table.rows.get(key);
        for (Memtable table : now.waiting) {
            row = merged(row, table.rows.get(key));
        }
        for (Run run : now.runs) {
            row = merged(row, run.get(key));
        }
        return row;
    }

    /** All rows, sorted by their keys. Only while no thread writes. */
    Iterator<Map.Entry<String, Row>> scan() {
        View now = view;
        List<Iterator<Map.Entry<String, Row>>> parts = new ArrayList<>();
        parts.add(now.table.rows.entrySet().iterator());
        now.waiting.forEach(table -> parts.add(table.rows.entrySet().iterator()));
        now.runs.forEach(run -> parts.add(run.iterator()));
        return new Merge(parts);
    }

    /** Waits until no table waits and nothing is to be merged. */
    synchronized void settle() throws InterruptedException {
        while (failure == null && (!view.waiting.isEmpty() || compacting || candidates(view.runs).size() > 0)) {
            wait();
        }
        fail();
    }

    /** Whether the log would bring back all that is in memory tables. Only while no thread writes. */
    boolean logIsComplete() throws Exception {
        Map<String, Row> replayed = log.replay(columns);
        for (Map.Entry<String, Row> entry : view.table.rows.entrySet()) {
            Row other = replayed.get(entry.getKey());
            for (int i = 0; i < columns; i++) {
                Cell cell = entry.getValue().cells()[i];
                if (cell != null && (other == null || other.cells()[i].time() != cell.time())) {
                    return false;
                }
            }
        }
        return true;
    }

    synchronized String shape() {
        return view.runs.size() + " runs, " + flushes + " flushes, " + compactions + " compactions, "
            + log.size() + " segments of log";
    }

    /** Ends the store's threads; waiting tables are flushed. */
    void close() throws InterruptedException {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        flusher.join();
        compactor.join();
    }

    /** Puts a full table behind the others and an empty one in its place, unless another thread has done so. */
    private void turnAside(Memtable full) throws InterruptedException {
        synchronized (this) {
            while (view.table == full && view.waiting.size() >= WAITING_MAX && failure == null) {
                wait();
            }
            fail();
            if (view.table != full) {
                return;
            }
            writers.writeLock().lock();
            try {
                List<Memtable> waiting = new ArrayList<>();
                waiting.add(full);
                waiting.addAll(view.waiting);
                view = new View(new Memtable(log.begin()), List.copyOf(waiting), view.runs);
            } finally {
                writers.writeLock().unlock();
            }
            notifyAll();
        }
    }

    private void flushAlways() {
        try {
            Memtable oldest;
            while ((oldest = nextToFlush()) != null) {
                Run run = Run.of(oldest.rows.entrySet().iterator(), oldest.rows.size(), columns);
                synchronized (this) {
                    List<Memtable> waiting = new ArrayList<>(view.waiting);
                    waiting.remove(oldest);
                    List<Run> runs = new ArrayList<>();
                    runs.add(run);
                    runs.addAll(view.runs);
                    view = new View(view.table, List.copyOf(waiting), List.copyOf(runs));
                    flushes++;
                    Memtable next = waiting.isEmpty() ? view.table : waiting.get(waiting.size() - 1);
                    log.release(next.firstSegment);
                    notifyAll();
                }
            }
        } catch (Throwable e) {
            giveUp(e);
        }
    }

    private synchronized Memtable nextToFlush() throws InterruptedException {
        while (view.waiting.isEmpty() && !closed) {
            wait();
        }
        return view.waiting.isEmpty() ? null : view.waiting.get(view.waiting.size() - 1);
    }

    private void compactAlways() {
        try {
            List<Run> old;
            while (!(old = nextToMerge()).isEmpty()) {
                List<Iterator<Map.Entry<String, Row>>> parts = new ArrayList<>();
                int rows = 0;
                for (Run run : old) {
                    parts.add(run.iterator());
                    rows += run.rows;
                }
                Run merged = Run.of(new Merge(parts), rows, columns);
                synchronized (this) {
                    // Runs that were flushed meanwhile stand before the old ones and stay.
                    List<Run> runs = new ArrayList<>(view.runs);
                    runs.set(runs.indexOf(old.get(old.size() - 1)), merged);
                    runs.removeAll(old);
                    view = new View(view.table, view.waiting, List.copyOf(runs));
                    compactions++;
                    compacting = false;
                    notifyAll();
                }
            }
        } catch (Throwable e) {
            giveUp(e);
        }
    }

    private synchronized List<Run> nextToMerge() throws InterruptedException {
        while (true) {
            List<Run> found = closed ? List.of() : candidates(view.runs);
            if (closed || !found.isEmpty()) {
                compacting = !found.isEmpty();
                return found;
            }
            wait();
        }
    }

    /** The smallest runs that are enough and of about the same size, or none. */
    private static List<Run> candidates(List<Run> runs) {
        List<Run> sorted = new ArrayList<>(runs);
        sorted.sort(Comparator.comparingLong(run -> run.bytes));
        for (int from = 0; from + SAME_SIZE_MIN <= sorted.size(); from++) {
            int to = from + 1;
            while (to < sorted.size() && sorted.get(to).bytes <= 2 * sorted.get(from).bytes) {
                to++;
            }
            if (to - from >= SAME_SIZE_MIN) {
                return List.copyOf(sorted.subList(from, to));
            }
        }
        return List.of();
    }

    private static Row merged(Row a, Row b) {
        return a == null ? b : b == null ? a : a.with(b);
    }

    private synchronized void giveUp(Throwable why) {
        failure = why;
        notifyAll();
    }

    private void fail() {
        if (failure != null) {
            throw new IllegalStateException("a thread of the store has failed", failure);
        }
    }

    /** Sorted rows of several sources, each key once with all that is known of it. */
    private static final class Merge implements Iterator<Map.Entry<String, Row>> {
        private record Head(Map.Entry<String, Row> entry, Iterator<Map.Entry<String, Row>> rest) {}

        private final PriorityQueue<Head> heads = new PriorityQueue<>(Comparator.comparing(h -> h.entry.getKey()));

        Merge(List<Iterator<Map.Entry<String, Row>>> parts) {
            parts.forEach(this::add);
        }

        private void add(Iterator<Map.Entry<String, Row>> rest) {
            if (rest.hasNext()) {
                heads.add(new Head(rest.next(), rest));
            }
        }

        @Override
        public boolean hasNext() {
            return !heads.isEmpty();
        }

        @Override
        public Map.Entry<String, Row> next() {
            Head head = heads.remove();
            add(head.rest);
            String key = head.entry.getKey();
            Row row = head.entry.getValue();
            while (!heads.isEmpty() && heads.peek().entry.getKey().equals(key)) {
                Head same = heads.remove();
                add(same.rest);
                row = row.with(same.entry.getValue());
            }
            return Map.entry(key, row);
        }
    }
}
