// exit: 9
public class HaltInHook {
    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            System.out.println("hook halts");
            System.out.flush();
            Runtime.getRuntime().halt(9);
        }));
        System.out.println("main ends");
    }
}
