import java.util.concurrent.locks.LockSupport;

public class ThreadStates {
    static void await(Thread t, Thread.State state) throws Exception {
        for (int i = 0; i < 2000 && t.getState() != state; i++) {
            Thread.sleep(1);
        }
        System.out.println(t.getName() + " " + t.getState());
    }

    public static void main(String[] args) throws Exception {
        Object lock = new Object();
        Thread blocked = new Thread(() -> {
            synchronized (lock) {
                System.out.println("got it");
            }
        }, "blocked");
        Thread waiting = new Thread(() -> {
            Object own = new Object();
            synchronized (own) {
                try {
                    own.wait();
                } catch (InterruptedException e) {
                    System.out.println("out of wait");
                }
            }
        }, "waiting");
        Thread timed = new Thread(() -> {
            try {
                Thread.sleep(100_000);
            } catch (InterruptedException e) {
                System.out.println("out of sleep");
            }
        }, "timed");
        Thread parked = new Thread(() -> {
            LockSupport.park("the blocker");
            System.out.println("unparked");
        }, "parked");
        boolean[] stop = {false};
        Thread running = new Thread(() -> {
            while (true) {
                synchronized (stop) {
                    if (stop[0]) {
                        return;
                    }
                }
                for (int i = 0; i < 10000; i++) {
                    Thread.onSpinWait();
                }
            }
        }, "running");
        System.out.println(blocked.getState());
        synchronized (lock) {
            blocked.start();
            await(blocked, Thread.State.BLOCKED);
        }
        await(blocked, Thread.State.TERMINATED);
        waiting.start();
        await(waiting, Thread.State.WAITING);
        waiting.interrupt();
        waiting.join();
        timed.start();
        await(timed, Thread.State.TIMED_WAITING);
        timed.interrupt();
        timed.join();
        parked.start();
        await(parked, Thread.State.WAITING);
        System.out.println(LockSupport.getBlocker(parked));
        LockSupport.unpark(parked);
        parked.join();
        running.start();
        await(running, Thread.State.RUNNABLE);
        synchronized (stop) {
            stop[0] = true;
        }
        running.join();
        StackTraceElement[] trace = Thread.currentThread().getStackTrace();
        System.out.println(trace[0].getMethodName() + " " + trace[1].getMethodName() + " " + running.getStackTrace().length);
        System.out.println(Thread.getAllStackTraces().containsKey(Thread.currentThread()) + " " + (Thread.activeCount() >= 1));
    }
}
