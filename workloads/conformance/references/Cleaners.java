import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

public class Cleaners {
    static final Cleaner CLEANER = Cleaner.create();
    static final AtomicInteger CLEANED = new AtomicInteger();

    static class Resource implements AutoCloseable {
        private final Cleaner.Cleanable cleanable;

        Resource() {
            cleanable = CLEANER.register(this, CLEANED::incrementAndGet);
        }

        @Override
        public void close() {
            cleanable.clean();
        }
    }

    static void leak(int n) {
        for (int i = 0; i < n; i++) {
            new Resource();
        }
    }

    public static void main(String[] args) throws Exception {
        try (Resource r = new Resource()) {
            System.out.println(CLEANED.get());
        }
        System.out.println(CLEANED.get());
        Resource twice = new Resource();
        twice.close();
        twice.close();
        System.out.println(CLEANED.get());
        leak(20);
        for (int i = 0; i < 500 && CLEANED.get() < 22; i++) {
            System.gc();
            Thread.sleep(1);
        }
        System.out.println(CLEANED.get());
        long sum = 0;
        for (int i = 0; i < 300; i++) {
            ByteBuffer b = ByteBuffer.allocateDirect(1 << 20);
            b.putInt(1000, i);
            sum += b.getInt(1000);
        }
        System.out.println(sum);
    }
}
