import farheap.pool.ChannelReceiver;
import farheap.pool.ChannelSender;
import farheap.pool.MapOptions;
import farheap.pool.RecordMap;
import farheap.pool.SharedBuffer;
import farheap.pool.SharedMap;
import farheap.pool.SharedPool;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;

/** One of two processes that exchange values. Arguments: the file of the pool, 0 or 1, and how many. */
public class Peer {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final int LARGE = 200_000;

    record Key(int side, long number) {}

    record Value(String text, double half) {}

    public static void main(String[] args) throws Exception {
        int side = Integer.parseInt(args[1]);
        int count = Integer.parseInt(args[2]);
        try (SharedPool pool = SharedPool.openOrCreate(Path.of(args[0]), 256 << 20);
                ChannelSender out = pool.channel("from " + side).sender();
                ChannelReceiver in = pool.channel("from " + (1 - side)).receiver()) {
            RecordMap<Key, Value> records = pool.map("records", Key.class, Value.class, MapOptions.store(count));
            SharedMap counters = pool.map("counters", MapOptions.store(10));
            for (int i = 0; i < count; i++) {
                records.put(new Key(side, i), new Value("number " + i, i / 2.0));
                counters.add(new byte[] {(byte) (i % 7)}, i);
                send(out, i);
                receive(in, i);
                // It was stored before the message was sent.
                Value other = records.get(new Key(1 - side, i));
                check(other.equals(new Value("number " + i, i / 2.0)), other);
            }
            send(out, count);
            receive(in, count);
            long sum = 0;
            for (int i = 0; i < 7; i++) {
                sum += counters.add(new byte[] {(byte) i}, 0);
            }
            check(sum == (long) count * (count - 1), sum);
            check(records.size() == 2L * count, records.size());
            System.out.println("exchanged " + count);
        }
    }

    /** Some are large, and written in place. */
    private static void send(ChannelSender out, int number) throws InterruptedException {
        if (number % 50 != 0) {
            check(out.send(ByteBuffer.allocate(4).putInt(number).array(), LONG), "no room");
            return;
        }
        SharedBuffer message = out.allocate(LARGE);
        ByteBuffer bytes = message.bytes();
        while (bytes.hasRemaining()) {
            bytes.putInt(number + bytes.position());
        }
        check(out.send(message, LONG), "no room");
    }

    private static void receive(ChannelReceiver in, int number) throws InterruptedException {
        try (SharedBuffer message = in.receive(LONG)) {
            check(message != null, "no message");
            ByteBuffer bytes = message.bytes();
            check(bytes.remaining() == (number % 50 == 0 ? LARGE : 4), bytes);
            while (bytes.hasRemaining()) {
                int position = bytes.position();
                check(bytes.getInt() == number + position, position);
            }
        }
    }

    private static void check(boolean is, Object about) {
        if (!is) {
            throw new AssertionError(about);
        }
    }
}
