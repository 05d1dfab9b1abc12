// vm: -XX:CompileThreshold=200
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntSupplier;

/**
 * A class is not unloaded while one of its methods runs, although nothing else refers to it: on another thread, in a
 * loop, below the frames that collect, in an initializer. Stack traces name classes of which nothing else is left.
 */
public class UnloadFrames extends ClassLoader {
    /** What permanent code does for the methods of the units. */
    public static class Host {
        public static volatile boolean stop;
        public static volatile int started;
        static final Object LOCK = new Object();

        /** Reports that the calling thread is in its method. */
        public static void started() {
            synchronized (LOCK) {
                started++;
                LOCK.notifyAll();
            }
        }

        public static void pause() {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        /** Is called from frames of units, to which nothing refers by now. */
        public static int collected(int number) {
            if (watched == null) {
                return number;
            }
            try {
                collect(4);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            return watched.refersTo(null) ? -1 : number;
        }
    }

    interface Body {
        Object run() throws Throwable;
    }

    static WeakReference<ClassLoader> watched;
    static final List<WeakReference<ClassLoader>> LOADERS = new ArrayList<>();
    static volatile Object garbage;
    static byte[] unit;
    static byte[] late;
    static byte[] slow;

    UnloadFrames() {
        super(UnloadFrames.class.getClassLoader());
    }

    static byte[] bytes(String name) throws IOException {
        try (InputStream in = UnloadFrames.class.getResourceAsStream(name + ".class")) {
            return in.readAllBytes();
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith("FramesUnit")) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            byte[] bytes = name.endsWith("Late") ? late : name.endsWith("Slow") ? slow : unit;
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    static Class<?> load() throws Exception {
        UnloadFrames loader = new UnloadFrames();
        LOADERS.add(new WeakReference<>(loader));
        return loader.loadClass("FramesUnit");
    }

    static Method method(Class<?> type, String name) throws Exception {
        Method method = type.getDeclaredMethod(name);
        method.setAccessible(true);
        return method;
    }

    static void collect(int times) throws Exception {
        for (int i = 0; i < times; i++) {
            for (int j = 0; j < 100; j++) {
                garbage = new byte[1000];
            }
            new UnloadFrames().loadClass("FramesUnit");
            System.gc();
        }
    }

    /** A body of a unit, in an array that forgets it when it is run. */
    static IntSupplier[] body(String name) throws Exception {
        return new IntSupplier[] {(IntSupplier) method(load(), name).invoke(null)};
    }

    static int runForgotten(IntSupplier[] box) {
        return taken(box).getAsInt();
    }

    static IntSupplier taken(IntSupplier[] box) {
        IntSupplier body = box[0];
        box[0] = null;
        return body;
    }

    static class Runner extends Thread {
        final IntSupplier[] box;
        int result;

        Runner(String name) throws Exception {
            super(name);
            box = body(name);
        }

        @Override
        public void run() {
            result = runForgotten(box);
        }
    }

    static void threads() throws Exception {
        String[] names = {"sleeping", "looping", "calling", "locking", "waiting", "catching", "deep"};
        Runner[] runners = new Runner[names.length];
        for (int i = 0; i < names.length; i++) {
            runners[i] = new Runner(names[i]);
            runners[i].start();
        }
        synchronized (Host.LOCK) {
            while (Host.started < names.length) {
                Host.LOCK.wait();
            }
        }
        for (int i = 0; i < 10; i++) {
            collect(1);
            Thread.sleep(10);
        }
        for (int i = 0; i < names.length; i++) {
            StackTraceElement[] trace = runners[i].getStackTrace();
            long frames = Arrays.stream(trace).filter(e -> e.getClassName().startsWith("FramesUnit")).count();
            System.out.println(names[i] + ": " + (frames > 0) + " " + !LOADERS.get(i).refersTo(null));
        }
        Host.stop = true;
        for (Runner runner : runners) {
            runner.join();
            System.out.println(runner.getName() + ": " + runner.result);
        }
    }

    static int below(String name, int warm) throws Exception {
        IntSupplier[] box = body(name);
        for (int i = 0; i < warm; i++) {
            box[0].getAsInt();
        }
        watched = LOADERS.get(LOADERS.size() - 1);
        int result = runForgotten(box);
        watched = null;
        return result;
    }

    static void framesBelow() throws Throwable {
        for (String name : new String[] {"calls", "nested", "comparing", "streaming", "reflecting", "finishing", "synchronizing", "constructing", "handling"}) {
            int cold = below(name, 0);
            System.out.println(name + ": " + cold + " " + below(name, 3_000));
        }
        Class<?> type = load();
        watched = LOADERS.get(LOADERS.size() - 1);
        System.out.println("reflection: " + method(type, "called").invoke(null));
        MethodHandle handle = MethodHandles.privateLookupIn(type, MethodHandles.lookup()).findStatic(type, "called", MethodType.methodType(int.class));
        type = null;
        System.out.println("handle: " + (int) handle.invokeExact());
        watched = null;
    }

    static void initializer() throws Exception {
        CountDownLatch[] latches = {new CountDownLatch(1), new CountDownLatch(1)};
        int[] results = new int[2];
        Thread[] threads = new Thread[2];
        ClassLoader[] loader = {load().getClassLoader()};
        WeakReference<ClassLoader> reference = LOADERS.get(LOADERS.size() - 1);
        Host.stop = false;
        int before = Host.started;
        for (int i = 0; i < 2; i++) {
            int number = i;
            ClassLoader[] box = {loader[0]};
            threads[i] = new Thread(() -> {
                try {
                    ClassLoader mine = box[0];
                    box[0] = null;
                    results[number] = Class.forName("FramesUnit$Slow", true, mine).getSimpleName().length();
                } catch (ReflectiveOperationException e) {
                    System.out.println(e);
                }
            });
            threads[i].start();
        }
        loader[0] = null;
        synchronized (Host.LOCK) {
            while (Host.started == before) {
                Host.LOCK.wait();
            }
        }
        collect(5);
        System.out.println("initializer: " + !reference.refersTo(null));
        Host.stop = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("initialized: " + results[0] + " " + results[1]);
    }

    static Throwable thrown(String name, int warm) throws Exception {
        IntSupplier body = body(name)[0];
        Throwable last = null;
        for (int i = 0; i <= warm; i++) {
            try {
                body.getAsInt();
            } catch (RuntimeException | StackOverflowError e) {
                last = e;
            }
        }
        return last;
    }

    static void traces() throws Exception {
        List<Throwable> all = new ArrayList<>();
        for (String name : new String[] {"failing", "wrapping", "dividing"}) {
            all.add(thrown(name, 0));
            all.add(thrown(name, 3_000));
        }
        Throwable overflow = thrown("overflowing", 0);
        collect(10);
        for (Throwable thrown : all) {
            for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
                System.out.println(cause);
                for (StackTraceElement element : cause.getStackTrace()) {
                    if (element.getClassName().startsWith("FramesUnit")) {
                        System.out.println("    " + element);
                    }
                }
            }
        }
        StackTraceElement[] deep = overflow.getStackTrace();
        System.out.println(overflow + " " + deep.length + " " + deep[900].getClassName() + " " + deep[900].getMethodName());
    }

    static void collectAll() throws Exception {
        for (int i = 0; i < 50; i++) {
            collect(1);
            if (LOADERS.stream().allMatch(reference -> reference.refersTo(null))) {
                break;
            }
            Thread.sleep(10);
        }
        System.out.println("left of " + LOADERS.size() + ": " + LOADERS.stream().filter(reference -> !reference.refersTo(null)).count());
    }

    public static void main(String[] args) throws Throwable {
        unit = bytes("FramesUnit");
        late = bytes("FramesUnit$Late");
        slow = bytes("FramesUnit$Slow");
        threads();
        collectAll();
        framesBelow();
        collectAll();
        initializer();
        traces();
        collectAll();
    }
}

class FramesUnit {
    static int count = 100;

    /** Is first needed when nothing refers to the loader any more but frames. */
    static class Late {
        static int state = 1000;

        static int added(int number) {
            IntSupplier lambda = () -> number + state;
            return lambda.getAsInt() + ("t" + number).length();
        }
    }

    static class Slow {
        static int state;

        static {
            UnloadFrames.Host.started();
            while (!UnloadFrames.Host.stop) {
                UnloadFrames.Host.pause();
            }
            state = Late.added(1);
        }
    }

    static IntSupplier sleeping() {
        return () -> {
            UnloadFrames.Host.started();
            while (!UnloadFrames.Host.stop) {
                UnloadFrames.Host.pause();
            }
            return Late.added(++count);
        };
    }

    static IntSupplier looping() {
        return FramesUnit::loop;
    }

    static int loop() {
        UnloadFrames.Host.started();
        long rounds = 0;
        int state = 1;
        while (!UnloadFrames.Host.stop) {
            rounds++;
            state = state * 31 + count;
        }
        for (long i = 0; i < 3; i++) {
            state = count;
        }
        return Late.added(state) + (rounds > 0 ? 0 : 1);
    }

    static IntSupplier calling() {
        return () -> {
            UnloadFrames.Host.started();
            int sum = 0;
            while (!UnloadFrames.Host.stop) {
                for (int i = 0; i < 10_000; i++) {
                    sum += step(i);
                }
                UnloadFrames.Host.pause();
            }
            return Late.added(count) + (sum == 1 ? 1 : 0);
        };
    }

    static int step(int i) {
        return i * count;
    }

    static IntSupplier locking() {
        return FramesUnit::locked;
    }

    static synchronized int locked() {
        UnloadFrames.Host.started();
        while (!UnloadFrames.Host.stop) {
            UnloadFrames.Host.pause();
        }
        return Late.added(Thread.holdsLock(FramesUnit.class) ? 1 : 0);
    }

    static IntSupplier waiting() {
        return () -> {
            try {
                synchronized (FramesUnit.class) {
                    UnloadFrames.Host.started();
                    while (!UnloadFrames.Host.stop) {
                        FramesUnit.class.wait(1);
                    }
                }
            } catch (InterruptedException e) {
                return 0;
            }
            return Late.added(count);
        };
    }

    static IntSupplier catching() {
        return () -> {
            try {
                throw new IllegalStateException("caught");
            } catch (IllegalStateException e) {
                UnloadFrames.Host.started();
                while (!UnloadFrames.Host.stop) {
                    UnloadFrames.Host.pause();
                }
                return Late.added(e.getMessage().length());
            }
        };
    }

    static IntSupplier deep() {
        return () -> deeper(200);
    }

    static int deeper(int depth) {
        if (depth > 0) {
            return deeper(depth - 1) + 1;
        }
        UnloadFrames.Host.started();
        while (!UnloadFrames.Host.stop) {
            UnloadFrames.Host.pause();
        }
        return Late.added(0);
    }

    static int called() {
        return UnloadFrames.Host.collected(1) + Late.added(2);
    }

    static IntSupplier calls() {
        return FramesUnit::called;
    }

    static IntSupplier nested() {
        return () -> called() + inner(3);
    }

    static int inner(int depth) {
        return depth == 0 ? called() : inner(depth - 1) * 2 + 1;
    }

    static IntSupplier comparing() {
        return () -> {
            Integer[] numbers = {3, 1, 2};
            int[] calls = new int[1];
            java.util.Arrays.sort(numbers, (a, b) -> {
                if (calls[0]++ == 1) {
                    UnloadFrames.Host.collected(1);
                }
                return a - b;
            });
            return numbers[0] + Late.added(numbers[2]);
        };
    }

    static IntSupplier streaming() {
        return () -> java.util.stream.Stream.of(1, 2).mapToInt(n -> n + (n == 2 ? called() : 0)).sum();
    }

    static IntSupplier reflecting() {
        return () -> {
            try {
                return (int) FramesUnit.class.getDeclaredMethod("called").invoke(null) + Late.added(1);
            } catch (ReflectiveOperationException e) {
                return -1;
            }
        };
    }

    static IntSupplier finishing() {
        return () -> {
            int result = 1;
            try {
                result = Integer.parseInt("none");
            } catch (NumberFormatException e) {
                result += UnloadFrames.Host.collected(5);
            } finally {
                result += UnloadFrames.Host.collected(7) + Late.added(1);
            }
            return result;
        };
    }

    static IntSupplier synchronizing() {
        return () -> {
            synchronized (FramesUnit.class) {
                return UnloadFrames.Host.collected(3) + Late.added(Thread.holdsLock(FramesUnit.class) ? 1 : 0);
            }
        };
    }

    int made;

    FramesUnit() {
        made = UnloadFrames.Host.collected(9) + Late.added(1);
    }

    static IntSupplier constructing() {
        return () -> new FramesUnit().made;
    }

    static IntSupplier handling() {
        return () -> {
            try {
                throw new Exception(null, new Error("e" + UnloadFrames.Host.collected(1)));
            } catch (Exception e) {
                return e.getCause().getMessage().length() + Late.added(UnloadFrames.Host.collected(2));
            }
        };
    }

    static int fail(int depth) {
        if (depth == 0) {
            throw new IllegalArgumentException("at the end");
        }
        return fail(depth - 1);
    }

    static IntSupplier failing() {
        return () -> fail(2) + 1;
    }

    static IntSupplier wrapping() {
        return () -> {
            try {
                return fail(1);
            } catch (IllegalArgumentException e) {
                throw new IllegalStateException("wrapped", e);
            }
        };
    }

    static int divided;

    /** Fails rarely enough for HotSpot to go on making traces. */
    static IntSupplier dividing() {
        return () -> step(5) / (divided++ % 1000 == 0 ? 0 : 1);
    }

    static int overflow(int n) {
        return overflow(n + 1) + 1;
    }

    static IntSupplier overflowing() {
        return () -> overflow(0);
    }
}
