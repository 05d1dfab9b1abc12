package studies;

import harness.Checksum;
import harness.Figures;
import harness.Histogram;
import harness.Numbers;
import harness.Rng;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;

/**
 * Objects of many sizes that die in no order, so that live objects are spread thinly over the heap. In each round the
 * heap is filled, most of it dies in scattered places, and then larger objects are wanted, for which there is room
 * only where the survivors are compacted.
 *
 * <p>Arguments: filled up to N KiB, one of how many survives, rounds.
 */
public final class Fragments {
    private static final int HEADER_BYTES = 16;

    public static void main(String[] args) {
        int[] n = Numbers.of(args, "filled-kilobytes one-of rounds", 24 << 10, 8, 4);
        int oneOf = Math.max(2, n[1]);
        long filled = (long) n[0] << 10;
        Rng rng = new Rng(1200);
        // Survivors of earlier rounds; the oldest are dropped when they take a fourth of the heap.
        Deque<byte[]> left = new ArrayDeque<>();
        long leftBytes = 0;
        Histogram times = new Histogram();
        long start = System.nanoTime();
        for (int round = 0; round < n[2]; round++) {
            byte[][] objects = new byte[(int) (filled / 100)][];
            int count = 0;
            for (long bytes = leftBytes; bytes < filled; count++) {
                if (count == objects.length) {
                    objects = Arrays.copyOf(objects, 2 * count);
                }
                long begin = System.nanoTime();
                objects[count] = object(rng, size(rng));
                times.add(System.nanoTime() - begin);
                bytes += HEADER_BYTES + objects[count].length;
            }
            if (round == n[2] - 1) {
                Figures.peak();
            }
            Checksum checksum = new Checksum();
            for (int i = 0; i < count; i++) {
                if (rng.below(oneOf) == 0) {
                    left.addLast(objects[i]);
                    leftBytes += HEADER_BYTES + objects[i].length;
                } else {
                    checksum.add(objects[i][0]).add(objects[i].length);
                }
                objects[i] = null;
            }
            // A half of the heap in pieces of 64 KiB to 1 MiB.
            long large = filled / 2;
            for (int i = 0; large > 0 && i < objects.length; i++) {
                long begin = System.nanoTime();
                objects[i] = object(rng, rng.between(64 << 10, 1 << 20));
                times.add(System.nanoTime() - begin);
                large -= objects[i].length;
                checksum.add(objects[i][objects[i].length - 1]);
            }
            while (leftBytes > filled / 4) {
                byte[] oldest = left.removeFirst();
                leftBytes -= HEADER_BYTES + oldest.length;
                checksum.add(oldest[0]).add(oldest[oldest.length - 1]);
            }
            Figures.result("round " + round, count + " objects " + left.size() + " left " + checksum);
        }
        Figures.metric("run_s", Figures.seconds(start));
        times.report("allocation");
        Checksum checksum = new Checksum();
        for (byte[] object : left) {
            checksum.add(object[0]).add(object[object.length - 1]).add(object.length);
        }
        Figures.result("left", checksum);
    }

    /** Mostly small, some of a few KiB, seldom as large as a region's part. */
    private static int size(Rng rng) {
        int kind = rng.below(1000);
        return kind < 900 ? rng.between(16, 256) : kind < 997 ? rng.between(256, 8192) : rng.between(8192, 131072);
    }

    private static byte[] object(Rng rng, int bytes) {
        byte[] object = new byte[bytes];
        int mark = rng.next();
        object[0] = (byte) mark;
        object[bytes - 1] = (byte) (mark >> 8);
        return object;
    }
}
