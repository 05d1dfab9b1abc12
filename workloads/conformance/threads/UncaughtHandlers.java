// compare: stdout,stderr
public class UncaughtHandlers {
    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> {
            throw new IllegalStateException("first");
        }, "alpha");
        a.setUncaughtExceptionHandler((t, e) -> System.out.println(t.getName() + " died of " + e.getMessage()));
        a.start();
        a.join();
        Thread.setDefaultUncaughtExceptionHandler((t, e) -> System.out.println("default: " + t.getName() + " " + e));
        Thread b = new Thread(() -> {
            throw new Error("second");
        }, "beta");
        b.start();
        b.join();
        Thread.setDefaultUncaughtExceptionHandler(null);
        Thread c = new Thread(UncaughtHandlers::fail, "gamma");
        c.start();
        c.join();
        ThreadGroup group = new ThreadGroup("group") {
            @Override
            public void uncaughtException(Thread t, Throwable e) {
                System.out.println("group saw " + e.getMessage());
            }
        };
        Thread d = new Thread(group, () -> {
            throw new RuntimeException("fourth");
        });
        d.start();
        d.join();
        Thread e = new Thread(() -> {
            throw new RuntimeException("fifth");
        }, "handler fails");
        e.setUncaughtExceptionHandler((t, x) -> {
            throw new RuntimeException("from handler");
        });
        e.start();
        e.join();
        System.out.println(group.getName() + " " + group.activeCount() + " " + group.getParent().getName());
    }

    static void fail() {
        Object o = null;
        o.hashCode();
    }
}
