// zeal
public class MonitorsOverGc {
    static int counter;

    public static void main(String[] args) throws Exception {
        Object[] locks = new Object[20];
        for (int i = 0; i < locks.length; i++) {
            locks[i] = new Object();
        }
        int hash = locks[3].hashCode();
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            int id = t;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 400; i++) {
                    synchronized (locks[i % locks.length]) {
                        counter += locks[(i + 1) % locks.length] != null ? 0 : 1;
                        byte[] garbage = new byte[800];
                        garbage[i % 800] = (byte) id;
                        synchronized (locks[i % locks.length]) {
                            if (i % 100 == 50 && id == 0) {
                                System.gc();
                            }
                        }
                    }
                }
            });
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(counter + " " + (hash == locks[3].hashCode()));
        Object lock = new Object();
        synchronized (lock) {
            for (int i = 0; i < 3; i++) {
                System.gc();
            }
            System.out.println(Thread.holdsLock(lock));
            lock.notifyAll();
        }
        System.out.println(Thread.holdsLock(lock));
        StringBuilder log = new StringBuilder();
        Thread waiter = new Thread(() -> {
            synchronized (lock) {
                log.append("waiting ");
                try {
                    lock.wait();
                } catch (InterruptedException e) {
                    throw new AssertionError();
                }
                log.append("notified");
            }
        });
        waiter.start();
        while (waiter.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        System.gc();
        synchronized (lock) {
            lock.notify();
        }
        waiter.join();
        System.out.println(log);
    }
}
