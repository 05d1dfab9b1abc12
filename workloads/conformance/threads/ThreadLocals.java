import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public class ThreadLocals {
    static final ThreadLocal<Integer> COUNT = ThreadLocal.withInitial(() -> 100);
    static final InheritableThreadLocal<String> NAME = new InheritableThreadLocal<>() {
        @Override
        protected String childValue(String parent) {
            return parent + "-child";
        }
    };

    public static void main(String[] args) throws Exception {
        COUNT.set(COUNT.get() + 1);
        NAME.set("main");
        Thread t = new Thread(() -> {
            System.out.println(COUNT.get() + " " + NAME.get());
            COUNT.set(5);
            NAME.set("changed");
        });
        t.start();
        t.join();
        System.out.println(COUNT.get() + " " + NAME.get());
        COUNT.remove();
        System.out.println(COUNT.get());
        ThreadLocal<int[]>[] many = new ThreadLocal[100];
        for (int i = 0; i < many.length; i++) {
            many[i] = new ThreadLocal<>();
            many[i].set(new int[] {i});
        }
        for (int i = 0; i < many.length; i += 2) {
            many[i] = null;
        }
        System.gc();
        int sum = 0;
        for (int i = 1; i < many.length; i += 2) {
            sum += many[i].get()[0];
        }
        System.out.println(sum);
        ExecutorService pool = Executors.newSingleThreadExecutor();
        pool.submit(() -> COUNT.set(7)).get();
        System.out.println(pool.submit(COUNT::get).get());
        pool.shutdown();
    }
}
