package studies;

import harness.Checksum;
import harness.Figures;
import harness.Numbers;
import harness.Rng;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;

/**
 * A program whose behaviour changes: it loads a table and keeps it, computes with short-lived objects, rebuilds it in
 * another shape, forgets most of it, streams through the rest, and begins again. A profile of one phase is wrong in
 * the next.
 *
 * <p>Arguments: entries, work, rounds.
 */
public final class Phases {
    private record Entry(int key, String name, long[] samples) {}

    private final Rng rng = new Rng(1500);
    private final Checksum checksum = new Checksum();
    private Map<Integer, Entry> table = new HashMap<>();
    private TreeMap<String, List<Entry>> shelves = new TreeMap<>();
    private final Map<String, Double> seconds = new TreeMap<>();

    public static void main(String[] args) {
        int[] n = Numbers.of(args, "entries work rounds", 20_000, 200_000, 2);
        Phases phases = new Phases();
        for (int round = 0; round < n[2]; round++) {
            int last = round;
            phases.timed("load", () -> phases.load(n[0]));
            phases.timed("compute", () -> phases.compute(n[0], n[1]));
            phases.timed("reshape", () -> phases.reshape(last == n[2] - 1));
            phases.timed("forget", phases::forget);
            phases.timed("stream", () -> phases.stream(n[1]));
            Figures.result("round " + round, phases.checksum);
        }
        phases.seconds.forEach((name, seconds) -> Figures.metric(name + "_s", seconds));
    }

    private void timed(String name, Runnable phase) {
        long start = System.nanoTime();
        phase.run();
        seconds.merge(name, Figures.seconds(start), Double::sum);
    }

    /** Grows steadily, and all of it stays. */
    private void load(int entries) {
        for (int key = 0; key < entries; key++) {
            long[] samples = new long[rng.between(4, 20)];
            for (int i = 0; i < samples.length; i++) {
                samples[i] = rng.below(1000);
            }
            table.put(key, new Entry(key, "name-" + rng.letters(4), samples));
        }
        checksum.add(table.size());
    }

    /** Makes much and keeps nothing. */
    private void compute(int entries, int work) {
        for (int i = 0; i < work; i += 100) {
            PriorityQueue<Entry> best = new PriorityQueue<>((a, b) -> Long.compare(sum(a), sum(b)));
            for (int k = 0; k < 100; k++) {
                Entry entry = table.get(rng.below(entries));
                best.add(new Entry(entry.key, entry.name + "'", entry.samples.clone()));
                if (best.size() > 10) {
                    best.remove();
                }
            }
            checksum.add(best.remove().name);
        }
    }

    /** The same entries in another structure, the old one in use until the new one is done. */
    private void reshape(boolean last) {
        TreeMap<String, List<Entry>> made = new TreeMap<>();
        for (Entry entry : table.values()) {
            made.computeIfAbsent(entry.name.substring(0, 8), name -> new ArrayList<>())
                .add(new Entry(entry.key, entry.name.toUpperCase(Locale.ROOT), entry.samples));
        }
        shelves = made;
        if (last) {
            Figures.peak();
        }
        table = new HashMap<>();
        checksum.add(shelves.size());
    }

    /** Nine of ten shelves are dropped. */
    private void forget() {
        shelves.keySet().removeIf(name -> rng.below(10) > 0);
        checksum.add(shelves.size());
    }

    /** Pieces of text pass by, each of them for a short time. */
    private void stream(int work) {
        long length = 0;
        StringBuilder page = new StringBuilder();
        List<List<Entry>> left = new ArrayList<>(shelves.values());
        for (int i = 0; i < work && !left.isEmpty(); i++) {
            for (Entry entry : left.get(i % left.size())) {
                page.append(entry.name).append(' ').append(sum(entry)).append('\n');
            }
            if (page.length() > 20_000) {
                length += page.toString().lines().mapToInt(String::length).sum();
                page.setLength(0);
            }
        }
        checksum.add(length);
    }

    private static long sum(Entry entry) {
        long sum = 0;
        for (long sample : entry.samples) {
            sum += sample;
        }
        return sum;
    }
}
