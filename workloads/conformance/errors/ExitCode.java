// exit: 3
public class ExitCode {
    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        try {
            System.out.println("exiting");
            System.exit(3);
        } finally {
            System.out.println("not reached");
        }
    }
}
