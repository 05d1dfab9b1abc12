import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.Cleaner;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.List;
import java.util.ListResourceBundle;
import java.util.Locale;
import java.util.Map;
import java.util.ResourceBundle;
import java.util.ServiceLoader;
import java.util.Timer;
import java.util.TimerTask;
import java.util.WeakHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Objects of a loader's classes are left to services of the class library: thread locals, weak maps, finalizers,
 * cleaners, pools, timers, service loaders, bundles. They work as long as these have them; then all are unloaded.
 */
public class UnloadServices extends ClassLoader {
    interface Use {
        Object use() throws Exception;
    }

    interface Maker {
        Use make(UnloadServices loader, Supplier<Object> unit) throws Exception;
    }

    static final class Case {
        final String name;
        final WeakReference<ClassLoader> loader;
        Use use;

        Case(String name, UnloadServices loader, Use use) {
            this.name = name;
            this.loader = new WeakReference<>(loader);
            this.use = use;
        }
    }

    /** What units report from finalizers and actions. */
    public static class Events {
        static final Map<String, Integer> COUNTS = new HashMap<>();
        static Object risen;

        public static synchronized void add(String name, int number) {
            COUNTS.merge(name, number, Integer::sum);
        }

        static synchronized int of(String name) {
            return COUNTS.getOrDefault(name, 0);
        }

        public static synchronized void rise(Object object) {
            risen = object;
        }

        static synchronized Object risen() {
            return risen;
        }
    }

    public interface Service {
        String serve();
    }

    static final List<Case> CASES = new ArrayList<>();
    static final List<Runnable> ENDS = new ArrayList<>();
    static final Map<String, byte[]> BYTES = new HashMap<>();
    static final Cleaner CLEANER = Cleaner.create();
    static final ThreadLocal<Object> LOCAL = new ThreadLocal<>();
    static final InheritableThreadLocal<Object> INHERITED = new InheritableThreadLocal<>();
    static volatile Object garbage;

    UnloadServices() {
        super(UnloadServices.class.getClassLoader());
    }

    static byte[] bytes(String name) throws ClassNotFoundException {
        byte[] bytes = BYTES.get(name);
        if (bytes == null) {
            try (InputStream in = UnloadServices.class.getResourceAsStream(name + ".class")) {
                BYTES.put(name, bytes = in.readAllBytes());
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
        return bytes;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith("ServicesUnit")) {
            return super.loadClass(name, resolve);
        }
        synchronized (BYTES) {
            Class<?> known = findLoadedClass(name);
            return known != null ? known : defineClass(name, bytes(name), 0, bytes(name).length);
        }
    }

    @Override
    public Enumeration<URL> getResources(String name) throws IOException {
        if (!name.startsWith("META-INF/services/UnloadServices")) {
            return super.getResources(name);
        }
        return Collections.enumeration(List.of(new URL(null, "units:provider", new URLStreamHandler() {
            @Override
            protected URLConnection openConnection(URL url) {
                return new URLConnection(url) {
                    @Override
                    public void connect() {
                    }

                    @Override
                    public InputStream getInputStream() {
                        return new ByteArrayInputStream("ServicesUnit$Provider".getBytes());
                    }
                };
            }
        })));
    }

    static void keep(String name, Maker maker) throws Exception {
        UnloadServices loader = new UnloadServices();
        Supplier<Object> unit = () -> {
            try {
                var constructor = loader.loadClass("ServicesUnit").getDeclaredConstructor();
                constructor.setAccessible(true);
                return constructor.newInstance();
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        };
        CASES.add(new Case(name, loader, maker.make(loader, unit)));
    }

    static Object call(ClassLoader loader, String method, Object... arguments) throws Exception {
        for (var each : loader.loadClass("ServicesUnit").getDeclaredMethods()) {
            if (each.getName().equals(method)) {
                each.setAccessible(true);
                return each.invoke(null, arguments);
            }
        }
        throw new NoSuchMethodException(method);
    }

    /** A thread that does what it is asked to. */
    static ExecutorService thread() {
        ExecutorService thread = Executors.newSingleThreadExecutor();
        ENDS.add(() -> {
            thread.shutdown();
            try {
                thread.awaitTermination(20, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        return thread;
    }

    static void keepOnThreads() throws Exception {
        keep("thread local", (l, unit) -> {
            ExecutorService thread = thread();
            thread.submit(() -> LOCAL.set(unit.get())).get();
            // The thread forgets its last task.
            return () -> thread.submit(() -> LOCAL.get().toString()).get();
        });
        keep("thread local of the unit", (l, unit) -> {
            ExecutorService thread = thread();
            Object name = thread.submit(() -> call(l, "local")).get();
            return () -> name + " " + thread.submit(() -> 1).get();
        });
        keep("inherited", (l, unit) -> {
            INHERITED.set(unit.get());
            ExecutorService thread = thread();
            thread.submit(() -> 1).get();
            INHERITED.remove();
            return () -> thread.submit(() -> INHERITED.get().toString()).get();
        });
        keep("context loader", (l, unit) -> {
            CountDownLatch end = new CountDownLatch(1);
            Thread thread = new Thread(() -> {
                try {
                    end.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            thread.setContextClassLoader(l);
            thread.start();
            ENDS.add(() -> {
                end.countDown();
                join(thread);
            });
            return () -> call(thread.getContextClassLoader(), "next");
        });
        keep("handler of uncaught exceptions", (l, unit) -> {
            CountDownLatch end = new CountDownLatch(1);
            Thread thread = new Thread(() -> {
                try {
                    end.await();
                } catch (InterruptedException e) {
                    return;
                }
                throw new IllegalStateException("uncaught");
            });
            thread.setUncaughtExceptionHandler((Thread.UncaughtExceptionHandler) call(l, "handler"));
            thread.start();
            return () -> {
                end.countDown();
                join(thread);
                return Events.of("uncaught");
            };
        });
        keep("thread of the unit", (l, unit) -> {
            Thread thread = (Thread) call(l, "thread");
            thread.start();
            ENDS.add(() -> {
                thread.interrupt();
                join(thread);
            });
            return () -> thread.isAlive() + " " + thread;
        });
        keep("thread that has not started", (l, unit) -> {
            Thread thread = (Thread) call(l, "thread");
            return () -> thread.isAlive() + " " + thread;
        });
        keep("thread factory", (l, unit) -> {
            ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(1, (ThreadFactory) call(l, "factory"));
            pool.schedule((Runnable) call(l, "task"), 100, TimeUnit.DAYS);
            ENDS.add(() -> pool.shutdownNow());
            return () -> pool.submit(() -> Thread.currentThread().getName()).get();
        });
        keep("timer", (l, unit) -> {
            Timer timer = new Timer(true);
            timer.schedule((TimerTask) call(l, "timerTask"), 1, 2);
            ENDS.add(timer::cancel);
            return () -> {
                int before = Events.of("timer");
                while (Events.of("timer") < before + 3) {
                    Thread.sleep(1);
                }
                return "ticks";
            };
        });
        keep("shared pool", (l, unit) -> {
            CountDownLatch begin = new CountDownLatch(1);
            var future = ((java.util.concurrent.ForkJoinTask<?>) call(l, "forked", begin)).fork();
            return () -> {
                begin.countDown();
                return future.get();
            };
        });
    }

    static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void keepInMaps() throws Exception {
        WeakHashMap<Object, Object> weak = new WeakHashMap<>();
        keep("weak key", (l, unit) -> {
            weak.put(unit.get(), "value");
            weak.put(l.loadClass("ServicesUnit"), "class");
            return () -> weak.size();
        });
        keep("weak key and value", (l, unit) -> {
            WeakHashMap<Object, Object> map = new WeakHashMap<>();
            Object key = unit.get();
            map.put(key, List.of(key));
            map.put(key.getClass(), "class");
            return () -> map.size() + " " + map.values().contains("class");
        });
        keep("bundle", (l, unit) -> {
            ResourceBundle bundle = ResourceBundle.getBundle("ServicesUnit$Texts", Locale.ROOT, l);
            ENDS.add(() -> ResourceBundle.clearCache(bundle.getClass().getClassLoader()));
            return () -> bundle.getString("key");
        });
        keep("service loader", (l, unit) -> {
            ServiceLoader<Service> services = ServiceLoader.load(Service.class, l);
            String first = services.iterator().next().serve();
            return () -> first + " " + services.iterator().next().serve();
        });
        keep("service loader that has not loaded", (l, unit) -> {
            ServiceLoader<Service> services = ServiceLoader.load(Service.class, l);
            return () -> services.stream().findFirst().get().get().serve();
        });
        keep("queue", (l, unit) -> {
            ReferenceQueue<Object> queue = new ReferenceQueue<>();
            Reference<?> reference = (Reference<?>) call(l, "reference", queue);
            for (int i = 0; i < 50 && !reference.isEnqueued(); i++) {
                collect(1);
            }
            return () -> queue.remove(10_000).toString();
        });
    }

    static void leaveToFinalizers() throws Exception {
        keep("finalizer", (l, unit) -> {
            call(l, "leaveFinalizable", "finalized", 5);
            return () -> Events.of("finalized");
        });
        keep("finalizer that revives", (l, unit) -> {
            call(l, "leaveRising");
            return () -> Events.risen() + " " + Events.of("risen");
        });
        keep("cleaner", (l, unit) -> {
            call(l, "leaveCleanable", CLEANER);
            return () -> Events.of("cleaned");
        });
        keep("cleaner of the unit", (l, unit) -> {
            call(l, "leaveCleaner");
            return () -> Events.of("cleaned by own");
        });
        keep("cleaner of the loader", (l, unit) -> {
            CLEANER.register(l, () -> Events.add("loader", 1));
            return () -> Events.of("loader");
        });
        keep("shutdown hook", (l, unit) -> {
            Thread hook = (Thread) call(l, "hook");
            Runtime.getRuntime().addShutdownHook(hook);
            return () -> "hooked";
        });
    }

    static void collect(int times) throws Exception {
        for (int i = 0; i < times; i++) {
            for (int j = 0; j < 200; j++) {
                garbage = new byte[1000];
            }
            new UnloadServices().loadClass("ServicesUnit");
            // The threads of the class library see other objects than the last one of a unit.
            CLEANER.register(new Object(), () -> { });
            garbage = new Object() {
                @Override
                @SuppressWarnings({"deprecation", "removal"})
                protected void finalize() {
                    garbage = null;
                }
            };
            garbage = null;
            System.gc();
            Thread.sleep(10);
        }
    }

    static boolean allReported() {
        return Events.of("finalized") == 10 && Events.of("risen") == 1 && Events.of("cleaned") == 1 && Events.of("cleaned by own") == 1 && Events.of("loader") == 1;
    }

    static long left() {
        return CASES.stream().filter(c -> !c.loader.refersTo(null)).count();
    }

    public static void main(String[] args) throws Exception {
        keepOnThreads();
        keepInMaps();
        leaveToFinalizers();
        for (int i = 0; i < 50 && !allReported(); i++) {
            collect(1);
        }
        collect(10);
        for (Case c : CASES) {
            String state = c.loader.refersTo(null) ? " gone" : " kept";
            // Whether weak references to what a finalizer revives are cleared depends on the collector.
            System.out.println(c.name + ": " + c.use.use() + (c.name.endsWith("revives") ? "" : state));
        }
        Events.rise(null);
        for (Case c : CASES) {
            c.use = null;
        }
        ENDS.forEach(Runnable::run);
        ENDS.clear();
        for (int i = 0; i < 50 && left() > 1; i++) {
            collect(1);
        }
        for (Case c : CASES) {
            if (!c.loader.refersTo(null)) {
                System.out.println("left: " + c.name);
            }
        }
    }
}

class ServicesUnit {
    static int count = 100;
    static final ThreadLocal<ServicesUnit> OWN = ThreadLocal.withInitial(ServicesUnit::new);

    /** Is first needed by what the services run. */
    static class Late {
        static int added(int number) {
            Supplier<Integer> lambda = () -> number + 1000;
            return lambda.get();
        }
    }

    public static class Provider implements UnloadServices.Service {
        public Provider() {
        }

        @Override
        public String serve() {
            return "served " + ++count;
        }
    }

    public static class Texts extends ListResourceBundle {
        @Override
        protected Object[][] getContents() {
            return new Object[][] {{"key", "value of " + getClass().getName()}};
        }
    }

    static class Finalizable {
        final String name;

        Finalizable(String name) {
            this.name = name;
        }

        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            // The class of the helper is loaded by the loader that nothing refers to any more.
            UnloadServices.Events.add(name, Late.added(0) - 998);
        }
    }

    static class Rising {
        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            UnloadServices.Events.add("risen", 1);
            UnloadServices.Events.rise(this);
        }

        @Override
        public String toString() {
            return "risen " + Late.added(next());
        }
    }

    static class Reported extends PhantomReference<Object> {
        Reported(ReferenceQueue<Object> queue) {
            super(new Object(), queue);
        }

        @Override
        public String toString() {
            return "reported " + Late.added(next());
        }
    }

    static int next() {
        return ++count;
    }

    static String local() {
        return OWN.get().toString();
    }

    static Thread.UncaughtExceptionHandler handler() {
        return (thread, thrown) -> UnloadServices.Events.add("uncaught", Late.added(thrown.getMessage().length()));
    }

    static Thread thread() {
        return new Thread() {
            @Override
            public void run() {
                try {
                    Thread.sleep(1_000_000);
                } catch (InterruptedException e) {
                    UnloadServices.Events.add("interrupted", Late.added(0));
                }
            }

            @Override
            public String toString() {
                return "thread of " + next();
            }
        };
    }

    static ThreadFactory factory() {
        return task -> {
            Thread thread = new Thread(task, "made " + Late.added(next()));
            thread.setDaemon(true);
            return thread;
        };
    }

    static Runnable task() {
        return () -> UnloadServices.Events.add("never", 1);
    }

    static TimerTask timerTask() {
        return new TimerTask() {
            @Override
            public void run() {
                UnloadServices.Events.add("timer", Late.added(0) / 1000);
            }
        };
    }

    static Object forked(CountDownLatch begin) {
        return new java.util.concurrent.RecursiveTask<String>() {
            @Override
            protected String compute() {
                try {
                    begin.await();
                } catch (InterruptedException e) {
                    return "interrupted";
                }
                return "forked " + Late.added(next());
            }
        };
    }

    static Object reference(ReferenceQueue<Object> queue) {
        return new Reported(queue);
    }

    static void leaveFinalizable(String name, int number) {
        for (int i = 0; i < number; i++) {
            new Finalizable(name);
        }
    }

    static void leaveRising() {
        new Rising();
    }

    static void leaveCleanable(java.lang.ref.Cleaner cleaner) {
        cleaner.register(new Object(), () -> UnloadServices.Events.add("cleaned", Late.added(0) / 1000));
    }

    static void leaveCleaner() {
        java.lang.ref.Cleaner.create().register(new Object(), () -> UnloadServices.Events.add("cleaned by own", Late.added(0) / 1000));
    }

    static Thread hook() {
        return new Thread(() -> System.out.println("hook " + Late.added(next())));
    }

    @Override
    public String toString() {
        return "unit " + Late.added(next());
    }
}
