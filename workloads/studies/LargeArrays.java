package studies;

import harness.Checksum;
import harness.Crew;
import harness.Figures;
import harness.Histogram;
import harness.Numbers;
import harness.Rng;
import java.util.Arrays;

/**
 * Large arrays of all kinds: filled, copied, cloned, sorted in parts, and dropped while others stay. Arrays of
 * references hold small objects and each other, so a collector has to look through them.
 *
 * <p>Arguments: live set in KiB, smallest array in KiB, largest array in KiB, arrays in all, threads.
 */
public final class LargeArrays {
    private static final int PARTS = 8;

    public static void main(String[] args) throws Exception {
        int[] n = Numbers.of(args, "live-kilobytes smallest-kilobytes largest-kilobytes arrays threads",
            24 << 10, 64, 2048, 400, 2);
        Figures.require(n[1] > 0 && n[1] <= n[2] && n[4] > 0, "sizes are in their order, threads at least 1");
        Part[] parts = new Part[PARTS];
        Histogram[] times = new Histogram[n[4]];
        long start = System.nanoTime();
        Crew.run("arrays", n[4], worker -> {
            times[worker] = new Histogram();
            for (int p = worker; p < PARTS; p += n[4]) {
                parts[p] = new Part(p, ((long) n[0] << 10) / PARTS, n[1] << 10, n[2] << 10);
            }
            for (int i = 0; i < n[3] / PARTS; i++) {
                for (int p = worker; p < PARTS; p += n[4]) {
                    long begin = System.nanoTime();
                    parts[p].next();
                    times[worker].add(System.nanoTime() - begin);
                }
            }
        });
        Figures.metric("run_s", Figures.seconds(start));
        Histogram all = new Histogram();
        Arrays.stream(times).forEach(all::add);
        all.report("array");
        Figures.peak();
        Checksum checksum = new Checksum();
        long bytes = 0;
        for (Part part : parts) {
            checksum.add(part.sum);
            bytes += part.made;
        }
        Figures.result("arrays", all.total() + " with " + bytes + " bytes");
        Figures.result("contents", checksum);
    }

    /** A ring of arrays, in which a new one takes the oldest one's place. */
    private static final class Part {
        private final Rng rng;
        private final int smallest;
        private final int largest;
        private final Object[] ring;
        private int next;
        private long made;
        private long sum;

        Part(int number, long liveBytes, int smallest, int largest) {
            rng = new Rng(1300 + number);
            this.smallest = smallest;
            this.largest = largest;
            ring = new Object[(int) Math.max(2, 2 * liveBytes / (smallest + largest))];
        }

        void next() {
            int bytes = rng.between(smallest, largest);
            Object old = ring[next];
            ring[next] = switch (rng.below(6)) {
                case 0 -> bytes(bytes);
                case 1 -> ints(bytes / 4);
                case 2 -> doubles(bytes / 8);
                case 3 -> references(bytes / 8);
                case 4 -> rows(bytes);
                default -> old == null ? chars(bytes / 2) : copy(old);
            };
            sum = sum * 31 + digest(ring[next]);
            made += bytes;
            next = (next + 1) % ring.length;
        }

        private byte[] bytes(int length) {
            byte[] array = new byte[length];
            Arrays.fill(array, (byte) rng.next());
            array[rng.below(length)]++;
            return array;
        }

        private int[] ints(int length) {
            int[] array = new int[length];
            for (int i = 0; i < length; i += 16) {
                array[i] = rng.next();
            }
            Arrays.sort(array, 0, length / 8);
            return array;
        }

        private double[] doubles(int length) {
            double[] array = new double[length];
            double value = rng.below(1000);
            for (int i = 0; i < length; i++) {
                array[i] = value += 0.5;
            }
            return array;
        }

        private char[] chars(int length) {
            char[] array = new char[length];
            Arrays.fill(array, (char) ('a' + rng.below(26)));
            return array;
        }

        /** Some numbers, and some older arrays' elements. */
        private Object[] references(int length) {
            Object[] array = new Object[length];
            for (int i = 0; i < length; i += 3) {
                array[i] = Integer.valueOf(rng.below(1 << 20));
            }
            System.arraycopy(array, 0, array, length / 2, length / 3);
            return array;
        }

        private Object[] rows(int bytes) {
            int side = Math.max(1, (int) StrictMath.sqrt(bytes / 4.0));
            int[][] rows = new int[side][side];
            for (int[] row : rows) {
                Arrays.fill(row, rng.next());
            }
            return rows;
        }

        private static Object copy(Object old) {
            if (old instanceof byte[] bytes) {
                return Arrays.copyOf(bytes, bytes.length);
            } else if (old instanceof int[] ints) {
                return ints.clone();
            } else if (old instanceof double[] doubles) {
                return Arrays.copyOfRange(doubles, 0, doubles.length);
            } else if (old instanceof char[] chars) {
                return new String(chars).toCharArray();
            }
            return ((Object[]) old).clone();
        }

        private static long digest(Object array) {
            if (array instanceof byte[] bytes) {
                return Arrays.hashCode(bytes);
            } else if (array instanceof int[] ints) {
                return Arrays.hashCode(ints);
            } else if (array instanceof double[] doubles) {
                return Arrays.hashCode(doubles);
            } else if (array instanceof char[] chars) {
                return Arrays.hashCode(chars);
            }
            return Arrays.deepHashCode((Object[]) array);
        }
    }
}
