package tables;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Rows with typed columns, in memory, by primary key; indexes find rows by other columns. A row is an array of boxed
 * values and never changed: an update puts another one into its place. Many threads may use a table.
 *
 * <p>Invariant: an index has each row's key exactly under the row's present value.
 */
final class Table {
    /** A column's name and the class of its values. */
    record Column(String name, Class<?> type) {}

    private final String name;
    private final List<Column> columns;
    private final Map<String, Integer> places = new HashMap<>();
    private final NavigableMap<Object, Object[]> rows = new TreeMap<>();
    /** By column: keys of the rows with a value. Hash maps for equality, tree maps for ranges too. */
    private final Map<Integer, Map<Object, Set<Object>>> indexes = new LinkedHashMap<>();
    private final ReadWriteLock lock = new ReentrantReadWriteLock();

    /** A table whose first column is the primary key. */
    Table(String name, Column... columns) {
        this.name = name;
        this.columns = List.of(columns);
        for (int i = 0; i < columns.length; i++) {
            places.put(columns[i].name(), i);
        }
    }

    Table hashIndex(String column) {
        indexes.put(place(column), new HashMap<>());
        return this;
    }

    Table treeIndex(String column) {
        indexes.put(place(column), new TreeMap<>());
        return this;
    }

    List<Column> columns() {
        return columns;
    }

    int place(String column) {
        Integer place = places.get(column);
        if (place == null) {
            throw new IllegalArgumentException("no column " + column + " in " + name);
        }
        return place;
    }

    boolean hasIndex(String column) {
        return indexes.containsKey(place(column));
    }

    void insert(Object... row) {
        check(row);
        lock.writeLock().lock();
        try {
            if (rows.putIfAbsent(row[0], row) != null) {
                throw new IllegalArgumentException("there is a row " + row[0] + " in " + name);
            }
            indexes.forEach((place, index) -> enter(index, row[place], row[0]));
        } finally {
            lock.writeLock().unlock();
        }
    }

    /** How a column's value follows from the old one. */
    interface Change {
        Object of(Object before);
    }

    /** Changes a column of one row; false if there is no such row. */
    boolean update(Object key, String column, Change change) {
        int place = place(column);
        lock.writeLock().lock();
        try {
            Object[] before = rows.get(key);
            if (before == null) {
                return false;
            }
            Object[] after = before.clone();
            after[place] = change.of(before[place]);
            check(after);
            rows.put(key, after);
            Map<Object, Set<Object>> index = indexes.get(place);
            if (index != null && !before[place].equals(after[place])) {
                leave(index, before[place], key);
                enter(index, after[place], key);
            }
            return true;
        } finally {
            lock.writeLock().unlock();
        }
    }

    boolean delete(Object key) {
        lock.writeLock().lock();
        try {
            Object[] row = rows.remove(key);
            if (row == null) {
                return false;
            }
            indexes.forEach((place, index) -> leave(index, row[place], key));
            return true;
        } finally {
            lock.writeLock().unlock();
        }
    }

    /** The row with a primary key, or null. */
    Object[] get(Object key) {
        lock.readLock().lock();
        try {
            return rows.get(key);
        } finally {
            lock.readLock().unlock();
        }
    }

    /** All rows, by primary key. */
    List<Object[]> scan() {
        lock.readLock().lock();
        try {
            return new ArrayList<>(rows.values());
        } finally {
            lock.readLock().unlock();
        }
    }

    /** Rows with a value in a column that has an index, or is the primary key; by primary key. */
    List<Object[]> equal(String column, Object value) {
        lock.readLock().lock();
        try {
            int place = place(column);
            if (place == 0) {
                Object[] row = rows.get(value);
                return row == null ? List.of() : List.<Object[]>of(row);
            }
            return rows(List.of(indexes.get(place).getOrDefault(value, Set.of())));
        } finally {
            lock.readLock().unlock();
        }
    }

    /** Rows with a value from {@code low} to {@code high}, both included, in a column with a tree index; by value. */
    List<Object[]> range(String column, Object low, Object high) {
        lock.readLock().lock();
        try {
            TreeMap<Object, Set<Object>> index = (TreeMap<Object, Set<Object>>) indexes.get(place(column));
            return rows(index.subMap(low, true, high, true).values());
        } finally {
            lock.readLock().unlock();
        }
    }

    int size() {
        lock.readLock().lock();
        try {
            return rows.size();
        } finally {
            lock.readLock().unlock();
        }
    }

    /** Whether each index has each row once, where it belongs. */
    boolean isSound() {
        for (Map.Entry<Integer, Map<Object, Set<Object>>> entry : indexes.entrySet()) {
            int entries = 0;
            for (Map.Entry<Object, Set<Object>> same : entry.getValue().entrySet()) {
                for (Object key : same.getValue()) {
                    Object[] row = rows.get(key);
                    if (row == null || !row[entry.getKey()].equals(same.getKey())) {
                        return false;
                    }
                    entries++;
                }
            }
            if (entries != rows.size()) {
                return false;
            }
        }
        return true;
    }

    private List<Object[]> rows(Collection<Set<Object>> keys) {
        List<Object[]> found = new ArrayList<>();
        for (Set<Object> same : keys) {
            for (Object key : same) {
                found.add(rows.get(key));
            }
        }
        return found;
    }

    private void check(Object[] row) {
        if (row.length != columns.size()) {
            throw new IllegalArgumentException(row.length + " values for " + name);
        }
        for (int i = 0; i < row.length; i++) {
            if (!columns.get(i).type().isInstance(row[i])) {
                throw new IllegalArgumentException(columns.get(i) + " is no " + row[i]);
            }
        }
    }

    private static void enter(Map<Object, Set<Object>> index, Object value, Object key) {
        index.computeIfAbsent(value, v -> new TreeSet<>()).add(key);
    }

    private static void leave(Map<Object, Set<Object>> index, Object value, Object key) {
        Set<Object> same = index.get(value);
        same.remove(key);
        if (same.isEmpty()) {
            index.remove(value);
        }
    }
}
