// vm: -XX:CompileThreshold=200
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/** Code that calls the handles in static final fields of classes as constants is freed with these classes. */
public class UnloadHandles extends ClassLoader {
    private static final int LOADERS = 60;

    UnloadHandles() {
        super(null);
    }

    /** Each loader has its own. */
    public static class Counter implements Runnable {
        private static final int CALLS = 3_000;
        private static final VarHandle COUNT;
        private static final VarHandle NEXT;
        private static final MethodHandle FOLLOWING;
        private static final AtomicReferenceFieldUpdater<Counter, Counter> OTHER =
            AtomicReferenceFieldUpdater.newUpdater(Counter.class, Counter.class, "other");

        static {
            try {
                MethodHandles.Lookup lookup = MethodHandles.lookup();
                COUNT = lookup.findVarHandle(Counter.class, "count", int.class);
                NEXT = lookup.findVarHandle(Counter.class, "next", Counter.class);
                MethodType type = MethodType.methodType(int.class, int.class);
                FOLLOWING = lookup.findStatic(Counter.class, "following", type);
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        private volatile int count;
        private volatile Counter next;
        private volatile Counter other;

        private static int following(int x) {
            return x + 1;
        }

        @Override
        public void run() {
            int sum = 0;
            for (int i = 0; i < CALLS; i++) {
                sum += call(i);
            }
            if (sum != CALLS * (CALLS + 1) / 2 || count != CALLS) {
                throw new AssertionError(sum + " " + count);
            }
        }

        private int call(int i) {
            COUNT.getAndAdd(this, 1);
            NEXT.setRelease(this, this);
            OTHER.set(this, (Counter) NEXT.getAcquire(this));
            try {
                return OTHER.compareAndSet(this, this, null) ? (int) FOLLOWING.invokeExact(i) : 0;
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        List<WeakReference<Class<?>>> classes = new ArrayList<>();
        for (int i = 0; i < LOADERS; i++) {
            Class<?> counter = new UnloadHandles().loadClass(Counter.class.getName());
            ((Runnable) counter.getConstructor().newInstance()).run();
            classes.add(new WeakReference<>(counter));
            if (i % 10 == 9) {
                System.gc();
            }
        }
        for (int i = 0; i < 100 && classes.stream().anyMatch(known -> known.get() != null); i++) {
            System.gc();
            Thread.sleep(10);
        }
        System.out.println(classes.stream().filter(known -> known.get() == null).count() + " classes are gone");
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        try (InputStream file = UnloadHandles.class.getResourceAsStream(name + ".class")) {
            byte[] bytes = file.readAllBytes();
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }
}
