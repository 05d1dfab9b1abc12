import farheap.pool.ChannelReceiver;
import farheap.pool.ChannelSender;
import farheap.pool.SharedBuffer;
import farheap.pool.SharedPool;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * What a message through a channel of farheap.pool costs between two processes.
 *
 * <pre>
 *     java -cp farheap-pool.jar:CLASSES ChannelBench [SECONDS]
 * </pre>
 *
 * <p>One way: a process sends messages, the other one receives them; the receiver says how many. In place: buffers of
 * 1 MiB are allocated in the pool, one word of each page is written and read, and nothing is copied. Round trips: each
 * message is answered; a side that waits looks for 20 us before it sleeps.
 */
public class ChannelBench {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final int LARGE = 1 << 20;
    private static final byte[] LAST = new byte[1];

    public static void main(String[] args) throws Exception {
        if (args.length > 1) {
            peer(args[0], args[1]);
            return;
        }
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 3;
        Path shared = Path.of("/dev/shm");
        Path file = Files.createTempFile(Files.isDirectory(shared) ? shared : Path.of("/tmp"), "channel-bench", "");
        Files.delete(file);
        try (SharedPool pool = SharedPool.create(file, 1L << 30)) {
            for (String what : List.of("64", "1024", "in place", "round trips")) {
                measure(pool, file, what, (long) (seconds * 1e9));
            }
        } finally {
            Files.delete(file);
        }
    }

    private static void measure(SharedPool pool, Path file, String what, long nanos) throws Exception {
        String java = ProcessHandle.current().info().command().orElse("java");
        String classes = System.getProperty("java.class.path");
        Process peer =
                new ProcessBuilder(java, "-cp", classes, "ChannelBench", file.toString(), what)
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        try (ChannelSender out = pool.channel("to").sender();
                ChannelReceiver in = pool.channel("from").receiver()) {
            in.receiveBytes(LONG);
            // The first half second is not counted.
            work(out, in, what, 500_000_000);
            long sent = out.sent();
            long start = System.nanoTime();
            long[] times = work(out, in, what, nanos);
            while (out.received() < out.sent()) {
                Thread.onSpinWait();
            }
            double took = System.nanoTime() - start;
            long count = out.sent() - sent;
            System.out.printf("%-12s %,12.0f messages/s", what, count * 1e9 / took);
            if (times.length > 0) {
                Arrays.sort(times);
                double[] at = {times[times.length / 2] / 1e3, times[(int) (times.length * 0.99)] / 1e3};
                System.out.printf("   p50 %.2f us   p99 %.2f us", at[0], at[1]);
            }
            System.out.println();
            out.send(LAST, LONG);
            peer.waitFor();
        } finally {
            peer.destroyForcibly();
        }
    }

    /** The times of round trips. */
    private static long[] work(ChannelSender out, ChannelReceiver in, String what, long nanos) throws Exception {
        long start = System.nanoTime();
        boolean isRoundTrip = what.equals("round trips");
        byte[] message = new byte[what.equals("1024") ? 1024 : 64];
        long[] times = new long[isRoundTrip ? 4_000_000 : 0];
        int count = 0;
        for (long now = start; now - start < nanos && (!isRoundTrip || count < times.length); count++) {
            if (what.equals("in place")) {
                SharedBuffer large = out.allocate(LARGE);
                ByteBuffer bytes = large.bytes();
                for (int at = 0; at < LARGE; at += 4096) {
                    bytes.putInt(at, count);
                }
                out.send(large, LONG);
            } else {
                out.send(message, LONG);
            }
            if (isRoundTrip) {
                in.receiveBytes(LONG);
            }
            long then = System.nanoTime();
            if (isRoundTrip) {
                times[count] = then - now;
            }
            now = then;
        }
        return Arrays.copyOf(times, isRoundTrip ? count : 0);
    }

    private static void peer(String file, String what) throws Exception {
        try (SharedPool pool = SharedPool.open(Path.of(file));
                ChannelReceiver in = pool.channel("to").receiver();
                ChannelSender out = pool.channel("from").sender()) {
            out.offer(LAST);
            while (true) {
                if (what.equals("in place")) {
                    try (SharedBuffer large = in.receive(LONG)) {
                        ByteBuffer bytes = large.bytes();
                        if (bytes.remaining() == LAST.length) {
                            return;
                        }
                        for (int at = 0; at < LARGE; at += 4096) {
                            if (bytes.getInt(at) != bytes.getInt(0)) {
                                throw new IllegalStateException("a wrong message");
                            }
                        }
                    }
                    continue;
                }
                byte[] message = in.receiveBytes(LONG);
                if (message.length == LAST.length) {
                    return;
                }
                if (what.equals("round trips")) {
                    out.send(message, LONG);
                }
            }
        }
    }
}
