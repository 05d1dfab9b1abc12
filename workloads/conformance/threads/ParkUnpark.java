import java.util.concurrent.locks.LockSupport;

public class ParkUnpark {
    static volatile boolean flag;

    public static void main(String[] args) throws Exception {
        LockSupport.unpark(Thread.currentThread());
        LockSupport.unpark(Thread.currentThread());
        LockSupport.park();
        System.out.println("permit used");
        long start = System.nanoTime();
        LockSupport.parkNanos(5_000_000);
        System.out.println(System.nanoTime() - start < 5_000_000_000L);
        LockSupport.parkUntil(System.currentTimeMillis() + 3);
        LockSupport.parkNanos(0);
        LockSupport.parkNanos(-5);
        LockSupport.parkUntil(1);
        System.out.println("timed parks return");
        Thread t = new Thread(() -> {
            while (!flag) {
                LockSupport.park(ParkUnpark.class);
            }
            System.out.println("released");
        });
        t.start();
        while (t.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        System.out.println(LockSupport.getBlocker(t) == ParkUnpark.class);
        flag = true;
        LockSupport.unpark(t);
        t.join();
        Thread.currentThread().interrupt();
        LockSupport.park();
        System.out.println(Thread.interrupted());
        Thread early = new Thread(() -> {
            LockSupport.park();
            System.out.println("early done");
        });
        LockSupport.unpark(early);
        early.start();
        LockSupport.unpark(early);
        for (int i = 0; early.isAlive() && i < 1000; i++) {
            LockSupport.unpark(early);
            Thread.sleep(1);
        }
        early.join();
        LockSupport.unpark(null);
        int[] hops = new int[1];
        Thread main = Thread.currentThread();
        boolean[] theirs = new boolean[1];
        Thread partner = new Thread(() -> {
            for (int i = 0; i < 200; i++) {
                while (true) {
                    synchronized (theirs) {
                        if (theirs[0]) {
                            theirs[0] = false;
                            hops[0]++;
                            break;
                        }
                    }
                    LockSupport.park();
                }
                LockSupport.unpark(main);
            }
        });
        partner.start();
        for (int i = 0; i < 200; i++) {
            synchronized (theirs) {
                theirs[0] = true;
            }
            LockSupport.unpark(partner);
            while (true) {
                synchronized (theirs) {
                    if (!theirs[0]) {
                        break;
                    }
                }
                LockSupport.park();
            }
        }
        partner.join();
        System.out.println(hops[0]);
    }
}
