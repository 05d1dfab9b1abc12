public class DaemonThreads {
    public static void main(String[] args) throws Exception {
        Thread daemon = new Thread(() -> {
            try {
                Thread.sleep(1_000_000);
            } catch (InterruptedException e) {
                System.out.println("never");
            } finally {
                System.out.println("never either");
            }
        });
        daemon.setDaemon(true);
        daemon.start();
        Thread spinner = new Thread(() -> {
            long x = 0;
            while (true) {
                x++;
            }
        });
        spinner.setDaemon(true);
        spinner.start();
        try {
            daemon.setDaemon(false);
        } catch (IllegalThreadStateException e) {
            System.out.println("too late");
        }
        Thread child = new Thread(() -> {
            Thread grandchild = new Thread(() -> {});
            System.out.println(grandchild.isDaemon());
        });
        child.setDaemon(true);
        child.start();
        child.join();
        Thread main = Thread.currentThread();
        new Thread(() -> {
            try {
                main.join();
            } catch (InterruptedException e) {
                throw new AssertionError();
            }
            System.out.println("user thread ends after main");
        }).start();
        System.out.println("main ends");
    }
}
