import java.util.Arrays;
import java.util.TreeMap;

/** Takes what generated classes compute, makes a checksum of it, and makes their arguments. */
public class Sink {
    private static long sum;
    private static final TreeMap<String, Integer> CAUGHT = new TreeMap<>();

    public static void start() {
        sum = 0;
        CAUGHT.clear();
    }

    /** Prints the checksum now and then. */
    public static void tick(int i) {
        if (i < 4 || (i & 2047) == 0) {
            System.out.println(i + " " + Long.toHexString(sum));
        }
    }

    public static void end() {
        System.out.println(Long.toHexString(sum) + " " + CAUGHT);
    }

    public static void mix(int value) {
        sum = sum * 31 + value;
    }

    public static void mix(int a, int b, int c) {
        sum = ((sum * 31 + a) * 31 + b) * 31 + c;
    }

    public static void mix(long value) {
        sum = sum * 31 + value;
    }

    public static void mix(float value) {
        mix(Float.floatToIntBits(value));
    }

    public static void mix(double value) {
        mix(Double.doubleToLongBits(value));
    }

    public static void mix(String value) {
        mix(value == null ? 3 : value.hashCode());
    }

    public static void mix(int[] value) {
        mix(Arrays.hashCode(value));
    }

    public static void mix(Object value) {
        mix(value == null ? "null" : value.getClass().getName());
    }

    public static void mix(Throwable value) {
        String name = value.getClass().getName();
        mix(name);
        mix(value.getMessage());
        StackTraceElement[] trace = value.getStackTrace();
        mix(trace.length);
        mix(trace[0].getMethodName());
        CAUGHT.merge(name, 1, Integer::sum);
    }

    public static int i(int i) {
        return i;
    }

    public static long j(int i) {
        return i * 0x9E3779B97F4A7C15L;
    }

    public static float f(int i) {
        return i * 0.37f - 100;
    }

    public static double d(int i) {
        return 1000 - i * 0.81;
    }

    public static String t(int i) {
        return (i & 31) == 0 ? null : "text" + i % 50;
    }

    public static int[] a(int i) {
        return (i & 63) == 0 ? null : new int[] {i, 1, 2, 3, -i, 5, 6, 7, i * i};
    }

    public static Object o(int i) {
        return (i & 1) == 0 ? t(i) : a(i);
    }
}
