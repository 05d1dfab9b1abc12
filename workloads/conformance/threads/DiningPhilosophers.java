import java.util.concurrent.locks.ReentrantLock;

public class DiningPhilosophers {
    public static void main(String[] args) throws Exception {
        int n = 5;
        Object[] forks = new Object[n];
        ReentrantLock[] locks = new ReentrantLock[n];
        for (int i = 0; i < n; i++) {
            forks[i] = new Object();
            locks[i] = new ReentrantLock();
        }
        int[] meals = new int[n];
        Thread[] threads = new Thread[n];
        for (int i = 0; i < n; i++) {
            int id = i;
            int low = Math.min(i, (i + 1) % n);
            int high = Math.max(i, (i + 1) % n);
            threads[i] = new Thread(() -> {
                for (int k = 0; k < 100; k++) {
                    synchronized (forks[low]) {
                        synchronized (forks[high]) {
                            meals[id]++;
                        }
                    }
                    while (true) {
                        locks[id].lock();
                        try {
                            ReentrantLock right = locks[(id + 1) % n];
                            if (right.tryLock()) {
                                try {
                                    meals[id]++;
                                    break;
                                } finally {
                                    right.unlock();
                                }
                            }
                        } finally {
                            locks[id].unlock();
                        }
                        Thread.yield();
                    }
                }
            });
            threads[i].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        int total = 0;
        for (int m : meals) {
            total += m;
        }
        System.out.println(total);
    }
}
