import farheap.pool.ChannelReceiver;
import farheap.pool.ChannelSender;
import farheap.pool.MapOptions;
import farheap.pool.MapStatistics;
import farheap.pool.PoolException;
import farheap.pool.SharedBuffer;
import farheap.pool.SharedMap;
import farheap.pool.SharedPool;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Processes that are killed, and one that is not. Arguments: the file of the pool, what to do, and the number of the
 * round. Each line that is written says what is certain.
 */
public class Torture {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final int SLOTS = 3_000;
    private static final FileOutputStream OUT = new FileOutputStream(FileDescriptor.out);

    interface Body {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        try (SharedPool pool = SharedPool.openOrCreate(Path.of(args[0]), 96 << 20)) {
            switch (args[1]) {
                case "fill" -> say("filled " + fill(pool));
                case "survive" -> survive(pool);
                case "victim" -> victim(pool, Integer.parseInt(args[2]));
                default -> verify(pool);
            }
        }
    }

    private static SharedMap slots(SharedPool pool) {
        return pool.map("slots", MapOptions.store(SLOTS));
    }

    /** A map that is always full. */
    private static SharedMap cache(SharedPool pool) {
        return pool.map("cache", MapOptions.cache(SLOTS, 1 << 20));
    }

    /**
     * How many entries the pool has room for, of each kind of block, when no dead process has any. The largest come
     * first: the others need small blocks.
     */
    private static String fill(SharedPool pool) {
        SharedMap map = pool.map("fill", MapOptions.store(10_000));
        StringBuilder counts = new StringBuilder();
        for (int bytes : new int[] {2_000_000, 300_000, 30_000, 900}) {
            int count = 0;
            try {
                while (true) {
                    map.put(ByteBuffer.allocate(8).putInt(bytes).putInt(count).array(), new byte[bytes]);
                    count++;
                }
            } catch (PoolException full) {
                check(full.reason() == PoolException.Reason.MEMORY, full);
            }
            counts.append(' ').append(count);
        }
        check(pool.destroyMap("fill"), "the map is gone");
        return counts.substring(1);
    }

    private static byte[] key(int slot) {
        return ByteBuffer.allocate(6).putChar('s').putInt(slot).array();
    }

    /** A value says which one it is, and has a length and a filling that come of it. */
    private static byte[] value(int round, int number) {
        Random random = new Random(round * 31L + number);
        ByteBuffer value = ByteBuffer.allocate(8 + random.nextInt(number % 100 == 0 ? 9_000 : 900));
        value.putInt(round).putInt(number);
        while (value.hasRemaining()) {
            value.put((byte) (number + value.position()));
        }
        return value.array();
    }

    /** Its number, or a failure if it is not whole. */
    private static int[] numbers(byte[] value) {
        ByteBuffer found = ByteBuffer.wrap(value);
        int[] numbers = {found.getInt(), found.getInt()};
        while (found.hasRemaining()) {
            int position = found.position();
            check(found.get() == (byte) (numbers[1] + position), "a torn value");
        }
        return numbers;
    }

    /** Stores, sends and receives until it is killed. */
    private static void victim(SharedPool pool, int round) throws Exception {
        SharedMap map = slots(pool);
        SharedMap cache = cache(pool);
        start(() -> {
            for (int i = 0; ; i++) {
                int slot = new Random(i).nextInt(SLOTS);
                byte[] value = value(round, i);
                map.put(key(slot), value);
                say("p " + slot + " " + round + " " + i);
                cache.put(key(slot), value);
                cache.remove(key(SLOTS - 1 - slot));
            }
        });
        start(() -> {
            try (ChannelReceiver in = pool.channel("down").receiver(LONG)) {
                while (true) {
                    byte[] message = in.receiveBytes(LONG);
                    say("g " + ByteBuffer.wrap(message).getLong());
                }
            }
        });
        try (ChannelSender out = pool.channel("up").sender(LONG)) {
            for (long next = out.sent(); ; next++) {
                if (next % 64 == 0) {
                    SharedBuffer message = out.allocate(70_000);
                    message.bytes().putLong(0, next);
                    check(out.send(message, LONG), "no room");
                } else {
                    check(out.send(ByteBuffer.allocate(20).putLong(next).array(), LONG), "no room");
                }
                say("s " + next);
            }
        }
    }

    /** Works until its input ends, and says what its longest operation took. */
    private static void survive(SharedPool pool) throws Exception {
        SharedMap map = slots(pool);
        SharedMap cache = cache(pool);
        AtomicBoolean isOver = new AtomicBoolean();
        long[] longest = new long[1];
        long[] operations = new long[1];
        Thread worker = start(() -> {
            Random random = new Random(5);
            byte[] own = {1};
            while (!isOver.get()) {
                long start = System.nanoTime();
                byte[] found = (random.nextBoolean() ? map : cache).get(key(random.nextInt(SLOTS)));
                map.put(own, ByteBuffer.allocate(8).putLong(operations[0]).array());
                byte[] back = map.get(own);
                longest[0] = Math.max(longest[0], System.nanoTime() - start);
                check(ByteBuffer.wrap(back).getLong() == operations[0]++, "its own value");
                if (found != null) {
                    numbers(found);
                }
            }
            map.remove(own);
        });
        long[] received = new long[1];
        Thread receiver = start(() -> {
            try (ChannelReceiver in = pool.channel("up").receiver(LONG)) {
                received[0] = in.received();
                while (!isOver.get()) {
                    try (SharedBuffer message = in.receive(Duration.ofMillis(50))) {
                        if (message != null) {
                            long number = message.bytes().getLong(0);
                            check(number == received[0], "message " + number + " and not " + received[0]);
                            received[0]++;
                        }
                    }
                }
                check(in.received() == received[0], "messages");
            }
        });
        Thread sender = start(() -> {
            try (ChannelSender out = pool.channel("down").sender(LONG)) {
                for (long next = out.sent(); !isOver.get(); ) {
                    if (out.send(ByteBuffer.allocate(8).putLong(next).array(), Duration.ofMillis(50))) {
                        next++;
                    }
                }
            }
        });
        say("ready");
        while (System.in.read() >= 0) {
            // The end is all that counts.
        }
        isOver.set(true);
        worker.join();
        receiver.join();
        sender.join();
        say("longest " + longest[0] / 1000 + " operations " + operations[0] * 3 + " received " + received[0]);
    }

    /** Compares the values with what was acknowledged, and empties the pool, in which no dead process is left. */
    private static void verify(SharedPool pool) throws IOException {
        SharedMap map = slots(pool);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int checked = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            byte[] found = map.get(key(Integer.parseInt(words[1])));
            check(found != null, "lost: " + line);
            int[] numbers = numbers(found);
            int round = Integer.parseInt(words[2]);
            int number = Integer.parseInt(words[3]);
            boolean isLater = numbers[0] > round || numbers[0] == round && numbers[1] >= number;
            check(isLater, "lost: " + line + ", found " + numbers[0] + " " + numbers[1]);
            checked++;
        }
        MapStatistics full = cache(pool).statistics();
        check(full.bytes() < full.capacity() + 100_000, full);
        for (SharedMap each : new SharedMap[] {map, cache(pool)}) {
            long[] count = new long[1];
            each.forEach((key, value, version) -> {
                numbers(value);
                count[0]++;
            });
            check(each.size() == count[0], each.statistics());
            each.clear();
            MapStatistics left = each.statistics();
            check(left.entries() == 0 && left.bytes() == 0, left);
        }
        try (ChannelReceiver in = pool.channel("down").receiver(LONG);
                ChannelReceiver up = pool.channel("up").receiver(LONG)) {
            while (in.pollBytes() != null || up.pollBytes() != null) {
                // Only the pool matters now.
            }
            check(in.sent() == in.received() && up.sent() == up.received(), "messages are left");
        }
        check(pool.destroyMap("slots") && pool.destroyMap("cache"), "the maps are gone");
        say("verified " + checked);
    }

    /** A failure ends the process. */
    private static Thread start(Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Throwable thrown) {
                thrown.printStackTrace();
                Runtime.getRuntime().halt(7);
            }
        });
        thread.start();
        return thread;
    }

    /** A line is written as a whole, or not at all. */
    private static void say(String line) {
        try {
            OUT.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException gone) {
            Runtime.getRuntime().halt(8);
        }
    }

    private static void check(boolean is, Object about) {
        if (!is) {
            throw new AssertionError(about);
        }
    }
}
