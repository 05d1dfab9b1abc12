package suite;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/** Sorting in many forms: our own on ints and on objects, the library's with comparators, a heap, binary search. */
public class Sorting {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(8, size); i > 0; i--) {
                sum = sum * 31 + ints(30_000, i);
                sum = sum * 31 + records(6_000, i);
                sum = sum * 31 + shortestWay(70, i);
            }
            return sum;
        });
    }

    private static long ints(int count, int seed) {
        Harness.Rng rng = new Harness.Rng(seed);
        int[] quick = new int[count];
        for (int i = 0; i < count; i++) {
            quick[i] = rng.next() % 50_000;
        }
        int[] library = quick.clone();
        quick(quick, 0, count - 1);
        Arrays.sort(library);
        if (!Arrays.equals(quick, library)) {
            throw new IllegalStateException("not sorted");
        }
        long found = 0;
        for (int i = 0; i < 2000; i++) {
            found += Math.max(-1, Arrays.binarySearch(quick, rng.below(100_000) - 50_000));
        }
        return Arrays.hashCode(quick) + found;
    }

    private static void quick(int[] a, int from, int to) {
        int low = from;
        int high = to;
        int pivot = a[(from + to) >>> 1];
        while (low <= high) {
            while (a[low] < pivot) {
                low++;
            }
            while (a[high] > pivot) {
                high--;
            }
            if (low <= high) {
                int kept = a[low];
                a[low++] = a[high];
                a[high--] = kept;
            }
        }
        if (from < high) {
            quick(a, from, high);
        }
        if (low < to) {
            quick(a, low, to);
        }
    }

    /** A thing with several keys. */
    static final class Item implements Comparable<Item> {
        final String name;
        final int rank;
        final double weight;

        Item(String name, int rank, double weight) {
            this.name = name;
            this.rank = rank;
            this.weight = weight;
        }

        @Override
        public int compareTo(Item other) {
            int byRank = Integer.compare(rank, other.rank);
            return byRank != 0 ? byRank : name.compareTo(other.name);
        }
    }

    private static long records(int count, int seed) {
        Harness.Rng rng = new Harness.Rng(seed * 13L);
        List<Item> items = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            items.add(new Item("item" + rng.below(1000), rng.below(200), rng.fraction()));
        }
        Collections.sort(items);
        long sum = hash(items);
        items.sort(Comparator.comparing((Item item) -> item.name).thenComparingDouble(item -> item.weight));
        sum = sum * 31 + hash(items);
        Item[] heap = items.toArray(new Item[0]);
        heapSort(heap, Comparator.comparingDouble(item -> -item.weight));
        return sum * 31 + hash(Arrays.asList(heap));
    }

    private static <T> void heapSort(T[] a, Comparator<? super T> order) {
        for (int i = a.length / 2 - 1; i >= 0; i--) {
            sink(a, i, a.length, order);
        }
        for (int end = a.length - 1; end > 0; end--) {
            T top = a[0];
            a[0] = a[end];
            a[end] = top;
            sink(a, 0, end, order);
        }
    }

    private static <T> void sink(T[] a, int from, int end, Comparator<? super T> order) {
        T item = a[from];
        int at = from;
        while (2 * at + 1 < end) {
            int child = 2 * at + 1;
            if (child + 1 < end && order.compare(a[child], a[child + 1]) < 0) {
                child++;
            }
            if (order.compare(item, a[child]) >= 0) {
                break;
            }
            a[at] = a[child];
            at = child;
        }
        a[at] = item;
    }

    private static long hash(List<Item> items) {
        long sum = 0;
        for (Item item : items) {
            sum = sum * 31 + item.rank + (long) (item.weight * 1e9);
        }
        return sum;
    }

    private record Step(int place, int cost) implements Comparable<Step> {
        @Override
        public int compareTo(Step other) {
            return cost != other.cost ? Integer.compare(cost, other.cost) : Integer.compare(place, other.place);
        }
    }

    /** The cheapest way across a square of fields, found with a priority queue. */
    private static int shortestWay(int side, int seed) {
        Harness.Rng rng = new Harness.Rng(seed * 17L);
        int[] price = new int[side * side];
        int[] best = new int[side * side];
        for (int i = 0; i < price.length; i++) {
            price[i] = 1 + rng.below(20);
            best[i] = Integer.MAX_VALUE;
        }
        int[] moves = {1, -1, side, -side};
        PriorityQueue<Step> open = new PriorityQueue<>();
        open.add(new Step(0, 0));
        best[0] = 0;
        while (!open.isEmpty()) {
            Step step = open.poll();
            if (step.cost() > best[step.place()]) {
                continue;
            }
            for (int move : moves) {
                int next = step.place() + move;
                boolean wraps = Math.abs(move) == 1 && next / side != step.place() / side;
                if (next < 0 || next >= price.length || wraps) {
                    continue;
                }
                int cost = step.cost() + price[next];
                if (cost < best[next]) {
                    best[next] = cost;
                    open.add(new Step(next, cost));
                }
            }
        }
        return best[best.length - 1];
    }
}
