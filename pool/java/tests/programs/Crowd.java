import farheap.pool.MapOptions;
import farheap.pool.PoolException;
import farheap.pool.SharedMap;
import farheap.pool.SharedPool;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A process in a pool that has few clients left, or none. Arguments: the file, and whether there are some. */
public class Crowd {
    public static void main(String[] args) throws Exception {
        boolean hasSome = Boolean.parseBoolean(args[1]);
        try (SharedPool pool = SharedPool.open(Path.of(args[0]))) {
            if (!hasSome) {
                refused(() -> pool.map("m", MapOptions.store(100)));
                refused(() -> pool.channel("c").sender());
                System.out.println("refused");
                return;
            }
            // What the thread of the library has taken is not the map's.
            SharedMap map = pool.map("m", MapOptions.store(100));
            AtomicInteger right = new AtomicInteger();
            List<Thread> threads = new ArrayList<>();
            for (int t = 0; t < 8; t++) {
                byte[] own = {(byte) t};
                threads.add(new Thread(() -> {
                    for (int i = 0; i < 1000; i++) {
                        map.put(own, new byte[] {(byte) i});
                        right.addAndGet(map.get(own)[0] == (byte) i ? 1 : 0);
                    }
                }));
            }
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
            System.out.println(right);
        }
    }

    private static void refused(Runnable body) {
        try {
            body.run();
        } catch (PoolException thrown) {
            if (thrown.reason() == PoolException.Reason.CLIENTS) {
                return;
            }
            throw thrown;
        }
        throw new AssertionError("not refused");
    }
}
