import java.util.ArrayList;
import java.util.List;

// zeal
public class WaitNotify {
    static class Buffer {
        private final int[] slots = new int[4];
        private int size;

        synchronized void put(int x) throws InterruptedException {
            while (size == slots.length) {
                wait();
            }
            slots[size++] = x;
            notifyAll();
        }

        synchronized int take() throws InterruptedException {
            while (size == 0) {
                wait();
            }
            int x = slots[--size];
            notifyAll();
            return x;
        }
    }

    public static void main(String[] args) throws Exception {
        Buffer buffer = new Buffer();
        long[] sums = new long[3];
        List<Thread> threads = new ArrayList<>();
        for (int p = 0; p < 3; p++) {
            int base = p * 1000;
            threads.add(new Thread(() -> {
                try {
                    for (int i = 0; i < 200; i++) {
                        buffer.put(base + i);
                    }
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }));
        }
        for (int c = 0; c < 3; c++) {
            int id = c;
            threads.add(new Thread(() -> {
                try {
                    for (int i = 0; i < 200; i++) {
                        sums[id] += buffer.take();
                    }
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(sums[0] + sums[1] + sums[2]);
        Object lock = new Object();
        synchronized (lock) {
            long start = System.nanoTime();
            lock.wait(10);
            System.out.println(System.nanoTime() - start >= 5_000_000);
            synchronized (lock) {
                lock.wait(1, 500);
            }
            System.out.println(Thread.holdsLock(lock));
        }
        boolean[] turn = {true};
        StringBuffer order = new StringBuffer();
        Thread ping = new Thread(() -> alternate(lock, turn, true, order, "ping "));
        Thread pong = new Thread(() -> alternate(lock, turn, false, order, "pong "));
        ping.start();
        pong.start();
        ping.join();
        pong.join();
        System.out.println(order);
        try {
            lock.wait();
        } catch (IllegalMonitorStateException e) {
            System.out.println(e.getMessage());
        }
        try {
            synchronized (lock) {
                lock.wait(-1);
            }
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
    }

    static void alternate(Object lock, boolean[] turn, boolean mine, StringBuffer order, String word) {
        for (int i = 0; i < 5; i++) {
            synchronized (lock) {
                while (turn[0] != mine) {
                    try {
                        lock.wait();
                    } catch (InterruptedException e) {
                        return;
                    }
                }
                order.append(word);
                turn[0] = !mine;
                lock.notify();
            }
        }
    }
}
