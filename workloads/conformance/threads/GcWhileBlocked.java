import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

// zeal
public class GcWhileBlocked {
    static volatile boolean stop;

    static int hold(Object[] mine, Runnable block) {
        int before = mine[0].hashCode();
        block.run();
        return before == mine[0].hashCode() && mine[1].equals("kept" + mine.length) ? 1 : 0;
    }

    public static void main(String[] args) throws Exception {
        Object lock = new Object();
        CountDownLatch ready = new CountDownLatch(4);
        int[] fine = new int[4];
        Thread[] threads = new Thread[4];
        Runnable[] blocks = {
            () -> {
                synchronized (lock) {
                    ready.countDown();
                    while (!stop) {
                        try {
                            lock.wait();
                        } catch (InterruptedException e) {
                            throw new AssertionError();
                        }
                    }
                }
            },
            () -> {
                ready.countDown();
                while (!stop) {
                    LockSupport.park();
                }
            },
            () -> {
                ready.countDown();
                try {
                    while (!stop) {
                        Thread.sleep(1);
                    }
                } catch (InterruptedException e) {
                    throw new AssertionError();
                }
            },
            () -> {
                ready.countDown();
                while (!stop) {
                    Thread.onSpinWait();
                }
            },
        };
        for (int i = 0; i < 4; i++) {
            int id = i;
            threads[i] = new Thread(() -> fine[id] = hold(new Object[] {new Object(), "kept" + 2}, blocks[id]));
            threads[i].start();
        }
        ready.await();
        long sum = 0;
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < 500; i++) {
                sum += new byte[2000].length;
            }
            System.gc();
        }
        stop = true;
        synchronized (lock) {
            lock.notifyAll();
        }
        LockSupport.unpark(threads[1]);
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(sum + " " + fine[0] + fine[1] + fine[2] + fine[3]);
    }
}
