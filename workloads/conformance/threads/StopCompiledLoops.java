// vm: -XX:CompileThreshold=100
import java.util.concurrent.CountDownLatch;

/** Threads are stopped in loops that are compiled and call nothing: in handlers, with locks held, inlined. */
@SuppressWarnings({"deprecation", "removal"})
public class StopCompiledLoops {
    static volatile int shared;
    static int plain;
    static double real = 1;
    static final Object LOCK = new Object();

    interface Body {
        void run();
    }

    static void forever() {
        while (true) {
            plain = plain * 31 + 1;
        }
    }

    static synchronized void forClass() {
        for (long i = 0; i < Long.MAX_VALUE; i++) {
            shared++;
        }
    }

    static void stopped(String what, Body body) throws Exception {
        CountDownLatch runs = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            try {
                runs.countDown();
                body.run();
                System.out.println(what + ": ended");
            } catch (ThreadDeath e) {
                System.out.println(what + ": died");
            }
        });
        thread.setDaemon(true);
        thread.start();
        runs.await();
        Thread.sleep(150);
        long asked = System.nanoTime();
        thread.stop();
        thread.join(20_000);
        System.out.println(thread.getState() + " " + (System.nanoTime() - asked < 10_000_000_000L));
    }

    public static void main(String[] args) throws Exception {
        stopped("nothing", () -> {
            while (true) {
            }
        });
        stopped("volatile", () -> {
            while (true) {
                shared++;
            }
        });
        stopped("reals", () -> {
            for (;;) {
                real = real * 1.0000001 + 1e-9;
            }
        });
        stopped("inlined", StopCompiledLoops::forever);
        stopped("objects", () -> {
            Object[] some = new Object[16];
            for (int i = 0; ; i = i + 1 & 15) {
                some[i] = new int[i];
                if (some[15 - i] == LOCK) {
                    break;
                }
            }
        });
        stopped("handler", () -> {
            int rounds = 0;
            String text = "kept";
            while (true) {
                try {
                    while (true) {
                        rounds += text.length();
                        shared = rounds;
                    }
                } catch (ThreadDeath e) {
                    System.out.println(text + " " + (rounds != 0));
                    throw e;
                }
            }
        });
        stopped("finally", () -> {
            try {
                forever();
            } finally {
                System.out.println("cleaned up");
            }
        });
        stopped("other handler", () -> {
            while (true) {
                try {
                    shared++;
                } catch (RuntimeException e) {
                    System.out.println("impossible");
                }
            }
        });
        stopped("locked", () -> {
            synchronized (LOCK) {
                while (true) {
                    plain++;
                }
            }
        });
        stopped("class locked", StopCompiledLoops::forClass);
        // The locks are free again.
        synchronized (LOCK) {
            synchronized (StopCompiledLoops.class) {
                System.out.println("free");
            }
        }
    }
}
