// exit: 4
public class ExitInHook {
    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            System.out.println("hook runs");
            try {
                Runtime.getRuntime().addShutdownHook(new Thread());
            } catch (IllegalStateException e) {
                System.out.println(e.getMessage());
            }
        }));
        Thread daemon = new Thread(() -> {
            while (true) {
                Thread.onSpinWait();
            }
        });
        daemon.setDaemon(true);
        daemon.start();
        System.exit(4);
    }
}
