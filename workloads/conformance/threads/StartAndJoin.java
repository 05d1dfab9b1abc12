// zeal
public class StartAndJoin {
    static int shared;

    static class Worker extends Thread {
        final int from;
        long result;

        Worker(int from) {
            super("worker-" + from);
            this.from = from;
        }

        @Override
        public void run() {
            for (int i = 0; i < 1000; i++) {
                result += from + i;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Worker[] workers = new Worker[8];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Worker(i);
            workers[i].start();
        }
        long total = 0;
        for (Worker w : workers) {
            w.join();
            total += w.result;
        }
        System.out.println(total);
        Thread t = new Thread(() -> shared = 42, "setter");
        System.out.println(t.getState() + " " + t.isAlive() + " " + t.getName() + " " + t.getPriority() + " " + t.isDaemon());
        t.start();
        t.join();
        System.out.println(t.getState() + " " + t.isAlive() + " " + shared);
        try {
            t.start();
        } catch (IllegalThreadStateException e) {
            System.out.println("cannot restart");
        }
        Thread main = Thread.currentThread();
        System.out.println(main.getName() + " " + main.getThreadGroup().getName() + " " + main.getPriority() + " " + main.getId());
        System.out.println(main + " " + new Thread(() -> {}).getName().startsWith("Thread-"));
        Thread sleeper = new Thread(() -> {
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                System.out.println("woken");
            }
        });
        sleeper.start();
        sleeper.join(5);
        System.out.println(sleeper.isAlive());
        sleeper.interrupt();
        sleeper.join();
        Thread run = new Thread(() -> System.out.println("run called in " + Thread.currentThread().getName()));
        run.run();
        t = new Thread(() -> {});
        t.setPriority(Thread.MAX_PRIORITY);
        t.setName("renamed");
        t.setDaemon(true);
        System.out.println(t);
        try {
            t.setPriority(11);
        } catch (IllegalArgumentException e) {
            System.out.println("bad priority");
        }
    }
}
