// exit: 7
public class ExitFromThread {
    public static void main(String[] args) throws Exception {
        Thread t = new Thread(() -> {
            System.out.println("thread exits");
            System.exit(7);
        });
        t.start();
        Thread.sleep(100_000);
        System.out.println("not reached");
    }
}
