public class VolatileAndFences {
    static volatile boolean ready;
    static int payload;
    static volatile long wide;
    static volatile double fraction;
    volatile Object box;

    public static void main(String[] args) throws Exception {
        Thread reader = new Thread(() -> {
            while (!ready) {
                Thread.onSpinWait();
            }
            System.out.println(payload);
        });
        reader.start();
        payload = 42;
        ready = true;
        reader.join();
        boolean[] torn = new boolean[1];
        boolean[] stop = new boolean[1];
        Thread writer = new Thread(() -> {
            for (int i = 0; i < 20000; i++) {
                wide = (i & 1) == 0 ? 0L : -1L;
            }
        });
        writer.start();
        while (writer.isAlive()) {
            long seen = wide;
            if (seen != 0 && seen != -1) {
                torn[0] = true;
            }
        }
        writer.join();
        System.out.println(torn[0]);
        // Peterson's algorithm needs sequential consistency of volatile accesses.
        int[] count = new int[1];
        Peterson p = new Peterson();
        Thread a = new Thread(() -> p.work(count, 0));
        Thread b = new Thread(() -> p.work(count, 1));
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println(count[0]);
        fraction = 1.5;
        fraction += 2;
        wide = 5;
        wide++;
        System.out.println(fraction + " " + wide);
        VolatileAndFences v = new VolatileAndFences();
        v.box = "boxed";
        System.out.println(v.box);
    }

    static class Peterson {
        volatile boolean want0;
        volatile boolean want1;
        volatile int turn;

        void work(int[] count, int me) {
            for (int i = 0; i < 300; i++) {
                if (me == 0) {
                    want0 = true;
                    turn = 1;
                    while (want1 && turn == 1) {
                        Thread.yield();
                    }
                } else {
                    want1 = true;
                    turn = 0;
                    while (want0 && turn == 0) {
                        Thread.yield();
                    }
                }
                count[0]++;
                if (me == 0) {
                    want0 = false;
                } else {
                    want1 = false;
                }
            }
        }
    }
}
