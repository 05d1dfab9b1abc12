package harness;

import java.util.Arrays;
import java.util.Locale;

/**
 * A workload's reports. Standard output holds results, which depend on nothing but the arguments; standard error
 * holds figures that are measured, as lines {@code metric NAME VALUE}, with the unit at the end of the name.
 */
public final class Figures {
    private Figures() {}

    /** One line of the result. */
    public static void result(String name, Object value) {
        System.out.println(name + " " + value);
    }

    /** One measured figure. */
    public static void metric(String name, double value) {
        System.err.println(String.format(Locale.ROOT, "metric %s %.3f", name, value));
    }

    /** Seconds since {@code start}, a value of {@code System.nanoTime()}. */
    public static double seconds(long start) {
        return (System.nanoTime() - start) / 1e9;
    }

    /**
     * Called where the most is reachable. With {@code -Dlive=true} it collects and says how much that is, which is
     * how the manifest's figures were made; otherwise it does nothing.
     */
    public static void peak() {
        if (Boolean.getBoolean("live")) {
            System.gc();
            Runtime runtime = Runtime.getRuntime();
            metric("live_mb", (runtime.totalMemory() - runtime.freeMemory()) / 1048576.0);
        }
    }

    /** Percentiles of latencies in nanoseconds, as figures in microseconds. The array is sorted. */
    public static void latencies(String name, long[] nanos) {
        Arrays.sort(nanos);
        double[] shares = {0.5, 0.9, 0.99, 0.999, 1};
        String[] names = {"p50", "p90", "p99", "p999", "max"};
        for (int i = 0; i < shares.length && nanos.length > 0; i++) {
            int index = (int) Math.ceil(shares[i] * nanos.length) - 1;
            metric(name + "_" + names[i] + "_us", nanos[Math.max(0, index)] / 1e3);
        }
    }

    /** Ends the program with a message if a result is wrong. */
    public static void require(boolean holds, String what) {
        if (!holds) {
            wrong(what);
        }
    }

    /** Ends the program with a message: a result is wrong. */
    public static void wrong(String what) {
        System.out.println("wrong: " + what);
        System.out.flush();
        System.exit(1);
    }
}
