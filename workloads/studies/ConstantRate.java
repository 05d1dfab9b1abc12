package studies;

import harness.Checksum;
import harness.Crew;
import harness.Figures;
import harness.Histogram;
import harness.Numbers;
import harness.Pace;
import harness.Rng;
import java.util.Arrays;

/**
 * A heap with always as much live, and objects made at a constant rate: objects die some time after they were made.
 * Of every batch of objects a tenth takes the place of older ones, so that the live set stays as large as it was and
 * turns over.
 *
 * <p>Arguments: live set in KiB, all that is allocated in KiB, KiB a second (0: as fast as possible), threads. The
 * work is divided among sixteen parts, each with a generator of its own.
 */
public final class ConstantRate {
    private static final int PARTS = 16;
    private static final int BATCH_BYTES = 32 << 10;
    private static final int NODE_BYTES = 32;

    /** A live object: a chain of a few nodes, each with some payload. */
    private static final class Node {
        final Node next;
        final byte[] payload;

        Node(Node next, int bytes, int mark) {
            this.next = next;
            payload = new byte[bytes];
            payload[0] = (byte) mark;
            payload[bytes - 1] = (byte) (mark >> 8);
        }
    }

    public static void main(String[] args) throws Exception {
        int[] n = Numbers.of(args, "live-kilobytes allocated-kilobytes kilobytes-a-second threads",
            8192, 200_000, 0, 2);
        int threads = Math.max(1, n[3]);
        Part[] parts = new Part[PARTS];
        for (int i = 0; i < PARTS; i++) {
            parts[i] = new Part(i, ((long) n[0] << 10) / PARTS);
        }
        Figures.peak();
        long batches = ((long) n[1] << 10) / BATCH_BYTES / PARTS;
        double batchesPerSecond = ((double) n[2] * 1024) / BATCH_BYTES;
        Histogram[] times = new Histogram[threads];
        long start = System.nanoTime();
        Crew.run("allocator", threads, worker -> {
            times[worker] = new Histogram();
            Pace pace = new Pace(batchesPerSecond / threads);
            for (long batch = 0; batch < batches; batch++) {
                for (int p = worker; p < PARTS; p += threads) {
                    long intended = pace.await();
                    parts[p].batch();
                    times[worker].add(System.nanoTime() - intended);
                }
            }
        });
        double seconds = Figures.seconds(start);
        Histogram all = new Histogram();
        Arrays.stream(times).forEach(all::add);
        long allocated = Arrays.stream(parts).mapToLong(part -> part.allocated).sum();
        Figures.metric("run_s", seconds);
        Figures.metric("allocated_mb_per_s", allocated / 1048576.0 / seconds);
        all.report("batch");
        Checksum checksum = new Checksum();
        for (Part part : parts) {
            part.digest(checksum);
        }
        Figures.result("allocated", allocated);
        Figures.result("live", checksum);
    }

    private static final class Part {
        private final Rng rng;
        private final Node[] live;
        private long allocated;
        private long sum;

        Part(int number, long bytes) {
            rng = new Rng(1000 + number);
            // A chain has two and a half nodes of 144 bytes of payload on average.
            live = new Node[Math.max(1, (int) (bytes / (5 * (NODE_BYTES + 16 + 144) / 2)))];
            for (int i = 0; i < live.length; i++) {
                live[i] = chain();
            }
            allocated = 0;
        }

        void batch() {
            long until = allocated + BATCH_BYTES;
            while (allocated < until) {
                Node made = chain();
                if (rng.below(10) == 0) {
                    int place = rng.below(live.length);
                    sum = sum * 31 + live[place].payload[0];
                    live[place] = made;
                }
            }
        }

        private Node chain() {
            Node first = null;
            for (int i = rng.between(1, 4); i > 0; i--) {
                int bytes = rng.between(32, 256);
                first = new Node(first, bytes, rng.next());
                allocated += NODE_BYTES + 16 + bytes;
            }
            return first;
        }

        void digest(Checksum checksum) {
            checksum.add(sum);
            for (Node first : live) {
                for (Node node = first; node != null; node = node.next) {
                    checksum.add(node.payload.length);
                    checksum.add(node.payload[0] << 8 | node.payload[node.payload.length - 1] & 0xFF);
                }
            }
        }
    }
}
