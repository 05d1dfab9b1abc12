public class ShutdownHooks {
    public static void main(String[] args) throws Exception {
        Thread hook = new Thread(() -> System.out.println("hook runs"));
        Runtime.getRuntime().addShutdownHook(hook);
        Thread removed = new Thread(() -> System.out.println("never"));
        Runtime.getRuntime().addShutdownHook(removed);
        System.out.println(Runtime.getRuntime().removeShutdownHook(removed) + " " + Runtime.getRuntime().removeShutdownHook(removed));
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        System.out.println("main ends");
    }
}
