package harness;

/**
 * Counts of times, in memory that does not grow with their number: 32 steps for each doubling, so a percentile is
 * less than 4 % above what it should be. Each thread has its own.
 */
public final class Histogram {
    private static final int STEP_BITS = 5;
    private final long[] counts = new long[64 << STEP_BITS];
    private long total;
    private long max;

    public void add(long nanos) {
        long value = Math.max(0, nanos);
        counts[place(value)]++;
        total++;
        max = Math.max(max, value);
    }

    /** Adds the counts of another one. */
    public void add(Histogram other) {
        for (int i = 0; i < counts.length; i++) {
            counts[i] += other.counts[i];
        }
        total += other.total;
        max = Math.max(max, other.max);
    }

    public long total() {
        return total;
    }

    /** The time that this share of all times does not exceed. */
    public long percentile(double share) {
        long wanted = (long) Math.ceil(share * total);
        long seen = 0;
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i];
            if (seen >= wanted && seen > 0) {
                return Math.min(max, end(i));
            }
        }
        return max;
    }

    /** Percentiles as figures in microseconds. */
    public void report(String name) {
        if (total == 0) {
            return;
        }
        double[] shares = {0.5, 0.9, 0.99, 0.999, 1};
        String[] names = {"p50", "p90", "p99", "p999", "max"};
        for (int i = 0; i < shares.length; i++) {
            Figures.metric(name + "_" + names[i] + "_us", percentile(shares[i]) / 1e3);
        }
    }

    private static int place(long value) {
        int shift = Math.max(0, 63 - Long.numberOfLeadingZeros(value | 1) - STEP_BITS);
        return (shift << STEP_BITS) + (int) (value >>> shift);
    }

    /** The largest value of a place. */
    private static long end(int place) {
        int shift = Math.max(0, (place >>> STEP_BITS) - 1);
        long steps = place - ((long) shift << STEP_BITS);
        return (steps + 1 << shift) - 1;
    }
}
