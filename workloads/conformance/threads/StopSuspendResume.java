// vm: -Xint
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Old methods that JDK 17 still has: threads that are stopped, or stand still until they are resumed. */
@SuppressWarnings({"deprecation", "removal"})
public class StopSuspendResume {
    static final Object LOCK = new Object();
    static volatile long count;

    interface Body {
        void run() throws Exception;
    }

    static void stopped(String what, Body body) throws Exception {
        CountDownLatch runs = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            try {
                runs.countDown();
                body.run();
                System.out.println(what + ": ended");
            } catch (ThreadDeath e) {
                System.out.println(what + ": died, " + e.getMessage());
            } catch (Exception e) {
                System.out.println(what + ": " + e);
            }
        });
        thread.start();
        runs.await();
        Thread.sleep(30);
        thread.stop();
        thread.join();
    }

    public static void main(String[] args) throws Exception {
        stopped("loop", () -> {
            while (true) {
                count++;
            }
        });
        stopped("calls", () -> {
            while (true) {
                count += String.valueOf(count).length();
            }
        });
        stopped("sleep", () -> Thread.sleep(60_000));
        stopped("wait", () -> {
            synchronized (LOCK) {
                LOCK.wait();
            }
        });
        stopped("park", () -> {
            while (true) {
                LockSupport.park();
            }
        });
        stopped("finally", () -> {
            try {
                Thread.sleep(60_000);
            } finally {
                System.out.println("cleaned up");
            }
        });
        Thread never = new Thread(() -> System.out.println("impossible"));
        never.stop();
        never.start();
        never.join();
        System.out.println(never.getState());
        try {
            Thread.currentThread().stop();
        } catch (ThreadDeath e) {
            System.out.println("oneself");
        }
        Thread counter = new Thread(() -> {
            while (true) {
                count++;
            }
        });
        counter.setDaemon(true);
        counter.start();
        Thread.sleep(30);
        for (int i = 0; i < 20; i++) {
            counter.suspend();
            long before = count;
            Thread.sleep(5);
            if (i == 10) {
                System.gc();
            }
            if (count - before > 0) {
                System.out.println("it counts on");
            }
            counter.resume();
            while (count == before) {
                Thread.onSpinWait();
            }
        }
        System.out.println(counter.getState() + " " + counter.isAlive());
        counter.suspend();
        counter.stop();
        counter.join();
        System.out.println(counter.getState());
    }
}
