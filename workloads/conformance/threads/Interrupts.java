import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

public class Interrupts {
    interface Body {
        void run() throws Exception;
    }

    static void interrupted(String name, Body body) throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        Thread t = new Thread(() -> {
            started.countDown();
            try {
                body.run();
                System.out.println(name + " returned, flag " + Thread.currentThread().isInterrupted());
            } catch (InterruptedException e) {
                System.out.println(name + " interrupted: " + e.getMessage() + " flag " + Thread.currentThread().isInterrupted());
            } catch (Exception e) {
                System.out.println(name + " " + e);
            }
        });
        t.start();
        started.await();
        Thread.sleep(10);
        t.interrupt();
        t.join();
    }

    public static void main(String[] args) throws Exception {
        Object lock = new Object();
        interrupted("sleep", () -> Thread.sleep(60_000));
        interrupted("wait", () -> {
            synchronized (lock) {
                lock.wait();
            }
        });
        Thread main = Thread.currentThread();
        interrupted("join", main::join);
        interrupted("park", () -> {
            while (!Thread.currentThread().isInterrupted()) {
                LockSupport.park();
            }
        });
        interrupted("queue", () -> new ArrayBlockingQueue<Integer>(1).take());
        ReentrantLock held = new ReentrantLock();
        held.lock();
        interrupted("lockInterruptibly", held::lockInterruptibly);
        interrupted("spin", () -> {
            while (!Thread.interrupted()) {
                Thread.onSpinWait();
            }
        });
        main.interrupt();
        try {
            Thread.sleep(1);
            System.out.println("not thrown");
        } catch (InterruptedException e) {
            System.out.println("pending: " + e.getMessage() + " " + main.isInterrupted());
        }
        main.interrupt();
        System.out.println(Thread.interrupted() + " " + Thread.interrupted());
        main.interrupt();
        try {
            synchronized (lock) {
                lock.wait(1);
            }
        } catch (InterruptedException e) {
            System.out.println("wait " + e.getMessage());
        }
        try {
            Thread.sleep(-1);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        Thread finished = new Thread(() -> {});
        finished.start();
        finished.join();
        finished.interrupt();
        System.out.println(finished.isInterrupted());
    }
}
