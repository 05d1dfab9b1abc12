public class ManyThreads {
    static int done;

    public static void main(String[] args) throws Exception {
        for (int round = 0; round < 4; round++) {
            Thread[] threads = new Thread[60];
            for (int i = 0; i < threads.length; i++) {
                int id = i;
                threads[i] = new Thread(null, () -> {
                    byte[] garbage = new byte[1000 + id];
                    synchronized (ManyThreads.class) {
                        done += garbage.length > 0 ? 1 : 0;
                    }
                }, "t" + i, 1 << 18);
                threads[i].start();
            }
            for (Thread t : threads) {
                t.join();
            }
            System.out.println(done);
        }
        ThreadGroup group = new ThreadGroup("g");
        Thread[] sleeping = new Thread[10];
        for (int i = 0; i < 10; i++) {
            sleeping[i] = new Thread(group, () -> {
                try {
                    Thread.sleep(100_000);
                } catch (InterruptedException e) {
                    synchronized (ManyThreads.class) {
                        done++;
                    }
                }
            });
            sleeping[i].start();
        }
        System.out.println(group.activeCount());
        group.interrupt();
        for (Thread t : sleeping) {
            t.join();
        }
        System.out.println(done);
    }
}
