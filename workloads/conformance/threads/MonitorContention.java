// zeal
public class MonitorContention {
    int count;
    static int total;
    final Object lock = new Object();

    synchronized void plain() {
        count++;
    }

    static synchronized void all() {
        total++;
    }

    void block(Object other) {
        synchronized (lock) {
            synchronized (other) {
                count++;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        MonitorContention m = new MonitorContention();
        Thread[] threads = new Thread[6];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 2000; i++) {
                    m.plain();
                    all();
                }
            });
        }
        for (Thread t : threads) {
            t.start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(m.count + " " + total);
        MonitorContention n = new MonitorContention();
        Object second = new Object();
        int hash = n.lock.hashCode();
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 500; i++) {
                    n.block(second);
                    if (i % 50 == 0) {
                        Thread.yield();
                    }
                }
            });
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(n.count + " " + (hash == n.lock.hashCode()));
        Object[] many = new Object[200];
        for (int i = 0; i < many.length; i++) {
            many[i] = new Object();
        }
        int[] sums = new int[many.length];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                for (int i = 0; i < many.length; i++) {
                    synchronized (many[i]) {
                        sums[i]++;
                    }
                }
            });
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        int sum = 0;
        for (int s : sums) {
            sum += s;
        }
        System.out.println(sum);
    }
}
