package tables;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * A query as a chain of steps, each of which takes rows and gives rows: source, filter, join, group, order, limit.
 * Columns are named; a join's result has those of both sides.
 */
final class Query {
    private final List<String> names;
    private final List<Object[]> rows;

    private Query(List<String> names, List<Object[]> rows) {
        this.names = names;
        this.rows = rows;
    }

    static Query from(Table table) {
        return new Query(names(table), table.scan());
    }

    /** Rows with a value, through an index. */
    static Query from(Table table, String column, Object value) {
        return new Query(names(table), table.equal(column, value));
    }

    /** Rows with a value in a range, through a tree index. */
    static Query from(Table table, String column, Object low, Object high) {
        return new Query(names(table), table.range(column, low, high));
    }

    Query where(String column, Predicate<Object> holds) {
        int place = place(column);
        List<Object[]> found = new ArrayList<>();
        for (Object[] row : rows) {
            if (holds.test(row[place])) {
                found.add(row);
            }
        }
        return new Query(names, found);
    }

    /**
     * Each row with each row of the table that has the same value in a column: looked up where the table has an index
     * and few rows ask, otherwise in a hash table that is made of all of it.
     */
    Query join(Table table, String column, String tableColumn) {
        int place = place(column);
        int tablePlace = table.place(tableColumn);
        boolean lookup = (tablePlace == 0 || table.hasIndex(tableColumn)) && rows.size() < table.size() / 4;
        Map<Object, List<Object[]>> hashed = new HashMap<>();
        if (!lookup) {
            for (Object[] row : table.scan()) {
                hashed.computeIfAbsent(row[tablePlace], value -> new ArrayList<>(1)).add(row);
            }
        }
        List<Object[]> joined = new ArrayList<>();
        for (Object[] left : rows) {
            List<Object[]> matching = lookup
                ? table.equal(tableColumn, left[place]) : hashed.getOrDefault(left[place], List.of());
            for (Object[] right : matching) {
                Object[] both = Arrays.copyOf(left, left.length + right.length);
                System.arraycopy(right, 0, both, left.length, right.length);
                joined.add(both);
            }
        }
        List<String> all = new ArrayList<>(names);
        all.addAll(names(table));
        return new Query(all, joined);
    }

    /** One row for each value of a column: the value, the number of its rows, and the sum of another column. */
    Query group(String column, String summed) {
        int place = place(column);
        int summedPlace = place(summed);
        Map<Object, Object[]> groups = new LinkedHashMap<>();
        for (Object[] row : rows) {
            Object[] group = groups.computeIfAbsent(row[place], value -> new Object[] {value, 0L, 0L});
            group[1] = (Long) group[1] + 1;
            group[2] = (Long) group[2] + (Long) row[summedPlace];
        }
        return new Query(List.of(column, "count", "sum"), new ArrayList<>(groups.values()));
    }

    /** By a column, the largest first, and by another one where that is equal. */
    @SuppressWarnings("unchecked")
    Query order(String column, String then) {
        int first = place(column);
        int second = place(then);
        List<Object[]> sorted = new ArrayList<>(rows);
        Comparator<Object[]> larger =
            (a, b) -> ((Comparable<Object>) b[first]).compareTo(a[first]);
        sorted.sort(larger.thenComparing((a, b) -> ((Comparable<Object>) a[second]).compareTo(b[second])));
        return new Query(names, sorted);
    }

    Query limit(int rowsMax) {
        return new Query(names, rows.subList(0, Math.min(rowsMax, rows.size())));
    }

    List<Object[]> rows() {
        return rows;
    }

    private int place(String column) {
        int place = names.indexOf(column);
        if (place < 0) {
            throw new IllegalArgumentException("no column " + column + " in " + names);
        }
        return place;
    }

    private static List<String> names(Table table) {
        List<String> names = new ArrayList<>();
        table.columns().forEach(column -> names.add(column.name()));
        return names;
    }
}
