// vm: -XX:CompileThreshold=100
import java.util.concurrent.CountDownLatch;

/** Monitors held by hot code: released on every way out, and exclusive between threads. */
public class HotLocks {
    private int count;
    static final Object A = new Object();
    static final Object B = new Object();

    synchronized void add(int n) {
        count += n;
        if (n == 13) {
            throw new IllegalArgumentException("13");
        }
    }

    static synchronized int nested(int n, HotLocks target) {
        synchronized (A) {
            synchronized (B) {
                target.add(n);
                if (n % 7 == 0) {
                    return n;
                }
            }
            if (n % 11 == 0) {
                throw new RuntimeException();
            }
        }
        return -n;
    }

    static int inLoop(int n, Object lock) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            synchronized (lock) {
                sum += i;
                if (i % 1000 == 999) {
                    continue;
                }
            }
            sum ^= 5;
        }
        return sum;
    }

    static int aroundLoop(int n, Object lock) {
        int sum = 0;
        synchronized (lock) {
            for (int i = 0; i < n; i++) {
                sum += i ^ n;
            }
            if (sum == 12345) {
                throw new AssertionError();
            }
        }
        return sum;
    }

    synchronized int await(int turns) throws InterruptedException {
        int seen = 0;
        while (count < turns) {
            wait(20);
            seen++;
        }
        return seen;
    }

    synchronized void step() {
        count++;
        notifyAll();
    }

    static boolean free() {
        return !Thread.holdsLock(A) && !Thread.holdsLock(B) && !Thread.holdsLock(HotLocks.class);
    }

    public static void main(String[] args) throws Exception {
        HotLocks target = new HotLocks();
        long sum = 0;
        int thrown = 0;
        for (int i = 0; i < 5000; i++) {
            try {
                sum += nested(i % 100, target);
            } catch (RuntimeException e) {
                thrown++;
            }
            if (!free() || Thread.holdsLock(target)) {
                throw new AssertionError("still locked at " + i);
            }
        }
        System.out.println(sum + " " + thrown + " " + target.count);
        Object lock = new Object();
        System.out.println(inLoop(100_000, lock) + " " + aroundLoop(200_000, lock) + " " + Thread.holdsLock(lock));

        int threads = 4;
        int turns = 20_000;
        HotLocks shared = new HotLocks();
        int[] unsafe = new int[1];
        CountDownLatch start = new CountDownLatch(1);
        Thread[] all = new Thread[threads];
        for (int n = 0; n < threads; n++) {
            all[n] = new Thread(() -> {
                try {
                    start.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                for (int i = 0; i < turns; i++) {
                    shared.add(1);
                    synchronized (A) {
                        unsafe[0]++;
                    }
                }
            });
            all[n].start();
        }
        start.countDown();
        for (Thread thread : all) {
            thread.join();
        }
        System.out.println(shared.count + " " + unsafe[0]);
        HotLocks turn = new HotLocks();
        Thread stepper = new Thread(() -> {
            for (int i = 0; i < 5000; i++) {
                turn.step();
            }
        });
        stepper.start();
        turn.await(5000);
        stepper.join();
        System.out.println(turn.count);
    }
}
