// vm: -XX:CompileThreshold=200
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntUnaryOperator;

/**
 * Four threads make loaders, define, link, initialize, run and drop classes, each in its own ways, while one thread
 * collects all the time and two make garbage.
 */
public class UnloadConcurrently extends ClassLoader {
    static {
        registerAsParallelCapable();
    }

    static final int THREADS = 4;
    static final int ROUNDS = 60;
    static final Map<String, byte[]> BYTES = new HashMap<>();
    static final List<WeakReference<ClassLoader>> LOADERS = Collections.synchronizedList(new ArrayList<>());
    static final AtomicInteger INITIALIZED = new AtomicInteger();
    static volatile boolean done;
    static volatile Object garbage;

    /** Names that start with one of these are defined by this loader; others with "Concurrent" come from the sibling. */
    final String[] own;
    final ClassLoader sibling;

    UnloadConcurrently(ClassLoader sibling, String... own) {
        super(UnloadConcurrently.class.getClassLoader());
        this.own = own;
        this.sibling = sibling;
        LOADERS.add(new WeakReference<>(this));
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith("Concurrent")) {
            return super.loadClass(name, resolve);
        }
        for (String prefix : own) {
            if (name.startsWith(prefix)) {
                synchronized (getClassLoadingLock(name)) {
                    Class<?> known = findLoadedClass(name);
                    byte[] bytes = BYTES.get(name);
                    if (bytes == null) {
                        throw new ClassNotFoundException(name);
                    }
                    return known != null ? known : defineClass(name, bytes, 0, bytes.length);
                }
            }
        }
        return sibling.loadClass(name);
    }

    static Object call(Class<?> type, String method, Object... arguments) throws Throwable {
        for (var each : type.getDeclaredMethods()) {
            if (each.getName().equals(method)) {
                each.setAccessible(true);
                try {
                    return each.invoke(null, arguments);
                } catch (java.lang.reflect.InvocationTargetException e) {
                    throw e.getCause();
                }
            }
        }
        throw new NoSuchMethodException(method);
    }

    public static int initialized() {
        return INITIALIZED.incrementAndGet();
    }

    /** Time for a collection in the middle of what calls. */
    public static void pause() {
        garbage = new byte[5_000];
        try {
            Thread.sleep(3);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Defines classes and runs them until they are compiled. */
    static long run(int round) throws Throwable {
        Class<?> unit = new UnloadConcurrently(null, "Concurrent").loadClass("ConcurrentUnit");
        IntUnaryOperator operator = (IntUnaryOperator) call(unit, "operator", round);
        long sum = 0;
        int n = round % 5 == 0 ? 3_000 : 20;
        for (int i = 0; i < n; i++) {
            sum += operator.applyAsInt(i);
        }
        return sum;
    }

    /** Classes of two loaders that must agree about a third class, or do not. */
    static long constraints(int round) throws Throwable {
        boolean agree = round % 2 == 0;
        UnloadConcurrently base = new UnloadConcurrently(null, "ConcurrentPublic$Base", "ConcurrentPublic$Part");
        UnloadConcurrently derived = agree ? new UnloadConcurrently(base, "ConcurrentPublic$Derived")
            : new UnloadConcurrently(base, "ConcurrentPublic$Derived", "ConcurrentPublic$Part");
        derived.loadClass("ConcurrentPublic$Part");
        try {
            Class<?> type = Class.forName("ConcurrentPublic$Derived", true, derived);
            return 1 + (int) call(type, "use");
        } catch (LinkageError e) {
            return e.getMessage().contains("loader constraint violation") ? 1000 : 1_000_000;
        }
    }

    /** Two threads initialize a class at the same time; another class fails to initialize, again and again. */
    static long initialize(int round) throws Throwable {
        UnloadConcurrently loader = new UnloadConcurrently(null, "Concurrent");
        int[] results = new int[2];
        Thread second = new Thread(() -> {
            try {
                results[1] = (int) call(loader.loadClass("ConcurrentUnit$Slow"), "value");
            } catch (Throwable e) {
                results[1] = 1_000_000;
            }
        });
        second.start();
        results[0] = (int) call(loader.loadClass("ConcurrentUnit$Slow"), "value");
        second.join();
        int failures = 0;
        Class<?> broken = loader.loadClass("ConcurrentUnit$Broken");
        for (int i = 0; i < 5; i++) {
            try {
                call(broken, "value");
            } catch (ExceptionInInitializerError e) {
                failures += e.getCause().getMessage().length();
            } catch (NoClassDefFoundError e) {
                failures += 100 + (e.getCause() instanceof ExceptionInInitializerError ? 1000 : 0)
                    + (e.getMessage().startsWith("Could not initialize class ConcurrentUnit$Broken") ? 10_000 : 0);
            }
        }
        try {
            call(loader.loadClass("ConcurrentUnit"), "missing");
        } catch (NoClassDefFoundError e) {
            failures += 3;
        }
        return results[0] + results[1] + failures;
    }

    /** One parallel loader whose classes four threads ask for at once; hidden classes and handles of it. */
    static long parallel(int round) throws Throwable {
        UnloadConcurrently loader = new UnloadConcurrently(null, "Concurrent");
        CyclicBarrier barrier = new CyclicBarrier(3);
        Class<?>[][] found = new Class<?>[3][];
        Thread[] threads = new Thread[3];
        for (int i = 0; i < 3; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                try {
                    barrier.await();
                    found[number] = new Class<?>[] {loader.loadClass("ConcurrentUnit"), Class.forName("ConcurrentUnit$Kind", true, loader),
                        Class.forName("[[LConcurrentUnit$Kind;", false, loader)};
                } catch (Exception e) {
                    System.out.println(e);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        long sum = 0;
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                sum += found[i][j] == found[0][j] ? 1 : 1_000_000;
            }
        }
        MethodHandles.Lookup lookup = (MethodHandles.Lookup) call(found[0][0], "lookup");
        var added = lookup.findStatic(found[0][0], "added", MethodType.methodType(int.class, int.class, int.class));
        for (int i = 0; i < 50; i++) {
            sum += (int) added.invokeExact(i, round);
        }
        Class<?> hidden = lookup.defineHiddenClass(BYTES.get("ConcurrentUnit$Plain"), true).lookupClass();
        var constructor = hidden.getDeclaredConstructor();
        constructor.setAccessible(true);
        return sum + ((IntUnaryOperator) constructor.newInstance()).applyAsInt(round);
    }

    static long work(int thread, int round) throws Throwable {
        switch ((thread + round) % 4) {
            case 0:
                return run(round);
            case 1:
                return constraints(round / 4);
            case 2:
                return initialize(round);
            default:
                return parallel(round);
        }
    }

    static Thread background(String name, Runnable body) {
        Thread thread = new Thread(() -> {
            while (!done) {
                body.run();
                pause();
            }
        }, name);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        for (String name : new String[] {"ConcurrentUnit", "ConcurrentUnit$Slow", "ConcurrentUnit$Broken", "ConcurrentUnit$Kind", "ConcurrentUnit$Plain",
            "ConcurrentUnit$Shape", "ConcurrentUnit$Box", "ConcurrentPublic$Base", "ConcurrentPublic$Derived", "ConcurrentPublic$Part"}) {
            try (InputStream in = UnloadConcurrently.class.getResourceAsStream(name + ".class")) {
                BYTES.put(name, in.readAllBytes());
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
        List<Thread> others = new ArrayList<>();
        others.add(background("collects", System::gc));
        for (int i = 0; i < 2; i++) {
            others.add(background("allocates", () -> {
                for (int j = 0; j < 300; j++) {
                    garbage = new Object[] {garbage == null, new int[j], new byte[500]};
                }
            }));
        }
        long[] sums = new long[THREADS];
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    try {
                        sums[number] = sums[number] * 31 + work(number, round);
                    } catch (Throwable e) {
                        synchronized (System.out) {
                            System.out.println(number + " " + round);
                            e.printStackTrace(System.out);
                        }
                    }
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        done = true;
        for (Thread thread : others) {
            thread.join();
        }
        for (long sum : sums) {
            System.out.println(Long.toHexString(sum));
        }
        System.out.println("initialized " + INITIALIZED);
        long gone = 0;
        for (int i = 0; i < 300 && gone < LOADERS.size(); i++) {
            System.gc();
            gone = LOADERS.stream().filter(loader -> loader.refersTo(null)).count();
            pause();
        }
        System.out.println("gone " + gone + " of " + LOADERS.size());
    }
}

class ConcurrentUnit {
    static int calls;

    interface Shape {
        int area(int n);

        default int twice(int n) {
            return 2 * area(n);
        }
    }

    static class Box implements Shape {
        int side;

        @Override
        public int area(int n) {
            return side++ % 7 * n;
        }
    }

    enum Kind {
        LOW, HIGH
    }

    static class Plain implements IntUnaryOperator {
        @Override
        public int applyAsInt(int n) {
            return n + 1;
        }
    }

    static class Slow {
        static final int VALUE;

        static {
            UnloadConcurrently.pause();
            UnloadConcurrently.initialized();
            VALUE = new Box().twice(2) + Kind.HIGH.ordinal() + 5;
        }

        static int value() {
            return VALUE;
        }
    }

    static class Broken {
        static int value = failed();

        static int failed() {
            UnloadConcurrently.pause();
            throw new IllegalStateException("broken");
        }

        static int value() {
            return value;
        }
    }

    /** Its class file is not given to the loaders. */
    static class Missing {
        static int value() {
            return 1;
        }
    }

    static int missing() {
        return Missing.value();
    }

    static MethodHandles.Lookup lookup() {
        return MethodHandles.lookup();
    }

    static int added(int a, int b) {
        return a + b + Kind.values().length;
    }

    static IntUnaryOperator operator(int round) {
        Shape box = new Box();
        Shape lambda = n -> n + round;
        return n -> {
            String text = "r" + round + "n" + n % 10;
            Shape shape = n % 3 == 0 ? lambda : box;
            return text.length() + shape.twice(n & 15) + calls++ % 5;
        };
    }
}

/** Public classes that are nested here: those of different loaders use each other. */
class ConcurrentPublic {
    public static class Part {
        public int number = 4;
    }

    public static class Base {
        public int take(Part part) {
            return part.number;
        }
    }

    public static class Derived extends Base {
        @Override
        public int take(Part part) {
            return part.number + 1;
        }

        public static int use() {
            Base base = new Derived();
            return base.take(new Part());
        }
    }
}
