package harness;

import java.util.concurrent.atomic.AtomicReference;

/** Threads that do the same work on parts of their own. */
public final class Crew {
    private Crew() {}

    /** The work of one of the threads. */
    public interface Work {
        void run(int worker) throws Exception;
    }

    /** Runs it on this many threads, and waits for all; the first failure is thrown to the caller. */
    public static void run(String name, int threads, Work work) throws InterruptedException {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread[] crew = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            int worker = t;
            crew[t] = new Thread(() -> {
                try {
                    work.run(worker);
                } catch (Throwable e) {
                    failure.compareAndSet(null, e);
                }
            }, name + "-" + t);
            crew[t].start();
        }
        for (Thread thread : crew) {
            thread.join();
        }
        if (failure.get() != null) {
            throw new IllegalStateException(name + " failed", failure.get());
        }
    }
}
